//! `[paths.NAME]`: from where to where, and how packets leave.

use super::{Known, KnownAgent};
use crate::plan::{Path, PathPlace};
use engine::host::address::Family;
use engine::host::host_port::HostPort;
use engine::request::Origin;
use engine::session::connect::Security;
use lab::shipped;
use lab::topology::{NodePlace, Topology};
use model::experiment::Sites;
use model::toml_file::{Table, Value, suggest};
use std::path::Path as FilePath;

/// Reads one. `known`: what it may name. `base`: the directory of the plan, from which files of topologies are looked for.
pub(super) fn read(name: &str, value: &Value<'_>, base: &FilePath, known: &Known) -> Option<Path> {
    let mut table = value.table()?;
    let family = match table.get("family").and_then(|value| value.number(4, 6)) {
        Some(4) => Family::V4("family = 4"),
        Some(6) => Family::V6("family = 6"),
        Some(_) => value.wrong("`family` is 4 or 6")?,
        None => Family::Any,
    };
    let mut origin = Origin {
        family,
        bind: table.get("bind").and_then(|value| value.parsed("10.0.0.2")),
        device: table.get("device").and_then(|value| value.text()).map(str::to_owned),
        ..Origin::default()
    };
    if let Some(timeout) = table.get("connect-timeout").and_then(|value| value.parsed("5s")) {
        origin.connect_timeout = timeout;
    }
    let sites = sites(&mut table, value, family);
    let link = table.get("link").and_then(|value| value.parsed("25G"));
    // Each kind of path has words of its own, and all of them are known.
    let kinds = ["lab", "agent"].map(|key| table.get(key).is_some());
    for key in ["from", "to", "to-agent"] {
        table.get(key);
    }
    let found = match (kinds[0], kinds[1]) {
        (true, _) if known.is_job => value.wrong("an agent carries out no labs"),
        (_, true) if known.is_job => value.wrong("a job begins at the host of the agent that carries it out"),
        (true, true) => value.wrong("`lab` and `agent`: a path begins in one place"),
        (true, false) => in_lab(&mut table, family, base),
        (false, true) => of_agent(&mut table, known),
        (false, false) => {
            let to = table.need("to", "to = \"far.example\"").and_then(|value| value.parsed("far.example"));
            to.map(|to| (PathPlace::Here, to))
        }
    };
    for (key, with) in [("from", "lab"), ("to-agent", "agent")] {
        if table.has(key) && !table.has(with) {
            value.wrong::<()>(format!("`{key}` goes with `{with}`"));
        }
    }
    table.finish();
    let (place, mut to) = found?;
    let (mut security, mut link, mut named) = (Security::default(), link, None);
    if let Some(target) = known.targets.get(&to.host).filter(|_| !matches!(place, PathPlace::Lab { .. })) {
        let is_proved = target.security.token.is_some() || target.security.fingerprint.is_some();
        named = (is_proved && matches!(place, PathPlace::Agent { .. })).then(|| to.clone());
        to = HostPort { host: target.host.host.clone(), port: to.port.or(target.host.port) };
        (security, link) = (target.security.clone(), link.or(target.link));
    }
    Some(Path { name: name.to_owned(), place, to, origin, link, security, named, sites })
}

/// Its place in a matrix: both ends, or neither.
fn sites(table: &mut Table<'_>, value: &Value<'_>, family: Family) -> Option<Sites> {
    let ends = ["source", "target"].map(|key| table.get(key));
    let family = match family {
        Family::V4(_) => Some(4),
        Family::V6(_) => Some(6),
        Family::Any => None,
    };
    match ends {
        [Some(source), Some(target)] => {
            Some(Sites { source: source.text()?.to_owned(), target: target.text()?.to_owned(), family })
        }
        [None, None] => None,
        _ => value.wrong("`source` and `target`: give the sites of both ends, or of neither"),
    }
}

/// The far end is a node, or an address in the lab.
fn in_lab(table: &mut Table<'_>, family: Family, base: &FilePath) -> Option<(PathPlace, HostPort)> {
    let value = table.get("lab")?;
    let topology = topology(&value, base);
    let from = table.get("from");
    let to = table.get("to");
    let topology = topology?;
    let node = |given: Option<Value<'_>>, usual: &str| -> Option<String> {
        let Some(given) = given else { return Some(usual.to_owned()) };
        let name = given.text()?;
        let names = || topology.nodes.iter().map(|node| node.name.as_str());
        match names().any(|known| known == name) {
            true => Some(name.to_owned()),
            false => given.wrong(format!("{} has no node `{name}`{}", topology.name, suggest(name, names()))),
        }
    };
    let from = node(from, &topology.from);
    // A name that is no node's may be an address of one.
    let address = to.and_then(|to| to.text()?.parse::<HostPort>().ok());
    let is_address = address.as_ref().is_some_and(|to| to.host.parse::<std::net::IpAddr>().is_ok());
    let answers = node(to.filter(|_| !is_address), &topology.to);
    let (from, answers) = (from?, answers?);
    for node in [&from, &answers] {
        let place = topology.nodes.iter().find(|one| one.name == *node).map(|one| &one.place);
        if place != Some(&NodePlace::Namespace) {
            return value.wrong(format!(
                "`{node}` of {} is no namespace of this host: `pathmeter lab run` measures such a topology",
                topology.name
            ));
        }
    }
    let to = match address.filter(|_| is_address) {
        Some(address) => address,
        None => {
            let found = Path::address_in_lab(&topology, &answers, family);
            let Some(found) = found else {
                return value.wrong(format!("`{answers}` of {} has no such address", topology.name));
            };
            HostPort { host: found.to_string(), port: None }
        }
    };
    Some((PathPlace::Lab { topology: Box::new(topology), from, to: answers }, to))
}

/// A topology by its name, or that in a file beside the plan.
fn topology(value: &Value<'_>, base: &FilePath) -> Option<Topology> {
    let name = value.text()?;
    let is_file = name.contains('/') || name.ends_with(".toml");
    let named = if is_file { base.join(name).to_string_lossy().into_owned() } else { name.to_owned() };
    shipped::find(&named).or_else(|error| value.wrong(error.to_string()).ok_or(())).ok()
}

fn of_agent(table: &mut Table<'_>, known: &Known) -> Option<(PathPlace, HostPort)> {
    let value = table.get("agent")?;
    let (to, to_agent) = (table.get("to"), table.get("to-agent"));
    let from = agent(&value, known).map(|(name, _)| name);
    let are_known = known.agents.is_some();
    match (to, to_agent) {
        (Some(to), None) => {
            let to = to.parsed("far.example")?;
            Some((PathPlace::Agent { from: from?, to: None, are_known }, to))
        }
        (None, Some(far)) => {
            let ((name, found), from) = (agent(&far, known)?, from?);
            if name == from {
                return far.wrong(format!("`{name}` to itself is not a path: name another agent"));
            }
            let to = match found {
                None => HostPort { host: name.clone(), port: None },
                Some(KnownAgent { address: Some(address) }) => address.clone(),
                Some(KnownAgent { address: None }) => return far.wrong(unreachable(&name)),
            };
            Some((PathPlace::Agent { from, to: Some(name), are_known }, to))
        }
        _ => value.wrong("a path of an agent ends at a host or at another agent: give `to` or `to-agent`"),
    }
}

/// The name of an agent, which must be there where that is known.
fn agent<'k>(value: &Value<'_>, known: &'k Known) -> Option<(String, Option<&'k KnownAgent>)> {
    let name = value.text()?.to_owned();
    let Some(agents) = &known.agents else { return Some((name, None)) };
    match agents.get(&name) {
        Some(agent) => Some((name, Some(agent))),
        None => value.wrong(format!(
            "no agent is called `{name}`{}: start it on its host with `pathmeter agent run`",
            suggest(&name, agents.keys().map(String::as_str))
        )),
    }
}

fn unreachable(name: &str) -> String {
    format!(
        "the agent `{name}` does not listen (--no-listen): begin the path there (agent = \"{name}\") and measure what it \
         receives with direction = \"down\"; of two such agents neither can be reached"
    )
}
