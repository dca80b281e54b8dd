//! TCP's view of a path: what each SYN promised, what arrived of it, and the segments that crossed.

use super::{Flow, Syn};
use serde::{Deserialize, Serialize};

/// TCP in one direction of a path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct TcpDirection {
    /// The connection whose segments were examined.
    pub flow: Option<Flow>,
    /// MSS option of the SYN that went in this direction, as it left. It limits the segments of the *other* direction.
    pub mss_sent: Option<u32>,
    /// The same as it arrived.
    pub mss_received: Option<u32>,
    /// All of the SYN that arrived; absent: the far end cannot report it (the SYN of a client is kept, a server's is not).
    pub syn: Option<Syn>,
    /// Largest segment in this direction that really crossed: payload bytes, TCP options not counted.
    pub largest_segment: Option<u32>,
    /// Path MTU that the sender of the segments went by.
    pub path_mtu: Option<u32>,
    /// Segments with payload that left in this direction in the test.
    pub segments: Option<u64>,
    /// Retransmitted segments.
    pub retransmits: Option<u64>,
    /// Timestamps in use: 12 bytes of every segment.
    pub timestamps: bool,
    /// Whether the connection stalled: its large segments did not cross, and were retransmitted repeatedly.
    pub stalled: bool,
    /// After a stall: the MSS with which all of it crossed.
    pub smaller_mss: Option<u32>,
    /// The sender's `net.ipv4.tcp_mtu_probing`: 0 never, 1 once a connection stalls, 2 always (RFC 4821).
    pub mtu_probing: Option<u8>,
}
