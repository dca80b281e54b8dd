//! Commands in a node: where they run, what is kept of what they say, and that they end.

use crate::{PAIR, build, can_build, run, run_to_end};
use pathmeter_lab::command::Ended;
use pathmeter_lab::error::LabError;
use std::fs;
use std::time::Duration;

fn shell(script: &str) -> Vec<String> {
    vec!["sh".into(), "-c".into(), script.into()]
}

#[test]
fn they_run_in_the_nodes_network_and_end_as_they_please() {
    if !can_build() {
        return;
    }
    let lab = build(PAIR);
    let addresses = run(&lab, "server", "ip -o address show dev eth0");
    let listed = String::from_utf8(addresses.stdout).unwrap();
    assert!(listed.contains("192.0.2.2/24") && listed.contains("2001:db8:1::2/64"), "{listed}");
    let node = lab.node("client").unwrap();
    let output = run_to_end(node, &shell("echo far >&2; exit 7")).unwrap();
    assert_eq!((output.end, &output.stderr[..]), (Ended::Code(7), &b"far\n"[..]));
    let output = run_to_end(node, &shell("kill -USR1 $$")).unwrap();
    assert_eq!(output.end, Ended::Signal(10));
    let missing = run_to_end(node, &["no-such-program".into()]).unwrap_err();
    assert!(matches!(missing, LabError::Start { .. }), "{missing}");
    assert_eq!(missing.to_string().split(": ").next(), Some("node client"));
    assert!(run_to_end(node, &[]).is_err());
}

#[test]
fn they_take_no_more_time_than_they_may() {
    if !can_build() {
        return;
    }
    let lab = build(PAIR);
    let node = lab.node("client").unwrap();
    let started = node.start(&shell("sleep 600 & echo $!; exec sleep 600")).unwrap();
    let output = started.finish(Duration::from_millis(200)).unwrap();
    assert_eq!(output.end, Ended::TimedOut);
    let child = String::from_utf8(output.stdout).unwrap();
    assert!(ended(child.trim()), "what it started is killed with it");
}

#[test]
fn one_that_was_started_ends_when_it_is_dropped() {
    if !can_build() {
        return;
    }
    let lab = build(PAIR);
    let node = lab.node("client").unwrap();
    let mut dropped = node.start(&shell("echo $$; exec sleep 600")).unwrap();
    while dropped.stdout().is_empty() {
        assert!(!dropped.has_ended());
        std::thread::sleep(Duration::from_millis(5));
    }
    let pid = String::from_utf8(dropped.stdout()).unwrap();
    drop(dropped);
    assert!(ended(pid.trim()));
}

/// Whether it has gone, or waits to be collected by another process.
fn ended(pid: &str) -> bool {
    let state = || fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    let gone =
        || state().is_none_or(|stat| stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with('Z')));
    (0..200).any(|_| {
        gone() || {
            std::thread::sleep(Duration::from_millis(10));
            false
        }
    })
}
