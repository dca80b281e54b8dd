//! Everything that the rules about the limit of one direction ask: what TCP shows, what the hosts know, and what the decision
//! phase found.

use super::{HostFact, LoadProbing, ObservedHost};
use crate::units::{BitRate, Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// The evidence of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Evidence {
    /// The requested payload rate, all streams together.
    pub asked: Option<BitRate>,
    /// Payload received.
    pub goodput: BitRate,
    /// The same as frames on the wire, by the end of the test.
    pub rate: BitRate,
    /// Bytes of a full frame of the test.
    pub frame: u32,
    /// Evidence from TCP; absent: the test was one of UDP.
    pub tcp: Option<TcpSigns>,
    /// Evidence from UDP; absent: the test was one of TCP.
    pub udp: Option<UdpSigns>,
    /// Facts of the two hosts.
    pub host: HostFacts,
    /// Time of the test in which the path was down.
    pub down: Option<Nanos>,
    /// Results of the decision phase.
    pub load: Option<LoadProbing>,
    /// Hosts between the ends that were observed during the test.
    pub observed: Vec<ObservedHost>,
}

/// TCP's own signs, all streams together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TcpSigns {
    /// Streams.
    pub streams: u32,
    /// Payload of a full segment.
    pub mss: u32,
    /// Data segments sent.
    pub segments: u64,
    /// Retransmitted segments that were really lost.
    pub lost: u64,
    /// Segments that arrived marked: congestion experienced (RFC 3168).
    pub marked: u64,
    /// Data segments sent in the second half of the intervals, behind slow start; 0: not known.
    pub late_segments: u64,
    /// Retransmitted ones among them.
    pub late_lost: u64,
    /// Largest distance, in segments, by which TCP saw one overtake another; it begins at 3.
    pub reordering: u32,
    /// The test grew still when it ended.
    pub growing: bool,
    /// Shortest round trip that anything saw.
    pub idle_rtt: Option<Nanos>,
    /// Mean smoothed round trip under the load.
    pub loaded_rtt: Option<Nanos>,
    /// Largest smoothed round trip.
    pub largest_rtt: Option<Nanos>,
    /// Time with data outstanding, as a share of which the two below are.
    pub busy: Nanos,
    /// Stopped by the receiver's window, of the busy time.
    pub receive_window: f64,
    /// The same in the last interval.
    pub late_receive_window: f64,
    /// Stopped by the own buffer, of the busy time.
    pub send_buffer: f64,
    /// Largest window of the receiver.
    pub largest_window: Bytes,
    /// Largest congestion window.
    pub largest_cwnd: Bytes,
    /// The sender's socket buffer.
    pub buffer: Bytes,
    /// The congestion control backs off at every loss (Reno, CUBIC).
    pub is_loss_based: bool,
    /// Coefficient of variation of the rate over the intervals of the second half; absent: too few.
    pub variation: Option<f64>,
}

/// Counts of a UDP test, all streams together.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UdpSigns {
    /// Datagrams sent.
    pub datagrams: u64,
    /// Datagrams lost between the two sockets.
    pub lost: u64,
}

/// Facts that the two hosts report about themselves.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostFacts {
    /// The rate as a share of the link's rate in such frames.
    pub line_share: Option<f64>,
    /// The link's speed.
    pub link: Option<BitRate>,
    /// Which CPU of the sender is full, in words.
    pub sender_full: Option<String>,
    /// Which CPU of the receiver is full, in words.
    pub receiver_full: Option<String>,
    /// Packets that the hosts' kernels dropped, as a share of those of the test.
    pub dropped: f64,
    /// Time that other work took from the hosts: their figures say little.
    pub busy: bool,
    /// Facts of the end that sends.
    pub sender: Vec<HostFact>,
    /// Facts of the end that receives.
    pub receiver: Vec<HostFact>,
    /// Packets of this size vanish on the path.
    pub lost_by_size: Option<u32>,
}
