//! Programs of this host that a lab needs, and where they are looked for.

use crate::topology::{Filter, Node, Topology};
use std::ffi::OsString;

/// Programs of this host that the node needs: those of its rules, and those that measure in it.
pub(crate) fn tools(topology: &Topology, node: &Node) -> Vec<String> {
    let serve = topology.tools.iter().filter_map(|tool| tool.serve.as_ref());
    let serve = serve.filter(|_| topology.to == node.name);
    let run = topology.tools.iter().map(|tool| &tool.run).filter(|_| topology.from == node.name);
    of_rules(node).into_iter().chain(foreign(serve.chain(run))).collect()
}

/// Programs of this host that some node of the topology needs.
pub(crate) fn programs(topology: &Topology) -> Vec<String> {
    let rules = topology.nodes.iter().filter_map(of_rules);
    let commands = topology.tools.iter().flat_map(|tool| tool.serve.iter().chain([&tool.run]));
    rules.chain(foreign(commands)).collect()
}

fn of_rules(node: &Node) -> Option<String> {
    let rules = node.filters.iter().any(|filter| matches!(filter, Filter::Rules(_)));
    rules.then(|| "nft".to_owned())
}

/// The programs of commands, but for this one, which every machine has.
fn foreign<'a>(commands: impl Iterator<Item = &'a Vec<String>>) -> impl Iterator<Item = String> {
    commands.filter_map(|args| args.first()).filter(|program| *program != "pathmeter").cloned()
}

/// Where programs are looked for: administrators' directories too, which a user's path may lack.
pub(crate) fn search_path() -> OsString {
    let mut path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    path.push(":/usr/local/sbin:/usr/sbin:/sbin");
    path
}
