//! The referee: what crossed the link by the counters of its far end, whatever the tools say.

use super::lab::{LINK, Lab};
use linux::netlink::{LinkStatistics, Network};
use std::time::Instant;

/// Looks at the counters.
pub(crate) struct Referee<'a> {
    lab: &'a Lab,
    network: Network,
}

/// The counters at a moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    at: Instant,
    link: LinkStatistics,
}

/// Counters of the transport since the namespaces were made.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transport {
    /// TCP segments retransmitted by the near end.
    retransmitted: f64,
    /// UDP messages that the far end's sockets handed over, and those they had no room for.
    received: f64,
    dropped: f64,
}

/// Headers around the payload of a frame: Ethernet, IPv4, and TCP with timestamps or UDP. With offloads a "frame" of the
/// counters is a whole burst of segments with one such head.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Framing {
    Tcp = 14 + 20 + 32,
    Udp = 14 + 20 + 8,
}

impl<'a> Referee<'a> {
    pub(crate) fn new(lab: &'a Lab) -> anyhow::Result<Referee<'a>> {
        Ok(Referee { lab, network: lab.far.run(Network::open)?? })
    }

    pub(crate) fn look(&mut self) -> anyhow::Result<Look> {
        Ok(Look { link: self.network.link(LINK)?.statistics, at: Instant::now() })
    }

    /// The transports' counters of both ends.
    pub(crate) fn transport(&self) -> anyhow::Result<Transport> {
        let read = || std::fs::read_to_string("/proc/thread-self/net/snmp");
        let (near, far) = (self.lab.near.run(read)??, self.lab.far.run(read)??);
        Ok(Transport {
            retransmitted: counter(&near, "Tcp:", "RetransSegs"),
            received: counter(&far, "Udp:", "InDatagrams"),
            dropped: counter(&far, "Udp:", "RcvbufErrors"),
        })
    }
}

impl Look {
    /// Payload bytes that came since an earlier look.
    pub(crate) fn payload_since(&self, earlier: &Look, framing: Framing) -> f64 {
        let link = self.link.since(&earlier.link);
        link.rx_bytes as f64 - link.rx_packets as f64 * f64::from(framing as u32)
    }

    /// Packets that came since an earlier look.
    pub(crate) fn packets_since(&self, earlier: &Look) -> f64 {
        (self.link.rx_packets - earlier.link.rx_packets) as f64
    }

    pub(crate) fn seconds_since(&self, earlier: &Look) -> f64 {
        (self.at - earlier.at).as_secs_f64()
    }
}

impl Transport {
    /// Bytes of segments retransmitted since an earlier reading.
    pub(crate) fn retransmitted_since(&self, earlier: &Transport) -> f64 {
        (self.retransmitted - earlier.retransmitted) * SEGMENT
    }

    /// The share of what came that found no room in a socket.
    pub(crate) fn dropped_since(&self, earlier: &Transport) -> f64 {
        let dropped = self.dropped - earlier.dropped;
        dropped / (dropped + self.received - earlier.received).max(1.0)
    }
}

/// A counter of `/proc/net/snmp`: a line of names, then one of values.
fn counter(text: &str, protocol: &str, name: &str) -> f64 {
    let mut lines = text.lines().filter(|line| line.starts_with(protocol));
    let (Some(names), Some(values)) = (lines.next(), lines.next()) else { return 0.0 };
    let index = names.split_whitespace().position(|field| field == name);
    index.and_then(|index| values.split_whitespace().nth(index)?.parse().ok()).unwrap_or(0.0)
}

/// Payload of a full segment at an MTU of 1500, with timestamps.
const SEGMENT: f64 = 1448.0;
