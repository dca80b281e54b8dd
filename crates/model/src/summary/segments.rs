//! TCP segments of a direction, from counters that every kernel keeps: no capture is needed for them.

use super::Rows;
use serde::{Deserialize, Serialize};

/// Segments with payload as they crossed the wire, whatever offloads made of them in the hosts (TCP_INFO).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Segments {
    /// Sent in the counted time, retransmissions included.
    pub sent: Option<u64>,
    /// Received in the counted time; what came before it began is not among them.
    pub received: Option<u64>,
    /// Payload of one, mean, bytes.
    pub mean_payload: Option<f64>,
}

impl Segments {
    /// The counts of the two ends; nothing where neither counted.
    pub(super) fn from_rows(sender: &Rows<'_>, receiver: &Rows<'_>) -> Option<Segments> {
        let count = |rows: &Rows<'_>| rows.tcp_sum(|tcp| tcp.data_segments).filter(|count| *count > 0);
        let (sent, received) = (count(sender), count(receiver));
        let mean = |rows: &Rows<'_>, segments: Option<u64>| {
            let bytes = rows.tcp_sum(|tcp| tcp.segment_bytes.0).filter(|bytes| *bytes > 0)?;
            Some(bytes as f64 / segments? as f64)
        };
        sent.or(received)?;
        let mean_payload = mean(sender, sent).or_else(|| mean(receiver, received));
        Some(Segments { sent, received, mean_payload })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Direction;
    use crate::sample::{Role, SideResult, StreamResult, TcpCounters};
    use crate::units::{Bytes, Nanos};

    fn end(role: Role, bytes: u64, tcp: TcpCounters) -> SideResult {
        let stream = StreamResult {
            stream: 0,
            direction: Direction::Up,
            role,
            elapsed: Nanos::from_secs(1),
            bytes: Bytes(bytes),
            total_bytes: Bytes(bytes),
            tcp: Some(tcp),
            udp: None,
        };
        SideResult { streams: vec![stream], ..SideResult::default() }
    }

    fn segments(sender: &SideResult, receiver: Option<&SideResult>) -> Option<Segments> {
        let rows = |end, role| Rows::at_end(end, Direction::Up, role);
        Segments::from_rows(&rows(Some(sender), Role::Sender), &rows(receiver, Role::Receiver))
    }

    #[test]
    fn the_mean_is_of_what_was_sent_or_else_received() {
        let counters = |data_segments, bytes| TcpCounters {
            data_segments,
            segment_bytes: Bytes(bytes),
            ..TcpCounters::default()
        };
        let sender = end(Role::Sender, 20_000, counters(11, 15_400));
        let receiver = end(Role::Receiver, 14_480, counters(10, 14_480));
        let both = Segments { sent: Some(11), received: Some(10), mean_payload: Some(1400.0) };
        assert_eq!(segments(&sender, Some(&receiver)), Some(both));
        // A sender that does not count, such as an iPerf3 at the far end.
        let silent = end(Role::Sender, 1, counters(0, 0));
        let received = Segments { sent: None, received: Some(10), mean_payload: Some(1448.0) };
        assert_eq!(segments(&silent, Some(&receiver)), Some(received));
        assert_eq!(segments(&silent, None), None);
    }
}
