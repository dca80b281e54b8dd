//! Single datagrams of chosen shapes on the flow of a probe session (native server).

use super::{WorkReply, WorkRequest};
use model::hops::MplsLabel;
use model::path::{FragmentShape, RouteMtu, Syn, TooBig};
use model::units::Nanos;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// What a session wants of its flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Request {
    /// Send this. Where the kernel refuses to send it whole, [`Reply::TooBig`] follows.
    Send {
        /// UDP payload.
        bytes: Vec<u8>,
        /// How it is cut into fragments; absent: fragments are forbidden.
        cut: Option<FragmentShape>,
        /// How many hops it may go; absent: as many as usual.
        hops: Option<u8>,
    },
    /// Say what this end knows of the path; [`Reply::PathObservation`] follows.
    ReportPath {
        /// Of routers at which probes ended, only what is about this order or a later one.
        since: u32,
    },
}

/// What comes of it.
#[derive(Debug)]
pub enum Reply {
    /// A datagram has come.
    Datagram {
        /// UDP payload.
        bytes: Vec<u8>,
        /// The largest IP fragment it came in; absent: it came in one piece.
        fragment: Option<u32>,
    },
    /// The kernel refused to send a datagram of this size whole.
    TooBig(u32),
    /// What this end knows of the path.
    PathObservation(Box<PathObservation>),
}

/// What the server's end of a probe session knows of the path to the client.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathObservation {
    /// MTU of the interface toward the client.
    pub interface_mtu: Option<u32>,
    /// Path MTU that its kernel believes in.
    pub cached_mtu: Option<u32>,
    /// MTU that was set on its route toward the client.
    pub route_mtu: Option<RouteMtu>,
    /// It can make packets by hand.
    pub makes_packets: bool,
    /// Its `net.ipv4.tcp_mtu_probing`.
    pub mtu_probing: Option<u8>,
    /// MSS it announced on the control connection.
    pub announced_mss: Option<u32>,
    /// The client's SYN of the control connection, as it arrived.
    pub syn: Option<Syn>,
    /// Fragments its kernel has received since it started (`ReasmReqds`, both families).
    pub fragments_received: Option<u64>,
    /// Datagrams that its kernel could not put together since it started (`ReasmFails`).
    pub reassembly_failures: Option<u64>,
    /// The least TTL or hop limit that a datagram of the session arrived with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub least_ttl: Option<u8>,
    /// Packet-too-big messages that quoted datagrams it was ordered to send.
    pub too_big: Vec<TooBig>,
    /// Routers at which such datagrams ended.
    pub expired: Vec<Expired>,
}

impl PathObservation {
    /// The same with every number and list held to what can be: the peer may be a liar.
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

/// A router at which a probe ended, because it was to go no further.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Expired {
    /// The request that the probe belongs to; 0 from servers that do not say it.
    #[serde(default)]
    pub id: u32,
    /// UDP payload of the probe.
    pub size: u32,
    /// How many hops it was to go.
    pub hops: u8,
    /// The router; absent: a message without a sender.
    pub from: Option<IpAddr>,
    /// From the probe that left to the message that came, by the sender's monotonic clock.
    #[serde(rename = "rtt_ns", default, skip_serializing_if = "Option::is_none")]
    pub rtt: Option<Nanos>,
    /// TTL that the message arrived with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_ttl: Option<u8>,
    /// The label stack that the probe bore at the router (RFC 4950).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub labels: Vec<MplsLabel>,
}

impl From<Request> for WorkRequest {
    fn from(request: Request) -> WorkRequest {
        WorkRequest::Probes(request)
    }
}

impl From<Reply> for WorkReply {
    fn from(reply: Reply) -> WorkReply {
        WorkReply::Probes(reply)
    }
}

/// Largest packet that IPv6 can say without a jumbogram: 40 bytes of header before 65,535.
const LARGEST_PACKET: u32 = 65_575;
/// The longest name of a network or an interface that is taken from the peer.
const LONGEST_NAME: usize = 64;
/// Most messages of routers that are taken from the peer.
const MOST_NOTES: usize = 256;

/// Entries of a label stack that are taken from the peer.
const MOST_LABELS: usize = 16;
/// Messages about a probe that are said to have come later are about none.
const LONGEST_RTT: Nanos = Nanos::from_secs(60);
