//! Whether the host's CPU can run a virtual machine by itself (KVM), found out by booting one.
//!
//! A device file proves little: within another virtual machine `/dev/kvm` may be there, and a boot sector run, and a kernel hang.
//! The kernel of the machine is therefore booted without an image: where KVM works it gives up within a second. The answer is kept
//! until the host itself boots.

use super::kernel::Kernel;
use super::{Accelerator, qemu};
use std::fs::{self, OpenOptions};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

impl Accelerator {
    /// Tries KVM with this kernel, unless that was tried since the host booted.
    #[must_use]
    pub fn find(qemu: &qemu::Program, kernel: &Kernel) -> Self {
        if let Err(error) = OpenOptions::new().read(true).write(true).open("/dev/kvm") {
            return Self::Emulation { because: format!("/dev/kvm: {error}") };
        }
        let memory = memory();
        let known = memory.as_ref().and_then(|path| fs::read_to_string(path).ok());
        let answer = known.unwrap_or_else(|| {
            let answer = try_kvm(qemu, kernel).err().unwrap_or_default();
            if let Some(path) = &memory {
                let _ = path.parent().map(fs::create_dir_all);
                // Where nothing can be kept it is tried again.
                let _ = fs::write(path, &answer);
            }
            answer
        });
        if answer.is_empty() { Self::Kvm } else { Self::Emulation { because: answer } }
    }
}

/// The file in which the answer is kept for as long as the host runs.
fn memory() -> Option<PathBuf> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let store = super::kernel::stores().into_iter().next()?;
    Some(store.join(format!("kvm-{}", boot.trim())))
}

/// A kernel without a root file system panics, and `panic=-1` has it restart, which ends qemu (`-no-reboot`).
fn try_kvm(qemu: &qemu::Program, kernel: &Kernel) -> Result<(), String> {
    let mut command = Command::new(&qemu.path);
    command.args(["-machine", qemu.machine, "-accel", "kvm", "-cpu", "host", "-m", "256", "-kernel"]);
    command.arg(&kernel.image).args(qemu::PLAIN).args(["-append", "quiet panic=-1"]);
    linux::spawn::die_with_this_thread(&mut command);
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| format!("{}: {error}", qemu.path.display()))?;
    let began = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => {
                let output =
                    child.stderr.take().map(std::io::read_to_string).and_then(Result::ok).unwrap_or_default();
                return Err(output.lines().last().map_or(status.to_string(), str::to_owned));
            }
            Ok(None) if began.elapsed() < TIMEOUT => std::thread::sleep(Duration::from_millis(20)),
            Ok(None) | Err(_) => break,
        }
    }
    let _ = child.kill();
    let _ = child.wait();
    Err(format!("/dev/kvm is there, but a kernel booted by it hangs (tried for {} s)", TIMEOUT.as_secs()))
}

const TIMEOUT: Duration = Duration::from_secs(6);
