//! Runs with captured packets: the tests carry what the capture saw.

use crate::runs;
use crate::throughput::{Throughput, spec, tcp_received, tcp_sent, udp};
use insight::run_of_events;
use model::event::Event;
use model::packets::{Observation, PacketProtocol, PacketResult, PcapFile, Pieces, Tally};
use model::plan::{Direction, Directions, TestSpec, Transport};
use model::run::Run;
use model::sample::{Role, UdpCounters};
use model::units::Nanos;
use std::net::IpAddr;

/// Every run, by the name of its snapshots.
pub(crate) fn all() -> Vec<(&'static str, Run)> {
    vec![("captured_tcp", tcp()), ("captured_fragments", fragments()), ("captured_measure", measure())]
}

/// Super-packets up, acknowledgements down, a router's ICMP; frames missed and a disk that filled up.
fn tcp() -> Run {
    let mut tally = Tally::default();
    let stream = observed(Direction::Up, Some((46_212, 5210)), None, Pieces::whole(60, 60));
    tally.add(&stream);
    for number in 1..=40 {
        let last = 52 + number * 30;
        let pieces = Pieces { full: 44, size: 1500, last, headers: 52 };
        tally.add(&Observation { pieces, ..stream });
        let back = observed(Direction::Down, Some((5210, 46_212)), None, Pieces::whole(52, 52));
        tally.add(&back);
    }
    let router = Observation {
        protocol: PacketProtocol::Icmp,
        source: IpAddr::from([192, 0, 2, 254]),
        ..observed(Direction::Down, None, None, Pieces::whole(576, 28))
    };
    tally.add(&router);
    let mut packets = result(tally);
    (packets.dropped, packets.complete) = (3, false);
    packets.pcap = Some(PcapFile {
        path: "all.pcapng".into(),
        packets: 60,
        split: false,
        error: Some("No space left on device (os error 28)".into()),
    });
    // The packets that were captured carry as many bytes.
    let (bytes, segments) = (packets.up.payload.0, packets.up.with_payload);
    let mut rows = [tcp_sent(0, Direction::Up, bytes, 0), tcp_received(0, Direction::Up, bytes)];
    rows.iter_mut().filter_map(|row| row.tcp.as_mut()).for_each(|tcp| tcp.data_segments = segments);
    let [sent, received] = rows;
    let test = spec(Transport::Tcp, Directions::Up, 1);
    captured(Throughput::new(test, vec![vec![sent]], vec![vec![received]]).over_a_link(), packets)
}

/// Datagrams in three fragments each, and one whose first fragment never came.
fn fragments() -> Run {
    let mut tally = Tally::default();
    for id in 0..1000 {
        let ports = Some((5210, 40_000));
        tally.add(&observed(Direction::Down, ports, Some(id), Pieces::whole(1500, 28)));
        tally.add(&observed(Direction::Down, None, Some(id), Pieces::whole(1500, 20)));
        tally.add(&observed(Direction::Down, None, Some(id), Pieces::whole(68, 20)));
    }
    tally.add(&observed(Direction::Down, None, Some(7777), Pieces::whole(1500, 20)));
    let mut packets = result(tally);
    packets.pcap = Some(PcapFile { path: "f.pcapng".into(), packets: 3001, split: true, error: None });
    let row = |role, counters| vec![vec![udp((0, Direction::Down), role, 3_000, counters)]];
    let sent = UdpCounters { datagrams: 1_001, ..UdpCounters::default() };
    let received = UdpCounters { datagrams: 1_000, lost: 1, ..UdpCounters::default() };
    let test = TestSpec { length: Some(3_000), ..spec(Transport::Udp, Directions::Down, 1) };
    let test = Throughput::new(test, row(Role::Receiver, received), row(Role::Sender, sent));
    captured(test.over_a_link(), packets)
}

/// Nothing was captured: the capture was on another interface.
fn measure() -> Run {
    let nothing = PacketResult { frames: 0, ..result(Tally::default()) };
    runs::measure(vec![Event::Packets(Box::new(nothing))])
}

fn captured(test: Throughput, packets: PacketResult) -> Run {
    let events = test.events(vec![Event::Packets(Box::new(packets))]);
    run_of_events("20260801-123000-ab12", "throughput", &events)
}

fn observed(
    direction: Direction,
    ports: Option<(u16, u16)>,
    fragment: Option<u32>,
    pieces: Pieces,
) -> Observation {
    let (here, there) = (IpAddr::from([192, 0, 2, 1]), IpAddr::from([192, 0, 2, 2]));
    let (source, destination) = if direction == Direction::Up { (here, there) } else { (there, here) };
    let protocol = if fragment.is_some() { PacketProtocol::Udp } else { PacketProtocol::Tcp };
    Observation { direction: Some(direction), protocol, source, destination, ports, fragment, pieces }
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
