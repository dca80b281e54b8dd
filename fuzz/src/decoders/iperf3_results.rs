//! Results of an iPerf3 peer: any bytes are an answer, whatever the test was; and what was read is written and read again
//! with the same figures.

use model::plan::{Direction, Directions, TestSpec, Transport};
use model::sample::{Role, StreamResult};
use wire::iperf3::Results;

/// One input.
pub(crate) fn run(bytes: &[u8]) {
    let Ok(results) = Results::decode(bytes) else { return };
    let again = Results::decode(&results.encode()).expect("our own results are good");
    assert_eq!(again.streams.len(), results.streams.len());
    for (one, other) in again.streams.iter().zip(&results.streams) {
        let figures =
            |row: &wire::iperf3::StreamRow| (row.id, row.bytes, row.retransmits, row.errors, row.packets);
        assert_eq!(figures(one), figures(other));
    }
    for transport in [Transport::Tcp, Transport::Udp] {
        for sends in [Direction::Up, Direction::Down] {
            let test = TestSpec { streams: 2, directions: Directions::Both, ..TestSpec::new(transport) };
            let Ok(side) = results.to_side(&test, sends) else { continue };
            side.streams.iter().for_each(|row| possible(row, transport, sends));
            let written = Results::of_side(&side, None).encode();
            let again = Results::decode(&written).expect("our own results are good");
            let again = again.to_side(&test, sends).expect("they are of the same test");
            assert_eq!(again.streams.len(), side.streams.len());
            side.streams.iter().zip(&again.streams).for_each(|(one, other)| same(one, other));
            assert_eq!(again.datapath.congestion, side.datapath.congestion);
        }
    }
}

/// The properties of a row that follow from its test.
fn possible(row: &StreamResult, transport: Transport, sends: Direction) {
    assert_eq!(row.role == Role::Sender, row.direction == sends);
    assert_eq!(row.udp.is_some(), transport == Transport::Udp);
    assert!(row.tcp.is_none() || (transport == Transport::Tcp && row.role == Role::Sender));
    assert_eq!(row.bytes, row.total_bytes);
    if let Some(udp) = &row.udp {
        assert!(udp.datagrams.checked_add(udp.lost).is_some_and(|counted| counted <= udp.last_sequence));
        assert!(row.role == Role::Receiver || udp.lost == 0, "a sender lost datagrams");
    }
}

/// Times travel as seconds, exact to nanoseconds in tests of a month; all else as it is.
fn same(one: &StreamResult, other: &StreamResult) {
    assert_eq!((one.stream, one.direction, one.role), (other.stream, other.direction, other.role));
    assert_eq!((one.bytes, &one.tcp), (other.bytes, &other.tcp));
    let near = |one: u64, other: u64| one.abs_diff(other) <= 1 + one / (1 << 50);
    assert!(near(one.elapsed.0, other.elapsed.0), "{} became {}", one.elapsed, other.elapsed);
    match (&one.udp, &other.udp) {
        (Some(one), Some(other)) => {
            assert_eq!(
                (one.datagrams, one.lost, one.last_sequence),
                (other.datagrams, other.lost, other.last_sequence)
            );
            assert!(near(one.jitter.0, other.jitter.0), "{} became {}", one.jitter, other.jitter);
        }
        (one, other) => assert_eq!(one, other),
    }
}
