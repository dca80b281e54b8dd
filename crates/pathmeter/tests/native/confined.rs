//! The rights of every thread of a program that root started.

/// Network administration, raw packets and priorities: bits 12, 13 and 23.
pub(super) const KEPT: &str = "0000000000803000";
pub(super) const NONE: &str = "0000000000000000";

/// Each thread's user, capabilities, those that it could ever have, and whether a program could gain any.
pub(super) fn threads(pid: u32) -> Vec<(String, [String; 4])> {
    let tasks = std::fs::read_dir(format!("/proc/{pid}/task")).unwrap();
    let status_of = |task: std::io::Result<std::fs::DirEntry>| {
        let status = std::fs::read_to_string(task.ok()?.path().join("status")).ok()?;
        let line = |name: &str| {
            let value = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            value.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        Some((line("Name:"), ["Uid:", "CapEff:", "CapBnd:", "NoNewPrivs:"].map(line)))
    };
    tasks.filter_map(status_of).collect()
}

#[track_caller]
pub(super) fn is_confined(pid: u32, kept: &str, what: &str) {
    let all = threads(pid);
    assert!(!all.is_empty(), "{what}: no thread");
    for (name, found) in all {
        let wanted = ["65534 65534 65534 65534", kept, NONE, "1"].map(str::to_owned);
        assert_eq!(found, wanted, "{what}: thread `{name}`: Uid, CapEff, CapBnd, NoNewPrivs");
    }
}
