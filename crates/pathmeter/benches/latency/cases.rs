//! Cases: each is one kind of message on one path, its senders, and the goals.

use super::common::document::{Goal, Measure};
use super::common::lab::FAR;
use super::common::turns::ratio;
use super::plain;
use super::tools::Tool;
use std::net::{IpAddr, Ipv4Addr};

/// Round trips of one kind made by several contenders in turns; the first is ours.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) egress: Link,
    pub(crate) transport: Transport,
    /// Bytes of a message, in both directions.
    pub(crate) size: usize,
    pub(crate) contenders: Vec<Contender>,
    pub(crate) goals: Vec<Goal>,
    /// A goal that is not another case's too needs it.
    pub(crate) essential: bool,
}

/// Where the messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Link {
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
    /// Its label in the tables.
    pub(crate) label: &'static str,
    pub(crate) tool: Tool,
    /// Options of the client beyond those of the case.
    pub(crate) client: &'static [&'static str],
    /// Options of the server beyond those of the case.
    pub(crate) server: &'static [&'static str],
}

impl Case {
    /// Short name, for the filter.
    pub(crate) fn name(&self) -> String {
        let transport = match self.transport {
            Transport::Udp => "udp",
            Transport::Tcp => "tcp",
        };
        let egress = match self.egress {
            Link::Loopback => "loopback",
            Link::Veth => "veth",
        };
        format!("{transport}-{}-{egress}", self.size)
    }
}

impl Link {
    /// Where the server listens.
    pub(crate) fn address(self) -> IpAddr {
        match self {
            Link::Loopback => IpAddr::V4(Ipv4Addr::LOCALHOST),
            Link::Veth => FAR,
        }
    }
}

/// Every case, in the order of the tables.
pub(crate) fn all() -> Vec<Case> {
    let mut cases = Vec::new();
    for egress in [Link::Veth, Link::Loopback] {
        for transport in [Transport::Udp, Transport::Tcp] {
            let more: &[Contender] = if egress == Link::Loopback { &[HYBRID, PLAIN] } else { &[] };
            let contenders = [&[SPIN, BLOCK, SOCKPERF, NONBLOCKED, PLAIN_BLOCK], more].concat();
            cases.extend([14, 64, 350].map(|size| Case {
                egress,
                transport,
                size,
                contenders: contenders.clone(),
                goals: goals(egress, transport),
                essential: egress == Link::Veth && size == 64,
            }));
        }
    }
    cases
}

/// The goals: a tool that spins is compared with others that spin, and one that sleeps with others that sleep.
fn goals(egress: Link, transport: Transport) -> Vec<Goal> {
    let spinning = match transport {
        Transport::Udp => 0.95,
        Transport::Tcp => 1.0,
    };
    let mut goals = vec![
        ratio("p50", SPIN.label, &[NONBLOCKED.label], spinning),
        ratio("p999", SPIN.label, &[NONBLOCKED.label], 1.0),
        ratio("p50", BLOCK.label, &[SOCKPERF.label], 0.9),
    ];
    if egress == Link::Loopback {
        goals.push(ratio("p50", HYBRID.label, &[SPIN.label], 1.05));
        let beside = ratio("p50", SPIN.label, &[PLAIN.label], 0.3);
        goals.push(Goal { measure: Measure::Difference, ..beside });
    }
    goals
}

const SPIN: Contender = ours("pathmeter --wait spin", &["--wait", "spin"]);
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

const PLAIN_BLOCK: Contender = Contender {
    label: "plain loop, blocking",
    tool: Tool::Plain,
    client: &[plain::BLOCK],
    server: &[plain::BLOCK],
};

const fn ours(label: &'static str, client: &'static [&'static str]) -> Contender {
    Contender { label, tool: Tool::Ours, client, server: &[] }
}
