//! Labs that are really built on this machine, looked into with the usual tools, and gone afterwards.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking, and prints why it skips")]

mod commands;
mod real;
mod refused;
mod residue;
mod shaped;
mod shipped;

use linux::privilege::{Capabilities, Capability};
use pathmeter_lab::build::Lab;
use pathmeter_lab::command::Output;
use pathmeter_lab::error::LabError;
use pathmeter_lab::node::RunningNode;
use pathmeter_lab::topology::Topology;
use std::sync::Mutex;
use std::time::Duration;

/// Root, or the test cannot run.
fn can_build() -> bool {
    let rights = Capabilities::of_this_thread().unwrap();
    let can = rights.has(Capability::SysAdmin) && rights.has(Capability::NetAdmin);
    if !can {
        skip::skip("labs need root here");
    }
    can
}

fn topology(text: &str) -> Topology {
    Topology::parse("test.toml", text).unwrap()
}

fn build(text: &str) -> Lab {
    Lab::build(&topology(text)).unwrap()
}

fn run(lab: &Lab, node: &str, printed: &str) -> Output {
    let printed: Vec<String> = printed.split(' ').map(str::to_owned).collect();
    run_to_end(lab.node(node).unwrap(), &printed).unwrap()
}

fn run_to_end(node: &RunningNode, argv: &[String]) -> Result<Output, LabError> {
    node.start(argv)?.finish(Duration::from_secs(60))
}

/// Held by a test that keeps all CPUs busy, and by one that a shaper's timers matter to.
static CPUS: Mutex<()> = Mutex::new(());

/// Two hosts and the cable between them; what follows may add to it.
const PAIR: &str = r#"
title = "Two hosts"
about = "A cable."
[nodes.client]
addresses.eth0 = ["192.0.2.1/24", "2001:db8:1::1/64"]
[nodes.server]
addresses.eth0 = ["192.0.2.2/24", "2001:db8:1::2/64"]
[[links]]
ends = ["client:eth0", "server:eth0"]
"#;
