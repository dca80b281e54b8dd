//! Receiving on chosen CPUs: an interface's own threads (threaded NAPI).
//!
//! A pair of virtual interfaces receives in the sender's softirq, so a device behind it shares the sender's CPU. With threads
//! pinned elsewhere it has a CPU of its own. An interface has NAPI instances only while its driver needs them: a veth while GRO
//! is on or an XDP program attached. Any action that recreates an instance, such as attaching a program where GRO is off,
//! recreates its thread too, which then runs on any CPU. Sources: `Documentation/networking/napi.rst`, `scaling.rst`,
//! `Documentation/ABI/testing/sysfs-class-net`.

mod sysfs;

use linux::cpu::{affinity_of, pin_thread};
use linux::error::{OsError, Result};
use linux::namespace::Namespace;
use linux::netlink::{Network, napi_threads};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use sysfs::Sysfs;

/// An interface that receives in threads of its own; dropping this restores the previous state.
#[derive(Debug)]
pub struct NapiThreads {
    interface: Sysfs,
    was: String,
    /// Each thread with the CPUs it was allowed to run on before.
    threads: Vec<(libc::pid_t, Vec<usize>)>,
}

impl NapiThreads {
    /// Lets an interface of a namespace receive in threads, which are pinned to these CPUs in turn; to none when there are none.
    ///
    /// # Errors
    /// Without privilege; `EOPNOTSUPP` ([`OsError::is_unsupported`]) when the interface has no NAPI instance now; no such
    /// interface or CPU. The previous state is restored then.
    pub fn start(namespace: &Namespace, interface: &str, cpus: &[usize]) -> Result<NapiThreads> {
        let sysfs = Sysfs::of_interface(namespace, interface)?;
        let named = kernel_threads(interface);
        let was = sysfs.read(THREADED)?;
        let mut threads = NapiThreads { interface: sysfs, was, threads: Vec::new() };
        threads.interface.write(THREADED, "1").map_err(|error| match error.errno() {
            Some(libc::EOPNOTSUPP) => {
                let why = "it has no NAPI instance now: turn GRO on or attach an XDP program first";
                OsError { source: io::Error::new(io::ErrorKind::Unsupported, why), ..error }
            }
            _ => error,
        })?;
        for (index, thread) in find(namespace, interface, &named)?.into_iter().enumerate() {
            let Some(cpu) = cpus.get(index % cpus.len().max(1)) else { continue };
            threads.threads.push((thread, affinity_of(thread)?));
            pin_thread(thread, &[*cpu])?;
        }
        Ok(threads)
    }

    /// The threads that were pinned to a CPU, by their numbers in `/proc`.
    pub fn threads(&self) -> impl Iterator<Item = i32> {
        self.threads.iter().map(|(thread, _)| *thread)
    }
}

impl Drop for NapiThreads {
    fn drop(&mut self) {
        // Threads end with their instances, and interfaces with their namespaces: then there is nothing to restore.
        for (thread, cpus) in &self.threads {
            let _ = pin_thread(*thread, cpus);
        }
        let _ = self.interface.write(THREADED, &self.was);
    }
}

/// The threads of an interface's NAPI: from the kernel, or before Linux 6.8 by their names, without those that existed before as
/// far as new ones appeared.
fn find(namespace: &Namespace, interface: &str, before: &BTreeSet<libc::pid_t>) -> Result<Vec<libc::pid_t>> {
    match namespace.run(|| napi_threads(Network::open()?.link(interface)?.index))? {
        Err(error) if error.is_unsupported() => {
            let named = kernel_threads(interface);
            let new: Vec<libc::pid_t> = named.difference(before).copied().collect();
            Ok(if new.is_empty() { named.into_iter().collect() } else { new })
        }
        threads => threads,
    }
}

/// Threads named `napi/INTERFACE-NUMBER`, of any namespace.
fn kernel_threads(interface: &str) -> BTreeSet<libc::pid_t> {
    let prefix = format!("napi/{interface}-");
    let Ok(processes) = fs::read_dir("/proc") else { return BTreeSet::new() };
    let thread = |entry: fs::DirEntry| {
        let number = entry.file_name().to_str()?.parse().ok()?;
        let name = fs::read_to_string(entry.path().join("comm")).ok()?;
        is_named(name.trim_end(), &prefix).then_some(number)
    };
    processes.flatten().filter_map(thread).collect()
}

/// Before Linux 5.17 names are cut after fifteen characters.
fn is_named(name: &str, prefix: &str) -> bool {
    name.starts_with(prefix) || (name.len() == 15 && prefix.starts_with(name))
}

const THREADED: &str = "threaded";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_known_by_name_also_by_a_short_one() {
        assert!(is_named("napi/eth0-8193", "napi/eth0-"));
        assert!(!is_named("napi/eth01-8193", "napi/eth0-") && !is_named("napi/eth0", "napi/eth0-"));
        assert!(is_named("napi/enp175s0f1", "napi/enp175s0f1np1-"));
        assert!(!is_named("napi/enp175s0f0", "napi/enp175s0f1np1-"));
    }
}
