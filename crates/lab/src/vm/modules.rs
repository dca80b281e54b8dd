//! The modules of a kernel: which there are, what each depends on, and by which other names the kernel asks for them.
//!
//! `depmod(8)` has written that down where a kernel is installed (`modules.dep`, `modules.alias`); a package that was only
//! unpacked has it in the modules themselves, in their section `.modinfo`.

use super::elf::Elf;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// The modules below a directory such as `/lib/modules/6.1.0-56-cloud-amd64`.
#[derive(Debug, Default)]
pub(super) struct Modules {
    files: BTreeMap<String, PathBuf>,
    built_in: BTreeSet<String>,
    /// The lists that depmod wrote, if it did.
    listed: Option<Listed>,
}

#[derive(Debug, Default)]
struct Listed {
    dependencies: BTreeMap<String, Vec<String>>,
    aliases: BTreeMap<String, Vec<String>>,
}

/// One module that goes into a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Module {
    pub(super) name: String,
    pub(super) file: PathBuf,
    /// Names of the modules it needs directly.
    pub(super) depends: Vec<String>,
    /// Other names the kernel asks for it by: `rtnl-link-veth`.
    pub(super) aliases: Vec<String>,
}

impl Modules {
    pub(super) fn read(directory: &Path) -> io::Result<Self> {
        let mut modules = Self::default();
        collect(&directory.join("kernel"), &mut modules.files)?;
        let lines = |name: &str| fs::read_to_string(directory.join(name)).unwrap_or_default();
        modules.built_in = lines("modules.builtin").lines().map(|line| name_of(Path::new(line))).collect();
        let dependencies = lines("modules.dep");
        if !dependencies.is_empty() {
            modules.listed = Some(Listed {
                dependencies: dependencies_of(&dependencies),
                aliases: aliases_of(&lines("modules.alias")),
            });
        }
        Ok(modules)
    }

    /// Whether the kernel has it, as a module or built in.
    pub(super) fn has(&self, name: &str) -> bool {
        self.files.contains_key(name) || self.built_in.contains(name)
    }

    /// The modules whose names are wanted, and all they depend on.
    pub(super) fn select(&self, wanted: impl Fn(&str) -> bool) -> io::Result<Vec<Module>> {
        let mut chosen: BTreeMap<String, Module> = BTreeMap::new();
        let mut open: Vec<String> = self.files.keys().filter(|name| wanted(name)).cloned().collect();
        while let Some(name) = open.pop() {
            let Some(file) = self.files.get(&name).filter(|_| !chosen.contains_key(&name)) else { continue };
            let module = self.describe(&name, file)?;
            open.extend(module.depends.iter().cloned());
            chosen.insert(name, module);
        }
        Ok(chosen.into_values().collect())
    }

    fn describe(&self, name: &str, path: &Path) -> io::Result<Module> {
        let (depends, aliases) = match &self.listed {
            Some(listed) => (
                listed.dependencies.get(name).cloned().unwrap_or_default(),
                listed.aliases.get(name).cloned().unwrap_or_default(),
            ),
            None => of_itself(path)?,
        };
        Ok(Module { name: name.to_owned(), file: path.to_owned(), depends, aliases })
    }
}

/// The `.modinfo` section of a module: `key=value`, each ended by a zero byte.
fn of_itself(path: &Path) -> io::Result<(Vec<String>, Vec<String>)> {
    let file = File::open(path)?;
    let information = Elf::read(&file).map(|elf| elf.section(".modinfo")).transpose()?.flatten();
    let information = information.ok_or_else(|| {
        let what = format!("{}: it is compressed, and there is no modules.dep: run depmod", path.display());
        io::Error::new(io::ErrorKind::InvalidData, what)
    })?;
    let (mut depends, mut aliases) = (Vec::new(), Vec::new());
    for line in information.split(|byte| *byte == 0).map(String::from_utf8_lossy) {
        match line.split_once('=') {
            Some(("depends", names)) => {
                depends.extend(names.split(',').filter(|name| !name.is_empty()).map(underscored));
            }
            Some(("alias", name)) if !name.contains('*') => aliases.push(name.to_owned()),
            _ => {}
        }
    }
    Ok((depends, aliases))
}

/// `kernel/net/veth.ko: kernel/a.ko kernel/b.ko` for each.
fn dependencies_of(text: &str) -> BTreeMap<String, Vec<String>> {
    let lines = text.lines().filter_map(|line| line.split_once(':'));
    let names = |rest: &str| rest.split_whitespace().map(|path| name_of(Path::new(path))).collect();
    lines.map(|(file, rest)| (name_of(Path::new(file)), names(rest))).collect()
}

/// `alias rtnl-link-veth veth` for each. Patterns are for devices found on a bus, which a machine's few are not.
fn aliases_of(text: &str) -> BTreeMap<String, Vec<String>> {
    let mut aliases: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in text.lines() {
        let mut tokens = line.split_whitespace();
        if let (Some("alias"), Some(alias), Some(module)) = (tokens.next(), tokens.next(), tokens.next())
            && !alias.contains('*')
        {
            aliases.entry(underscored(module)).or_default().push(alias.to_owned());
        }
    }
    aliases
}

fn collect(directory: &Path, into: &mut BTreeMap<String, PathBuf>) -> io::Result<()> {
    let entries = match fs::read_dir(directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other?,
    };
    for entry in entries {
        let entry = entry?;
        let path = entry.path();
        if entry.file_type()?.is_dir() {
            collect(&path, into)?;
        } else if path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.contains(".ko")) {
            into.insert(name_of(&path), path);
        }
    }
    Ok(())
}

/// The name of the module in a file: `ip6_tunnel` in `kernel/net/ipv6/ip6_tunnel.ko.xz`. Hyphens are underscores.
fn name_of(path: &Path) -> String {
    let file = path.file_name().unwrap_or_default().to_string_lossy();
    underscored(file.split_once(".ko").map_or(&*file, |(name, _)| name))
}

pub(super) fn underscored(name: &str) -> String {
    name.replace('-', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_depmod_wrote_is_read() {
        let directory = std::env::temp_dir().join(format!("pathmeter-modules-{}", std::process::id()));
        let kernel = directory.join("kernel/net");
        fs::create_dir_all(&kernel).unwrap();
        for file in ["veth.ko.xz", "ip6_tunnel.ko.xz", "tunnel6.ko.xz", "xfrm-base.ko.xz"] {
            fs::write(kernel.join(file), "").unwrap();
        }
        let dependencies = "kernel/net/veth.ko.xz:\n\
            kernel/net/ip6_tunnel.ko.xz: kernel/net/tunnel6.ko.xz\n\
            kernel/net/tunnel6.ko.xz: kernel/net/xfrm-base.ko.xz\n";
        fs::write(directory.join("modules.dep"), dependencies).unwrap();
        let aliases = "# aliases\nalias rtnl-link-ip6tnl ip6_tunnel\nalias pci:v0001* veth\n";
        fs::write(directory.join("modules.alias"), aliases).unwrap();
        fs::write(directory.join("modules.builtin"), "kernel/drivers/virtio/virtio_pci.ko\n").unwrap();

        let modules = Modules::read(&directory).unwrap();
        assert!(modules.has("virtio_pci") && modules.has("veth") && !modules.has("netem"));
        let chosen = modules.select(|name| name == "ip6_tunnel").unwrap();
        let names: Vec<&str> = chosen.iter().map(|module| module.name.as_str()).collect();
        assert_eq!(names, ["ip6_tunnel", "tunnel6", "xfrm_base"]);
        assert_eq!(chosen[0].aliases, ["rtnl-link-ip6tnl"]);

        fs::remove_file(directory.join("modules.dep")).unwrap();
        let error = Modules::read(&directory).unwrap().select(|name| name == "veth").unwrap_err();
        assert!(error.to_string().contains("run depmod"), "{error}");
        fs::remove_dir_all(&directory).unwrap();
    }
}
