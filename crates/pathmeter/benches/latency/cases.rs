//! What is measured: a case is one kind of message on one way, who sends it, and what is to be reached.

use super::common::lab::FAR;
use super::tools::Tool;
use std::net::{IpAddr, Ipv4Addr};

/// Round trips of one kind made by several contenders in turns; the first is ours.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) way: Way,
    pub(crate) transport: Transport,
    /// Bytes of a message, in both directions.
    pub(crate) size: usize,
    pub(crate) contenders: Vec<Contender>,
    pub(crate) goals: Vec<Goal>,
}

/// Where the messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// Both ends in one namespace, at 127.0.0.1.
    Loopback,
    /// From one namespace to another.
    Veth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Transport {
    Udp,
    /// With `TCP_NODELAY`.
    Tcp,
}

/// A tool with its options.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Contender {
    /// As in the tables.
    pub(crate) label: &'static str,
    pub(crate) tool: Tool,
    /// Options of the client beyond those of the case.
    pub(crate) client: &'static [&'static str],
    /// Options of the server beyond those of the case.
    pub(crate) server: &'static [&'static str],
}

/// What a goal is about, microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    P50,
    P99,
    P999,
    /// CPU time of the client for one round trip.
    ClientCpu,
    /// CPU time of the server for one round trip.
    ServerCpu,
}

/// How ours is held against the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// Ours over the peer's.
    Ratio,
    /// Ours minus the peer's, microseconds.
    Difference,
}

/// What is to be reached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Goal {
    pub(crate) figure: Figure,
    pub(crate) comparison: Comparison,
    /// Label of our contender.
    pub(crate) ours: &'static str,
    /// Label of the peer.
    pub(crate) peer: &'static str,
    pub(crate) at_most: f64,
}

impl Case {
    /// Short name, for the filter.
    pub(crate) fn name(&self) -> String {
        let transport = match self.transport {
            Transport::Udp => "udp",
            Transport::Tcp => "tcp",
        };
        let way = match self.way {
            Way::Loopback => "loopback",
            Way::Veth => "veth",
        };
        format!("{transport}-{}-{way}", self.size)
    }
}

impl Way {
    /// Where the server listens.
    pub(crate) fn address(self) -> IpAddr {
        match self {
            Way::Loopback => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Way::Veth => FAR,
        }
    }
}

/// Every case, in the order of the tables.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for way in [Way::Loopback, Way::Veth] {
        for transport in [Transport::Udp, Transport::Tcp] {
            let contenders = vec![SPIN, HYBRID, BLOCK, SOCKPERF, NONBLOCKED, PLAIN];
            cases.extend([14, 64, 350].map(|size| Case {
                way,
                transport,
                size,
                contenders: contenders.clone(),
                goals: goals(way, transport),
            }));
        }
    }
    cases
}

fn goals(way: Way, transport: Transport) -> Vec<Goal> {
    let ratio = |figure, ours: Contender, peer: Contender, at_most| Goal {
        figure,
        comparison: Comparison::Ratio,
        ours: ours.label,
        peer: peer.label,
        at_most,
    };
    let nonblocked = match transport {
        Transport::Udp => 0.95,
        Transport::Tcp => 1.0,
    };
    let mut goals = vec![
        ratio(Figure::P50, SPIN, SOCKPERF, 1.0 / 7.0),
        ratio(Figure::P50, SPIN, NONBLOCKED, nonblocked),
        ratio(Figure::P999, SPIN, SOCKPERF, 1.0),
        ratio(Figure::P999, SPIN, NONBLOCKED, 1.0),
        ratio(Figure::P50, HYBRID, SPIN, 1.05),
    ];
    if way == Way::Loopback {
        goals.push(Goal { comparison: Comparison::Difference, ..ratio(Figure::P50, SPIN, PLAIN, 0.3) });
    }
    goals
}

/// Ours as the goals mean it.
pub(crate) const SPIN: Contender = ours("pathmeter --wait spin", &["--wait", "spin"]);
const HYBRID: Contender = ours("pathmeter --wait hybrid", &["--wait", "hybrid"]);
const BLOCK: Contender = ours("pathmeter --wait block", &["--wait", "block"]);
const SOCKPERF: Contender = Contender { label: "sockperf", tool: Tool::Sockperf, client: &[], server: &[] };
const NONBLOCKED: Contender = Contender {
    label: "sockperf --nonblocked",
    tool: Tool::Sockperf,
    client: &["--nonblocked"],
    server: &["--nonblocked"],
};
const PLAIN: Contender = Contender { label: "plain loop", tool: Tool::Plain, client: &[], server: &[] };

const fn ours(label: &'static str, client: &'static [&'static str]) -> Contender {
    Contender { label, tool: Tool::Ours, client, server: &[] }
}
