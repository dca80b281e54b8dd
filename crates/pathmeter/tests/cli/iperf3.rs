//! The iPerf3 dialect's command line: by word and by name, refusals as iPerf3 prints them.

use super::{Scratch, run};
use std::process::Command;

#[test]
fn refusals_are_iperf3s_and_end_with_1() {
    for (line, message) in [
        ("iperf3", "iperf3: parameter error - must either be a client (-c) or server (-s)\n\nUsage: iperf3"),
        ("iperf3 -c h -P 0", "iperf3: parameter error - invalid number of parallel streams"),
        ("iperf3 -c h --nope", "iperf3: unrecognized option '--nope'\nUsage: iperf3"),
        ("iperf3 -s -u", "iperf3: parameter error - some option you are trying to set is client only"),
    ] {
        let ended = run(line);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{line}: {}", ended.stderr);
        assert!(ended.stderr.starts_with(message), "{line}: {}", ended.stderr);
    }
}

#[test]
fn a_link_named_iperf3_is_the_dialect() {
    let scratch = Scratch::new("link");
    let link = scratch.0.join("iperf3");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_pathmeter"), &link).expect("link");
    let by_name = Command::new(&link).arg("--version").output().expect("it starts");
    let by_word = run("iperf3 --version");
    assert_eq!(String::from_utf8_lossy(&by_name.stdout), by_word.stdout);
    assert!(by_word.stdout.starts_with("iperf 3.") && by_word.code == Some(0), "{}", by_word.stdout);
}

/// The same line to both programs: the same exit code, and where 3.12 and 3.21 agree, the same first line.
#[test]
fn the_real_tool_refuses_the_same_lines() {
    if skip::lacks(&["iperf3"]) {
        return;
    }
    let words_changed = ["-c h -P 129", "-c h -t 86401", "-c h -O 601", "-c h --dscp 64"];
    let same_words = [
        "",
        "-s -c h",
        "-c h -R --bidir",
        "-s -R",
        "-c h -1",
        "-c h -t 5 -n 5",
        "-c h -l 2M",
        "-c h -u -l 15",
        "-c h -w 513M",
        "-c h -i 0.05",
        "-c h -b 1M/1001",
        "-c h -S 256",
        "-c h -p 0",
        "-c h -f x",
        "-c h --username me",
        "-s --authorized-users-path u",
        "-c h --bidir=1",
        "-c h --nope",
        "-c h -Q",
        "-c",
    ];
    for line in words_changed.into_iter().chain(same_words) {
        let theirs = Command::new("iperf3").args(line.split_whitespace()).output();
        let theirs = theirs.expect("iperf3 must be installed for this test (scripts/test does it)");
        let ours = run(&format!("iperf3 {line}"));
        assert_eq!(ours.code, theirs.status.code(), "{line}");
        let printed = String::from_utf8_lossy(&theirs.stderr);
        let first = |text: &str| text.lines().next().unwrap_or_default().to_owned();
        if same_words.contains(&line) {
            assert_eq!(first(&ours.stderr), first(&printed), "{line}");
        }
    }
}
