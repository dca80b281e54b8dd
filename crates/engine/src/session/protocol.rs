//! What differs between the protocols of throughput tests: one row for each. A new one is a module of `wire`, a row here, and
//! a service at the listener.

use crate::error::Error;
use model::plan::{ProtocolName, Target};
use std::net::IpAddr;
use wire::{ProtocolError, iperf2, iperf3, native};

/// A protocol of throughput tests.
#[derive(Debug)]
pub(crate) struct Protocol {
    /// As plans and results name it.
    name: ProtocolName,
    /// As people name it.
    pub(crate) title: &'static str,
    /// Where its servers listen, TCP and UDP.
    pub(crate) port: u16,
    /// The largest UDP payload that its servers take where nobody says one, over IPv4 and IPv6.
    largest_payload: [u32; 2],
    /// What to do where nothing listens.
    pub(crate) start: &'static str,
    /// What to do where something answers, and not as it should.
    pub(crate) check: &'static str,
    /// Streams begin and end each by itself, and their intervals do not make the whole.
    pub(crate) streams_are_tests: bool,
    /// Payload is digits, by which its ends know data from a header.
    pub(crate) sends_digits: bool,
    /// Time zero is the start of the test at an end that only receives, too; otherwise it is the first data.
    pub(crate) counts_from_start: bool,
    /// Both ends end the counted time by their own clocks; otherwise whatever comes until the end counts.
    pub(crate) keeps_time: bool,
    /// TCP amounts are whole blocks of the length that was announced, and a server's amount ends where its client says so.
    pub(crate) counts_blocks: bool,
    /// A server throws away what it has not read when its client says that the test is over.
    pub(crate) forgets_unread: bool,
    /// The result is as long as its intervals.
    pub(crate) result_is_its_intervals: bool,
}

const PROTOCOLS: [Protocol; 3] = [
    Protocol {
        name: ProtocolName::Native,
        title: "pathmeter's own protocol",
        port: native::PORT,
        largest_payload: [u32::MAX; 2],
        start: "start `pathmeter serve` there (it listens on 5210), or give its port as HOST:PORT",
        check: "check that `pathmeter serve` listens there, and not another service (`iperf3 -s` is reached with \
                --protocol iperf3); its log may tell more",
        streams_are_tests: false,
        sends_digits: false,
        counts_from_start: false,
        keeps_time: true,
        counts_blocks: false,
        forgets_unread: false,
        result_is_its_intervals: false,
    },
    Protocol {
        name: ProtocolName::Iperf3,
        title: "iPerf3",
        port: iperf3::PORT,
        largest_payload: [u32::MAX; 2],
        start: "start `iperf3 -s` or `pathmeter serve --iperf3` there, or give its port with -p",
        check: "check that `iperf3 -s` or `pathmeter serve --iperf3` listens there, and not another service; its log \
                may tell more",
        streams_are_tests: false,
        sends_digits: false,
        counts_from_start: true,
        keeps_time: false,
        counts_blocks: true,
        forgets_unread: true,
        result_is_its_intervals: true,
    },
    Protocol {
        name: ProtocolName::Iperf2,
        title: "iPerf2",
        port: iperf2::PORT,
        // They read no more of a datagram than their own -l, and 2.1 falls over larger ones.
        largest_payload: [1470, 1450],
        start: "start `iperf -s` or `pathmeter serve --iperf2` there, or give its port with -p",
        check: "check that `iperf -s` (`iperf -s -u` for UDP) or `pathmeter serve --iperf2` listens there, and not \
                another service; its log may tell more",
        streams_are_tests: true,
        sends_digits: true,
        counts_from_start: false,
        keeps_time: false,
        counts_blocks: false,
        forgets_unread: false,
        result_is_its_intervals: false,
    },
];

impl Protocol {
    /// The row of this protocol; a test without one is done as ours.
    pub(crate) fn of(name: ProtocolName) -> &'static Protocol {
        PROTOCOLS.iter().find(|row| row.name == name).unwrap_or(&PROTOCOLS[0])
    }

    /// The largest UDP payload that its servers at this address take where nobody says one.
    pub(crate) fn largest_payload(&self, server: IpAddr) -> u32 {
        self.largest_payload[usize::from(server.is_ipv6())]
    }
}

/// Names the far end in an error of the dialogue with it, and says what to try. `begun`: the test had.
pub(crate) fn blame(target: &Target, protocol: ProtocolName, begun: bool, error: Error) -> Error {
    let Some(cause) = error.protocol() else { return error };
    let advice = match cause {
        ProtocolError::Closed(_) | ProtocolError::Timeout(_) if begun => {
            "it, its host or the path broke down; what was measured until then is shown, and its log may tell more"
        }
        ProtocolError::Violation { .. } | ProtocolError::Timeout(_) | ProtocolError::Closed(_) => {
            Protocol::of(protocol).check
        }
        _ => return error.context(target.address.to_string()),
    };
    error.advised(target.address, advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_has_its_row() {
        for name in [ProtocolName::Native, ProtocolName::Iperf3, ProtocolName::Iperf2] {
            assert_eq!(Protocol::of(name).name, name);
        }
        assert_eq!(Protocol::of(ProtocolName::Foreign).name, ProtocolName::Native);
        assert!(Protocol::of(ProtocolName::Native).start.contains(&native::PORT.to_string()));
    }
}
