//! Single datagrams of chosen shapes on the flow of a probe session (native server).

use model::hops::MplsLabel;
use model::path::{FragmentShape, RouteMtu, Syn, TooBig};
use model::units::Nanos;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Requests for the flow of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Send this datagram. Where the kernel refuses to send it whole, [`Reply::TooBig`] follows.
    Send {
        /// UDP payload.
        bytes: Vec<u8>,
        /// Its division into fragments; absent: fragments are forbidden.
        cut: Option<FragmentShape>,
        /// Its hop limit; absent: the usual one.
        hops: Option<u8>,
    },
    /// Report the facts about the path; [`Reply::PathObservation`] follows.
    ReportPath {
        /// Routers at which probes ended are reported only for this request or a later one.
        since: u32,
    },
}

/// The replies and events of a flow.
#[derive(Debug)]
pub enum Reply {
    /// A datagram has arrived.
    Datagram {
        /// UDP payload.
        bytes: Vec<u8>,
        /// The largest IP fragment of it; absent: it arrived unfragmented.
        fragment: Option<u32>,
    },
    /// The kernel refused to send a datagram of this size whole.
    TooBig(u32),
    /// The facts about the path.
    PathObservation(Box<PathObservation>),
}

/// Facts of the server's end of a probe session about the path to the client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathObservation {
    /// MTU of the interface toward the client.
    pub interface_mtu: Option<u32>,
    /// Path MTU in its kernel's cache.
    pub cached_mtu: Option<u32>,
    /// MTU that is set on its route toward the client.
    pub route_mtu: Option<RouteMtu>,
    /// Its host can send packets from raw sockets.
    pub makes_packets: bool,
    /// Its `net.ipv4.tcp_mtu_probing`.
    pub mtu_probing: Option<u8>,
    /// MSS it announced on the control connection.
    pub announced_mss: Option<u32>,
    /// The client's SYN of the control connection, as it arrived.
    pub syn: Option<Syn>,
    /// Fragments its kernel has received since it started (`ReasmReqds`, both families).
    pub fragments_received: Option<u64>,
    /// Datagrams that its kernel could not reassemble since it started (`ReasmFails`).
    pub reassembly_failures: Option<u64>,
    /// Packets of the session's IP version that reached its host and that its kernel neither delivered nor passed on, as a firewall's
    /// drops, since it started.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undelivered: Option<u64>,
    /// The least TTL or hop limit that a datagram of the session arrived with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_ttl: Option<u8>,
    /// ICMP errors that quoted such datagrams with another sender: a NAT did not translate them.
    #[serde(skip_serializing_if = "is_zero")]
    pub untranslated: u64,
    /// Packet-too-big messages that quoted datagrams it was requested to send.
    pub too_big: Vec<TooBig>,
    /// Routers at which such datagrams ended.
    pub expired: Vec<Expired>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl PathObservation {
    /// The same with every number and list limited to possible values: the peer is not trusted.
    pub(crate) fn sane(mut self) -> PathObservation {
        for size in [&mut self.interface_mtu, &mut self.cached_mtu, &mut self.announced_mss] {
            *size = size.map(|size| size.min(LARGEST_PACKET));
        }
        if let Some(route) = &mut self.route_mtu {
            route.mtu = route.mtu.min(LARGEST_PACKET);
            for name in [&mut route.network].into_iter().chain(&mut route.interface) {
                *name = name.chars().filter(|c| c.is_ascii_graphic()).take(LONGEST_NAME).collect();
            }
        }
        self.too_big.truncate(MOST_NOTES);
        for reported in &mut self.too_big {
            reported.mtu = reported.mtu.min(LARGEST_PACKET);
            reported.size = reported.size.min(LARGEST_PACKET);
        }
        self.expired.truncate(MOST_NOTES);
        for reported in &mut self.expired {
            reported.labels.truncate(MOST_LABELS);
            reported.rtt = reported.rtt.filter(|rtt| *rtt <= LONGEST_RTT);
        }
        self
    }
}

/// A router at which a probe ended because of its hop limit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expired {
    /// The request that the probe belongs to; 0 from servers that do not report it.
    #[serde(default)]
    pub id: u32,
    /// UDP payload of the probe.
    pub size: u32,
    /// Hop limit of the probe.
    pub hops: u8,
    /// The router; absent: a message without a sender.
    pub from: Option<IpAddr>,
    /// Time from sending the probe to receiving the message, by the sender's monotonic clock.
    #[serde(rename = "rtt_ns", default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Nanos>,
    /// TTL that the message arrived with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_ttl: Option<u8>,
    /// The label stack of the probe at the router (RFC 4950).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<MplsLabel>,
}

/// Largest packet that IPv6 permits without a jumbogram: 65,535 bytes and a header of 40.
const LARGEST_PACKET: u32 = 65_575;
/// The longest name of a network or an interface that is taken from the peer.
const LONGEST_NAME: usize = 64;
/// Most messages of routers that are taken from the peer.
const MOST_NOTES: usize = 256;

/// Entries of a label stack that are taken from the peer.
const MOST_LABELS: usize = 16;
/// Longest plausible round trip: a later message is not attributed to the probe.
const LONGEST_RTT: Nanos = Nanos::from_secs(60);
