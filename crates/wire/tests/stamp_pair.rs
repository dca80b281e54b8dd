//! STAMP sender against reflector over a virtual link that delays, loses, doubles and reorders; clocks are far apart.

use model::time::{MonoTime, WallTime};
use model::units::Nanos;
use pathmeter_wire::echo::{Arrival, Exchange, Reflect, Reply, Request, Stray};
use pathmeter_wire::stamp::{
    Clock, Format, Key, Mode, Reflector, ReflectorCounts, ReflectorOptions, Sender, SenderOptions,
};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The delivery of one packet in one direction.
#[derive(Clone, Copy, Debug)]
struct Delivery {
    delay: u64,
    lost: bool,
    doubled: bool,
}

/// The configuration of both ends.
#[derive(Clone, Debug)]
struct Ends {
    sender: Option<Key>,
    reflector: Option<Key>,
    formats: [Format; 2],
    stateful: bool,
    length: usize,
}

/// A packet in flight: its direction, its bytes, and the true times of the events before.
#[derive(Clone, Debug)]
struct Packet {
    to_reflector: bool,
    bytes: Vec<u8>,
    sent_at: u64,
    reflected: u64,
}

/// A reply that arrived, and the true times, on a clock that neither end knows.
#[derive(Clone, Copy, Debug)]
struct Came {
    reply: Result<Reply, Stray>,
    sent_at: u64,
    reflected: u64,
}

struct Outcome {
    came: Vec<Came>,
    counts: ReflectorCounts,
}

/// The sender's monotonic clock shows the true time; its wall clock began at one billion seconds.
const SENDER_WALL: u64 = 1_000_000_000 * SECOND;
/// The reflector's clocks: monotonic and wall at true time 0. Its wall clock is 77 s behind.
const REFLECTOR_MONO: u64 = 555 * SECOND;
const REFLECTOR_WALL: u64 = SENDER_WALL - 77 * SECOND;
/// Time the reflector takes.
const HANDLING: u64 = 12_345;
const INTERVAL: u64 = 1_000_000;
const SECOND: u64 = 1_000_000_000;

fn ends() -> Ends {
    Ends { sender: None, reflector: None, formats: [Format::Ntp; 2], stateful: false, length: 44 }
}

fn pair(ends: &Ends) -> (Sender, Reflector) {
    let sender = Sender::new(SenderOptions {
        clock: Clock { mono: MonoTime(0), wall: WallTime(SENDER_WALL) },
        format: ends.formats[0],
        synced: false,
        error: Nanos::from_millis(1),
        ssid: 17,
        key: ends.sender.clone(),
        far_counts: ends.stateful,
    });
    let reflector = Reflector::new(ReflectorOptions {
        clock: Clock { mono: MonoTime(REFLECTOR_MONO), wall: WallTime(REFLECTOR_WALL) },
        format: ends.formats[1],
        synced: true,
        error: Nanos::from_micros(3),
        stateful: ends.stateful,
        key: ends.reflector.clone(),
    });
    (sender, reflector)
}

/// Runs one request for each delivery of `there`; the replies get the deliveries of `back`, by the number of the request.
fn run(ends: &Ends, there: &[Delivery], back: &[Delivery]) -> Outcome {
    let (mut sender, mut reflector) = pair(ends);
    let mut link: BTreeMap<(u64, u64), Packet> = BTreeMap::new();
    let mut sequence = 0;
    let mut give = |link: &mut BTreeMap<_, _>, delivery: Delivery, at: u64, packet: Packet| {
        let copies = if delivery.lost { 0 } else { 1 + u64::from(delivery.doubled) };
        for copy in 0..copies {
            sequence += 1;
            link.insert((at + delivery.delay + copy * 70, sequence), packet.clone());
        }
    };
    for (index, delivery) in there.iter().enumerate() {
        let sent_at = index as u64 * INTERVAL;
        let mut bytes = vec![0xa5; ends.length];
        let request = Request { sequence: index as u64 + 1, sent: MonoTime(sent_at), wants_reply: true };
        sender.request(request, &mut bytes);
        give(&mut link, *delivery, sent_at, Packet { to_reflector: true, bytes, sent_at, reflected: 0 });
    }
    let mut came = Vec::new();
    while let Some(((now, _), packet)) = link.pop_first() {
        let Packet { to_reflector, bytes, sent_at, reflected } = packet;
        if !to_reflector {
            came.push(Came { reply: sender.reply(&bytes), sent_at, reflected });
            continue;
        }
        let arrival = Arrival::new(([192, 0, 2, 1], 40_000).into(), MonoTime(REFLECTOR_MONO + now));
        let arrival = Arrival { ttl: Some(64), ..arrival };
        let mut buf = bytes;
        let length = buf.len();
        let leaves = MonoTime(REFLECTOR_MONO + now + HANDLING);
        if let Some(length) = reflector.reflect(arrival, leaves, &mut buf, length) {
            assert_eq!(length, ends.length, "a reply is as long as its request");
            let delivery = back[(sent_at / INTERVAL) as usize];
            give(
                &mut link,
                delivery,
                now + HANDLING,
                Packet { to_reflector: false, bytes: buf, sent_at, reflected: now },
            );
        }
    }
    Outcome { came, counts: reflector.counts() }
}

fn key(byte: u8) -> Key {
    Key::new(&[byte; 20]).expect("20 bytes are enough")
}

/// The reply is of the right request and has the times of the far wall clock to the nanosecond.
fn assert_true(came: Came) {
    let reply = came.reply.expect("a reply to our request");
    assert_eq!(reply.sequence, came.sent_at / INTERVAL + 1);
    let far = reply.far.expect("our reflector reports its times");
    assert_eq!(far.received, Nanos(REFLECTOR_WALL + came.reflected));
    assert_eq!(far.sent, Nanos(REFLECTOR_WALL + came.reflected + HANDLING));
}

fn delivery() -> impl Strategy<Value = Delivery> {
    (0..5 * INTERVAL, 0..10_u8, 0..10_u8).prop_map(|(delay, lost, doubled)| Delivery {
        delay,
        lost: lost == 0,
        doubled: doubled == 0,
    })
}

fn deliveries() -> impl Strategy<Value = Vec<(Delivery, Delivery)>> {
    proptest::collection::vec((delivery(), delivery()), 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_bad_link_changes_no_time_and_no_number(
        deliveries in deliveries(),
        (keyed, stateful) in any::<(bool, bool)>(),
        (sender_ptp, reflector_ptp) in any::<(bool, bool)>(),
        more in prop_oneof![Just(0_usize), 4..1000_usize],
    ) {
        let (there, back): (Vec<_>, Vec<_>) = deliveries.into_iter().unzip();
        let key = keyed.then(|| key(1));
        let length = Mode::for_key(key.as_ref()).base_len() + more;
        let format = |ptp| if ptp { Format::Ptp } else { Format::Ntp };
        let formats = [format(sender_ptp), format(reflector_ptp)];
        let ends = Ends { sender: key.clone(), reflector: key, formats, stateful, length };
        let outcome = run(&ends, &there, &back);
        let copies = |delivery: &Delivery| if delivery.lost { 0 } else { 1 + u64::from(delivery.doubled) };
        let answered: u64 = there.iter().map(copies).sum();
        let back: u64 = there.iter().zip(&back).map(|(there, back)| copies(there) * copies(back)).sum();
        prop_assert_eq!(outcome.counts, ReflectorCounts { answered, ..ReflectorCounts::default() });
        prop_assert_eq!(outcome.came.len() as u64, back);
        outcome.came.into_iter().for_each(assert_true);
    }

    #[test]
    fn a_reflector_that_counts_reveals_where_packets_were_lost(
        lost in proptest::collection::vec((any::<bool>(), any::<bool>()), 1..60),
    ) {
        let direction = |lost| Delivery { delay: 100, lost, doubled: false };
        let (there, back): (Vec<_>, Vec<_>) = lost.iter().map(|(there, back)| (direction(*there), direction(*back))).unzip();
        let outcome = run(&Ends { stateful: true, ..ends() }, &there, &back);
        for came in outcome.came {
            let reply = came.reply.unwrap();
            let before = &there[..reply.sequence as usize - 1];
            let lost_there = before.iter().filter(|delivery| delivery.lost).count() as u64;
            let far = reply.far_sequence.unwrap();
            prop_assert_eq!(far.before, reply.sequence - 1 - lost_there);
        }
    }

    #[test]
    fn a_copying_reflector_is_never_taken_to_count(deliveries in deliveries()) {
        let (there, back): (Vec<_>, Vec<_>) = deliveries.into_iter().unzip();
        for came in run(&ends(), &there, &back).came {
            prop_assert!(!came.reply.unwrap().far_sequence.unwrap().proven);
        }
    }

    #[test]
    fn no_bytes_make_the_sender_panic_or_take_what_is_not_its_own(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        keyed: bool,
    ) {
        let (mut sender, _) = pair(&Ends { sender: keyed.then(|| key(1)), ..ends() });
        let mut message = [0; 112];
        sender.request(Request { sequence: 1, sent: MonoTime(9), wants_reply: true }, &mut message);
        let least = if keyed { 112 } else { 38 };
        let expected = match bytes.len() {
            short if short < least => Stray::Short(short),
            _ if keyed => Stray::Key,
            _ => Stray::Foreign,
        };
        prop_assert_eq!(sender.reply(&bytes), Err(expected));
    }
}

const CLEAN: [Delivery; 3] = [Delivery { delay: 100, lost: false, doubled: false }; 3];

#[test]
fn with_different_keys_nothing_is_answered_and_it_is_counted() {
    let length = Mode::Authenticated.base_len();
    for sender in [Some(key(2)), None] {
        let outcome = run(&Ends { sender, reflector: Some(key(1)), length, ..ends() }, &CLEAN, &CLEAN);
        assert!(outcome.came.is_empty());
        assert_eq!(outcome.counts, ReflectorCounts { key: 3, ..ReflectorCounts::default() });
    }
}

#[test]
fn a_reply_without_the_key_is_known_as_such() {
    let length = Mode::Authenticated.base_len();
    let outcome = run(&Ends { sender: Some(key(2)), length, ..ends() }, &CLEAN, &CLEAN);
    assert_eq!(outcome.came.len(), 3);
    assert!(outcome.came.iter().all(|came| came.reply == Err(Stray::Key)));
}

#[test]
fn replies_to_another_session_are_foreign() {
    let (mut one, mut reflector) = pair(&ends());
    let (mut other, _) = pair(&ends());
    let mut message = [0; 44];
    one.request(Request { sequence: 1, sent: MonoTime(5), wants_reply: true }, &mut message);
    other.request(Request { sequence: 1, sent: MonoTime(6), wants_reply: true }, &mut [0; 44]);
    let arrival = Arrival::new(([192, 0, 2, 1], 1).into(), MonoTime(REFLECTOR_MONO));
    assert_eq!(reflector.reflect(arrival, MonoTime(REFLECTOR_MONO), &mut message, 44), Some(44));
    assert_eq!(other.reply(&message), Err(Stray::Foreign));
    assert!(one.reply(&message).is_ok());
}
