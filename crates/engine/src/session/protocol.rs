//! The differences between the protocols of servers and clients: one row for each. A new one is a module of `wire`, a row here,
//! and a service at the listener.

use crate::error::Error;
use model::plan::{ProtocolName, Target, Transport};
use std::net::IpAddr;
use wire::native::flow;
use wire::{ProtocolError, http, iperf2, iperf3, native, sockperf, stamp, twamp};

/// Which protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Name {
    Native,
    Iperf3,
    Iperf2,
    Sockperf,
    Stamp,
    Twamp,
    Http,
}

/// A protocol that a server speaks.
#[derive(Debug)]
pub(crate) struct Protocol {
    name: Name,
    /// Its name for people.
    pub(crate) title: &'static str,
    /// Where its servers listen; absent: it has no default.
    port: Option<u16>,
    /// The transport that carries it.
    over: &'static str,
    /// Classifies the first bytes of a client on a connection. Absent: they cannot be distinguished from other bytes, or it has
    /// no connections.
    hello: Option<fn(&[u8]) -> Hello>,
    /// How clients prove that they are at their address.
    pub(crate) proof: Proof,
    /// The server's token does not protect it, and why.
    unprotected: Option<&'static str>,
    /// Whether it has tests, which `--max-rate`, `--max-time` and `--max-tests` limit; otherwise it sends a reply for each
    /// message.
    pub(crate) has_limits: bool,
    /// How it measures throughput; absent: it does not.
    tests: Option<Tests>,
}

/// Classification of the first bytes of a connection by a protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hello {
    /// Not known yet: so many bytes are needed in all.
    More(usize),
    /// Its own.
    Own,
    /// Another's.
    Foreign,
}

/// Datagrams sent to an address, and their times, before a client there has proved itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Proof {
    /// There are connections alone, and TCP's handshake is the proof.
    Handshake,
    /// Datagrams are answered by at most so many bytes for each.
    AtMost(u32),
    /// Datagrams are answered only where a control connection of that address waits for them.
    ControlConnection,
    /// Data is sent only where a connection of that address stands, or its operator wants it
    /// ([`may_send_data`](Proof::may_send_data)); reports are at most so many bytes for each.
    ConnectionForData(u32),
}

/// How a protocol measures throughput.
#[derive(Debug)]
pub(crate) struct Tests {
    /// The largest UDP payload that its servers take without an option, over IPv4 and IPv6.
    largest_payload: [u32; 2],
    /// Without an option it is a segment of the control connection, or this.
    pub(crate) payload_of_segment: Option<u32>,
    /// Advice where nothing listens.
    pub(crate) start: &'static str,
    /// Advice where the answer is not the expected one.
    check: &'static str,
    /// Its control connection is silent while a test runs: whether the other end is there the kernel must find out.
    pub(crate) is_silent: bool,
    /// Streams begin and end each by itself, and their intervals do not make the whole.
    pub(crate) streams_are_tests: bool,
    /// Payload is digits, by which its ends know data from a header.
    pub(crate) sends_digits: bool,
    /// Time zero is the start of the test at an end that only receives, too; otherwise it is the first data.
    pub(crate) counts_from_start: bool,
    /// A test ends by itself: both ends end the counted time by their own clocks; otherwise whatever comes until the end
    /// counts.
    pub(crate) ends_itself: bool,
    /// TCP amounts are whole blocks of the length that was announced, and the client decides where a server's amount ends.
    pub(crate) counts_blocks: bool,
    /// Both ends send whole buffers of datagrams, with offload and a rate.
    pub(crate) sends_whole_buffers: bool,
    /// A server discards unread data when its client reports that the test is over.
    pub(crate) forgets_unread: bool,
    /// The result is as long as its intervals.
    pub(crate) result_is_its_intervals: bool,
}

const PROTOCOLS: [Protocol; 7] = [
    Protocol {
        name: Name::Native,
        title: "pathmeter's own protocol",
        port: Some(native::PORT),
        over: "(TCP and UDP)",
        hello: Some(native_hello),
        // A datagram that opens a flow has the flow's key, and its answer is as long.
        proof: Proof::AtMost(1),
        unprotected: None,
        has_limits: true,
        tests: Some(Tests {
            largest_payload: [u32::MAX; 2],
            payload_of_segment: None,
            start: "start `pathmeter serve` there (it listens on 5210), or give its port as HOST:PORT",
            check: "check that `pathmeter serve` listens there, and not another service (`iperf3 -s` is reached with \
                    --protocol iperf3); its log may say more",
            is_silent: false,
            streams_are_tests: false,
            sends_digits: false,
            counts_from_start: false,
            ends_itself: true,
            counts_blocks: false,
            sends_whole_buffers: false,
            forgets_unread: false,
            result_is_its_intervals: false,
        }),
    },
    Protocol {
        name: Name::Iperf3,
        title: "iPerf3",
        port: Some(iperf3::PORT),
        over: "(TCP and UDP)",
        hello: Some(iperf3_hello),
        proof: Proof::ControlConnection,
        unprotected: Some("that protocol has no such thing"),
        has_limits: true,
        tests: Some(Tests {
            largest_payload: [u32::MAX; 2],
            payload_of_segment: Some(iperf3::DEFAULT_UDP_LENGTH),
            start: "start `iperf3 -s` or `pathmeter serve --iperf3` there, or give its port with -p",
            check: "check that `iperf3 -s` or `pathmeter serve --iperf3` listens there, and not another service; its log \
                    may show more",
            is_silent: true,
            streams_are_tests: false,
            sends_digits: false,
            counts_from_start: true,
            ends_itself: false,
            counts_blocks: true,
            sends_whole_buffers: true,
            forgets_unread: true,
            result_is_its_intervals: true,
        }),
    },
    Protocol {
        name: Name::Iperf2,
        title: "iPerf2",
        port: Some(iperf2::PORT),
        over: "(TCP and UDP)",
        hello: Some(iperf2_hello),
        proof: Proof::ConnectionForData(3),
        unprotected: Some("that protocol has no such thing"),
        has_limits: true,
        tests: Some(Tests {
            // They read no more of a datagram than their own -l, and 2.1 falls over larger ones.
            largest_payload: [1470, 1450],
            payload_of_segment: None,
            start: "start `iperf -s` or `pathmeter serve --iperf2` there, or give its port with -p",
            check: "check that `iperf -s` (`iperf -s -u` for UDP) or `pathmeter serve --iperf2` listens there, and not \
                    another service; its log may say more",
            is_silent: false,
            streams_are_tests: true,
            sends_digits: true,
            counts_from_start: false,
            ends_itself: false,
            counts_blocks: false,
            sends_whole_buffers: false,
            forgets_unread: false,
            result_is_its_intervals: false,
        }),
    },
    Protocol {
        name: Name::Sockperf,
        title: "SockPerf",
        port: Some(sockperf::PORT),
        over: "(TCP and UDP)",
        hello: None,
        proof: Proof::AtMost(1),
        unprotected: Some("each message of anybody has its reply"),
        has_limits: false,
        tests: None,
    },
    Protocol {
        name: Name::Stamp,
        title: "STAMP",
        port: Some(stamp::PORT),
        over: "(UDP)",
        hello: None,
        // RFC 8762 demands the length of the reply; from 44 bytes on it is 1.
        proof: Proof::AtMost(2),
        unprotected: Some("--stamp-key does"),
        has_limits: false,
        tests: None,
    },
    Protocol {
        name: Name::Twamp,
        title: "TWAMP",
        port: Some(twamp::PORT),
        over: "(TCP; tests on UDP ports of their own)",
        // Its server speaks first.
        hello: None,
        proof: Proof::AtMost(2),
        unprotected: Some("its open mode, which alone is spoken here, has no such thing"),
        has_limits: false,
        tests: None,
    },
    Protocol {
        name: Name::Http,
        title: "HTTP",
        port: None,
        over: "(TCP)",
        hello: Some(http_hello),
        proof: Proof::Handshake,
        unprotected: Some("everyone may transfer there"),
        has_limits: true,
        tests: None,
    },
];

impl Protocol {
    /// The row of this protocol.
    pub(crate) fn named(name: Name) -> &'static Protocol {
        PROTOCOLS.iter().find(|row| row.name == name).unwrap_or(&PROTOCOLS[0])
    }

    /// Where its servers listen; 0: it has no default.
    pub(crate) fn port(&self) -> u16 {
        self.port.unwrap_or(0)
    }

    /// The server's text for a port of it.
    pub(crate) fn listed(&self) -> String {
        format!("{}, {}", self.over, self.title)
    }

    /// The warning that this protocol is served without the token.
    pub(crate) fn warning(&self) -> Option<String> {
        let why = self.unprotected?;
        Some(format!("the token does not protect the {} port: {why}", self.title))
    }

    /// Classifies the first bytes of a connection.
    pub(crate) fn hello(&self, first: &[u8]) -> Hello {
        self.hello.map_or(Hello::Own, |hello| hello(first))
    }

    /// The title of the other protocol whose client begins a connection on this port like this.
    pub(crate) fn recognise_other(&self, first: &[u8]) -> Option<&'static str> {
        if matches!(flow::classify(first), flow::Opening::Tls) {
            // Ours may begin so, and so does much else.
            return None;
        }
        let others = PROTOCOLS.iter().filter(|row| row.name != self.name);
        let mut known = others.filter(|row| row.hello.is_some_and(|hello| hello(first) == Hello::Own));
        known.next().map(|row| row.title)
    }
}

impl Proof {
    /// May data be sent over UDP to an address that requests it? `connected`: it has a TCP connection to this server; `wanted`:
    /// the operator permits it.
    pub(crate) fn may_send_data(self, connected: bool, wanted: bool) -> bool {
        match self {
            Proof::Handshake | Proof::AtMost(_) => false,
            Proof::ControlConnection => connected,
            Proof::ConnectionForData(_) => connected || wanted,
        }
    }
}

impl Tests {
    /// Those of this protocol; a test of another tool is done as ours.
    pub(crate) fn for_protocol(name: ProtocolName) -> &'static Tests {
        Protocol::named(name.into()).tests.as_ref().expect("protocols of tests have them")
    }

    /// Those of the protocol whose servers listen at this port.
    pub(crate) fn at_port(port: u16) -> Option<&'static Tests> {
        PROTOCOLS.iter().find(|row| row.port == Some(port)).and_then(|row| row.tests.as_ref())
    }

    /// The largest UDP payload that its servers at this address take without an option.
    pub(crate) fn largest_payload(&self, server: IpAddr) -> u32 {
        self.largest_payload[usize::from(server.is_ipv6())]
    }
}

impl From<ProtocolName> for Name {
    fn from(name: ProtocolName) -> Name {
        match name {
            ProtocolName::Native | ProtocolName::Foreign => Name::Native,
            ProtocolName::Iperf3 => Name::Iperf3,
            ProtocolName::Iperf2 => Name::Iperf2,
        }
    }
}

fn native_hello(first: &[u8]) -> Hello {
    match flow::classify(first) {
        flow::Opening::NeedMore(total) => Hello::More(total),
        flow::Opening::Garbage => Hello::Foreign,
        flow::Opening::Tls | flow::Opening::Control | flow::Opening::Flow(_) => Hello::Own,
    }
}

fn iperf3_hello(first: &[u8]) -> Hello {
    match iperf3::classify(first) {
        iperf3::Classified::More => Hello::More(iperf3::COOKIE_LEN),
        iperf3::Classified::Cookie(_) => Hello::Own,
        iperf3::Classified::Foreign => Hello::Foreign,
    }
}

fn iperf2_hello(first: &[u8]) -> Hello {
    if iperf2::is_bounceback(first) == Some(true) {
        return Hello::Own;
    }
    match iperf2::Request::read(Transport::Tcp, first) {
        iperf2::Header::More(total) => Hello::More(total),
        iperf2::Header::Request(..) | iperf2::Header::Plain => Hello::Own,
        iperf2::Header::Foreign => Hello::Foreign,
    }
}

fn http_hello(first: &[u8]) -> Hello {
    match http::parse(first) {
        Ok(None) => Hello::More(first.len() + 1),
        Ok(Some(_)) => Hello::Own,
        Err(_) => Hello::Foreign,
    }
}

/// Names the far end in an error of the dialogue with it, and adds advice. `begun`: the test had begun.
pub(crate) fn attribute(target: &Target, protocol: ProtocolName, begun: bool, error: Error) -> Error {
    let Some(cause) = error.protocol() else { return error };
    let advice = match cause {
        // Nothing is agreed on before its data is sent: a service of another protocol closes the connection then.
        ProtocolError::Closed(_) if begun && protocol == ProtocolName::Iperf2 => {
            "check that `iperf -s` or `pathmeter serve --iperf2` listens there, and not another service; if it does, it, its \
             host or the path broke down, and its log may say more"
        }
        ProtocolError::Closed(_) | ProtocolError::Timeout(_) if begun => {
            "the far end, its host or the path failed; what was measured until then is shown, and its log may say more"
        }
        ProtocolError::Unacknowledged(_) => UNACKNOWLEDGED,
        ProtocolError::Violation { .. } | ProtocolError::Timeout(_) | ProtocolError::Closed(_) => {
            Tests::for_protocol(protocol).check
        }
        _ => return error.context(target.address.to_string()),
    };
    error.advised(target.address, advice)
}

/// Advice on packets that are dropped after the handshake.
pub(crate) const UNACKNOWLEDGED: &str = "packets up are dropped after the handshake: look for a stateful firewall or NAT that sees one \
                                         direction alone, as the answers take another path (compare `ip route get` at both \
                                         ends; `conntrack -L` there shows the connection as UNREPLIED or INVALID), and for a \
                                         proxy that accepts connections for a host that is gone";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_protocol_has_its_row() {
        use Name::{Http, Iperf2, Iperf3, Native, Sockperf, Stamp, Twamp};
        for name in [Native, Iperf3, Iperf2, Sockperf, Stamp, Twamp, Http] {
            assert_eq!(Protocol::named(name).name, name);
        }
        let rows = [
            (ProtocolName::Native, Native),
            (ProtocolName::Iperf3, Iperf3),
            (ProtocolName::Iperf2, Iperf2),
            (ProtocolName::Foreign, Native),
        ];
        for (name, row) in rows {
            assert_eq!(Name::from(name), row);
            let start = Protocol::named(row).tests.as_ref().map(|tests| tests.start);
            assert_eq!(Some(Tests::for_protocol(name).start), start);
        }
        assert!(Tests::for_protocol(ProtocolName::Native).start.contains(&native::PORT.to_string()));
    }

    #[test]
    fn first_bytes_are_recognised() {
        let cookie = [&[b'a'; 36][..], &[0]].concat();
        let header = iperf2::Request::new(Transport::Tcp).bytes();
        let firsts: [(&[u8], &str); 5] = [
            (b"PMTRCTRL\x01\x01", "pathmeter's own protocol"),
            (&cookie, "iPerf3"),
            (&header, "iPerf2"),
            (b"01234567890123456789012345678901234567890", "iPerf2"),
            (b"GET / HTTP/1.1\r\nHost: here\r\n\r\n", "HTTP"),
        ];
        for (first, title) in firsts {
            let own = PROTOCOLS.iter().find(|row| row.title == title).expect("a row");
            assert_eq!((own.hello(first), own.recognise_other(first)), (Hello::Own, None), "{title}");
            for other in PROTOCOLS.iter().filter(|row| row.title != title) {
                assert_eq!(other.recognise_other(first), Some(title), "at the port of {}", other.title);
            }
        }
        let native = Protocol::named(Name::Native);
        assert_eq!(native.hello(b""), Hello::More(1));
        assert_eq!(native.hello(b"SSH-2.0-OpenSSH_9.6\r\n"), Hello::Foreign);
        assert_eq!(
            Protocol::named(Name::Iperf3).recognise_other(&[0x16, 3, 1, 2, 0]),
            None,
            "TLS is anybody's"
        );
        assert_eq!(native.recognise_other(b"SSH-2.0-OpenSSH_9.6\r\n"), None);
    }

    /// The guarantees in the documentation are those of the rows.
    #[test]
    fn the_documentation_has_what_is_sent_before_anything_is_proved() {
        let text = include_str!("../../../../docs/security.md");
        for row in &PROTOCOLS {
            let bytes = match row.proof {
                Proof::Handshake => continue,
                Proof::ControlConnection => 0,
                Proof::AtMost(bytes) | Proof::ConnectionForData(bytes) => bytes,
            };
            let title = row.title.split_once('\'').map_or(row.title, |_| "native UDP");
            let lines = text.lines().filter(|line| line.starts_with("| ") && line.contains(title));
            let is_documented = |line: &str| {
                line.rsplit('|').nth(1).is_some_and(|cell| cell.trim().starts_with(&bytes.to_string()))
            };
            assert!(lines.into_iter().any(is_documented), "docs/security.md does not say {bytes} of {title}");
        }
    }

    #[test]
    fn data_goes_only_to_whom_something_proves_to_be_there() {
        let iperf2 = Protocol::named(Name::Iperf2).proof;
        assert!(!iperf2.may_send_data(false, false));
        assert!(iperf2.may_send_data(true, false) && iperf2.may_send_data(false, true));
        let iperf3 = Protocol::named(Name::Iperf3).proof;
        assert!(!iperf3.may_send_data(false, true), "no option stands for its control connection");
        assert!(!Protocol::named(Name::Sockperf).proof.may_send_data(true, true), "it has no data");
    }
}
