//! Evidence made by hand for each row, and what the table makes of it. Simulated paths are in the engine's tests.

use super::*;
use model::limit::{
    Confidence, FactName, HostFact, HostFacts, LoadProbing, LoadStep, ObservedHost, Purpose, TcpSigns,
    UdpSigns,
};
use model::plan::Target;
use model::units::{BitRate, Bytes, Nanos};

const MBIT: u64 = 1_000_000;

pub(super) fn step(purpose: Purpose, sent: u64, delivered: u64, growth: Nanos) -> LoadStep {
    LoadStep {
        purpose,
        size: 1472,
        sent: BitRate(sent * MBIT),
        delivered: BitRate(delivered * MBIT),
        datagrams: 400,
        loss: 1.0 - delivered as f64 / sent as f64,
        growth,
        growth_p10: growth,
        growth_first: growth,
        spread: Nanos::ZERO,
        growth_p98: growth,
        growth_max: growth,
        growth_at_loss: Some(growth),
        other_growth: None,
        drift: None,
        sparse_loss: None,
        sparse: 0,
        ahead: Bytes(0),
        marked: 0.0,
        reordered: 0.0,
        stalled: 0.0,
        links: None,
    }
}

/// TCP at 40 Mbit/s of 1514-byte frames over 20 ms, without a mark on it; a load that passed four times that.
pub(super) fn clean() -> Evidence {
    let mut load = LoadProbing::without(Direction::Up, "");
    load.note = None;
    load.steps = vec![
        step(Purpose::Ladder, 50, 50, Nanos::ZERO),
        step(Purpose::Ladder, 160, 160, Nanos::ZERO),
        step(Purpose::Idle, 1, 1, Nanos::ZERO),
    ];
    let tcp = TcpSigns {
        streams: 1,
        mss: 1448,
        segments: 20_000,
        idle_rtt: Some(Nanos::from_millis(20)),
        loaded_rtt: Some(Nanos::from_millis(20)),
        busy: Nanos::from_secs(5),
        largest_window: Bytes(110_000),
        largest_cwnd: Bytes(110_000),
        is_loss_based: true,
        ..TcpSigns::default()
    };
    Evidence {
        asked: None,
        goodput: BitRate(38_257_000),
        rate: BitRate(40 * MBIT),
        frame: 1514,
        tcp: Some(tcp),
        udp: None,
        host: HostFacts::default(),
        load: Some(load),
        ..Evidence::default()
    }
}

/// A load that was capped at 42 Mbit/s with this growth of the delay.
pub(super) fn capped(growth: Nanos) -> Evidence {
    let mut evidence = clean();
    let load = evidence.load.as_mut().expect("a load");
    load.saturated = true;
    load.steps = vec![
        step(Purpose::Ladder, 50, 42, growth),
        step(Purpose::Hot, 90, 42, growth),
        step(Purpose::Hot, 90, 42, growth),
        step(Purpose::Lower, 55, 42, growth),
        step(Purpose::Higher, 130, 42, growth),
        step(Purpose::Hot, 90, 42, growth),
        step(Purpose::FourFlows, 90, 42, growth),
        LoadStep { size: 214, ..step(Purpose::Small, 15, 15, Nanos::ZERO) },
        step(Purpose::Idle, 1, 1, Nanos::ZERO),
    ];
    evidence
}

pub(super) fn tcp(evidence: &mut Evidence) -> &mut TcpSigns {
    evidence.tcp.as_mut().expect("TCP")
}

fn steps(evidence: &mut Evidence) -> &mut Vec<LoadStep> {
    &mut evidence.load.as_mut().expect("a load").steps
}

/// The full queue of a link whose rate changes takes now more time and now less.
pub(super) fn unsteady(evidence: &mut Evidence) {
    for (index, step) in steps(evidence).iter_mut().enumerate() {
        step.growth_p98 = Nanos(step.growth.0 * (10 + index as u64 % 3) / 10);
    }
}

#[test]
fn what_was_asked_for_and_a_full_link_come_first() {
    let limited = Evidence { asked: Some(BitRate(39 * MBIT)), ..capped(Nanos::from_millis(50)) };
    assert_eq!(limit_of(&limited).kind, LimitKind::Application);
    let mut full = capped(Nanos::from_millis(50));
    full.host.line_share = Some(0.98);
    assert_eq!(limit_of(&full).kind, LimitKind::LineRate);
}

#[test]
fn a_queue_makes_a_shaper_and_drops_without_one_a_policer() {
    let shaper = limit_of(&capped(Nanos::from_millis(50)));
    assert_eq!((shaper.kind, shaper.confidence), (LimitKind::Shaper, Confidence::High));
    assert_eq!((shaper.rate, shaper.queue), (Some(BitRate(42 * MBIT)), Some(Nanos::from_millis(50))));
    assert_eq!(shaper.per_flow, Some(false));
    assert_eq!(brief(&shaper).as_deref(), Some("a shaper of 42.0 Mbit/s, queue 50.0 ms"));
    let policer = limit_of(&capped(Nanos::from_micros(1)));
    assert_eq!((policer.kind, policer.queue), (LimitKind::Policer, None));
    let mut apart = capped(Nanos::from_micros(1));
    *steps(&mut apart).iter_mut().find(|step| step.purpose == Purpose::FourFlows).expect("four") =
        step(Purpose::FourFlows, 90, 84, Nanos::from_micros(1));
    assert_eq!(limit_of(&apart).per_flow, Some(true));
}

#[test]
fn a_queue_shorter_than_a_millisecond_is_one_where_every_packet_waits_alike() {
    // 213 Mbit/s with 1 ms of queue, which the load fills.
    let waits = |p10: u64, p98: u64| {
        let mut evidence = capped(Nanos::from_micros(900));
        evidence.rate = BitRate(204 * MBIT);
        for step in steps(&mut evidence) {
            let [p10, p98] = [p10, p98].map(Nanos::from_micros);
            if step.purpose == Purpose::Idle {
                step.spread = Nanos::from_micros(24);
                continue;
            }
            (step.sent, step.delivered) = (BitRate(step.sent.0 * 5), BitRate(step.delivered.0 * 5));
            (step.growth_p10, step.growth_p98) = (p10, p98);
        }
        limit_of(&evidence)
    };
    let found = waits(840, 960);
    assert_eq!((found.kind, found.queue), (LimitKind::Shaper, Some(Nanos::from_micros(900))));
    assert_eq!(waits(300, 960).kind, LimitKind::Policer, "a host delays some packets more than others");
    assert_eq!(waits(110, 130).kind, LimitKind::Policer, "and all of them a little");
}

#[test]
fn a_host_that_stood_still_names_nothing() {
    let mut evidence = capped(Nanos::from_millis(50));
    steps(&mut evidence).iter_mut().for_each(|step| step.stalled = 0.5);
    let alike = limit_of(&evidence);
    assert_eq!(
        (alike.kind, alike.confidence),
        (LimitKind::Shaper, Confidence::Medium),
        "all lost half and delivered the same"
    );
    steps(&mut evidence)[1].delivered = BitRate(60 * MBIT);
    let found = limit_of(&evidence);
    assert_eq!(found.kind, LimitKind::NotKnown);
    assert!(found.ruled_out[0].contains("too busy"), "{found:?}");
    let mut noisy = capped(Nanos::from_millis(50));
    noisy.host.busy = true;
    assert_eq!(limit_of(&noisy).confidence, Confidence::Medium);
}

#[test]
fn other_traffic_is_observed_on_the_idle_path() {
    let mut evidence = capped(Nanos::from_millis(50));
    evidence.rate = BitRate(20 * MBIT);
    steps(&mut evidence).last_mut().expect("idle").growth = Nanos::from_millis(12);
    let found = limit_of(&evidence);
    assert_eq!(found.kind, LimitKind::Competing);
    assert!(found.share.is_some_and(|share| (share - 0.52).abs() < 0.01), "{found:?}");
}

#[test]
fn a_rate_that_changes_is_no_shapers() {
    let mut evidence = capped(Nanos::from_millis(50));
    for (step, rate) in steps(&mut evidence).iter_mut().skip(1).zip([30, 55, 38, 60, 44]) {
        step.delivered = BitRate(rate * MBIT);
    }
    assert_eq!(limit_of(&evidence).kind, LimitKind::Competing, "its queue is as long whatever arrives");
    unsteady(&mut evidence);
    assert_eq!(limit_of(&evidence).kind, LimitKind::VariableRate);
}

#[test]
fn marks_and_short_queues_of_other_flows_make_an_aqm() {
    let mut marked = capped(Nanos::from_millis(50));
    steps(&mut marked).iter_mut().for_each(|step| step.marked = 0.1);
    assert_eq!(limit_of(&marked).kind, LimitKind::Aqm);
    let mut fair = capped(Nanos::from_millis(50));
    steps(&mut fair).iter_mut().for_each(|step| step.other_growth = Some(Nanos::from_millis(3)));
    assert_eq!(limit_of(&fair).kind, LimitKind::Aqm);
}

#[test]
fn udp_that_is_held_far_below_tcp_states_nothing_about_tcp() {
    let mut evidence = capped(Nanos::from_micros(1));
    evidence.rate = BitRate(80 * MBIT);
    let found = limit_of(&evidence);
    assert_eq!(found.kind, LimitKind::NotKnown);
    assert!(found.ruled_out[0].contains("treated differently"), "{found:?}");
}

#[test]
fn a_path_that_tcp_did_not_meet_is_the_next_limit_at_most() {
    let mut evidence = capped(Nanos::from_millis(50));
    evidence.rate = BitRate(10 * MBIT);
    tcp(&mut evidence).largest_cwnd = Bytes(30_000);
    let found = limit_of(&evidence);
    assert_eq!(found.kind, LimitKind::NotKnown);
    assert_eq!(found.also.map(|also| also.kind), Some(LimitKind::Shaper));
}

#[test]
fn windows_and_buffers_are_named_where_the_path_has_room() {
    let mut window = clean();
    tcp(&mut window).receive_window = 0.9;
    let found = limit_of(&window);
    assert_eq!((found.kind, found.confidence), (LimitKind::ReceiverWindow, Confidence::High));
    let mut buffer = clean();
    (tcp(&mut buffer).largest_cwnd, tcp(&mut buffer).largest_window) = (Bytes(900_000), Bytes(900_000));
    assert_eq!(limit_of(&buffer).kind, LimitKind::SenderBuffer);
    // Losses keep the window of such a TCP below what it was once.
    (tcp(&mut buffer).lost, tcp(&mut buffer).segments) = (16, 18_000);
    assert_ne!(limit_of(&buffer).kind, LimitKind::SenderBuffer);
    // With a queue as long as the path TCP fills what there is.
    tcp(&mut window).loaded_rtt = Some(Nanos::from_millis(90));
    assert_ne!(limit_of(&window).kind, LimitKind::ReceiverWindow);
}

#[test]
fn a_full_cpu_is_named_unless_the_path_is_full_too() {
    let mut evidence = clean();
    evidence.host.receiver_full = Some("its thread used 99 % of a CPU".into());
    assert_eq!(limit_of(&evidence).kind, LimitKind::ReceiverCpu);
    let mut both = capped(Nanos::from_millis(50));
    both.host.receiver_full.clone_from(&evidence.host.receiver_full);
    assert_eq!(limit_of(&both).kind, LimitKind::Shaper);
}

#[test]
fn datagrams_that_the_host_dropped_are_not_the_paths() {
    let mut evidence = capped(Nanos::from_micros(1));
    evidence.load.as_mut().expect("a load").host_drops = 1_500;
    assert_eq!(limit_of(&evidence).kind, LimitKind::HostDrop);
    // Ten times as fast as a TCP that lost nothing, the load overran a socket.
    evidence.rate = BitRate(4 * MBIT);
    tcp(&mut evidence).lost = 0;
    let found = limit_of(&evidence);
    assert_eq!(found.kind, LimitKind::NotKnown, "and shows nothing about the path: {found:?}");
    assert!(found.ruled_out[0].contains("the kernels of the two hosts dropped"), "{found:?}");
}

/// Others keep 12 ms of a faster link's queue full, and every load waits as long.
#[test]
fn a_queue_that_a_load_does_not_fill_is_not_the_limit() {
    let mut evidence = capped(Nanos::from_millis(12));
    let idle = purpose(&mut evidence, Purpose::Idle);
    (idle.growth, idle.growth_first) = (Nanos::from_millis(11), Nanos::from_millis(11));
    assert_eq!(limit_of(&evidence).kind, LimitKind::Policer);
}

/// The first step above a policer of 8 Mbit/s loses what is more and waits for nothing; twice the rate fills a link before it.
#[test]
fn a_step_that_loses_without_a_queue_met_a_policer() {
    let mut evidence = capped(Nanos::from_millis(250));
    steps(&mut evidence)[0] = step(Purpose::Ladder, 50, 42, Nanos::from_micros(40));
    assert_eq!(limit_of(&evidence).kind, LimitKind::Policer);
    // The queue fills within the step.
    steps(&mut evidence)[0].growth_p98 = Nanos::from_millis(40);
    assert_eq!(limit_of(&evidence).kind, LimitKind::Shaper);
}

/// A loss of 0.1 %, after a slow start that lost 400 segments at the limit of a host.
#[test]
fn losses_of_slow_start_are_no_chance() {
    let mut evidence = clean();
    evidence.rate = BitRate(25 * MBIT);
    let signs = tcp(&mut evidence);
    (signs.segments, signs.lost) = (22_713, 437);
    for step in steps(&mut evidence) {
        (step.loss, step.datagrams) = (0.001, 5_000);
    }
    assert_ne!(limit_of(&evidence).kind, LimitKind::Loss);
    let signs = tcp(&mut evidence);
    (signs.late_segments, signs.late_lost) = (9_000, 10);
    assert_eq!(limit_of(&evidence).kind, LimitKind::Loss);
}

#[test]
fn a_rate_that_is_the_same_in_all_steps_but_one_does_not_vary() {
    let mut evidence = capped(Nanos::from_millis(61));
    purpose(&mut evidence, Purpose::Higher).delivered = BitRate(30 * MBIT);
    assert_eq!(limit_of(&evidence).kind, LimitKind::Shaper);
    purpose(&mut evidence, Purpose::Lower).delivered = BitRate(36 * MBIT);
    unsteady(&mut evidence);
    assert_eq!(limit_of(&evidence).kind, LimitKind::VariableRate);
}

#[test]
fn a_queue_that_drains_at_hardly_more_than_the_rate_is_another_links() {
    let mut evidence = capped(Nanos::from_millis(12));
    let at_edge =
        |growth| LoadStep { loss: 0.057, ..step(Purpose::Edge, 45, 42, Nanos::from_millis(growth)) };
    steps(&mut evidence).insert(6, at_edge(12));
    assert_eq!(limit_of(&evidence).kind, LimitKind::Shaper, "it stays full");
    steps(&mut evidence)[6] = at_edge(2);
    assert_eq!(limit_of(&evidence).kind, LimitKind::Policer);
}

#[test]
fn a_queue_before_that_of_the_limit_makes_no_policer() {
    // A shaper of 42 Mbit/s with 66 ms of queue behind one of 76 Mbit/s with 16 ms, which only the higher loads fill.
    let mut evidence = capped(Nanos::from_millis(81));
    let lower = purpose(&mut evidence, Purpose::Lower);
    let [least, most] = [65_210, 65_500].map(Nanos::from_micros);
    (lower.growth, lower.growth_p10, lower.growth_p98) = (least, least, most);
    assert_eq!(limit_of(&evidence).kind, LimitKind::Shaper);
    purpose(&mut evidence, Purpose::Lower).growth_p98 = Nanos::from_millis(72);
    assert_eq!(limit_of(&evidence).kind, LimitKind::Policer, "others fill it now more and now less");
}

#[test]
fn acknowledgements_that_wait_make_the_round_trip_grow_alone() {
    let mut evidence = clean();
    tcp(&mut evidence).loaded_rtt = Some(Nanos::from_millis(120));
    assert_eq!(limit_of(&evidence).kind, LimitKind::AckPath);
    // The host's own limit has a queue as well, far above the rate; slow start met it once.
    let hot = |rate| LoadStep { datagrams: 9_000, ..step(Purpose::Hot, 900, rate, Nanos::from_millis(60)) };
    steps(&mut evidence).splice(2..2, [hot(420), hot(410), hot(430)]);
    let signs = tcp(&mut evidence);
    (signs.lost, signs.late_segments, signs.late_lost) = (600, 9_000, 0);
    assert_eq!(limit_of(&evidence).kind, LimitKind::AckPath);
    // TCP meets that limit again with bursts that follow acknowledgements which came many at once.
    tcp(&mut evidence).late_lost = 150;
    for (step, rate) in steps(&mut evidence).iter_mut().skip(2).zip([420, 250, 330]) {
        step.delivered = BitRate(rate * MBIT);
    }
    assert_eq!(limit_of(&evidence).kind, LimitKind::AckPath);
    for step in steps(&mut evidence).iter_mut().skip(2).take(3) {
        step.delivered = BitRate(420 * MBIT);
    }
    assert_ne!(limit_of(&evidence).kind, LimitKind::AckPath, "a limit that is steady");
    tcp(&mut evidence).late_lost = 0;
    evidence.rate = BitRate(300 * MBIT);
    assert_ne!(limit_of(&evidence).kind, LimitKind::AckPath, "TCP filled that queue");
}

/// TCP and the ladder are slow, and lose too few packets to know their share; small frames beside a full queue lose some, too.
#[test]
fn small_frames_show_random_loss_too() {
    let mut evidence = capped(Nanos::from_millis(50));
    evidence.rate = BitRate(9 * MBIT);
    (tcp(&mut evidence).lost, tcp(&mut evidence).segments) = (10, 3_330);
    steps(&mut evidence)[0] = LoadStep { datagrams: 300, ..step(Purpose::Ladder, 12, 12, Nanos::ZERO) };
    assert_ne!(limit_of(&evidence).kind, LimitKind::Loss);
    (purpose(&mut evidence, Purpose::Small).loss, purpose(&mut evidence, Purpose::Small).datagrams) =
        (0.003, 1_700);
    let found = limit_of(&evidence);
    assert_eq!(found.kind, LimitKind::Loss);
    let share = found.share.expect("a share");
    assert!((share - 15.1 / 5_330.0).abs() < 1e-5, "of all that was sent below the limit: {share}");
    // At a limit of packets small frames are what is dropped.
    purpose(&mut evidence, Purpose::Small).loss = 0.5;
    assert_ne!(limit_of(&evidence).kind, LimitKind::Loss);
}

/// The other flows go back for the load, and have not come again when the path is to be idle.
#[test]
fn a_queue_below_two_small_loads_is_that_of_others() {
    let mut evidence = capped(Nanos::from_millis(100));
    evidence.rate = BitRate(3 * MBIT);
    let waits = |sent| step(Purpose::Ladder, sent, sent, Nanos::from_millis(75));
    steps(&mut evidence)[0] = waits(4);
    assert_ne!(limit_of(&evidence).kind, LimitKind::Competing, "one load may have met a moment");
    steps(&mut evidence).insert(1, waits(6));
    assert_eq!(limit_of(&evidence).kind, LimitKind::Competing);
}

#[test]
fn random_loss_needs_the_loss_of_a_load_below_the_limit() {
    let mut evidence = clean();
    tcp(&mut evidence).lost = 40;
    tcp(&mut evidence).loaded_rtt = Some(Nanos::from_millis(20));
    // Reno's 1.22 MSS/(RTT √p) at 0.2 % is 15.8 Mbit/s.
    evidence.rate = BitRate(16 * MBIT);
    for step in steps(&mut evidence) {
        (step.loss, step.datagrams) = (0.002, 5_000);
    }
    assert_eq!(limit_of(&evidence).kind, LimitKind::Loss);
    for step in steps(&mut evidence) {
        step.loss = 0.0;
    }
    assert_ne!(limit_of(&evidence).kind, LimitKind::Loss);
}

#[test]
fn without_a_load_little_is_named() {
    let mut evidence = clean();
    evidence.load = None;
    tcp(&mut evidence).lost = 800;
    assert_eq!(limit_of(&evidence).kind, LimitKind::NotKnown);
    assert!(limit_of(&evidence).ruled_out.is_empty(), "nothing was asked");
}

fn purpose(evidence: &mut Evidence, wanted: Purpose) -> &mut LoadStep {
    steps(evidence).iter_mut().find(|step| step.purpose == wanted).expect("a step of this purpose")
}

#[test]
fn a_queue_for_each_flow_is_named_though_the_first_takes_a_part_of_the_rate() {
    let mut fair = capped(Nanos::from_millis(300));
    for (step, rate) in steps(&mut fair).iter_mut().skip(1).zip([42, 29, 18, 42, 6]) {
        step.delivered = BitRate(rate * MBIT);
    }
    steps(&mut fair)[5].other_growth = Some(Nanos::from_millis(3));
    let found = limit_of(&fair);
    assert_eq!((found.kind, found.rate), (LimitKind::Aqm, Some(BitRate(42 * MBIT))));
}

#[test]
fn a_short_queue_of_tcp_is_an_aqm_only_where_nothing_is_lost_at_random() {
    let mut evidence = capped(Nanos::from_millis(80));
    let signs = tcp(&mut evidence);
    (signs.lost, signs.loaded_rtt) = (200, Some(Nanos::from_millis(26)));
    let small = purpose(&mut evidence, Purpose::Small);
    (small.loss, small.datagrams) = (0.0, 1_000);
    assert_eq!(limit_of(&evidence).kind, LimitKind::Aqm);
    purpose(&mut evidence, Purpose::Small).loss = 0.01;
    assert_eq!(limit_of(&evidence).kind, LimitKind::Shaper);
    purpose(&mut evidence, Purpose::Small).datagrams = 100;
    purpose(&mut evidence, Purpose::Idle).datagrams = 20;
    assert_eq!(limit_of(&evidence).kind, LimitKind::Shaper, "too few to know");
}

#[test]
fn who_sends_more_gets_more_where_others_send_too() {
    let mut evidence = capped(Nanos::from_millis(40));
    (evidence.rate, tcp(&mut evidence).loaded_rtt) = (BitRate(30 * MBIT), Some(Nanos::from_millis(58)));
    for (index, rate) in [(0, 35), (1, 47), (2, 45), (3, 39), (4, 52), (5, 46)] {
        steps(&mut evidence)[index].delivered = BitRate(rate * MBIT);
    }
    assert_eq!(limit_of(&evidence).kind, LimitKind::Competing);
    // The lower load arrived whole: it has met no others at a full queue, and chance may order the rates.
    for (index, rate) in [(0, 35), (1, 47), (2, 45), (3, 36), (4, 56), (5, 46)] {
        steps(&mut evidence)[index].delivered = BitRate(rate * MBIT);
    }
    steps(&mut evidence)[3].loss = 0.0;
    assert_eq!(limit_of(&evidence).kind, LimitKind::VariableRate);
    // A rate that varies is no higher for a higher load.
    for (index, rate) in [(0, 42), (1, 47), (2, 36), (3, 52), (4, 39), (5, 46)] {
        steps(&mut evidence)[index].delivered = BitRate(rate * MBIT);
    }
    assert_eq!(limit_of(&evidence).kind, LimitKind::VariableRate);
}

#[test]
fn a_round_trip_that_grows_by_the_datas_own_queue_is_no_ack_path() {
    let mut evidence = capped(Nanos::from_millis(90));
    (evidence.rate, tcp(&mut evidence).loaded_rtt) = (BitRate(35 * MBIT), Some(Nanos::from_millis(105)));
    steps(&mut evidence).insert(0, step(Purpose::Ladder, 41, 41, Nanos::from_millis(2)));
    assert_ne!(limit_of(&evidence).kind, LimitKind::AckPath);
}

#[test]
fn a_window_that_grows_slowly_is_what_holds_tcp_back() {
    let mut evidence = clean();
    tcp(&mut evidence).growing = true;
    assert_eq!(limit_of(&evidence).kind, LimitKind::RampUp);
    tcp(&mut evidence).late_receive_window = 0.95;
    assert_eq!(limit_of(&evidence).kind, LimitKind::ReceiverWindow);
}

#[test]
fn a_bucket_is_as_large_as_what_comes_at_once_after_a_pause() {
    let mut evidence = capped(Nanos::from_micros(1));
    steps(&mut evidence).push(LoadStep { ahead: Bytes(96_000), ..step(Purpose::Cold, 130, 42, Nanos::ZERO) });
    let found = limit_of(&evidence);
    assert_eq!((found.burst, found.burst_at_least), (Some(Bytes(96_000)), false));
    // Two frames come together by chance.
    purpose(&mut evidence, Purpose::Cold).ahead = Bytes(3_028);
    assert_eq!(limit_of(&evidence).burst, None);
    // The bucket is not empty yet: it holds no less than was filled in during the pause.
    purpose(&mut evidence, Purpose::Cold).delivered = BitRate(70 * MBIT);
    let found = limit_of(&evidence);
    assert_eq!((found.burst, found.burst_at_least), (Some(Bytes(1_312_500)), true));
}

#[test]
fn the_rate_without_loss_is_below_the_limit_or_what_passed() {
    let rate = |evidence: &Evidence| {
        let signs = Signs::new(evidence);
        lossless(&signs).map(|rate| rate.0)
    };
    assert_eq!(rate(&clean()), Some(160 * MBIT));
    assert_eq!(rate(&capped(Nanos::ZERO)), Some(40_740_000));
    assert_eq!(rate(&Evidence { load: None, ..clean() }), None);
}

#[test]
fn a_short_queue_that_tcp_does_not_fill_has_no_other_traffic() {
    let mut evidence = capped(Nanos::from_millis(7));
    (evidence.rate, tcp(&mut evidence).loaded_rtt) = (BitRate(28 * MBIT), Some(Nanos::from_millis(24)));
    assert_eq!(limit_of(&evidence).kind, LimitKind::Shaper);
}

#[test]
fn a_flow_that_overtakes_the_first_does_not_make_its_rate_vary() {
    let mut evidence = capped(Nanos::from_millis(60));
    let last = &mut steps(&mut evidence)[5];
    (last.delivered, last.sparse, last.other_growth) = (BitRate(28 * MBIT), 12, Some(Nanos::ZERO));
    *purpose(&mut evidence, Purpose::FourFlows) = step(Purpose::FourFlows, 90, 90, Nanos::ZERO);
    let found = limit_of(&evidence);
    assert_eq!((found.kind, found.per_flow), (LimitKind::Shaper, Some(true)));
    // Too few of them came to know how long they waited.
    (steps(&mut evidence)[5].other_growth, steps(&mut evidence)[5].sparse) = (None, 4);
    assert_eq!(limit_of(&evidence).kind, LimitKind::Shaper);
}

#[test]
fn flows_that_do_not_wait_have_a_limit_of_their_own() {
    let mut evidence = capped(Nanos::from_millis(200));
    steps(&mut evidence)[5].other_growth = Some(Nanos::ZERO);
    let four = purpose(&mut evidence, Purpose::FourFlows);
    (four.delivered, four.loss, four.growth) = (BitRate(40 * MBIT), 0.0, Nanos::ZERO);
    let found = limit_of(&evidence);
    assert_eq!((found.kind, found.per_flow), (LimitKind::Shaper, Some(true)));
}

/// The figures are those of a world that puts 2 % of the packets 1.4 ms back, at a gigabit through CPUs that forward no more.
#[test]
fn packets_that_overtake_each_other_are_named_where_tcp_saw_them() {
    let mut evidence = clean();
    tcp(&mut evidence).reordering = 300;
    steps(&mut evidence)[0].reordered = 0.02;
    let found = limit_of(&evidence);
    assert_eq!((found.kind, found.share), (LimitKind::Reordering, Some(0.02)));
    assert_eq!(brief(&found).as_deref(), Some("packets out of order, 2.00 % of them"));
    let signs = tcp(&mut evidence);
    (signs.lost, signs.late_segments, signs.late_lost) = (60, 9_000, 0);
    steps(&mut evidence).iter_mut().for_each(|step| step.datagrams = 20_000);
    assert_eq!(limit_of(&evidence).kind, LimitKind::Reordering, "slow start lost them");
    let signs = tcp(&mut evidence);
    (signs.lost, signs.late_segments, signs.late_lost) = (4, 36_000, 4);
    steps(&mut evidence).iter_mut().for_each(|step| step.datagrams = 12_000);
    assert_eq!(limit_of(&evidence).kind, LimitKind::Reordering, "taken for lost");
    steps(&mut evidence)[1].loss = 1.0 / 12_000.0;
    assert_eq!(limit_of(&evidence).kind, LimitKind::Loss, "the load lost one, too");
    steps(&mut evidence)[1].loss = 0.0;
    tcp(&mut evidence).reordering = 3;
    assert_ne!(limit_of(&evidence).kind, LimitKind::Reordering, "TCP saw none");
    tcp(&mut evidence).reordering = 300;
    steps(&mut evidence)[0].reordered = 0.0;
    assert_ne!(limit_of(&evidence).kind, LimitKind::Reordering, "no datagram was overtaken");
}

#[test]
fn a_cpu_that_forwards_no_more_is_no_rate_that_varies() {
    let mut evidence = capped(Nanos::from_millis(12));
    evidence.rate = BitRate(700 * MBIT);
    for (index, rate) in [(0, 1_089), (1, 1_028), (2, 842), (3, 1_084), (4, 942), (5, 695), (6, 875)] {
        (steps(&mut evidence)[index].delivered, steps(&mut evidence)[index].sent) =
            (BitRate(rate * MBIT), BitRate(2_300 * MBIT));
    }
    let small = purpose(&mut evidence, Purpose::Small);
    (small.sent, small.delivered, small.loss) = (BitRate(368 * MBIT), BitRate(183 * MBIT), 0.45);
    assert_eq!(limit_of(&evidence).kind, LimitKind::PacketRate);
    // Small frames pass: it is the rate in bits that varies.
    let small = purpose(&mut evidence, Purpose::Small);
    (small.delivered, small.loss) = (BitRate(368 * MBIT), 0.0);
    unsteady(&mut evidence);
    assert_eq!(limit_of(&evidence).kind, LimitKind::VariableRate);
}

#[test]
fn a_rate_that_jumps_is_not_shared_out_though_its_steps_are_in_order() {
    // Wi-Fi whose rate jumped between the steps, the least of it at the lowest load and the most at the highest.
    let mut evidence = capped(Nanos::from_millis(270));
    evidence.rate = BitRate(26 * MBIT);
    tcp(&mut evidence).loaded_rtt = Some(Nanos::from_millis(130));
    let waits = Nanos::from_millis(270);
    let hot = [36, 40].map(|rate| step(Purpose::Hot, 58, rate, waits));
    let steps = steps(&mut evidence);
    steps.retain(|step| {
        !matches!(step.purpose, Purpose::Hot | Purpose::Lower | Purpose::Higher | Purpose::FourFlows)
    });
    steps.extend(hot);
    steps.extend([
        step(Purpose::Lower, 35, 25, waits),
        step(Purpose::Higher, 84, 43, waits),
        step(Purpose::FourFlows, 58, 21, waits),
    ]);
    unsteady(&mut evidence);
    assert_eq!(limit_of(&evidence).kind, LimitKind::VariableRate);
    purpose(&mut evidence, Purpose::FourFlows).delivered = BitRate(38 * MBIT);
    assert_eq!(limit_of(&evidence).kind, LimitKind::Competing);
}

#[test]
fn a_load_far_above_tcp_whose_rate_varies_is_not_what_tcp_met() {
    // TCP over a path that reorders had 253 Mbit/s, and a load at six times that passed; above it the CPUs of the routers gave up.
    let varied = || {
        let mut evidence = clean();
        tcp(&mut evidence).late_segments = 50_000;
        let waits = Nanos::from_millis(9);
        let hot = [900, 280, 560, 700].map(|rate| step(Purpose::Hot, 1400, rate, waits));
        steps(&mut evidence).splice(2..2, hot);
        unsteady(&mut evidence);
        evidence
    };
    let mut evidence = varied();
    let found = limit_of(&evidence);
    assert_eq!(
        (found.kind, found.also.map(|also| also.kind)),
        (LimitKind::NotKnown, Some(LimitKind::VariableRate))
    );
    tcp(&mut evidence).late_lost = 400;
    tcp(&mut evidence).reordering = 40;
    steps(&mut evidence)[0].reordered = 0.025;
    assert_eq!(limit_of(&evidence).kind, LimitKind::Reordering);
    evidence.rate = BitRate(200 * MBIT);
    (tcp(&mut evidence).late_lost, tcp(&mut evidence).reordering) = (400, 3);
    assert_eq!(limit_of(&evidence).kind, LimitKind::VariableRate);
    evidence.host.busy = true;
    let found = limit_of(&evidence);
    assert_eq!(found.kind, LimitKind::NotKnown);
    assert!(found.ruled_out[0].contains("kept the hosts busy"), "{found:?}");
}

#[test]
fn a_limit_of_the_path_that_is_hardly_shown_is_not_named() {
    // Four flows of others on 3.9 Mbit/s, and a load that could not be more than they leave: its losses fell from step to step.
    let mut evidence = capped(Nanos::from_micros(1));
    evidence.load.as_mut().expect("a load").steps.retain(|step| step.purpose != Purpose::Small);
    let found = limit_of(&evidence);
    assert_eq!((found.kind, found.rate), (LimitKind::NotKnown, None));
    assert_eq!(
        found.ruled_out,
        ["a load met what looks like a policer of 42.0 Mbit/s, which its steps hardly show"]
    );
}

#[test]
fn tcp_that_loses_all_the_time_is_not_starting() {
    let mut evidence = capped(Nanos::from_micros(1));
    evidence.rate = BitRate(13 * MBIT);
    let signs = tcp(&mut evidence);
    (signs.growing, signs.lost, signs.segments) = (true, 661, 4_946);
    (signs.idle_rtt, signs.loaded_rtt) = (Some(Nanos::from_micros(40)), Some(Nanos::from_micros(487)));
    assert_eq!(limit_of(&evidence).kind, LimitKind::Policer);
    // One slow start may lose as many where a round trip is long.
    let signs = tcp(&mut evidence);
    (signs.idle_rtt, signs.loaded_rtt) = (Some(Nanos::from_millis(300)), Some(Nanos::from_millis(300)));
    assert_eq!(limit_of(&evidence).kind, LimitKind::RampUp);
}

/// A test of datagrams at `sent` of which 40 Mbit/s arrived.
fn datagrams(evidence: Evidence, sent: f64) -> Evidence {
    let datagrams = 10_000;
    let udp = UdpSigns { datagrams, lost: (datagrams as f64 * (1.0 - 40.0 / sent)).round() as u64 };
    Evidence { tcp: None, udp: Some(udp), asked: Some(BitRate((sent * 1e6) as u64)), ..evidence }
}

#[test]
fn datagrams_above_a_limit_show_its_kind() {
    let shaper = limit_of(&datagrams(capped(Nanos::from_millis(50)), 60.0));
    assert_eq!((shaper.kind, shaper.rate), (LimitKind::Shaper, Some(BitRate(42 * MBIT))));
    let policer = limit_of(&datagrams(capped(Nanos::from_micros(1)), 60.0));
    assert_eq!((policer.kind, policer.confidence), (LimitKind::Policer, Confidence::High));
    let mut small = capped(Nanos::from_micros(1));
    for step in steps(&mut small).iter_mut().filter(|step| step.purpose == Purpose::Small) {
        (step.delivered, step.loss) = (BitRate(7 * MBIT), 0.53);
    }
    assert_eq!(limit_of(&datagrams(small, 60.0)).kind, LimitKind::PacketRate);
}

#[test]
fn datagrams_that_are_lost_below_the_rate_are_lost_by_chance() {
    for share in [0.05, 0.15, 0.5] {
        let mut evidence = datagrams(capped(Nanos::from_micros(1)), 40.0 / (1.0 - share));
        let below = LoadStep { loss: share, ..step(Purpose::Ladder, 30, 30, Nanos::ZERO) };
        steps(&mut evidence).insert(0, below);
        let found = limit_of(&evidence);
        assert_eq!((found.kind, found.rate), (LimitKind::Loss, None), "{share}: {found:?}");
        assert!((found.share.expect("a share") - share).abs() < 1e-3);
        steps(&mut evidence)[0].loss = 0.0;
        assert_eq!(limit_of(&evidence).kind, LimitKind::Policer, "{share}");
    }
}

fn router(busiest_softirq: f64, facts: Vec<HostFact>) -> ObservedHost {
    let target = Target { host: "r1".into(), address: ([10, 0, 0, 1], 5210).into() };
    let name = "r1".into();
    ObservedHost { name, note: None, busiest_softirq, facts, ..ObservedHost::without(target, String::new()) }
}

#[test]
fn a_queue_of_an_observed_router_explains_the_shaper() {
    let facts = |rate: f64| {
        vec![
            HostFact::new(FactName::QueueHeld, "tbf of eth1", 900.0).of_whole(10_000.0),
            HostFact::new(FactName::QueueRate, "tbf of eth1", rate),
        ]
    };
    let observed =
        |rate| Evidence { observed: vec![router(0.1, facts(rate))], ..capped(Nanos::from_millis(50)) };
    let found = limit_of(&observed(42e6));
    assert_eq!(found.kind, LimitKind::Shaper);
    let cause = found.cause.expect("a cause");
    assert!(cause.contains("tbf of eth1") && cause.contains("r1 (10.0.0.1)"), "{cause}");
    let other = limit_of(&observed(400e6));
    assert_eq!(
        (other.kind, other.cause),
        (LimitKind::Shaper, None),
        "a queue of another rate explains nothing"
    );
}

#[test]
fn a_queue_of_an_observed_router_explains_the_direction_that_leaves_by_it() {
    let queue = |interface: &str| {
        let name = format!("tbf of {interface}");
        let held = HostFact::new(FactName::QueueHeld, name.clone(), 900.0).of_whole(2_000.0);
        [held, HostFact::new(FactName::QueueRate, name, 42e6)]
    };
    let facts = [queue("near"), queue("far")].concat();
    let host = ObservedHost { interfaces: vec!["near".into(), "far".into()], ..router(0.2, facts) };
    let queues = |direction: Direction| {
        let kept = host.in_direction(direction).facts;
        kept.iter().map(|fact| fact.of.clone()).collect::<Vec<_>>()
    };
    assert_eq!(queues(Direction::Up), ["tbf of far", "tbf of far"]);
    assert_eq!(queues(Direction::Down), ["tbf of near", "tbf of near"]);
    let unknown = ObservedHost { interfaces: Vec::new(), ..host.clone() };
    assert_eq!(unknown.in_direction(Direction::Up), unknown, "nothing is left out where it is not known");
}

#[test]
fn a_full_cpu_of_an_observed_router_is_the_limit_unless_a_bucket_is() {
    let of_packets = |observed| {
        let mut small = capped(Nanos::from_micros(1));
        for step in steps(&mut small).iter_mut().filter(|step| step.purpose == Purpose::Small) {
            (step.delivered, step.loss) = (BitRate(7 * MBIT), 0.53);
        }
        limit_of(&Evidence { observed, ..small })
    };
    let full = ObservedHost { links: Some(2), ..router(0.97, Vec::new()) };
    let found = of_packets(vec![router(0.2, Vec::new()), full]);
    assert_eq!(found.kind, LimitKind::ForwarderCpu);
    assert_eq!(found.place.map(|place| (place.first, place.last)), Some((2, 3)));
    let cause = found.cause.expect("a cause");
    assert!(cause.contains("97") && cause.contains("hop 2"), "{cause}");
    assert_eq!(of_packets(vec![router(0.6, Vec::new())]).kind, LimitKind::PacketRate);
    let busy = |cpu| ObservedHost { busiest_cpu: cpu, ..router(0.85, Vec::new()) };
    assert_eq!(of_packets(vec![busy(0.98)]).kind, LimitKind::ForwarderCpu, "programs take the rest of it");
    assert_eq!(of_packets(vec![busy(0.9)]).kind, LimitKind::PacketRate);
    let own = ObservedHost { is_this_host: true, ..router(0.97, Vec::new()) };
    assert_eq!(of_packets(vec![own]).kind, LimitKind::PacketRate, "it may be the CPU of an end");
    let bucket = Evidence { observed: vec![router(0.97, Vec::new())], ..capped(Nanos::from_millis(50)) };
    assert_eq!(limit_of(&bucket).kind, LimitKind::Shaper, "the same rate at every load");
}

#[test]
fn an_outage_is_why_less_arrived_than_the_path_carries() {
    let mut evidence = clean();
    evidence.down = Some(Nanos::from_secs(2));
    assert_eq!(
        limit_of(&evidence).ruled_out.first().map(String::as_str),
        Some("the path was down for 2.00 s of the test")
    );
}

/// Losses of 4 % at every rate up to where a CPU on the path forwards no more, which small frames meet at the same number.
#[test]
fn random_loss_is_named_though_the_load_meets_a_cpu_far_above() {
    let mut evidence = capped(Nanos::from_micros(700));
    evidence.rate = BitRate(6 * MBIT);
    let signs = tcp(&mut evidence);
    (signs.segments, signs.lost, signs.growing) = (2_100, 90, true);
    (signs.idle_rtt, signs.loaded_rtt) = (Some(Nanos::from_micros(3_900)), Some(Nanos::from_micros(6_600)));
    let lossy =
        |sent: u64| LoadStep { loss: 0.042, ..step(Purpose::Ladder, sent, sent * 958 / 1000, Nanos::ZERO) };
    let ladder: Vec<LoadStep> = [8, 12, 19, 40, 120, 360].map(lossy).into();
    steps(&mut evidence).splice(0..1, ladder);
    for (step, rate) in steps(&mut evidence)[6..].iter_mut().zip([640, 598, 655, 610, 627, 633]) {
        (step.sent, step.delivered, step.loss) = (BitRate(1_300 * MBIT), BitRate(rate * MBIT), 0.52);
    }
    let small = purpose(&mut evidence, Purpose::Small);
    (small.sent, small.delivered, small.loss) = (BitRate(208 * MBIT), BitRate(104 * MBIT), 0.5);
    let found = limit_of(&evidence);
    assert_eq!((found.kind, found.confidence), (LimitKind::Loss, Confidence::High));
    assert_eq!(found.also.map(|also| also.kind), Some(LimitKind::PacketRate));
    // Without losses below the cap nothing but the cap is there.
    steps(&mut evidence)[..6].iter_mut().for_each(|step| step.loss = 0.0);
    assert_ne!(limit_of(&evidence).kind, LimitKind::Loss);
}

/// Figures of a busy host: each load arrived, some of it late, and a step of the ladder that stood still seemed to be capped.
#[test]
fn delays_of_a_host_are_no_cap() {
    let mut evidence = clean();
    evidence.rate = BitRate(4_200_000);
    let signs = tcp(&mut evidence);
    (signs.segments, signs.lost) = (1_976, 81);
    (signs.idle_rtt, signs.loaded_rtt) = (Some(Nanos::from_millis(3)), Some(Nanos::from_micros(9_770)));
    let load = evidence.load.as_mut().expect("a load");
    let recorded = |purpose, kbits: [u64; 2], datagrams, loss, millis| LoadStep {
        sent: BitRate(kbits[0] * 1_000),
        delivered: BitRate(kbits[1] * 1_000),
        datagrams,
        loss,
        growth_p10: Nanos::from_micros(200),
        ..step(purpose, 1, 1, Nanos::from_millis(millis))
    };
    load.steps = vec![
        recorded(Purpose::Ladder, [3_960, 3_930], 90, 0.022, 0),
        recorded(Purpose::Ladder, [4_020, 3_880], 90, 0.033, 0),
        recorded(Purpose::Ladder, [6_260, 6_050], 90, 0.033, 0),
        LoadStep { stalled: 1.0, ..recorded(Purpose::Ladder, [1_090, 940], 26, 0.077, 4) },
        recorded(Purpose::Hot, [1_960, 670], 22, 0.045, 278),
        recorded(Purpose::Hot, [2_000, 1_453_410], 22, 0.091, 91),
        recorded(Purpose::Hot, [2_020, 2_020], 22, 0.0, 0),
        recorded(Purpose::Idle, [90, 90], 21, 0.048, 0),
    ];
    assert_eq!(limit_of(&evidence).kind, LimitKind::Loss);
}

/// Figures of a path shared with two TCP flows, by a host too busy to load it: others filled the queue, whose losses are no chance.
#[test]
fn losses_of_a_queue_that_others_fill_are_not_random() {
    let mut evidence = clean();
    evidence.rate = BitRate(13_100_000);
    let signs = tcp(&mut evidence);
    (signs.segments, signs.lost) = (4_227, 13);
    (signs.idle_rtt, signs.loaded_rtt) = (Some(Nanos::from_micros(54)), Some(Nanos::from_micros(30_183)));
    let queued = |sent: u64, datagrams, loss| LoadStep {
        datagrams,
        loss,
        stalled: 0.6,
        growth_p10: Nanos::from_millis(17),
        ..step(Purpose::Ladder, sent, sent, Nanos::from_millis(24))
    };
    let load = evidence.load.as_mut().expect("a load");
    load.steps =
        vec![queued(14, 219, 0.0), queued(25, 352, 0.014), queued(37, 561, 0.011), queued(40, 898, 0.003)];
    assert_eq!(limit_of(&evidence).kind, LimitKind::NotKnown);
}

#[test]
fn tcp_that_grows_while_others_fill_the_path_is_not_starting() {
    let mut evidence = capped(Nanos::from_millis(29));
    evidence.rate = BitRate(20 * MBIT);
    let signs = tcp(&mut evidence);
    (signs.growing, signs.lost) = (true, 13);
    assert_eq!(limit_of(&evidence).kind, LimitKind::RampUp, "the queue is empty");
    steps(&mut evidence).last_mut().expect("idle").growth = Nanos::from_millis(12);
    assert_eq!(limit_of(&evidence).kind, LimitKind::Competing);
    steps(&mut evidence).last_mut().expect("idle").growth = Nanos::ZERO;
    tcp(&mut evidence).loaded_rtt = Some(Nanos::from_millis(42));
    assert_ne!(limit_of(&evidence).kind, LimitKind::RampUp, "TCP filled the queue");
}

#[test]
fn a_queue_has_the_place_where_round_trips_grow_and_a_policer_has_not() {
    let grown = |millis: u64| Some(Nanos::from_millis(millis));
    let mut shaper = capped(Nanos::from_millis(50));
    shaper.load.as_mut().expect("a load").router_growth = vec![grown(0), grown(48), grown(51)];
    let place = limit_of(&shaper).place.map(|place| (place.first, place.last));
    assert_eq!(place, Some((2, 2)));
    let mut policer = capped(Nanos::from_micros(1));
    policer.load.as_mut().expect("a load").router_growth = vec![grown(0), grown(48), grown(51)];
    assert_eq!((limit_of(&policer).kind, limit_of(&policer).place), (LimitKind::Policer, None));
}

#[test]
fn cpus_that_forward_no_more_far_above_tcp_are_the_next_limit() {
    let mut evidence = clean();
    tcp(&mut evidence).lost = 100;
    let waits = Nanos::from_millis(9);
    let hot = [1_000, 1_010, 990].map(|rate| step(Purpose::Hot, 2_100, rate, waits));
    steps(&mut evidence).splice(2..2, hot);
    steps(&mut evidence).push(LoadStep { size: 214, ..step(Purpose::Small, 340, 170, waits) });
    let found = limit_of(&evidence);
    let also = found.also.map(|also| also.kind);
    assert_eq!((found.kind, also), (LimitKind::NotKnown, Some(LimitKind::PacketRate)));
    evidence.rate = BitRate(100 * MBIT);
    assert_eq!(limit_of(&evidence).kind, LimitKind::PacketRate, "not a third of what passed");
}

#[test]
fn a_path_that_waits_without_the_load_and_gives_it_more_and_more_is_shared() {
    let mut evidence = capped(Nanos::from_millis(100));
    evidence.rate = BitRate(41 * MBIT);
    tcp(&mut evidence).loaded_rtt = Some(Nanos::from_millis(118));
    for (step, rate) in steps(&mut evidence).iter_mut().skip(1).zip([41, 42, 43, 43, 44]) {
        step.delivered = BitRate(rate * MBIT);
    }
    assert_eq!(limit_of(&evidence).kind, LimitKind::Shaper);
    purpose(&mut evidence, Purpose::Idle).growth = Nanos::from_millis(10);
    assert_eq!(limit_of(&evidence).kind, LimitKind::Competing);
}

#[test]
fn a_limit_for_each_flow_gives_more_to_several_streams() {
    let mut evidence = capped(Nanos::from_millis(50));
    (evidence.rate, tcp(&mut evidence).streams) = (BitRate(200 * MBIT), 5);
    assert_eq!(
        limit_of(&evidence).kind,
        LimitKind::NotKnown,
        "four flows get no more: UDP is treated differently"
    );
    let four = purpose(&mut evidence, Purpose::FourFlows);
    (four.delivered, four.loss, four.growth) = (BitRate(90 * MBIT), 0.0, Nanos::ZERO);
    let found = limit_of(&evidence);
    assert_eq!((found.kind, found.per_flow), (LimitKind::Shaper, Some(true)));
    tcp(&mut evidence).streams = 1;
    assert_eq!(limit_of(&evidence).kind, LimitKind::NotKnown);
}

/// The queue of others before a policer is as long as the load makes it; one of the limit's own is a step above what waits below it.
#[test]
fn a_queue_that_grows_with_the_load_alone_is_that_of_others() {
    let mut evidence = capped(Nanos::ZERO);
    purpose(&mut evidence, Purpose::Small).datagrams = 1_000;
    for step in steps(&mut evidence).iter_mut().filter(|step| step.purpose != Purpose::Idle) {
        let waits = Nanos::from_micros(step.sent.0 / 5_000);
        (step.growth, step.growth_p10, step.growth_p98) = (waits, waits, waits);
    }
    assert_eq!(limit_of(&evidence).kind, LimitKind::Policer);
    for step in steps(&mut evidence).iter_mut().filter(|step| step.loss > 0.0) {
        let waits = Nanos(step.growth.0 + Nanos::from_millis(10).0);
        (step.growth, step.growth_p10, step.growth_p98) = (waits, waits, waits);
    }
    assert_ne!(limit_of(&evidence).kind, LimitKind::Policer);
}

#[test]
fn acknowledgements_that_wait_come_before_the_drops_of_the_bursts_that_follow() {
    let mut evidence = clean();
    tcp(&mut evidence).lost = 150;
    evidence.host.sender = vec![HostFact::new(FactName::BacklogDrops, "", 140.0)];
    assert_eq!(limit_of(&evidence).kind, LimitKind::HostDrop);
    tcp(&mut evidence).loaded_rtt = Some(Nanos::from_millis(120));
    assert_eq!(limit_of(&evidence).kind, LimitKind::AckPath);
}
