//! CPU quotas of the cgroups that this process runs in: how much they allow, and how often they held it back.
//!
//! A process over its quota waits for the next period, and no thread and no CPU looks full meanwhile. Sources: `cgroup-v2.rst` and
//! `sched-bwc.rst` of the kernel, `cgroups(7)`. Both versions are read: `cpu.max`, or `cpu.cfs_quota_us` and `cpu.cfs_period_us`.

use std::fs;
use std::path::{Path, PathBuf};

/// The quota of one cgroup, with its counters since it was made.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuQuota {
    /// The cgroup, as `/proc/self/cgroup` names it.
    pub group: String,
    /// CPUs that it may use on average.
    pub cpus: f64,
    /// Periods in which something ran in it.
    pub periods: u64,
    /// Periods in which it had used its share before they were over.
    pub throttled: u64,
}

impl CpuQuota {
    /// The share of the periods since `earlier` in which it was throttled; `None`: nothing ran in it.
    #[must_use]
    pub fn throttled_since(&self, earlier: &Self) -> Option<f64> {
        let periods = self.periods.checked_sub(earlier.periods).filter(|periods| *periods > 0)?;
        let throttled = self.throttled.saturating_sub(earlier.throttled);
        Some((throttled as f64 / periods as f64).min(1.0))
    }
}

/// The quotas of this process's cgroup and of all above it; empty where there are none, or none is visible. `ip netns exec` mounts a
/// `/sys` without them: then they are read as the first process sees them, with the right to look into it (`CAP_SYS_PTRACE`).
#[must_use]
pub fn cpu_quotas() -> Vec<CpuQuota> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let groups = read("/proc/self/cgroup");
    let views = [("/proc/self/mountinfo", "/"), ("/proc/1/mountinfo", "/proc/1/root")];
    let mut found = views.iter().map(|(mounts, root)| quotas(&groups, &read(mounts), Path::new(root)));
    found.find(|quotas| !quotas.is_empty()).unwrap_or_default()
}

/// The quotas that these texts of procfs lead to, with all paths below `root`.
fn quotas(groups: &str, mounts: &str, root: &Path) -> Vec<CpuQuota> {
    let mut found = Vec::new();
    for (hierarchy, group) in groups.lines().filter_map(controlling) {
        let Some(mount) = mounts.lines().find_map(|line| mount(line, hierarchy)) else { continue };
        // A container may see a part of the tree alone: paths begin where that part does then.
        let inside = group.strip_prefix(&mount.root).unwrap_or(group).trim_start_matches('/');
        let top = root.join(mount.point.trim_start_matches('/'));
        let mut folder: PathBuf = top.join(inside);
        while folder.starts_with(&top) {
            let name = folder.strip_prefix(&top).map(Path::to_string_lossy).unwrap_or_default();
            found.extend(quota(&folder, hierarchy, format!("/{name}")));
            if !folder.pop() {
                break;
            }
        }
    }
    found
}

/// Which version of cgroups a hierarchy is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

/// A line of `/proc/self/cgroup` whose hierarchy may have CPU quotas: `4:cpu,cpuacct:/user`, or `0::/user`.
fn controlling(line: &str) -> Option<(Version, &str)> {
    let mut fields = line.splitn(3, ':');
    let (number, controllers, group) = (fields.next()?, fields.next()?, fields.next()?);
    match controllers.split(',').any(|name| name == "cpu") {
        true => Some((Version::One, group)),
        false if number == "0" => Some((Version::Two, group)),
        false => None,
    }
}

/// Where a part of a hierarchy is visible.
struct Mount {
    root: String,
    point: String,
}

/// A line of `/proc/self/mountinfo`, where it is a mount of this hierarchy.
fn mount(line: &str, version: Version) -> Option<Mount> {
    let (before, behind) = line.split_once(" - ")?;
    let (mut before, mut behind) = (before.split(' ').skip(3), behind.split(' '));
    let (root, point) = (before.next()?, before.next()?);
    let (kind, options) = (behind.next()?, behind.nth(1)?);
    let is_it = match version {
        Version::One => kind == "cgroup" && options.split(',').any(|option| option == "cpu"),
        Version::Two => kind == "cgroup2",
    };
    let root = root.trim_end_matches('/').to_owned();
    is_it.then(|| Mount { root, point: point.to_owned() })
}

fn quota(folder: &Path, version: Version, group: String) -> Option<CpuQuota> {
    let read = |file: &str| fs::read_to_string(folder.join(file)).ok();
    let cpus = match version {
        Version::One => {
            limit(&format!("{} {}", read("cpu.cfs_quota_us")?.trim(), read("cpu.cfs_period_us")?))
        }
        Version::Two => limit(&read("cpu.max")?),
    }?;
    let statistics = read("cpu.stat")?;
    let (periods, throttled) = (counter(&statistics, "nr_periods")?, counter(&statistics, "nr_throttled")?);
    Some(CpuQuota { group, cpus, periods, throttled })
}

/// `20000 100000`: 0.2 CPUs. `max 100000` and `-1 100000` are no quota.
fn limit(text: &str) -> Option<f64> {
    let mut fields = text.split_whitespace();
    let quota: u64 = fields.next()?.parse().ok()?;
    let period: u64 = fields.next()?.parse().ok().filter(|period| *period > 0)?;
    Some(quota as f64 / period as f64)
}

fn counter(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(found, _)| *found == name)?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A tree of files below a folder of its own, which is removed at the end.
    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str, files: &[(&str, &str)]) -> Tree {
            let root = std::env::temp_dir().join(format!("pathmeter-cgroup-{}-{name}", std::process::id()));
            for (file, text) in files {
                let path = root.join(file);
                fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
                fs::write(path, text).expect("it can be written");
            }
            Tree(root)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).ok();
        }
    }

    /// Mounts in the form of systemd; the files below are written by hand in the form of `cgroup-v2.rst`.
    const V2_MOUNT: &str = "35 24 0:30 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    const STAT: &str = "usage_usec 1998513\nuser_usec 1204410\nsystem_usec 794103\nnr_periods 100\nnr_throttled 97\n\
                        throttled_usec 7812034\nnr_bursts 0\nburst_usec 0\n";

    #[test]
    fn the_quota_of_a_unit_is_found_beside_a_slice_that_has_none() {
        let tree = Tree::new(
            "unit",
            &[
                ("sys/fs/cgroup/system.slice/a.service/cpu.max", "20000 100000\n"),
                ("sys/fs/cgroup/system.slice/a.service/cpu.stat", STAT),
                ("sys/fs/cgroup/system.slice/cpu.max", "max 100000\n"),
                ("sys/fs/cgroup/system.slice/cpu.stat", STAT),
            ],
        );
        let found = quotas("0::/system.slice/a.service\n", V2_MOUNT, &tree.0);
        let [quota] = &found[..] else { panic!("{found:?}") };
        assert_eq!((quota.group.as_str(), quota.cpus), ("/system.slice/a.service", 0.2));
        let earlier = CpuQuota { periods: 50, throttled: 50, ..quota.clone() };
        assert_eq!(quota.throttled_since(&earlier), Some(0.94));
        assert_eq!(quota.throttled_since(quota), None, "nothing ran");
    }

    #[test]
    fn version_one_has_a_hierarchy_of_its_own_for_the_cpu() {
        let tree = Tree::new(
            "v1",
            &[
                ("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "5000\n"),
                ("sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n"),
                (
                    "sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.stat",
                    "nr_periods 12\nnr_throttled 9\nthrottled_time 5\n",
                ),
                ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"),
                ("sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"),
            ],
        );
        let mounts = "30 25 0:26 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n\
                      31 25 0:27 / /sys/fs/cgroup/cpu,cpuacct rw,nosuid shared:10 - cgroup cgroup rw,cpu,cpuacct\n";
        let groups = "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n0::/docker/abc\n";
        let found = quotas(groups, mounts, &tree.0);
        let [quota] = &found[..] else { panic!("{found:?}") };
        assert_eq!((quota.cpus, quota.periods, quota.throttled), (0.05, 12, 9));
    }

    #[test]
    fn a_container_that_sees_its_own_part_of_the_tree_finds_its_quota() {
        let files = [("sys/fs/cgroup/cpu.max", "150000 100000\n"), ("sys/fs/cgroup/cpu.stat", STAT)];
        let tree = Tree::new("container", &files);
        let mounts = "40 24 0:30 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        assert_eq!(quotas("0::/docker/abc\n", mounts, &tree.0)[0].cpus, 1.5);
        assert_eq!(quotas("0::/\n", V2_MOUNT, &tree.0)[0].cpus, 1.5, "with a namespace of cgroups");
    }

    #[test]
    fn what_is_torn_or_not_there_is_no_quota() {
        for (groups, mounts) in [("", ""), ("0::/a", ""), ("x\n0::/a\n", V2_MOUNT), ("0::/../..", V2_MOUNT)] {
            assert_eq!(quotas(groups, mounts, Path::new("/nowhere")), [], "{groups}");
        }
        assert_eq!((limit("5000 0"), limit("max 1"), limit("")), (None, None, None));
    }
}
