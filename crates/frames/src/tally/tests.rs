use super::*;
use packet::frame::Writer;
use std::net::{IpAddr, Ipv6Addr};
use units::{Bytes, Nanos};

fn spec(family: u8, vlan: Option<u16>, size: u64) -> FrameSpec {
    let [source, destination] = match family {
        4 => [18, 19].map(|net| IpAddr::from([198, net, 0, 1])),
        _ => [0, 1].map(|net| Ipv6Addr::new(0x2001, 2, 0, net, 0, 0, 0, 1).into()),
    };
    FrameSpec {
        source_mac: [2, 0, 0, 0, 0, 1],
        destination_mac: [2, 0, 0, 0, 0, 2],
        source,
        destination,
        hop_limit: 64,
        ports: None,
        vlan,
        outer: None,
        sizes: vec![Bytes(size)],
        tag: 0x1234_5678,
    }
}

/// Frames of one trial sent to a tally.
struct Road {
    writer: Writer,
    tally: Tally,
}

impl Road {
    fn new(spec: &FrameSpec, frames: u64, watch: Watch) -> Road {
        Road { writer: Writer::new(spec).unwrap(), tally: Tally::new(spec, frames, watch, 2) }
    }

    fn frame(&self, number: u64, sent: u64) -> Vec<u8> {
        let mut frame = self.writer.blank().to_vec();
        self.writer.write(&mut frame, number, MonoTime(sent));
        frame
    }

    /// Sends a frame by this queue, with these times of sending and arrival.
    fn cross(&mut self, queue_tally: usize, number: u64, sent: u64, came: u64) {
        let bytes = self.frame(number, sent);
        self.come(&bytes, None, queue_tally, came);
    }

    fn come(&mut self, bytes: &[u8], tag: Option<u16>, queue_tally: usize, came: u64) {
        let (length, time) = (bytes.len() as u64, MonoTime(came));
        self.tally.count(&Taken { bytes, length, tag, is_joined: false, time, queue_tally });
    }
}

#[test]
fn duplicates_reordered_and_missing_frames_are_counted() {
    let mut road = Road::new(&spec(4, None, 128), 100, Watch::Counts);
    for number in [0, 1, 3, 2, 3, 6, 70, 5000] {
        road.cross(0, number, 0, 1);
    }
    // Another queue has an order of its own.
    road.cross(1, 4, 0, 1);
    let arrived = &road.tally.arrived;
    let counts = (arrived.frames, arrived.duplicates, arrived.reordered, arrived.unchecked, arrived.others);
    assert_eq!(counts, (9, 1, 2, 1, 0));
    assert_eq!((arrived.bytes, arrived.distinct()), (9 * 124, 8));
    assert!(arrived.delays.is_none() && arrived.variation.is_none() && arrived.silence.is_none());
    assert_eq!(road.tally.numbers.missing(8).collect::<Vec<_>>(), [5, 7]);
    assert_eq!(road.tally.numbers.missing(70).next_back(), Some(69));
}

#[test]
fn delays_their_variation_and_the_longest_silence_are_measured() {
    let mut road = Road::new(&spec(6, None, 84), 100, Watch::Times);
    // On one queue delays of 100, 150 and 120, on the other of 1000 and 1004, then a long silence.
    let crossings =
        [(0, 0, 100), (0, 200, 350), (1, 100, 1100), (0, 1000, 1120), (1, 200, 1204), (0, 9000, 9110)];
    for (number, (queue_tally, sent, came)) in (0..).zip(crossings) {
        road.cross(queue_tally, number, sent, came);
    }
    let arrived = &road.tally.arrived;
    let delays = arrived.delays.as_ref().unwrap();
    assert_eq!((delays.count(), delays.min(), delays.max()), (6, Some(100), Some(1004)));
    let (less, more) = arrived.variation.as_ref().unwrap();
    assert_eq!((less.count(), less.min(), less.max()), (2, Some(10), Some(30)));
    assert_eq!((more.count(), more.min(), more.max()), (2, Some(4), Some(50)));
    let silence = arrived.silence.unwrap();
    assert_eq!((silence.last, silence.time()), (MonoTime(1204), Nanos::from_nanos(9110 - 1204)));
}

#[test]
fn the_time_in_a_frame_runs_over_and_clocks_differ_a_little() {
    let mut road = Road::new(&spec(4, None, 64), 100, Watch::Times);
    road.cross(0, 0, (5 << 48) - 10, (5 << 48) + 20);
    road.cross(0, 1, 5000, 4990);
    let delays = road.tally.arrived.delays.clone().unwrap();
    assert_eq!((delays.min(), delays.max()), (Some(0), Some(30)));
}

#[test]
fn without_room_for_the_time_there_are_no_delays() {
    let mut road = Road::new(&spec(6, None, 78), 100, Watch::Times);
    road.cross(0, 0, 7, 10);
    road.cross(0, 1, 7, 30);
    let arrived = &road.tally.arrived;
    assert!(arrived.delays.is_none() && arrived.variation.is_none());
    assert_eq!((arrived.frames, arrived.silence.unwrap().time()), (2, Nanos::from_nanos(20)));
}

#[test]
fn a_tag_may_be_in_the_frame_or_taken_out_of_it() {
    for family in [4, 6] {
        let mut road = Road::new(&spec(family, Some(7), 128), 100, Watch::Times);
        let whole = road.frame(0, 0);
        road.come(&whole, None, 0, 10);
        let taken = [&whole[..12], &whole[16..]].concat();
        road.come(&taken, Some(TYPE_VLAN), 0, 20);
        assert_eq!((road.tally.arrived.frames, road.tally.arrived.bytes), (2, 2 * 124));
        // A frame without a tag, one of another protocol, and one with an extra tag.
        road.come(&taken, None, 0, 30);
        road.come(&taken, Some(0x88a8), 0, 30);
        road.come(&whole, Some(TYPE_VLAN), 0, 30);
        assert_eq!((road.tally.arrived.frames, road.tally.arrived.others), (2, 3));
        let mut plain = Road::new(&spec(family, None, 128), 100, Watch::Times);
        let frame = plain.frame(0, 0);
        plain.come(&frame, Some(TYPE_VLAN), 0, 10);
        plain.come(&whole, None, 0, 10);
        assert_eq!((plain.tally.arrived.frames, plain.tally.arrived.others), (0, 2));
    }
}

/// Any bytes are counted and have no other effect.
#[test]
fn foreign_frames_are_others() {
    for (family, vlan, is_wrapped) in [
        (4, None, false),
        (4, Some(7), false),
        (6, None, false),
        (6, Some(7), false),
        (4, None, true),
        (4, Some(7), true),
    ] {
        let plain = spec(family, vlan, 128);
        let [source, destination] = [0xa, 0xb].map(|host| Ipv6Addr::new(0x2001, 2, 0, 0, 0, 0, 0, host));
        let wanted = FrameSpec { outer: is_wrapped.then_some((source, destination)), ..plain.clone() };
        let mut road = Road::new(&wanted, 100, Watch::Times);
        let frame = road.frame(0, 0);
        let Offsets { packet, ip, payload, .. } = road.tally.wanted.offsets;
        if is_wrapped {
            // The same frame out of the tunnel.
            let bare = Road::new(&plain, 100, Watch::Times).frame(0, 0);
            road.come(&bare, None, 0, 0);
        }
        for length in 0..payload + 18 {
            for tag in [None, Some(TYPE_VLAN)] {
                road.come(&frame[..length], tag, 0, 0);
            }
        }
        assert_eq!(road.tally.arrived.frames, 0);
        // Each of these bytes must have its value: types, version, protocol, the trial's tag.
        let protocol = ip + if family == 4 { 9 } else { 6 };
        let mut checked =
            vec![packet - 2, packet - 1, protocol, payload, payload + 1, payload + 2, payload + 3];
        checked.extend((family == 4).then_some(ip));
        checked.extend(is_wrapped.then_some(packet + 6));
        checked.extend(vlan.iter().flat_map(|_| [12, 13]));
        for at in checked {
            let mut other = frame.clone();
            other[at] ^= 1;
            road.come(&other, None, 0, 0);
            assert_eq!(road.tally.arrived.frames, 0, "byte {at}");
        }
        road.come(&frame[..payload + 18], None, 0, 0);
        assert_eq!(road.tally.arrived.frames, 1);
    }
}

#[test]
fn joined_frames_are_noticed() {
    let mut road = Road::new(&spec(4, None, 128), 100, Watch::Counts);
    let bytes = &road.frame(0, 0)[..];
    let (length, time) = (bytes.len() as u64, MonoTime(1));
    road.tally.count(&Taken { bytes, length, tag: None, is_joined: true, time, queue_tally: 0 });
    assert_eq!(road.tally.joined, 1);
}
