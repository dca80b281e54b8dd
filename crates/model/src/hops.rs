//! The hops of a path: which routers packets cross, and what of loss and delay is the path's and not a router's own.

mod distance;
mod loss;
mod origin;
mod sample;
mod trace;

pub use distance::hops_back;
pub use loss::{LEVEL, LossStart, better, judge};
pub use origin::{AsOrigin, AsTable, AsTableError};
pub use packet::MplsLabel;
pub use sample::{HopSample, HopsSample};
pub use trace::{Answer, AnswerKind, LEAST_WAIT, Probed, Schedule, Step, Tracer, settled};

use crate::host::Host;
use crate::path::Flow;
use crate::plan::{LocalOptions, Target};
use crate::stats::distribution::Distribution;
use crate::time::WallTime;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The plan of a `hops` run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HopsPlan {
    /// The far end.
    pub target: Target,
    /// Protocol of the probes.
    pub protocol: HopProtocol,
    /// Probes for each hop, over all flows.
    pub probes: u32,
    /// Flows that take turns.
    pub flows: u32,
    /// From one probe of a hop to the next.
    #[serde(rename = "interval_ns")]
    pub interval: Nanos,
    /// Longest wait for the last answers.
    #[serde(rename = "timeout_ns")]
    pub timeout: Nanos,
    /// Most hops that are probed.
    pub max_hops: u8,
    /// Each probe, whole IP packet.
    pub size: u32,
    /// Packets of the interface's MTU are sent too, to see which hop refuses them.
    pub mtu: bool,
    /// Routers are named by the resolver.
    pub names: bool,
    /// The file with the AS of each prefix.
    pub as_file: Option<String>,
    /// Port at which a pathmeter at the far end is requested to trace the return path; absent: no request is sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_port: Option<u16>,
    /// Whether the run goes on until it is stopped; its result covers the last [`HopsPlan::probes`] of each hop.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub watch: bool,
    /// Choices of this end alone.
    pub local: LocalOptions,
}

/// Protocol of the probes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum HopProtocol {
    /// UDP datagrams to a port that is most likely closed; a flow for each local port.
    #[default]
    Udp,
    /// ICMP echo requests; a single flow.
    Icmp,
    /// TCP SYNs to a port; a flow for each local port.
    Tcp,
}

impl HopProtocol {
    /// The word for each, and what it is.
    pub const WORDS: [(&str, HopProtocol, &str); 3] = [
        ("udp", HopProtocol::Udp, "Datagrams to a port that is most likely closed"),
        ("icmp", HopProtocol::Icmp, "Echo requests"),
        ("tcp", HopProtocol::Tcp, "SYNs"),
    ];

    /// The far end limits how many answers it gives to such probes: it answers with ICMP errors (RFC 1812 section
    /// 4.3.2.8, RFC 4443 section 2.4 f).
    #[must_use]
    pub fn far_end_limits(self) -> bool {
        self == HopProtocol::Udp
    }
}

/// A `hops` run has begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HopsStarted {
    /// When, by the wall clock of this host.
    pub wall: WallTime,
    /// The plan.
    pub plan: HopsPlan,
    /// This host.
    pub host: Host,
}

/// The results about the hops.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct HopsResult {
    /// Protocol of the probes.
    pub protocol: HopProtocol,
    /// The hops, nearest first, up to the far end or the last one that answered.
    pub hops: Vec<Hop>,
    /// The flows, in the order of their numbers.
    pub flows: Vec<HopFlow>,
    /// End of the path.
    pub end: HopsEnd,
    /// Echo requests to the far end beside probes of another protocol.
    pub echo: Option<Counted>,
    /// Where loss begins that reaches the far end; absent: nothing reaches so far, or none is lost.
    pub loss: Option<LossStart>,
    /// A flow took another router than before.
    pub changes: Vec<RouteChange>,
    /// Routers that came again further on in the same flow: packets went in a circle.
    pub circle: Vec<IpAddr>,
    /// Packets of another protocol went on where these were answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub beyond: Option<Beyond>,
    /// Largest packet that reached the far end when larger ones were refused; or the interface's MTU when it crossed.
    pub path_mtu: Option<u32>,
    /// Answers that quote too little of a probe to identify it.
    pub unmatched: u64,
    /// Answers that quote another sender than this host: a NAT on the path does not translate what ICMP errors quote. Heard with
    /// CAP_NET_RAW alone.
    #[serde(skip_serializing_if = "crate::is_zero")]
    pub untranslated: u64,
    /// A router sets the TTL of packets, so that they go further than they were to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_rewritten: Option<TtlRewritten>,
    /// Probe packets sent.
    pub packets: u64,
    /// From the first packet to the answer.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Nanos,
    /// The end that these probes go to counted itself which arrived: their loss is that of this direction alone, and no limit
    /// of answers is in it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub counted_on_arrival: bool,
    /// The hops from the far end to this one, where a pathmeter there traced them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub back: Option<Box<HopsResult>>,
}

/// The end of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HopsEnd {
    /// Nothing behind the last hop answers.
    #[default]
    Silent,
    /// The far end answered.
    Reached,
    /// A router refuses to pass the probes on.
    Refused,
    /// Packets go in a circle.
    Circle,
    /// There are more hops than were probed.
    Cut,
}

/// One hop: all routers at the same distance.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Hop {
    /// Distance from the sender, in hops.
    pub ttl: u8,
    /// The far end itself is here, for some flow at least.
    pub far_end: bool,
    /// Probes and answers.
    #[serde(flatten)]
    pub counted: Counted,
    /// Answers to a probe that had been answered.
    pub duplicates: u32,
    /// Why answers are missing.
    pub missing: Missing,
    /// Round trips.
    #[serde(rename = "rtt_ns")]
    pub rtt: Option<Distribution>,
    /// Mean absolute difference of consecutive round trips to the same router.
    #[serde(rename = "jitter_ns")]
    pub jitter: Option<Nanos>,
    /// Those that answered, the one with the most answers first.
    pub routers: Vec<HopRouter>,
    /// The same for each flow, in the order of their numbers.
    pub flows: Vec<Counted>,
}

/// Probes and how many of them were answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Counted {
    /// Probes sent.
    pub sent: u32,
    /// Those of them that were answered.
    pub answered: u32,
}

/// Why answers of a hop are missing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// None is.
    #[default]
    None,
    /// The hop answers nothing at all.
    Silent,
    /// More of what went through this hop was answered further on: the hop limits its own answers, or they are lost on
    /// their own return path. Not loss on the path.
    OwnAnswers,
    /// The same share is missing at the far end: packets are lost on the path.
    Loss,
    /// There are too few probes, or answers that the far end may limit too, to decide between the two.
    Unclear,
}

/// A router, or the far end, that answered at a hop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HopRouter {
    /// Its address, as it answers.
    pub address: IpAddr,
    /// Its name, where names were requested and the resolver has one.
    pub name: Option<String>,
    /// The AS that the file gives for its address.
    pub origin: Option<AsOrigin>,
    /// The flows that crossed it, by number.
    pub flows: Vec<u32>,
    /// Answers.
    pub answered: u32,
    /// Median round trip.
    #[serde(rename = "rtt_p50_ns")]
    pub rtt_p50: Option<Nanos>,
    /// TTL that the last answer arrived with.
    pub reply_ttl: Option<u8>,
    /// Hops that its answers took back, when it starts from one of the usual TTLs.
    pub hops_back: Option<u8>,
    /// The label stack that the last probe arrived with, outermost first (RFC 4950).
    pub labels: Vec<MplsLabel>,
    /// MTU of the link behind it, which it reported of a packet too large for it.
    pub next_mtu: Option<u32>,
    /// The ICMP type and code with which it refused probes.
    pub refused: Option<[u8; 2]>,
}

impl HopRouter {
    /// A router of which nothing is known but its address.
    #[must_use]
    pub fn at(address: IpAddr) -> HopRouter {
        HopRouter {
            address,
            name: None,
            origin: None,
            flows: Vec::new(),
            answered: 0,
            rtt_p50: None,
            reply_ttl: None,
            hops_back: None,
            labels: Vec::new(),
            next_mtu: None,
            refused: None,
        }
    }
}

/// One flow through the hops.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HopFlow {
    /// Its ports; absent for echo requests, which have none.
    pub flow: Option<Flow>,
    /// The hop at which it reached the far end.
    pub reached_at: Option<u8>,
    /// Probes that went as far as the far end was at their time, and its answers; absent: its distance never changed, or was not
    /// examined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub far_end: Option<Counted>,
    /// Further probes to the far end and their answers, where none of the flow was answered before and those of other flows were; only
    /// such count as were followed by one of another flow that was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again: Option<Counted>,
}

/// Evidence that the TTL of packets is set on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TtlRewritten {
    /// The last hop known to be before that, or to do it.
    pub behind: u8,
    /// TTL of a probe as an ICMP error quotes it: more than it was sent with, which proves it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ttl_quoted: Option<u8>,
    /// Hops that the far end's answers took, more than its probes: a longer return path looks so too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hops_back: Option<u8>,
}

/// Packets of another protocol that were passed on where the probes of a trace were answered: something on the path answers
/// for the far end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Beyond {
    /// The protocol of these packets.
    pub protocol: HopProtocol,
    /// The furthest hop at which a flow of the trace was answered.
    pub ttl: u8,
    /// The router that ended the other packets there.
    pub router: IpAddr,
    /// Flows of the other protocol that were answered there, all of them by a router.
    pub answered: u32,
    /// The hop at which the other packets reached the far end, where that was found.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reached_at: Option<u8>,
}

/// A flow that took another router than before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RouteChange {
    /// The hop.
    pub ttl: u8,
    /// The flow.
    pub flow: u32,
    /// The router before.
    pub from: IpAddr,
    /// The router since.
    pub to: IpAddr,
    /// Time of the first probe that the new one answered, from the first probe on.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
}

impl Counted {
    /// Share of the probes without an answer; `None` when none was sent.
    #[must_use]
    pub fn loss(&self) -> Option<f64> {
        (self.sent > 0).then(|| f64::from(self.missing()) / f64::from(self.sent))
    }

    /// Probes without an answer.
    #[must_use]
    pub fn missing(&self) -> u32 {
        self.sent.saturating_sub(self.answered)
    }

    /// Counts another group too.
    #[must_use]
    pub fn plus(self, other: Counted) -> Counted {
        Counted { sent: self.sent + other.sent, answered: self.answered + other.answered }
    }
}

impl HopsResult {
    /// The last hop, where the far end is it.
    #[must_use]
    pub fn far_end(&self) -> Option<&Hop> {
        self.hops.last().filter(|hop| hop.far_end)
    }

    /// Probes of the far end and its answers, over all flows, wherever each of them reached it.
    #[must_use]
    pub fn far_counted(&self) -> Option<Counted> {
        let of_flow = |(number, flow): (usize, &HopFlow)| {
            if flow.far_end.is_some() {
                return flow.far_end;
            }
            let ttl = flow.reached_at?;
            let hop = self.hops.iter().find(|hop| hop.ttl == ttl)?;
            hop.flows.get(number).copied()
        };
        self.flows.iter().enumerate().filter_map(of_flow).reduce(Counted::plus)
    }

    /// The flows, by number from 0 on, of which nothing reaches the far end, or no answer comes back, while those of others do.
    #[must_use]
    pub fn dead_flows(&self) -> Vec<usize> {
        let again = |flow: &HopFlow| flow.again.unwrap_or_default();
        let Some(far) = self.hops.last().filter(|hop| hop.far_end) else { return Vec::new() };
        // Each further probe was followed by one of another flow, which was answered.
        let controls = self.flows.iter().map(|flow| again(flow).sent).max().unwrap_or_default();
        let controls = Counted { sent: controls, answered: controls };
        let Some(others) = self.far_counted().map(|others| others.plus(controls)) else { return Vec::new() };
        let level = LEVEL / self.flows.len().max(1) as f64;
        let is_dead = |(number, flow): &(usize, &HopFlow)| {
            let before = far.flows.get(*number).copied().unwrap_or_default();
            let own = before.plus(again(flow));
            flow.reached_at.is_none()
                && own.answered == 0
                && again(flow).sent > 0
                && better(others, own, level)
        };
        self.flows.iter().enumerate().filter(is_dead).map(|(number, _)| number).collect()
    }

    /// The best evidence on whether packets reach the far end, and whether the far end may limit it: answers that are not limited,
    /// or echo replies; otherwise the probes' own answers, which the far end may limit.
    #[must_use]
    pub fn evidence(&self) -> Option<(Counted, bool)> {
        let limits = self.protocol.far_end_limits() && !self.counted_on_arrival;
        let own = self.far_counted().map(|counted| (counted, limits));
        let echo = self.echo.filter(|echo| echo.answered > 0).map(|echo| (echo, false));
        match (own, echo) {
            (Some((counted, true)), _) if counted.missing() == 0 => Some((counted, false)),
            (Some((_, true)) | None, Some(echo)) => Some(echo),
            (own, _) => own,
        }
    }
}
