//! The programs behind tunnel devices: who holds a `tun` or `tap` open, and how busy its threads are.
//!
//! Sources: `proc_pid_fdinfo(5)` (`iff:`), `proc_pid_stat(5)`.

use crate::cpu::nanos_per_tick;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use units::Nanos;

/// CPU time that each thread of the programs behind this device has used, by the thread's number. Empty where the kernel runs the
/// tunnel itself, and of other users' programs without `CAP_SYS_PTRACE`.
#[must_use]
pub fn threads_behind(interface: &str) -> BTreeMap<u32, Nanos> {
    let numbers = |folder: &Path| -> Vec<u32> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
    };
    let proc = Path::new("/proc");
    let holders = numbers(proc).into_iter().map(|process| proc.join(process.to_string()));
    let mut used = BTreeMap::new();
    for process in holders.filter(|process| holds(process, interface)) {
        for thread in numbers(&process.join("task")) {
            let stat = fs::read_to_string(process.join(format!("task/{thread}/stat"))).unwrap_or_default();
            used.extend(cpu_time(&stat).map(|time| (thread, time)));
        }
    }
    used
}

fn holds(process: &Path, interface: &str) -> bool {
    let files = fs::read_dir(process.join("fdinfo")).into_iter().flatten().flatten();
    // Only the files of tunnel devices have such a line.
    files.filter_map(|file| fs::read_to_string(file.path()).ok()).any(|text| names(&text, interface))
}

fn names(fdinfo: &str, interface: &str) -> bool {
    fdinfo.lines().filter_map(|line| line.strip_prefix("iff:")).any(|name| name.trim() == interface)
}

/// User and system time; the name of the thread before them may have any sign.
fn cpu_time(stat: &str) -> Option<Nanos> {
    let (_, behind) = stat.rsplit_once(')')?;
    let mut ticks = behind.split_whitespace().skip(11).map_while(|field| field.parse::<u64>().ok());
    let both = ticks.next()?.saturating_add(ticks.next()?);
    Some(Nanos(both.saturating_mul(nanos_per_tick())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::namespace::Namespace;
    use crate::tap::Tap;

    #[test]
    fn the_time_of_a_thread_stands_behind_its_name() {
        let stat = "71 (a) b (c) S 1 71 71 0 -1 4194304 9 0 0 0 250 30 0 0 20 0 1 0 5 0 0";
        assert_eq!(cpu_time(stat), Some(Nanos(nanos_per_tick() * 280)));
        assert_eq!((cpu_time(""), cpu_time("1 (x) S 1")), (None, None));
    }

    #[test]
    fn a_file_of_a_tunnel_has_its_name() {
        let fdinfo = "pos:\t0\nflags:\t02104002\nmnt_id:\t26\niff:\ttun0\n";
        assert!(names(fdinfo, "tun0") && !names(fdinfo, "tun") && !names("pos:\t0\n", "tun0"));
    }

    #[test]
    fn this_program_is_behind_its_own_device() {
        let made = Namespace::new().and_then(|namespace| namespace.run(|| Tap::open("behind0", false)));
        let _tap = match made {
            Ok(Ok(tap)) => tap,
            Ok(Err(error)) | Err(error) => {
                return skip::skip(format!("needs CAP_NET_ADMIN and tun: {error}"));
            }
        };
        let threads = threads_behind("behind0");
        assert!(threads.contains_key(&std::process::id()), "{threads:?}");
        assert!(threads_behind("behind1").is_empty());
    }
}
