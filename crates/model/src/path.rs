//! Handling of packets of each size by a path, one direction at a time: path MTU, fragments, MSS, the hop that limits.
//!
//! Sizes named `mtu` and `size` are whole IP packets, headers included; those named `payload` are of UDP alone.

pub mod advice;
mod delivery;
mod flow;
mod overhead;
mod search;
mod segment;

pub use flow::{EchoHole, Flow, FlowSize, TracedHop};
pub use overhead::explanation;
pub use packet::Syn;
pub use search::{Outcome, Round, Search, size_loss};
pub use segment::TcpDirection;

use crate::host::Host;
use crate::plan::{Direction, LocalOptions, Target};
use crate::time::WallTime;
use crate::units::Nanos;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// The plan of a `mtu` run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathPlan {
    /// The far end.
    pub target: Target,
    /// Method of probing.
    pub method: PathMethod,
    /// Largest packet tried; absent: the MTU of the interface that leads to the far end.
    pub largest: Option<u32>,
    /// The UDP service whose largest datagram is looked for; nothing else is then.
    pub service: Option<ServicePlan>,
    /// The name of the encapsulation that advice is wanted for (`wireguard`, `ipip6`, …).
    pub encap: Option<String>,
    /// Choices of this end alone.
    pub local: LocalOptions,
}

/// Method of finding out which packets reach the far end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PathMethod {
    /// A pathmeter there when there is one, else ICMP, UDP and TCP together.
    #[default]
    Auto,
    /// `pathmeter serve` reports which packets reach it: both directions, whatever is filtered.
    Native,
    /// The far end answers ICMP echo requests.
    Icmp,
    /// The far end answers datagrams to a closed port with ICMP port unreachable.
    Udp,
    /// The far end accepts TCP connections.
    Tcp,
}

impl PathMethod {
    /// The word for each, and what it is.
    pub const WORDS: [(&str, PathMethod, &str); 5] = [
        ("auto", PathMethod::Auto, "Whatever the far end answers"),
        ("native", PathMethod::Native, "`pathmeter serve`"),
        ("icmp", PathMethod::Icmp, "Echo requests"),
        ("udp", PathMethod::Udp, "Datagrams to a closed port"),
        ("tcp", PathMethod::Tcp, "Connections"),
    ];
}

/// The search for the largest datagram that a UDP service answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServicePlan {
    /// Its port.
    pub port: u16,
    /// First bytes of datagrams; the rest is filled up.
    #[serde(with = "crate::path::bytes_as_hex")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub payload: Vec<u8>,
    /// The byte that fills a datagram up to its size.
    pub fill: u8,
    /// First bytes that an answer must have; empty: any datagram is an answer.
    #[serde(with = "crate::path::bytes_as_hex")]
    #[cfg_attr(feature = "schema", schemars(with = "String"))]
    pub reply: Vec<u8>,
    /// Longest wait for an answer.
    #[serde(rename = "timeout_ns")]
    pub timeout: Nanos,
    /// Largest datagram tried.
    pub largest: u32,
}

/// A `mtu` run has begun.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PathStarted {
    /// When, by the wall clock of this host.
    pub wall: WallTime,
    /// The plan.
    pub plan: PathPlan,
    /// This host.
    pub host: Host,
    /// The far host, where it reports itself.
    pub peer: Option<Host>,
}

/// The results about a path.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PathResult {
    /// Method of probing the far end: never [`PathMethod::Auto`] once it is known.
    pub method: PathMethod,
    /// Client to server.
    pub up: Option<PathDirection>,
    /// Server to client.
    pub down: Option<PathDirection>,
    /// Answer of the search with `--service`.
    pub service: Option<ServiceLimit>,
    /// Sizes at which echo requests stay without a reply, where no other probe covers a direction.
    pub echo_hole: Option<EchoHole>,
    /// Figures that could not be determined, with the reason and the remedy.
    pub unknown: Vec<Unknown>,
    /// From the first packet to the answer.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Nanos,
    /// Probe packets that this run had both ends send.
    pub packets: u64,
}

/// The packets that one direction of a path delivers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct PathDirection {
    /// IPv6; else IPv4.
    pub ipv6: bool,
    /// The flow that was probed.
    pub flow: Option<Flow>,
    /// The same of further flows between the two hosts, which may take other paths.
    pub other_flows: Vec<FlowSize>,
    /// MTU of the sender's interface: no larger packet leaves it.
    pub interface_mtu: Option<u32>,
    /// Path MTU that the sender's kernel believed in before the test, from ICMP messages of the last ten minutes.
    pub cached_mtu: Option<u32>,
    /// MTU that was set on the sender's route to the receiver: no larger packet leaves by itself. Absent: none was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub route_mtu: Option<RouteMtu>,
    /// Largest packet that crosses whole.
    pub path_mtu: Option<u32>,
    /// Confidence in that.
    pub bound: Bound,
    /// The same without the headers of IP and UDP.
    pub max_udp_payload: Option<u32>,
    /// Where packets above it end.
    pub limiting_hop: Option<LimitingHop>,
    /// Whether a router sets the TTL of packets in this direction, so that a trace does not show where they end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub ttl_rewritten: bool,
    /// The hops that answered a trace with packets just above and just below the path MTU, nearest first.
    pub hops: Vec<TracedHop>,
    /// Whether senders are notified of packets that are too big.
    pub discovery: Discovery,
    /// ICMP packet-too-big messages that quoted a probe.
    pub too_big: Vec<TooBig>,
    /// ICMP errors that quoted a probe with another sender: a NAT on the path did not translate them, so that sockets are not given them.
    /// Heard with CAP_NET_RAW alone.
    #[serde(skip_serializing_if = "crate::is_zero")]
    pub untranslated: u64,
    /// The sizes that vanish without a message.
    pub black_hole: Option<BlackHole>,
    /// Sizes that vanish although smaller and larger packets cross.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub holes: Vec<SizeHole>,
    /// Packets that arrived in pieces although they forbid it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cut_despite_df: Option<CutDespiteDf>,
    /// Handling of fragments.
    pub fragments: Fragments,
    /// Fragments that are lost reach the receiver's host, whose kernel drops them, as a firewall there does.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub fragments_end_at_receiver: bool,
    /// TCP's part.
    pub tcp: Option<TcpDirection>,
    /// Every size tried and its outcome, smallest first.
    pub sizes: Vec<SizeProbe>,
    /// Whether the path changed during the search: packets that crossed no longer did, or the reverse.
    pub changed: bool,
    /// Sizes above a small limit were lost oftener than small ones, without being all lost.
    pub size_dependent_loss: Option<SizeLoss>,
}

/// An MTU that was set on a route.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RouteMtu {
    /// Largest packet.
    pub mtu: u32,
    /// Path MTU discovery may not change it (`mtu lock`).
    pub is_locked: bool,
    /// The route, as `ip route` names it: `default`, `10.0.0.0/8`.
    pub network: String,
    /// Its next router.
    pub gateway: Option<IpAddr>,
    /// The interface it leaves through.
    pub interface: Option<String>,
}

/// Sizes that vanish between sizes that cross.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeHole {
    /// Smallest packet that vanished.
    pub first: u32,
    /// Largest that did.
    pub last: u32,
    /// Packets of these sizes that were sent.
    pub sent: u32,
}

/// Packets with the don't-fragment bit that arrived in pieces: a router clears the bit, or ignores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CutDespiteDf {
    /// Smallest packet that was cut.
    pub first: u32,
    /// Largest that was.
    pub last: u32,
    /// Largest piece that arrived, whole packet.
    pub largest_piece: u32,
}

/// Confidence in a path MTU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Bound {
    /// Not found out.
    #[default]
    Unknown,
    /// The size crosses and one byte more does not, or no more fits the interface.
    Exact,
    /// The size crosses; larger ones were not tried or could not be judged.
    AtLeast,
    /// Larger sizes do not cross; whether this one does is not known.
    AtMost,
}

impl Bound {
    /// Whether a packet of the size is known to have crossed.
    #[must_use]
    pub fn is_lower(self) -> bool {
        matches!(self, Bound::Exact | Bound::AtLeast)
    }
}

/// The hop behind which large packets end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitingHop {
    /// The router that could not forward them; absent: the sender itself or a router that sends no message.
    pub address: Option<IpAddr>,
    /// Distance from the sender in hops; 0: the sender.
    pub ttl: Option<u8>,
    /// Method by which it was found.
    pub found_by: HopSource,
}

/// Method by which a limiting hop was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum HopSource {
    /// The hop sent a packet-too-big message.
    TooBig,
    /// The hop answered large packets whose TTL ended there, and no hop behind it did, though they answer small ones.
    Trace,
    /// The sender's own interface or route is the limit.
    Sender,
}

/// Whether path MTU discovery (RFC 1191, RFC 8201) works in a direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Discovery {
    /// Not found out.
    #[default]
    Unknown,
    /// Nothing was too big: the path carries what the interface sends.
    NotNeeded,
    /// The sender receives messages with the right size.
    Works,
    /// The sender receives messages with a size that does not cross either, or one smaller than the largest that does.
    Lies,
    /// One hop reports a size larger than what crosses, which may well be its own limit; what is not above that size and
    /// does not cross vanishes at another hop, which reports nothing.
    Partial,
    /// The sender receives no message.
    Silent,
}

impl Discovery {
    /// Judges the messages that quoted probes, where packets above `mtu` do not cross, and the largest that vanishes without a
    /// message. `hops` and `limit`: the result of a trace with packets just above `mtu`.
    pub fn judge(
        reported: &[TooBig],
        mtu: u32,
        interface: u32,
        limit: Option<&LimitingHop>,
        hops: &[TracedHop],
    ) -> (Discovery, Option<u32>) {
        match reported {
            [] => (Discovery::Silent, Some(interface)),
            reported if reported.iter().any(|reported| reported.mtu == mtu) => (Discovery::Works, None),
            reported if reported.iter().any(|one| one.is_wrong(mtu, limit, hops)) => (Discovery::Lies, None),
            reported => (Discovery::Partial, reported.iter().map(|reported| reported.mtu).min()),
        }
    }
}

impl TooBig {
    /// Whether the message must be wrong, where `mtu` is the largest size that crosses: it names a smaller size, or none; it
    /// refuses a packet that crosses by its own figure; or the hop that sent it is the one that a trace found to limit. Otherwise
    /// it may name the hop's own limit, and a smaller one lies behind it.
    #[must_use]
    pub fn is_wrong(&self, mtu: u32, limit: Option<&LimitingHop>, hops: &[TracedHop]) -> bool {
        let contradicts = self.size > 0 && self.size <= self.mtu;
        let limit = limit.filter(|limit| limit.found_by == HopSource::Trace);
        let own = hops.iter().find(|hop| self.from.is_some() && hop.address == self.from);
        let limits_itself = limit.is_some_and(|limit| match own {
            Some(own) => limit.ttl <= Some(own.ttl),
            None => limit.ttl == Some(0) || (self.from.is_some() && limit.address == self.from),
        });
        self.mtu < mtu || contradicts || limits_itself
    }
}

/// An ICMP packet-too-big (IPv6) or fragmentation-needed (IPv4) message that quoted one of our probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TooBig {
    /// The packet it refused.
    pub size: u32,
    /// The MTU in the message; 0: none (RFC 792).
    pub mtu: u32,
    /// The router or host that sent it.
    pub from: Option<IpAddr>,
    /// Number of such messages.
    pub count: u32,
}

/// Sizes that vanish without a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BlackHole {
    /// Smallest packet that vanishes.
    pub first: u32,
    /// Largest that vanishes. Above it the sender's kernel cuts datagrams into fragments, which may cross.
    pub last: u32,
    /// Why.
    pub cause: BlackHoleCause,
}

/// Why large packets vanish without a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum BlackHoleCause {
    /// A router cannot pass them on, and its ICMP messages do not arrive: with fragments allowed they cross.
    IcmpFiltered,
    /// They are dropped whether or not fragments are allowed: two ends of a link disagree about its MTU.
    LinkMismatch,
    /// They reach the receiver's host, whose kernel drops them before they are delivered, as a firewall there does.
    ReceiverFilter,
    /// IPv6, where routers never fragment: one of the first two.
    Unknown,
}

/// Handling of fragments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Fragments {
    /// In one word.
    #[serde(rename = "fate")]
    pub delivery: FragmentDelivery,
    /// The tests on which it rests.
    pub tests: Vec<FragmentTest>,
}

/// Handling of fragments, in one word.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FragmentDelivery {
    /// Not found out.
    #[default]
    Unknown,
    /// They cross.
    Pass,
    /// None crosses.
    AllDropped,
    /// Only the first of each datagram crosses.
    NonFirstDropped,
    /// All but the first of each datagram cross.
    FirstDropped,
    /// Datagrams in fragments are lost; which of the fragments are is not known.
    Dropped,
    /// They cross in order; a datagram whose first fragment comes late is lost.
    OutOfOrderDropped,
    /// They cross; a box on the path puts datagrams together and cuts them again.
    Reassembled,
    /// Large ones are dropped; small ones cross.
    LargeDropped,
    /// Small ones are dropped; large ones cross.
    SmallDropped,
    /// All of them reach the receiver's host, whose kernel does not put datagrams together.
    NotReassembled,
}

/// One test of fragments.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FragmentTest {
    /// The shape of the datagrams.
    pub shape: FragmentShape,
    /// UDP payload of each datagram.
    pub payload: u32,
    /// Fragments that left for each datagram, as far as the sender knows.
    pub pieces: u32,
    /// Datagrams sent.
    pub sent: u32,
    /// Datagrams that arrived whole.
    pub received: u32,
    /// Fragments that the receiver's kernel counted meanwhile (`ReasmReqds` of the whole host); absent: not known.
    pub pieces_received: Option<u64>,
    /// Largest fragment that arrived, whole packet.
    pub largest_piece: Option<u32>,
}

/// Fragmentation of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum FragmentShape {
    /// The datagram fits the interface and routers may fragment it (DF clear).
    MayBeCut,
    /// By the sender's kernel.
    ByKernel,
    /// By hand, in order.
    InOrder,
    /// By hand, the last first.
    Reversed,
    /// By hand, the first alone: never a whole datagram.
    FirstAlone,
    /// By hand, all but the first: never a whole datagram.
    RestAlone,
}

impl FragmentShape {
    /// Which of all pieces of a datagram are sent, and in which order.
    #[must_use]
    pub fn arrange<T>(self, mut pieces: Vec<T>) -> Vec<T> {
        match self {
            FragmentShape::Reversed => pieces.reverse(),
            FragmentShape::FirstAlone => pieces.truncate(1),
            FragmentShape::RestAlone => drop(pieces.drain(..pieces.len().min(1))),
            FragmentShape::InOrder | FragmentShape::ByKernel | FragmentShape::MayBeCut => {}
        }
        pieces
    }
}

/// One size and its outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeProbe {
    /// Whole packet.
    pub size: u32,
    /// Sent, fragments forbidden.
    pub sent: u32,
    /// Arrived.
    pub received: u32,
}

/// Loss that grows with size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeLoss {
    /// Small packets lost, share.
    pub small: f64,
    /// Large packets lost, share.
    pub large: f64,
    /// Size of the large ones, the largest of them where there are several.
    pub size: u32,
    /// The smallest of the large ones, where it was looked for: what is smaller is lost as the small ones are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<u32>,
}

/// The largest datagram that a UDP service answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceLimit {
    /// Its port.
    pub port: u16,
    /// The largest it answers; absent: it answers none.
    pub payload: Option<u32>,
    /// The smallest it did not answer; absent: it answers all that were tried.
    pub silent: Option<u32>,
    /// The smallest that this host has to cut into fragments.
    pub fragmented_from: u32,
    /// Whether datagrams above `payload` but not in fragments were refused by ICMP, and with which words.
    pub refused: Option<String>,
    /// Every size tried: UDP payload, datagrams sent, answers.
    pub sizes: Vec<SizeProbe>,
}

/// Something that could not be found out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Unknown {
    /// Which direction; absent: both.
    pub direction: Option<Direction>,
    /// The figure.
    pub what: String,
    /// Why not, and what it takes.
    pub why: String,
}

impl PathResult {
    /// The results of one direction.
    pub fn in_direction(&self, direction: Direction) -> Option<&PathDirection> {
        direction.choose(self.up.as_ref(), self.down.as_ref())
    }

    /// The place for one direction.
    pub fn direction_mut(&mut self, direction: Direction) -> &mut Option<PathDirection> {
        direction.choose(&mut self.up, &mut self.down)
    }

    /// Takes what a later look found, and keeps the rest.
    pub fn merge(&mut self, later: &PathResult) {
        self.method = later.method;
        for direction in Direction::BOTH {
            if let Some(one_way) = later.in_direction(direction) {
                *self.direction_mut(direction) = Some(one_way.clone());
            }
        }
        self.service = later.service.clone().or(self.service.take());
        self.echo_hole = later.echo_hole.or(self.echo_hole);
        self.unknown.extend(later.unknown.iter().cloned());
        self.elapsed = self.elapsed.saturating_add(later.elapsed);
        self.packets = self.packets.saturating_add(later.packets);
    }
}

impl PathDirection {
    /// Headers of IP and UDP in this family, bytes.
    pub fn headers(&self) -> u32 {
        headers(self.ipv6)
    }

    /// The largest packet that is known to cross whole.
    #[must_use]
    pub fn crosses(&self) -> Option<u32> {
        self.path_mtu.filter(|_| self.bound.is_lower())
    }

    /// The largest packet that is known to cross unfragmented in every flow that was probed.
    #[must_use]
    pub fn crosses_in_every_flow(&self) -> Option<u32> {
        let others =
            self.other_flows.iter().filter(|other| other.bound.is_lower()).map(|other| other.path_mtu);
        others.chain(self.crosses()).min().filter(|_| self.crosses().is_some())
    }

    /// The sender's own route keeps its packets to a size that crosses.
    #[must_use]
    pub fn is_held_by_route(&self) -> bool {
        let set = self.route_mtu.as_ref().map(|route| route.mtu);
        set.is_some_and(|mtu| self.crosses().is_some_and(|crosses| mtu <= crosses))
    }

    /// Packets of this size vanish.
    #[must_use]
    pub fn loses(&self, packet: u32) -> bool {
        let above = self.bound == Bound::Exact && self.untold() && Some(packet) > self.path_mtu;
        let within = |first: u32, last: u32| (first..=last).contains(&packet);
        above
            || self.black_hole.is_some_and(|hole| within(hole.first, hole.last))
            || self.holes.iter().any(|hole| within(hole.first, hole.last))
    }

    /// Large packets vanish and the sender does not learn of it, or learns a wrong size.
    #[must_use]
    pub fn untold(&self) -> bool {
        self.black_hole.is_some()
            || matches!(self.discovery, Discovery::Lies | Discovery::Partial | Discovery::Silent)
    }
}

/// Headers of IP (without options) and UDP, bytes: 28 with IPv4, 48 with IPv6.
pub fn headers(ipv6: bool) -> u32 {
    packet::header::of_udp(ipv6)
}

/// The least MTU of a link: 68 with IPv4 (RFC 791), 1280 with IPv6 (RFC 8200 section 5).
pub fn least_mtu(ipv6: bool) -> u32 {
    if ipv6 { 1280 } else { 68 }
}

/// Packets of this size reach every host over every path of use: what IPv4's hosts must accept (RFC 791 section 3.1), the least MTU of
/// IPv6's links.
#[must_use]
pub fn usual_least(ipv6: bool) -> u32 {
    if ipv6 { least_mtu(true) } else { 576 }
}

/// Bytes from pairs of hexadecimal digits; `None`: it is something else.
pub fn from_hex(text: &str) -> Option<Vec<u8>> {
    let byte = |pair: &[u8]| {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2 && !pair.starts_with('+'))?;
        u8::from_str_radix(pair, 16).ok()
    };
    text.as_bytes().chunks(2).map(byte).collect()
}

/// Bytes as hexadecimal digits in documents.
mod bytes_as_hex {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        super::from_hex(&text).ok_or_else(|| D::Error::custom("pairs of hexadecimal digits are expected"))
    }
}
