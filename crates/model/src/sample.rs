//! Measurements of one end: of one interval, and of the whole test.

use crate::limit::HostFact;
use crate::plan::{Direction, Wait};
use crate::stats::distribution::Distribution;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// The part an end plays for a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// This end sends the data.
    Sender,
    /// This end receives the data.
    Receiver,
}

/// Which end speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The end that writes this result.
    Local,
    /// The other end.
    Peer,
}

/// An open data stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamInfo {
    /// Number of the stream in the test, from 0; with both directions the down streams follow the up streams.
    pub stream: u32,
    /// Direction of the data.
    pub direction: Direction,
    /// This end's part.
    pub role: Role,
    /// Address of this end.
    pub local: SocketAddr,
    /// Address of the other end.
    pub remote: SocketAddr,
    /// File descriptor, the `[ID]` of iPerf's text.
    pub socket: i32,
    /// Largest TCP segment now (TCP_MAXSEG), bytes of payload.
    pub mss: Option<u32>,
    /// MTU of the path as the kernel knows it when the stream opens.
    pub path_mtu: Option<u32>,
    /// Socket send buffer as the kernel gives it.
    pub send_buffer: Bytes,
    /// Socket receive buffer as the kernel gives it.
    pub receive_buffer: Bytes,
    /// TCP congestion control that runs on this stream.
    pub congestion: Option<String>,
}

/// One report interval of one end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct IntervalSample {
    /// The end that measured.
    pub side: Side,
    /// Begin, since the start of the counted test (or of the omitted time while `omitted`).
    #[serde(rename = "start_ns")]
    pub start: Nanos,
    /// End, on the same axis.
    #[serde(rename = "end_ns")]
    pub end: Nanos,
    /// Part of the omitted time.
    pub omitted: bool,
    /// One row for every stream of this end.
    pub streams: Vec<StreamSample>,
}

/// One interval of one stream: every counter is the interval's own, every gauge its last value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamSample {
    /// Stream number.
    pub stream: u32,
    /// Direction of the data.
    pub direction: Direction,
    /// This end's part.
    pub role: Role,
    /// Payload bytes: handed to the kernel (sender) or received (receiver).
    pub bytes: Bytes,
    /// TCP gauges and counters, where the kernel gives them.
    pub tcp: Option<TcpCounters>,
    /// UDP counters.
    pub udp: Option<UdpCounters>,
}

/// Measurements of one end over the whole test. Counters cover the counted time (after `omit`) unless named `total`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SideResult {
    /// One row for every stream of this end.
    pub streams: Vec<StreamResult>,
    /// CPU and memory of this end during the counted time.
    pub cpu: CpuUse,
    /// Methods of the data path.
    pub datapath: DataPath,
    /// Counters of this host's kernel that moved during the counted time.
    pub kernel: KernelCounters,
    /// Facts of this host that can explain a limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<HostFact>,
    /// Links from the peer to this end, by the TTL of the peer's SYN as it arrived, when that began with 64 as Linux has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<u8>,
    /// Interfaces of this end toward the peer and toward `facts_toward`, of a test that has it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<String>,
}

/// The whole test of one stream at one end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamResult {
    /// Stream number.
    pub stream: u32,
    /// Direction of the data.
    pub direction: Direction,
    /// This end's part.
    pub role: Role,
    /// Length of the counted time: for a sender while it sent, for a receiver until its last counted byte.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Nanos,
    /// Payload bytes in the counted time: handed to the kernel, or received.
    pub bytes: Bytes,
    /// Payload bytes from the first to the last, omitted and drained ones too: both ends agree on it.
    pub total_bytes: Bytes,
    /// TCP only.
    pub tcp: Option<TcpCounters>,
    /// UDP only.
    pub udp: Option<UdpCounters>,
}

/// TCP, from TCP_INFO of the stream. Counters are of the interval or test, gauges are the last values (or as named).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TcpCounters {
    /// Retransmitted segments.
    pub retransmits: u64,
    /// Those of them that the peer reports as duplicates (DSACK, RFC 2883): the originals were not lost. Absent: before Linux 4.19,
    /// or another program's sender.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spurious_retransmits: Option<u64>,
    /// Bytes the peer's kernel has acknowledged (sender).
    pub acknowledged: Bytes,
    /// Congestion window in bytes.
    pub cwnd: Bytes,
    /// Largest congestion window at a report, bytes.
    pub max_cwnd: Bytes,
    /// Peer's advertised window in bytes.
    pub send_window: Bytes,
    /// Largest window of the peer at a report, bytes.
    pub max_send_window: Bytes,
    /// Smoothed RTT.
    #[serde(rename = "rtt_ns")]
    pub rtt: Nanos,
    /// RTT variance.
    #[serde(rename = "rttvar_ns")]
    pub rttvar: Nanos,
    /// Smallest smoothed RTT at a report (whole test), or the kernel's minimum (interval).
    #[serde(rename = "min_rtt_ns")]
    pub min_rtt: Nanos,
    /// Mean of the smoothed RTT over the reports.
    #[serde(rename = "mean_rtt_ns")]
    pub mean_rtt: Nanos,
    /// Largest smoothed RTT at a report.
    #[serde(rename = "max_rtt_ns")]
    pub max_rtt: Nanos,
    /// Payload of the largest segment sent now, options subtracted.
    pub send_mss: u32,
    /// Payload of the segments received, the kernel's estimate.
    pub receive_mss: u32,
    /// The connection's path MTU.
    pub path_mtu: u32,
    /// Reordering metric.
    pub reordering: u32,
    /// Data segments sent or received.
    pub data_segments: u64,
    /// Payload of the data segments, counted at this end: a sender includes retransmissions, a receiver excludes duplicates.
    pub segment_bytes: Bytes,
    /// Segments received with ECN's mark of congestion (CE). Absent: the connection has no ECN, or before Linux 6.18.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn_marks: Option<u64>,
    /// Time with data to send outstanding.
    #[serde(rename = "busy_ns")]
    pub busy: Nanos,
    /// Part of it stopped by the peer's window.
    #[serde(rename = "receive_window_limited_ns")]
    pub receive_window_limited: Nanos,
    /// Part of it stopped by the own send buffer.
    #[serde(rename = "send_buffer_limited_ns")]
    pub send_buffer_limited: Nanos,
    /// TCP timestamps in use: 12 bytes of every segment.
    pub timestamps: bool,
    /// Window scaling (RFC 7323) was agreed on; absent: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_scaling: Option<bool>,
    /// The longest time without data (receiver, whole test), where it is worth a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence: Option<Silence>,
}

/// A time in which nothing came to a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Silence {
    /// When it began, from the beginning of the counted time.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// How long it lasted: until data came again, or to the end.
    #[serde(rename = "length_ns")]
    pub length: Nanos,
    /// Data came again.
    pub ended: bool,
    /// Datagrams whose numbers are missing in between; absent: a byte stream, or nothing came after it.
    pub missing: Option<u64>,
}

/// UDP, of one stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct UdpCounters {
    /// Datagrams handed to the kernel, or received for the first time.
    pub datagrams: u64,
    /// Never arrived (receiver).
    pub lost: u64,
    /// Arrived so late, behind the sequence window, that new and duplicate cannot be distinguished.
    pub late: u64,
    /// Arrived again.
    pub duplicates: u64,
    /// Arrived after a later one (RFC 4737).
    pub reordered: u64,
    /// Dropped by this end's socket because its buffer was full (SO_RXQ_OVFL).
    pub socket_drops: u64,
    /// Could not be handed to the kernel: no buffer (sender).
    pub send_drops: u64,
    /// Interarrival jitter of RFC 3550, last value.
    #[serde(rename = "jitter_ns")]
    pub jitter: Nanos,
    /// Distribution of the difference of successive transit times.
    #[serde(rename = "jitter_distribution_ns")]
    pub jitter_distribution: Option<Distribution>,
    /// Arrival on the receiver's clock minus sending on the sender's: one-way delay plus an unknown clock offset.
    pub transit: Option<Transit>,
    /// Highest sequence number sent or received; 0: none.
    pub last_sequence: u64,
    /// Received with ECN's mark of congestion (CE). Absent: they were not sent as ECN-capable (`--tos`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn_marks: Option<u64>,
    /// The longest time without data (receiver, whole test), where it is worth a word.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub silence: Option<Silence>,
}

/// Transit times of datagrams across two clocks that are not the same: signed nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Transit {
    /// Smallest.
    pub min_ns: i64,
    /// Mean.
    pub mean_ns: i64,
    /// Largest.
    pub max_ns: i64,
}

/// One-way delay with the error of the clocks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OneWayDelay {
    /// Smallest.
    #[serde(rename = "min_ns")]
    pub min: Nanos,
    /// Mean.
    #[serde(rename = "mean_ns")]
    pub mean: Nanos,
    /// Largest.
    #[serde(rename = "max_ns")]
    pub max: Nanos,
    /// Bound of the clock-offset error, in either direction.
    #[serde(rename = "error_ns")]
    pub error: Nanos,
}

/// CPU of one end. Shares are of one CPU: 1.0 is one CPU fully used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct CpuUse {
    /// CPU time of this process (of this test's share of it in a server), user and system, over elapsed time.
    pub process: f64,
    /// User part.
    pub user: f64,
    /// System part.
    pub system: f64,
    /// Busiest stream thread.
    pub busiest_thread: f64,
    /// CPU time of each stream thread over elapsed time, in stream order.
    pub threads: Vec<f64>,
    /// Software interrupts of the whole host, in CPUs.
    pub softirq: f64,
    /// Largest softirq share of any single CPU.
    pub busiest_softirq: f64,
    /// Busiest CPU of the host, all kinds of work.
    pub busiest_cpu: f64,
    /// Time taken by the hypervisor, in CPUs.
    pub steal: f64,
    /// Involuntary context switches of the stream threads.
    pub preemptions: u64,
    /// CPUs online.
    pub cpus: u32,
    /// Peak memory of the process.
    pub peak_memory: Bytes,
}

/// How the data path of one end worked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct DataPath {
    /// Congestion control that ran (TCP).
    pub congestion: Option<String>,
    /// Datagrams handed to the kernel in one call by GSO; 1: none.
    pub gso_segments: u32,
    /// Receive offload (GRO) was on.
    pub gro: bool,
    /// Zero-copy sending was on.
    pub zero_copy: bool,
    /// TCP receiver: `io_uring`, `recv` or `trunc`; UDP receiver: `recvmmsg`.
    pub receiver: Option<String>,
    /// How UDP receivers waited.
    pub wait: Option<Wait>,
    /// Receive buffer of the sockets.
    pub receive_buffer: Bytes,
    /// Send buffer of the sockets.
    pub send_buffer: Bytes,
    /// This host offers window scaling (`net.ipv4.tcp_window_scaling`); absent: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_scaling: Option<bool>,
}

/// Kernel-wide counters that moved, from /proc/net/snmp and netstat (names in the fields' docs).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct KernelCounters {
    /// Udp: RcvbufErrors, IPv4 and IPv6.
    pub udp_receive_buffer_errors: u64,
    /// Udp: SndbufErrors.
    pub udp_send_buffer_errors: u64,
    /// Ip/Ip6: ReasmReqds.
    pub fragments_received: u64,
    /// Ip/Ip6: ReasmOKs.
    pub reassembled: u64,
    /// Ip/Ip6: ReasmFails.
    pub reassembly_failures: u64,
    /// Ip/Ip6: FragCreates.
    pub fragments_created: u64,
    /// softnet_stat: dropped, all CPUs.
    pub softnet_drops: u64,
    /// Udp: InCsumErrors, IPv4 and IPv6.
    pub udp_checksum_errors: u64,
    /// Tcp: InCsumErrors.
    pub tcp_checksum_errors: u64,
    /// nf_conntrack: insert_failed, drop and early_drop, all CPUs.
    pub conntrack_drops: u64,
    /// `net.ipv4.ipfrag_high_thresh`: bytes of fragments that wait for others; absent: it could not be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reassembly_memory: Option<u64>,
}
