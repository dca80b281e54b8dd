//! Recorded dialogues of real ends of iPerf2 2.1.8 and 2.2.1, read by ours. The recordings hold the first bytes of each end.

use model::plan::Transport;
use model::units::{BitRate, Bytes, Nanos};
use pathmeter_wire::iperf2::{
    Ack, AckRead, Amount, BounceRequest, Header, Number, Rate, Request, ServerReport, Shape, Traffic, number,
};
use std::path::Path;

/// The bytes of an end: connections, or datagrams.
struct Recorded {
    transport: Transport,
    client: Vec<Vec<u8>>,
    server: Vec<Vec<u8>>,
}

impl Recorded {
    fn read(name: &str) -> Recorded {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/transcripts/iperf2/{name}.txt"));
        let text = std::fs::read_to_string(&path).expect("a recording");
        let bytes_of = |end: &str| {
            let lines = text.lines().filter_map(|line| line.strip_prefix(end));
            lines.map(|hex| hex.as_bytes().chunks(2).map(byte).collect()).collect()
        };
        let udp = text.lines().next().is_some_and(|command| command.contains(" -u"));
        let transport = if udp { Transport::Udp } else { Transport::Tcp };
        Recorded { transport, client: bytes_of("C "), server: bytes_of("S ") }
    }

    fn request(&self) -> Request {
        match Request::read(self.transport, &self.client[0]) {
            Header::Request(request, _) => *request,
            other => panic!("{other:?}"),
        }
    }

    fn ack(&self) -> Ack {
        match Ack::read(&self.server[0]) {
            AckRead::Ack(ack, length) if length == self.server[0].len() => ack,
            other => panic!("{other:?}"),
        }
    }
}

fn byte(pair: &[u8]) -> u8 {
    u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hexadecimal")
}

#[test]
fn what_clients_of_2_2_1_ask_for_over_tcp() {
    let request = |name: &str| Recorded::read(name).request();
    let timed = request("2.2.1-tcp-trip-times");
    assert!(timed.trip_times && timed.start.is_some() && !timed.starts_then);
    assert_eq!((timed.traffic, timed.amount), (Traffic::Forward, Amount::Bytes(Bytes(4096))));
    assert_eq!((timed.length, timed.streams, timed.rate), (1024, 1, None));
    assert_eq!(timed.version.map(|version| version.to_string()).as_deref(), Some("2.2.1"));
    let detecting = request("2.2.1-tcp-detect-dscp");
    assert!(detecting.peer_detect && !detecting.trip_times);
    assert_eq!(detecting.tos, 0, "its DSCP is not sent to a server that only receives");
    let both = request("2.2.1-tcp-full-duplex");
    assert_eq!((both.traffic, both.rate), (Traffic::FullDuplex, Some(Rate::Bits(BitRate(10_000_000)))));
    assert_eq!(both.amount, Amount::Time(Nanos::from_secs(1)));
    let down = request("2.2.1-tcp-reverse-rate");
    assert_eq!((down.traffic, down.fq_rate), (Traffic::Reverse, Some(BitRate(10_000_000))));
}

#[test]
fn what_clients_of_2_2_1_ask_for_over_udp() {
    let recorded = Recorded::read("2.2.1-udp");
    let request = recorded.request();
    assert!(request.wide && request.trip_times);
    assert_eq!((request.traffic, request.rate), (Traffic::Forward, Some(Rate::Bits(BitRate(1_000_000)))));
    assert_eq!(number(&recorded.client[0], request.wide), Some(Number::Data(1)));
    // The settings of frames are sent to a server that sends.
    assert_eq!(Recorded::read("2.2.1-udp-isochronous").request().shape, Shape::Isochronous(None));
}

#[test]
fn what_servers_answer() {
    for (name, version, timed) in [
        ("2.2.1-tcp-trip-times", "2.2.1", true),
        ("2.2.1-tcp-detect-dscp", "2.2.1", false),
        ("2.2.1-client-2.1.8-server", "2.1.8", true),
    ] {
        let ack = Recorded::read(name).ack();
        assert_eq!((ack.version.to_string().as_str(), ack.times.is_some()), (version, timed), "{name}");
        assert!(ack.times.is_none_or(|times| times.sent <= times.acknowledged), "{name}");
    }
    for name in ["2.2.1-udp", "2.2.1-udp-isochronous", "2.1.8-client-2.2.1-server"] {
        let recorded = Recorded::read(name);
        let wide = recorded.request().wide;
        let Some(Number::Fin(last)) = number(&recorded.client[1], wide) else { panic!("{name}") };
        let report = ServerReport::read(&recorded.server[0]).expect("a report");
        assert_eq!((report.lost, report.datagrams), (0, last), "{name}");
    }
}

#[test]
fn a_first_round_trip() {
    let recorded = Recorded::read("2.2.1-bounceback-reply");
    let request = BounceRequest::read(&recorded.client[0]).expect("a request");
    let expected =
        BounceRequest { size: 100, reply: Some(300), hold: 0, tos: None, quick_ack: true, trip_times: true };
    assert_eq!(request, expected);
    // The reply begins with the request, stamped by the server.
    assert_eq!(recorded.server[0][..28], recorded.client[0][..28]);
    assert_ne!(recorded.server[0][28..44], recorded.client[0][28..44]);
}
