//! Runs with captured packets, made by hand.

use crate::runs;
use model::packets::{PacketProtocol, PacketResult, PcapFile, Pieces, Seen, Tally};
use model::plan::Direction;
use model::run::Run;
use model::units::Nanos;
use std::net::IpAddr;

/// Every run, by the name of its snapshots.
pub(crate) fn all() -> Vec<(&'static str, Run)> {
    vec![("captured_tcp", tcp()), ("captured_fragments", fragments()), ("captured_measure", measure())]
}

/// Super-packets up, acknowledgements down, a router's ICMP; frames missed and a disk that filled up.
fn tcp() -> Run {
    let mut tally = Tally::default();
    let stream = seen(Direction::Up, Some((46_212, 5210)), None, Pieces::one(60, 60));
    tally.add(&stream);
    for number in 1..=40 {
        let last = 52 + number * 30;
        let pieces = Pieces { full: 44, size: 1500, last, headers: 52 };
        tally.add(&Seen { pieces, ..stream });
        let back = seen(Direction::Down, Some((5210, 46_212)), None, Pieces::one(52, 52));
        tally.add(&back);
    }
    let router = Seen {
        protocol: PacketProtocol::Icmp,
        source: IpAddr::from([192, 0, 2, 254]),
        ..seen(Direction::Down, None, None, Pieces::one(576, 28))
    };
    tally.add(&router);
    let mut run = named("tcp_up");
    let mut packets = result(tally);
    (packets.dropped, packets.complete) = (3, false);
    packets.pcap = Some(PcapFile {
        path: "all.pcapng".into(),
        packets: 60,
        split: false,
        error: Some("No space left on device (os error 28)".into()),
    });
    run.summary.packets = Some(Box::new(packets));
    run
}

/// Datagrams in three fragments each, and one whose first fragment never came.
fn fragments() -> Run {
    let mut tally = Tally::default();
    for id in 0..1000 {
        let ports = Some((5210, 40_000));
        tally.add(&seen(Direction::Down, ports, Some(id), Pieces::one(1500, 28)));
        tally.add(&seen(Direction::Down, None, Some(id), Pieces::one(1500, 20)));
        tally.add(&seen(Direction::Down, None, Some(id), Pieces::one(68, 20)));
    }
    tally.add(&seen(Direction::Down, None, Some(7777), Pieces::one(1500, 20)));
    let mut run = named("udp_down");
    let mut packets = result(tally);
    packets.pcap = Some(PcapFile { path: "f.pcapng".into(), packets: 3001, split: true, error: None });
    run.summary.packets = Some(Box::new(packets));
    run
}

/// Nothing was seen: the capture was on another interface.
fn measure() -> Run {
    let mut run = named("measure");
    run.summary.packets = Some(Box::new(result(Tally::default())));
    run
}

fn named(name: &str) -> Run {
    let found = runs::all().into_iter().find(|(other, _)| *other == name);
    found.expect("a run of that name").1
}

fn seen(direction: Direction, ports: Option<(u16, u16)>, fragment: Option<u32>, pieces: Pieces) -> Seen {
    let (here, there) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
    let (source, destination) = if direction == Direction::Up { (here, there) } else { (there, here) };
    let protocol = if fragment.is_some() { PacketProtocol::Udp } else { PacketProtocol::Tcp };
    Seen { direction: Some(direction), protocol, source, destination, ports, fragment, pieces }
}

fn result(tally: Tally) -> PacketResult {
    PacketResult {
        interface: "eth0".into(),
        peer: IpAddr::from([192, 0, 2, 2]),
        up: tally.up,
        down: tally.down,
        flows: tally.flows,
        other_flows: tally.other_flows,
        frames: 82,
        dropped: 0,
        unread: 0,
        complete: true,
        elapsed: Nanos::from_secs(10),
        pcap: None,
    }
}
