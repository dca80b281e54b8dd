//! How the streams of a test moved their bytes at both ends.

use model::plan::{Direction, Plan, Transport, Wait};
use model::run::Run;
use model::sample::{DataPath, Role, SideResult};

/// Congestion control, offloads, copying, waiting and buffers at both ends, by name.
pub(super) fn data_paths(run: &Run, plan: &Plan) -> Vec<(&'static str, String)> {
    let ends = [("this end", &run.summary.local, true), ("far end", &run.summary.peer, false)];
    let line = |(name, side, local): (_, &Option<SideResult>, bool)| {
        let line = data_path(&side.as_ref()?.datapath, plan.test.transport, &roles(plan, local));
        Some((name, line)).filter(|(_, line)| !line.is_empty())
    };
    let mut facts: Vec<_> = ends.into_iter().filter_map(line).collect();
    if !facts.is_empty() {
        facts.extend(segmentation(run, plan).map(|line| ("offload", line)));
    }
    facts
}

fn roles(plan: &Plan, local: bool) -> Vec<Role> {
    let role = |direction: Direction| match (direction == Direction::Up) == local {
        true => Role::Sender,
        false => Role::Receiver,
    };
    plan.test.directions.each().map(role).collect()
}

fn data_path(path: &DataPath, transport: Transport, roles: &[Role]) -> String {
    let mut parts = Vec::new();
    // A foreign peer reports its congestion control at most.
    let known = path.send_buffer.0 + path.receive_buffer.0 > 0;
    if roles.contains(&Role::Sender) {
        parts.extend(path.congestion.as_ref().map(|name| format!("congestion control {name}")));
    }
    if known && roles.contains(&Role::Sender) {
        parts.push(if path.zero_copy { "sends with zero copy".into() } else { "sends by copying".into() });
        parts.extend(Some(path.send_buffer).filter(|b| b.0 > 0).map(|b| format!("send buffer {b:#}")));
    }
    if known && roles.contains(&Role::Receiver) {
        parts.extend(path.receiver.as_ref().map(|name| format!("receives with {name}")));
        if transport == Transport::Udp {
            parts.push(if path.gro { "GRO on".into() } else { "GRO off".into() });
        }
        parts.extend(path.wait.map(|wait| waits(wait).to_owned()));
        parts.extend(Some(path.receive_buffer).filter(|b| b.0 > 0).map(|b| format!("receive buffer {b:#}")));
    }
    parts.join(", ")
}

fn waits(wait: Wait) -> &'static str {
    match wait {
        Wait::Auto => "waits as it sees fit",
        Wait::Spin => "waits by spinning",
        Wait::Block => "waits in the kernel",
    }
}

/// What GSO did, and what the wire would have carried without it.
fn segmentation(run: &Run, plan: &Plan) -> Option<String> {
    if plan.test.transport != Transport::Udp {
        return None;
    }
    let (side, host) = match plan.test.directions.up() {
        true => (&run.summary.local, &run.host),
        false => (&run.summary.peer, &run.peer),
    };
    // A foreign peer does not say: 0.
    let segments = side.as_ref().map(|side| side.datapath.gso_segments).filter(|segments| *segments > 0)?;
    let length = plan.test.length?;
    if segments < 2 {
        return Some(format!(
            "GSO off: each {length}-byte datagram goes through the sender's kernel by itself"
        ));
    }
    let is_virtual = host.as_ref().and_then(|host| host.nic.as_ref()).is_some_and(|nic| nic.is_virtual);
    let wire = match is_virtual {
        true => format!(
            "between virtual devices such as these the batch may cross as one packet of {} bytes; with \
             --no-gso each datagram would cross by itself",
            u64::from(segments) * u64::from(length)
        ),
        false => {
            "on the wire each is a packet of its own, exactly what --no-gso would send one by one".into()
        }
    };
    Some(format!("GSO on: up to {segments} datagrams of {length} bytes in one send call; {wire}"))
}
