//! Labs leave no residue.

use crate::{PAIR, build, can_build};
use linux::netlink::Network;
use pathmeter_lab::build::Lab;
use std::fs;
use std::os::fd::AsRawFd;
use std::thread;
use std::time::Duration;

#[test]
fn nothing_is_left_of_a_lab() {
    if !can_build() {
        return;
    }
    let names = || -> Vec<String> {
        Network::open().unwrap().links().unwrap().into_iter().map(|link| link.name).collect()
    };
    let before = names();
    let lab = build(PAIR);
    let namespaces: Vec<String> =
        lab.nodes().iter().map(|node| identity(node.namespace().unwrap().as_raw_fd())).collect();
    assert_eq!(namespaces.len(), 2);
    let running = lab.node("client").unwrap().start(&["sleep".into(), "600".into()]).unwrap();
    assert!(held(&namespaces), "the test looks in the right place");
    assert_eq!(names(), before, "the host's own interfaces are untouched");
    drop(running);
    drop::<Lab>(lab);
    // A child of another test has a copy of every descriptor until it starts its program.
    let goes = || {
        thread::sleep(Duration::from_millis(10));
        !held(&namespaces)
    };
    assert!((0..200).any(|_| goes()), "somebody still has a namespace of the lab");
    assert_eq!(names(), before);
}

fn identity(descriptor: i32) -> String {
    fs::read_link(format!("/proc/self/fd/{descriptor}")).unwrap().to_string_lossy().into_owned()
}

/// Whether any process is in one of these namespaces, or has it open.
fn held(namespaces: &[String]) -> bool {
    let is_held = |link: std::path::PathBuf| {
        fs::read_link(link)
            .is_ok_and(|target| namespaces.iter().any(|name| target.to_string_lossy() == *name))
    };
    fs::read_dir("/proc").unwrap().flatten().any(|process| {
        let descriptors = fs::read_dir(process.path().join("fd")).into_iter().flatten().flatten();
        is_held(process.path().join("ns/net")) || descriptors.map(|entry| entry.path()).any(is_held)
    })
}
