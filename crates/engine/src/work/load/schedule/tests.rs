//! The decision phase over simulated paths, and what the rules make of it: thousands of worlds of known truth.

use super::simulated::{Bucket, Codel, FULL, OVERHEAD, SimPath};
use super::*;
use insight::limit::limit_of;
use model::limit::{Evidence, HostFacts, LimitKind, TcpSigns, UdpSigns};
use model::units::Bytes;
use proptest::prelude::*;

/// The figures of TCP before: its share of the rate, its losses, and by how much its round trip grew.
#[derive(Clone, Copy, Debug)]
struct Before {
    rate: f64,
    lost: f64,
    growth: f64,
    /// The test was one of datagrams, and some were lost.
    is_met: bool,
}

fn evidence(path: &mut SimPath, before: Before) -> Evidence {
    evidence_with(path, before, true)
}

/// `place`: load may end at the routers of the path.
fn evidence_with(path: &mut SimPath, before: Before, place: bool) -> Evidence {
    let quest = Quest {
        direction: Direction::Up,
        reached: BitRate(before.rate as u64),
        payload: 1472,
        overhead: OVERHEAD,
        most: None,
        lost: before.lost,
        is_met: before.is_met,
        short: false,
        place,
        // `run::limit` gives the same budget.
        budget: Nanos::from_secs(if before.rate < 10e6 { 5 } else { 4 }),
    };
    let load = probe(path, quest);
    assert!(load.elapsed <= quest.budget, "{} of {}", load.elapsed, quest.budget);
    let idle = 2.0 * path.delay + 1e-4;
    let time = |seconds: f64| Nanos((seconds * 1e9) as u64);
    let segments = (before.rate * 6.0 / FULL) as u64;
    let tcp = TcpSigns {
        streams: 1,
        mss: 1448,
        segments,
        lost: (segments as f64 * before.lost) as u64,
        idle_rtt: Some(time(idle)),
        loaded_rtt: Some(time(idle + before.growth)),
        largest_rtt: Some(time(idle + before.growth)),
        busy: Nanos::from_secs(6),
        largest_window: Bytes(4 << 20),
        largest_cwnd: Bytes((before.rate * idle / 8.0) as u64),
        buffer: Bytes(4 << 20),
        is_loss_based: true,
        variation: Some(0.01),
        ..TcpSigns::default()
    };
    let goodput = BitRate((before.rate * 1448.0 / 1514.0) as u64);
    let rate = BitRate(before.rate as u64);
    Evidence {
        asked: None,
        goodput,
        rate,
        frame: 1514,
        tcp: Some(tcp),
        udp: None,
        host: HostFacts::default(),
        load: Some(load),
        ..Evidence::default()
    }
}

/// The same after a test of datagrams at `sent`, of which a share was lost.
fn evidence_of_datagrams(path: &mut SimPath, sent: f64, lost: f64) -> Evidence {
    let rate = sent * (1.0 - lost);
    let load = evidence(path, Before { rate, lost: 0.0, growth: 0.0, is_met: true });
    let datagrams = (sent * 6.0 / FULL) as u64;
    let udp = UdpSigns { datagrams, lost: (datagrams as f64 * lost) as u64 };
    Evidence { asked: Some(BitRate(sent as u64)), tcp: None, udp: Some(udp), ..load }
}

fn near(value: f64, truth: f64, share: f64) -> bool {
    (value - truth).abs() <= share * truth
}

/// The bucket lasts for several steps: all steps below a rate and all above it lose about the same then.
#[test]
fn a_policer_of_a_large_bucket_is_no_random_loss() {
    let rate = 3.74e6;
    let mut path = SimPath::new(vec![Bucket::new(1, rate, 675e3 * 8.0, 0.0)], 0.0026, 0);
    let before = Before { rate: rate * 0.94, lost: 0.05, growth: 1e-5, is_met: false };
    let found = limit_of(&evidence(&mut path, before));
    assert_eq!((found.kind, found.per_flow), (LimitKind::Policer, Some(false)), "{found:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_shaper_is_named_with_its_rate_queue_and_link(
        rate in 6.5..7.9_f64, queue in 0.005..0.4_f64, burst in 15e3..400e3_f64, link in 1..=3_u8,
        delay in 1e-4..0.03_f64, share in 0.88..1.0_f64, seed: u64,
    ) {
        let rate = 10_f64.powf(rate);
        let queue_bits = (rate * queue).max(6.0 * FULL);
        let mut path = SimPath::new(vec![Bucket::new(link, rate, burst * 8.0, queue_bits)], delay, seed);
        let before = Before { rate: rate * share, lost: 0.003, growth: queue_bits / rate * 0.8, is_met: false };
        let found = limit_of(&evidence(&mut path, before));
        prop_assert_eq!(found.kind, LimitKind::Shaper, "{:?}", found);
        prop_assert!(near(found.rate.expect("a rate").0 as f64, rate, 0.02), "{:?} for {}", found.rate, rate);
        let outcome = found.queue.expect("a queue").as_secs_f64();
        prop_assert!(near(outcome, queue_bits / rate, 0.2), "{} for {}", outcome, queue_bits / rate);
        prop_assert_eq!(found.per_flow, Some(false));
        let place = found.place.map(|place| place.first <= link && link <= place.last);
        prop_assert!(place != Some(false), "{:?} for {}", found.place, link);
    }

    #[test]
    fn a_policer_is_named_with_its_rate_and_link(
        rate in 6.5..7.9_f64, burst in 15e3..1e6_f64, link in 1..=3_u8, delay in 1e-4..0.03_f64,
        share in 0.5..1.0_f64, per_flow: bool, seed: u64,
    ) {
        let rate = 10_f64.powf(rate);
        let bucket = Bucket { per_flow, ..Bucket::new(link, rate, burst * 8.0, 0.0) };
        let mut path = SimPath::new(vec![bucket], delay, seed);
        let found = limit_of(&evidence(&mut path, Before { rate: rate * share, lost: 0.05, growth: 1e-5, is_met: false }));
        prop_assert_eq!(found.kind, LimitKind::Policer, "{:?}", found);
        prop_assert!(near(found.rate.expect("a rate").0 as f64, rate, 0.03), "{:?} for {}", found.rate, rate);
        prop_assert_eq!(found.per_flow, Some(per_flow));
        let place = found.place.map(|place| place.first <= link && link <= place.last);
        prop_assert!(place != Some(false), "{:?} for {}", found.place, link);
    }

    #[test]
    fn a_packet_rate_is_no_bit_rate(
        packets in 300.0..6000.0_f64, queue in 0.0..0.2_f64, delay in 1e-4..0.02_f64, seed: u64,
    ) {
        let queue_bits = if queue < 0.02 { 0.0 } else { packets * FULL * queue };
        let rate = packets * FULL;
        let bucket = Bucket { counts_packets: true, ..Bucket::new(2, rate, 30.0 * FULL, queue_bits) };
        let mut path = SimPath::new(vec![bucket], delay, seed);
        let before = Before { rate: rate * 0.95, lost: 0.03, growth: queue_bits / rate * 0.9, is_met: false };
        let found = limit_of(&evidence(&mut path, before));
        prop_assert_eq!(found.kind, LimitKind::PacketRate, "{:?}", found);
        prop_assert!(near(found.packets.expect("a rate").0 as f64, packets, 0.03), "{:?}", found);
    }

    #[test]
    fn a_path_that_takes_more_than_tcp_got_is_never_named(
        rate in 6.0..7.5_f64, delay in 1e-4..0.03_f64, growth in 0.0..0.004_f64, seed: u64,
    ) {
        let rate = 10_f64.powf(rate);
        let mut path = SimPath::new(Vec::new(), delay, seed);
        let found = limit_of(&evidence(&mut path, Before { rate, lost: 0.0, growth, is_met: false }));
        prop_assert!(!found.kind.is_of_the_path(), "{:?}", found);
        prop_assert!(found.ruled_out.iter().any(|text| text.contains("not the path")), "{:?}", found);
    }

    #[test]
    fn on_public_paths_a_queue_has_the_place_where_round_trips_grow(
        rate in 6.0..9.3_f64, queue in 0.008..0.3_f64, link in 1..=6_u8, delay in 1e-4..0.05_f64,
        silent in prop::collection::vec(1..=6_u8, 0..3), seed: u64,
    ) {
        let rate = 10_f64.powf(rate);
        let queue_bits = (rate * queue).max(8.0 * FULL);
        let bucket = Bucket::new(link, rate, 15e3 * 8.0, queue_bits);
        let mut path = SimPath { links: 6, silent: silent.clone(), ..SimPath::new(vec![bucket], delay, seed) };
        let before = Before { rate: rate * 0.95, lost: 0.003, growth: queue_bits / rate * 0.8, is_met: false };
        let found = limit_of(&evidence_with(&mut path, before, false));
        prop_assert_eq!(found.kind, LimitKind::Shaper, "{:?}", found);
        let is_hidden = silent.contains(&link) || link > 1 && silent.contains(&(link - 1));
        match found.place {
            Some(place) => prop_assert!(place.first <= link && link <= place.last, "{:?} for {}", place, link),
            None => prop_assert!(is_hidden || silent.contains(&6) || rate < 5e6, "no place for {}: {:?}", link, found),
        }
    }

    #[test]
    fn a_policer_behind_another_queue_has_no_place_by_round_trips(
        rate in 6.8..7.5_f64, times in 2.3..2.9_f64, queue in 0.02..0.05_f64, seed: u64,
    ) {
        let rate = 10_f64.powf(rate);
        let faster = Bucket::new(1, rate * times, 15e3 * 8.0, rate * times * queue);
        let mut path = SimPath::new(vec![faster, Bucket::new(3, rate, 60e3 * 8.0, 0.0)], 0.002, seed);
        let before = Before { rate: rate * 0.9, lost: 0.03, growth: 1e-4, is_met: false };
        let found = limit_of(&evidence_with(&mut path, before, false));
        prop_assert_eq!((found.kind, found.place), (LimitKind::Policer, None), "{:?}", found);
    }

    #[test]
    fn a_policer_behind_a_link_that_is_hardly_faster_is_no_shaper(
        rate in 6.8..7.8_f64, times in 1.18..2.3_f64, queue in 0.005..0.02_f64, burst in 15e3..100e3_f64, seed: u64,
    ) {
        let rate = 10_f64.powf(rate);
        let faster = Bucket::new(1, rate * times, 15e3 * 8.0, (rate * times * queue).max(8.0 * FULL));
        let mut path = SimPath::new(vec![faster, Bucket::new(3, rate, burst * 8.0, 0.0)], 0.002, seed);
        let before = Before { rate: rate * 0.95, lost: 0.03, growth: 1e-4, is_met: false };
        let found = limit_of(&evidence(&mut path, before));
        prop_assert_eq!(found.kind, LimitKind::Policer, "{:?}", found);
    }

    #[test]
    fn of_two_queues_the_slower_one_has_the_place(
        rate in 6.8..7.8_f64, times in 1.5..4.0_f64, queues in (0.02..0.2_f64, 0.02..0.2_f64), is_first: bool, seed: u64,
    ) {
        let rate = 10_f64.powf(rate);
        let slower = if is_first { 1 } else { 3 };
        let buckets = vec![
            Bucket::new(4 - slower, rate * times, 15e3 * 8.0, rate * times * queues.0),
            Bucket::new(slower, rate, 15e3 * 8.0, rate * queues.1),
        ];
        let buckets = if is_first { buckets.into_iter().rev().collect() } else { buckets };
        let mut path = SimPath::new(buckets, 0.002, seed);
        let before = Before { rate: rate * 0.95, lost: 0.003, growth: queues.1 * 0.8, is_met: false };
        let found = limit_of(&evidence_with(&mut path, before, false));
        let is_there = found.place.is_none_or(|place| place.first <= slower && slower <= place.last);
        prop_assert!(is_there, "{:?} for {}", found, slower);
    }

    /// TCP stays far below a cap by losses of its own; the load meets the cap.
    #[test]
    fn random_loss_is_named_though_the_load_meets_a_cap(
        loss in 0.015..0.06_f64, delay in 0.001..0.03_f64, times in 4.0..40.0_f64, counts_packets: bool, queue in 0.0..0.1_f64,
        slower in 0.4..1.0_f64, seed: u64,
    ) {
        let rtt = 2.0 * delay + 1e-4;
        // Between losses that are repaired at once and those that need timeouts (Padhye et al.).
        let timeouts = 0.2 * (3.0 * (0.375 * loss).sqrt()) * loss;
        let tcp = 1448.0 * 8.0 / (rtt * (loss / 1.5).sqrt() + slower * timeouts);
        let cap = (tcp * times).max(8e6);
        let queue_bits = if queue < 0.02 { 0.0 } else { cap * queue };
        let bucket = Bucket { counts_packets, ..Bucket::new(2, cap, 30.0 * FULL, queue_bits) };
        let mut path = SimPath { loss, ..SimPath::new(vec![bucket], delay, seed) };
        let found = limit_of(&evidence(&mut path, Before { rate: tcp, lost: loss, growth: 1e-4, is_met: false }));
        prop_assert_eq!(found.kind, LimitKind::Loss, "{:?}", found);
    }

    #[test]
    fn tcp_that_grows_is_starting_unless_it_filled_the_queue(
        rate in 6.8..7.8_f64, share in 0.2..0.7_f64, queue in 0.03..0.2_f64, filled: bool, seed: u64,
    ) {
        let rate = 10_f64.powf(rate);
        let mut path = SimPath::new(vec![Bucket::new(2, rate, 15e3 * 8.0, rate * queue)], 0.03, seed);
        let growth = if filled { queue * 0.5 } else { queue * 0.02 };
        let mut found = evidence(&mut path, Before { rate: rate * share, lost: 0.0, growth, is_met: false });
        found.tcp.as_mut().expect("TCP").growing = true;
        let found = limit_of(&found);
        prop_assert_eq!(found.kind == LimitKind::RampUp, !filled, "{:?}", found);
    }

    #[test]
    fn a_queue_that_is_kept_short_by_marks_is_managed(
        rate in 7.0..7.9_f64, target in 0.005..0.02_f64, delay in 1e-3..0.02_f64, seed: u64,
    ) {
        let rate = 10_f64.powf(rate);
        let codel = Some(Codel::new(target, true));
        let bucket = Bucket { codel, ..Bucket::new(2, rate, 3e3 * 8.0, rate * 0.3) };
        let mut path = SimPath::new(vec![bucket], delay, seed);
        let before = Before { rate: rate * 0.97, lost: 0.0, growth: target * 1.5, is_met: false };
        let found = limit_of(&evidence(&mut path, before));
        prop_assert_eq!(found.kind, LimitKind::Aqm, "{:?}", found);
        prop_assert!(near(found.rate.expect("a rate").0 as f64, rate, 0.03), "{:?} for {}", found.rate, rate);
    }

    #[test]
    fn packets_that_come_late_hold_a_loss_based_tcp_back(
        rate in 6.5..7.5_f64, late in 0.01..0.05_f64, delay in 1e-3..0.02_f64, seed: u64,
    ) {
        let rate = 10_f64.powf(rate);
        let mut path = SimPath { late, ..SimPath::new(Vec::new(), delay, seed) };
        let mut found = evidence(&mut path, Before { rate, lost: 0.0, growth: 1e-4, is_met: false });
        found.tcp.as_mut().expect("TCP").reordering = 60;
        let found = limit_of(&found);
        prop_assert_eq!(found.kind, LimitKind::Reordering, "{:?}", found);
    }

    /// Acknowledgements that wait, a window and a buffer: the path itself has room.
    #[test]
    fn hosts_and_acknowledgements_are_named_where_the_path_has_room(
        rate in 6.5..7.5_f64, delay in 2e-3..0.03_f64, which in 0..3_u8, seed: u64,
    ) {
        let rate = 10_f64.powf(rate);
        let mut path = SimPath::new(Vec::new(), delay, seed);
        let growth = if which == 0 { 0.08 } else { 1e-4 };
        let mut found = evidence(&mut path, Before { rate, lost: 0.0, growth, is_met: false });
        let tcp = found.tcp.as_mut().expect("TCP");
        let kind = match which {
            0 => LimitKind::AckPath,
            1 => {
                tcp.receive_window = 0.9;
                LimitKind::ReceiverWindow
            }
            _ => {
                tcp.largest_cwnd = Bytes(tcp.largest_cwnd.0 * 3);
                LimitKind::SenderBuffer
            }
        };
        prop_assert_eq!(limit_of(&found).kind, kind);
    }

    #[test]
    fn random_loss_is_named_where_it_explains_the_rate(
        loss in 0.002..0.03_f64, delay in 0.005..0.04_f64, seed: u64,
    ) {
        let mut path = SimPath { loss, ..SimPath::new(Vec::new(), delay, seed) };
        let rtt = 2.0 * delay + 1e-4;
        let reno = 1.22 * 1448.0 * 8.0 / (rtt * loss.sqrt());
        let found = limit_of(&evidence(&mut path, Before { rate: reno, lost: loss, growth: 1e-4, is_met: false }));
        prop_assert!(matches!(found.kind, LimitKind::Loss | LimitKind::NotKnown), "{:?}", found);
    }

    #[test]
    fn a_test_of_datagrams_above_a_limit_names_it(
        rate in 6.5..7.9_f64, queue in 0.005..0.4_f64, has_queue: bool, times in 1.05..4.0_f64, link in 1..=3_u8,
        delay in 1e-4..0.03_f64, seed: u64,
    ) {
        let rate = 10_f64.powf(rate);
        let queue_bits = if has_queue { (rate * queue).max(6.0 * FULL) } else { 0.0 };
        let mut path = SimPath::new(vec![Bucket::new(link, rate, 30e3 * 8.0, queue_bits)], delay, seed);
        let found = limit_of(&evidence_of_datagrams(&mut path, rate * times, 1.0 - 1.0 / times));
        let kind = if has_queue { LimitKind::Shaper } else { LimitKind::Policer };
        prop_assert_eq!(found.kind, kind, "{:?}", found);
        prop_assert!(near(found.rate.expect("a rate").0 as f64, rate, 0.03), "{:?} for {}", found.rate, rate);
    }

    #[test]
    fn datagrams_lost_by_chance_meet_no_limit_of_rate(
        rate in 6.5..7.9_f64, loss in 0.01..0.5_f64, delay in 1e-4..0.03_f64, seed: u64,
    ) {
        let rate = 10_f64.powf(rate);
        let mut path = SimPath { loss, ..SimPath::new(Vec::new(), delay, seed) };
        let found = limit_of(&evidence_of_datagrams(&mut path, rate, loss));
        prop_assert!(matches!(found.kind, LimitKind::Loss | LimitKind::NotKnown), "{:?}", found);
    }

    #[test]
    fn a_policer_behind_a_faster_queue_is_no_shaper(
        rate in 6.8..7.5_f64, times in 2.3..2.9_f64, queue in 0.01..0.05_f64, seed: u64,
    ) {
        let rate = 10_f64.powf(rate);
        let faster = Bucket::new(1, rate * times, 15e3 * 8.0, rate * times * queue);
        let mut path = SimPath::new(vec![faster, Bucket::new(2, rate, 60e3 * 8.0, 0.0)], 0.002, seed);
        let found = limit_of(&evidence(&mut path, Before { rate: rate * 0.9, lost: 0.03, growth: 1e-4, is_met: false }));
        prop_assert_eq!(found.kind, LimitKind::Policer, "{:?}", found);
    }
}

#[test]
fn the_link_of_a_long_path_is_found() {
    for link in [1, 2, 7, 13, 14] {
        for (queue, loss) in [(3e6, 0.003), (0.0, 0.05)] {
            let bucket = Bucket::new(link, 30e6, 40e3 * 8.0, queue);
            let mut path = SimPath { links: 14, ..SimPath::new(vec![bucket], 0.01, 7) };
            let found = limit_of(&evidence(
                &mut path,
                Before { rate: 28e6, lost: loss, growth: queue / 30e6, is_met: false },
            ));
            assert_eq!(found.place.and_then(|place| place.link()), Some(link), "{found:?}");
        }
    }
}

#[test]
fn no_step_exceeds_what_is_allowed_and_the_phase_ends_in_time() {
    let mut path = SimPath::new(vec![Bucket::new(2, 50e6, 15e3 * 8.0, 5e6)], 0.005, 7);
    let began = path.now;
    let quest = Quest {
        direction: Direction::Up,
        reached: BitRate(10_000_000),
        payload: 1472,
        overhead: OVERHEAD,
        most: Some(BitRate(20_000_000)),
        lost: 0.0,
        is_met: false,
        short: false,
        place: true,
        budget: Nanos::from_secs(4),
    };
    let found = probe(&mut path, quest);
    assert!(!found.steps.is_empty());
    for step in &found.steps {
        assert!(step.sent.0 <= 20_200_000, "{step:?}");
    }
    assert!(path.now - began < 4.2, "it took {} s", path.now - began);
    assert_eq!(found.note.as_deref(), Some("no higher rate is allowed"));
}

#[test]
fn the_short_form_names_the_kind_too() {
    for (queue, kind) in [(3e6, LimitKind::Shaper), (0.0, LimitKind::Policer)] {
        let mut path = SimPath::new(vec![Bucket::new(2, 30e6, 40e3 * 8.0, queue)], 0.005, 7);
        let before = Before { rate: 28e6, lost: 0.01, growth: queue / 30e6, is_met: false };
        let mut found = evidence(&mut path.clone(), before);
        let quest = Quest {
            direction: Direction::Up,
            reached: BitRate(28_000_000),
            payload: 1472,
            overhead: OVERHEAD,
            most: None,
            lost: 0.01,
            is_met: false,
            short: true,
            place: true,
            budget: Nanos::from_millis(1200),
        };
        let load = probe(&mut path, quest);
        assert!(load.elapsed < Nanos::from_millis(1300), "{}", load.elapsed);
        assert_eq!(load.place, None);
        found.load = Some(load);
        assert_eq!(limit_of(&found).kind, kind);
    }
}
