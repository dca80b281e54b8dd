//! Loading a module by any of its names, with what it depends on. The kernel calls `/sbin/modprobe` when it lacks one.

use super::super::image::{INDEX, MODULES};
use super::super::modules::underscored;
use std::collections::HashSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::Path;
use std::process::ExitCode;

/// `modprobe -q -- NAME`, as the kernel calls it.
pub(super) fn run(args: &[OsString]) -> ExitCode {
    let names = args.iter().skip(1).filter_map(|word| word.to_str()).filter(|word| !word.starts_with('-'));
    let all = names.map(load).collect::<io::Result<Vec<()>>>();
    if all.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Loads the module of this name, if the kernel does not have it built in.
pub(super) fn load(name: &str) -> io::Result<()> {
    let index = Index(fs::read_to_string(INDEX)?);
    for file in index.files(name) {
        linux::module::load(&Path::new(MODULES).join(file)).map_err(io::Error::other)?;
    }
    Ok(())
}

/// The lines that [`super::super::image`] wrote.
struct Index(String);

impl Index {
    /// The files to load, in order.
    fn files(&self, name: &str) -> Vec<&str> {
        let mut files = Vec::new();
        for module in self.modules(name) {
            self.gather(module, &mut files, &mut HashSet::new());
        }
        files
    }

    /// A name is a module's own, or that of one or several modules.
    fn modules(&self, name: &str) -> Vec<&str> {
        let own = underscored(name);
        let mut found = Vec::new();
        for line in self.0.lines() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["module", module, ..] if module == own => found.push(module),
                ["alias", alias, module] if alias == name => found.push(module),
                _ => {}
            }
        }
        found
    }

    fn gather<'i>(&'i self, name: &'i str, files: &mut Vec<&'i str>, observed: &mut HashSet<&'i str>) {
        if !observed.insert(name) {
            return;
        }
        let mut lines = self.0.lines();
        let line = lines.find_map(|line| line.strip_prefix("module ")?.strip_prefix(name)?.strip_prefix(' '));
        let mut args = line.unwrap_or_default().split_whitespace();
        let Some(file) = args.next() else { return };
        args.for_each(|needed| self.gather(needed, files, observed));
        files.push(file);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_module_needs_is_loaded_before_it_and_once() {
        let text = "module wireguard wireguard.ko udp_tunnel ip6_udp_tunnel\n\
            alias rtnl-link-wireguard wireguard\n\
            module udp_tunnel udp_tunnel.ko \n\
            module ip6_udp_tunnel ip6_udp_tunnel.ko udp_tunnel\n\
            module loop_a a.ko loop_b\n\
            module loop_b b.ko loop_a\n";
        let index = Index(text.to_owned());
        let all = ["udp_tunnel.ko", "ip6_udp_tunnel.ko", "wireguard.ko"];
        assert_eq!(index.files("rtnl-link-wireguard"), all);
        assert_eq!(index.files("ip6-udp-tunnel"), all[..2]);
        assert_eq!(index.files("loop_a"), ["b.ko", "a.ko"]);
        assert!(index.files("ext4").is_empty());
    }
}
