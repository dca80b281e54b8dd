//! TCP segments of a direction, from counters that every kernel keeps: no capture is needed for them.

use super::Rows;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Segments with payload as they crossed the wire, whatever offloads made of them in the hosts (TCP_INFO).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Segments {
    /// Sent, those sent again included.
    pub sent: Option<u64>,
    /// Received.
    pub received: Option<u64>,
    /// Payload of one, mean, bytes.
    pub mean_payload: Option<f64>,
}

impl Segments {
    /// What the two ends counted; nothing where neither did.
    pub(super) fn of(sender: &Rows<'_>, receiver: &Rows<'_>) -> Option<Segments> {
        let count = |rows: &Rows<'_>| rows.tcp_sum(|tcp| tcp.data_segments).filter(|count| *count > 0);
        let (sent, received) = (count(sender), count(receiver));
        sent.or(received)?;
        let of_received = received.map(|segments| (receiver.amount().bytes.0, segments));
        // The sender knows what was acknowledged; a segment sent again was so once.
        let of_sent = || {
            let again = sender.tcp_sum(|tcp| tcp.retransmits).unwrap_or(0);
            let segments = sent?.saturating_sub(again);
            Some((sender.acknowledged().bytes.0, segments))
                .filter(|(bytes, segments)| *bytes > 0 && *segments > 0)
        };
        let mean_payload =
            of_received.or_else(of_sent).map(|(bytes, segments)| bytes as f64 / segments as f64);
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
        let rows = |end, role| Rows::of(end, Direction::Up, role);
        Segments::of(&rows(Some(sender), Role::Sender), &rows(receiver, Role::Receiver))
    }

    #[test]
    fn the_mean_is_of_what_was_received_or_else_acknowledged() {
        let counters = TcpCounters {
            data_segments: 11,
            retransmits: 1,
            acknowledged: Bytes(14_000),
            ..TcpCounters::default()
        };
        let sender = end(Role::Sender, 20_000, counters.clone());
        let received = TcpCounters { data_segments: 10, ..TcpCounters::default() };
        let receiver = end(Role::Receiver, 14_480, received);
        let both = Segments { sent: Some(11), received: Some(10), mean_payload: Some(1448.0) };
        assert_eq!(segments(&sender, Some(&receiver)), Some(both));
        let alone = Segments { sent: Some(11), received: None, mean_payload: Some(1400.0) };
        assert_eq!(segments(&sender, None), Some(alone));
        let silent = TcpCounters { data_segments: 0, ..counters };
        assert_eq!(segments(&end(Role::Sender, 1, silent), None), None);
    }
}
