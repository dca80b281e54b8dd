//! Any text as a topology file: a fault is reported with its place; a valid topology has addresses of its own, existing ends,
//! and is read again from its printed form.

use lab::topology::{Node, Side, Topology};
use spoiled::topology;
use std::collections::HashSet;

/// One input.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match Topology::parse("fuzz.toml", text) {
        Ok(topology) => hold(&topology),
        Err(error) => {
            let lines = text.split('\n').count();
            assert!(!error.faults.is_empty());
            assert!(error.faults.iter().all(|fault| (1..=lines).contains(&fault.line) && fault.column > 0));
        }
    }
}

fn hold(topology: &Topology) {
    let mut names = HashSet::new();
    assert!(topology.nodes.iter().all(|node| names.insert(&node.name)), "two nodes of one name");
    for name in [&topology.from, &topology.to].into_iter().chain(&topology.device_under_test) {
        assert!(names.contains(name), "no node {name:?}");
    }
    let mut ends = HashSet::new();
    for end in topology.links.iter().flat_map(|link| &link.sides).map(|side| &side.end) {
        assert!(names.contains(&end.node) && ends.insert((&end.node, &end.device)), "{end:?}");
    }
    let mut addresses = HashSet::new();
    for node in &topology.nodes {
        for own in &node.addresses {
            assert!(addresses.insert(own.address), "two hosts with {}", own.address);
            let made = node.devices.iter().any(|device| device.name == own.device);
            assert!(made || own.device == "lo" || ends.contains(&(&node.name, &own.device)), "{own:?}");
        }
        // The form in which a virtual machine receives its node.
        let json = serde_json::to_string(node).expect("a node is JSON");
        assert_eq!(&serde_json::from_str::<Node>(&json).expect("we wrote it"), node);
    }
    for side in topology.links.iter().flat_map(|link| &link.sides) {
        let json = serde_json::to_string(side).expect("a side is JSON");
        assert_eq!(&serde_json::from_str::<Side>(&json).expect("we wrote it"), side);
    }
    let printed = topology::toml(topology);
    match Topology::parse("fuzz.toml", &printed) {
        Ok(again) => assert_eq!(&again, topology, "of:\n{printed}"),
        Err(error) => panic!("{error}\nin:\n{printed}"),
    }
}
