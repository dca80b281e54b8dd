//! The image that a virtual machine boots: an archive of this program, the requested tools, and the kernel's modules.
//!
//! The image is not compressed: an emulated CPU takes longer to unpack it than to read a larger one.

use super::VmSpec;
use super::cpio::Archive;
use super::kernel::Kernel;
use super::modules::{Module, Modules};
use super::program;
use crate::vm_error::{During, VmError};
use std::fs::File;
use std::io::{BufWriter, Seek, Write};
use std::path::Path;

/// Writes the image into memory.
///
/// # Errors
/// When a driver that the machine needs, or a requested program or file, is not there.
pub(super) fn build(kernel: &Kernel, spec: &VmSpec) -> Result<File, VmError> {
    let memory = linux::spawn::memory_file()?;
    let mut archive = Archive::new(BufWriter::with_capacity(1 << 20, memory));
    base(&mut archive).during("write", IMAGE)?;
    program::add(&mut archive, &spec.executable, Path::new(EXECUTABLE))?;
    // The program runs as `/init`, and as each requested program under its own path.
    for name in ["/init", "/sbin/modprobe"].map(Path::new).into_iter().chain([&*spec.executable]) {
        archive.link(name, Path::new(EXECUTABLE)).during("write", IMAGE)?;
    }
    for tool in &spec.tools {
        let path = program::find(tool)?;
        program::add(&mut archive, &path, &path)?;
    }
    for tool in COMFORTS {
        // Optional: tools for looking around in the machine.
        if let Ok(path) = program::find(tool) {
            program::add(&mut archive, &path, &path)?;
            archive.link(&Path::new("/bin").join(tool), &path).during("write", IMAGE)?;
        }
    }
    for (from, to) in &spec.files {
        add_file(&mut archive, from, to)?;
    }
    add_modules(&mut archive, kernel)?;
    let written = archive.finish().and_then(|buffer| {
        let mut memory = buffer.into_inner().map_err(|error| error.into_error())?;
        memory.rewind()?;
        Ok(memory)
    });
    written.during("write", IMAGE)
}

fn base<W: Write>(archive: &mut Archive<W>) -> std::io::Result<()> {
    for directory in ["/proc", "/sys", "/dev", "/tmp", "/run", "/root", "/var/tmp", "/lib/modules"] {
        archive.directory(Path::new(directory))?;
    }
    // The kernel opens it before there is anything else.
    archive.character_device(Path::new("/dev/console"), 0o600, (5, 1))?;
    archive.bytes(Path::new("/etc/hosts"), 0o644, b"127.0.0.1 localhost\n::1 localhost\n")?;
    archive.bytes(Path::new("/etc/passwd"), 0o644, b"root:x:0:0:root:/root:/bin/sh\n")?;
    archive.bytes(Path::new("/etc/group"), 0o644, b"root:x:0:\n")
}

fn add_file<W: Write>(archive: &mut Archive<W>, from: &Path, to: &Path) -> Result<(), VmError> {
    let file = File::open(from).during("open", from.display())?;
    let length = file.metadata().during("open", from.display())?.len();
    archive.file(to, 0o644, length, file).during("copy", from.display())
}

fn add_modules<W: Write>(archive: &mut Archive<W>, kernel: &Kernel) -> Result<(), VmError> {
    let mut index = String::new();
    if let Some(directory) = &kernel.modules {
        let modules = Modules::read(directory).during("read", directory.display())?;
        if let Some(module) = NEEDED.iter().find(|name| !modules.has(name)) {
            return Err(VmError::NoModule { kernel: kernel.image.clone(), module: (*module).to_owned() });
        }
        for module in modules.select(is_of_use).during("read modules of", directory.display())? {
            let name = module.file.file_name().unwrap_or_default();
            add_file(archive, &module.file, &Path::new(MODULES).join(name))?;
            describe(&module, &name.to_string_lossy(), &mut index);
        }
    }
    archive.bytes(Path::new(INDEX), 0o644, index.as_bytes()).during("write", INDEX)
}

/// One line for the module, and one for each other name of it, as the machine reads them.
fn describe(module: &Module, file: &str, index: &mut String) {
    let name = &module.name;
    index.push_str(&format!("module {name} {file} {}\n", module.depends.join(" ")));
    for alias in &module.aliases {
        index.push_str(&format!("alias {alias} {name}\n"));
    }
}

/// Modules that networks are made of. The kernel asks for each when it is first used.
fn is_of_use(name: &str) -> bool {
    const FAMILIES: &[&str] = &["sch_", "act_", "cls_", "em_", "nf_", "nft_", "tcp_", "mpls_"];
    const OTHERS: &[&str] = &[
        "8021q",
        "bonding",
        "br_netfilter",
        "bridge",
        "dummy",
        "fou",
        "fou6",
        "geneve",
        "gre",
        "ifb",
        "inet_diag",
        "ip6_gre",
        "ip6_tunnel",
        "ip_gre",
        "ipip",
        "ipvlan",
        "macvlan",
        "macvtap",
        "raw_diag",
        "sit",
        "tap",
        "team",
        "tls",
        "tun",
        "udp_diag",
        "veth",
        "virtio_rng",
        "vrf",
        "vxlan",
        "wireguard",
        "xfrm_interface",
        "xfrm_user",
    ];
    NEEDED.contains(&name) || OTHERS.contains(&name) || FAMILIES.iter().any(|prefix| name.starts_with(prefix))
}

/// Where this program is in a machine.
const EXECUTABLE: &str = "/usr/bin/pathmeter";
/// Where the modules are in a machine.
pub(super) const MODULES: &str = "/lib/modules";
/// Their names and what they need; it also marks a machine as ours.
pub(super) const INDEX: &str = "/lib/modules/pathmeter.index";
/// The drivers of the machine's own devices.
pub(super) const NEEDED: &[&str] = &["virtio_pci", "virtio_console", "virtio_net"];
const IMAGE: &str = "the image of a virtual machine";
const COMFORTS: &[&str] = &["sh", "ip", "tc", "ping", "ss", "nft"];
