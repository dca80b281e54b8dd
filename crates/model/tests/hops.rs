//! Traces on simulated paths, whose truth is known by construction: rate limits, loss from some link on, equal paths, circles,
//! silent hops. None of them may find what is not there.
#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking, as a test does")]

use model::hops::{
    Answer, AnswerKind, HopProtocol, HopsEnd, HopsResult, Missing, Probed, Schedule, Step, Tracer,
};
use model::time::MonoTime;
use model::units::Nanos;
use pathmeter_model as model;
use proptest::prelude::*;
use std::collections::BinaryHeap;
use std::net::IpAddr;

/// A router, or the far end.
#[derive(Clone, Debug)]
struct Node {
    /// Equal paths: a router for each; flows take them in turn.
    legs: Vec<u8>,
    /// From the node before, there.
    delay: Nanos,
    /// Lost on the link to it.
    loss: f64,
    /// Answers at once, and then one for each such time; absent: no limit.
    limit: Option<(u32, Nanos)>,
    silent: bool,
    /// More time that its own answers take.
    slow: Nanos,
}

impl Node {
    fn new(address: u8) -> Node {
        Node {
            legs: vec![address],
            delay: Nanos::from_millis(1),
            loss: 0.0,
            limit: None,
            silent: false,
            slow: Nanos::ZERO,
        }
    }
}

/// A path on a clock of its own.
struct World {
    nodes: Vec<Node>,
    /// The last node is a far end that answers; else packets vanish behind it.
    reaches: bool,
    /// Behind the last node they come back to this one.
    circle: Option<usize>,
    /// Every other flow goes past the second node.
    short_cut: bool,
    /// Addresses and kinds of the last node's answers, in turn; empty: from its own address.
    far_answers: Vec<(IpAddr, AnswerKind)>,
    /// Answers given so far.
    turn: usize,
    /// Tokens of each node, and when they were counted.
    tokens: Vec<(f64, MonoTime)>,
    random: u64,
    /// Probes lost by the path.
    lost: u32,
}

impl World {
    fn new(nodes: Vec<Node>, seed: u64) -> World {
        let tokens =
            nodes.iter().map(|node| (node.limit.map_or(0.0, |limit| f64::from(limit.0)), at(0))).collect();
        World {
            nodes,
            reaches: true,
            circle: None,
            short_cut: false,
            far_answers: Vec::new(),
            turn: 0,
            tokens,
            random: seed | 1,
            lost: 0,
        }
    }

    /// SplitMix64, as a share of one.
    fn chance(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// The answer to a probe; `None`: nothing.
    fn answer(&mut self, now: MonoTime, ttl: u8, flow: u32) -> Option<Answer> {
        let (mut delay, mut hop) = (Nanos::ZERO, 0);
        for step in 1..=ttl {
            if hop >= self.nodes.len() {
                hop = self.circle?;
            }
            delay += self.nodes[hop].delay;
            if self.chance() < self.nodes[hop].loss {
                self.lost += 1;
                return None;
            }
            if (self.reaches && hop + 1 == self.nodes.len()) || step == ttl {
                break;
            }
            hop += if self.short_cut && hop == 0 && flow % 2 == 1 { 2 } else { 1 };
        }
        let node = self.nodes[hop].clone();
        if node.silent || !self.may_answer(hop, now) {
            return None;
        }
        let leg = node.legs[flow as usize % node.legs.len()];
        let is_far = self.reaches && hop + 1 == self.nodes.len();
        self.turn += 1;
        let own = IpAddr::from([10, 0, leg, u8::try_from(hop).unwrap()]);
        let (from, kind) = match self.far_answers.as_slice() {
            [] if is_far => (own, AnswerKind::Arrived),
            answers if is_far => answers[self.turn % answers.len()],
            _ => (own, AnswerKind::Expired),
        };
        Some(Answer {
            from,
            at: now + delay + delay + node.slow,
            kind,
            ttl: Some(64 - u8::try_from(hop).unwrap()),
            labels: Vec::new(),
        })
    }

    fn may_answer(&mut self, hop: usize, now: MonoTime) -> bool {
        let Some((burst, each)) = self.nodes[hop].limit else { return true };
        let (tokens, then) = &mut self.tokens[hop];
        let grown = now.saturating_since(*then).0 as f64 / each.0 as f64;
        (*tokens, *then) = ((*tokens + grown).min(f64::from(burst)), now);
        let may = *tokens >= 1.0;
        *tokens -= f64::from(u8::from(may));
        may
    }
}

fn at(nanos: u64) -> MonoTime {
    MonoTime(1_000_000_000 + nanos)
}

fn schedule(probes: u32, flows: u32, interval: u64) -> Schedule {
    Schedule {
        protocol: HopProtocol::Icmp,
        probes,
        flows,
        interval: Nanos::from_millis(interval),
        timeout: Nanos::from_secs(1),
        max_hops: 30,
        rolling: false,
    }
}

/// Runs a trace through a world, which must end, and must not send more probes than it reports.
fn trace(world: &mut World, schedule: Schedule) -> HopsResult {
    trace_changing(world, schedule, |_, _| {})
}

/// The same while the world changes.
fn trace_changing(world: &mut World, schedule: Schedule, change: impl Fn(&mut World, Nanos)) -> HopsResult {
    let mut now = at(0);
    let mut tracer = Tracer::new(schedule, now);
    let mut coming: BinaryHeap<std::cmp::Reverse<(MonoTime, u32)>> = BinaryHeap::new();
    let mut answers: Vec<Option<Answer>> = Vec::new();
    for _ in 0..1_000_000 {
        change(world, now.saturating_since(at(0)));
        while coming.peek().is_some_and(|next| next.0.0 <= now) {
            let std::cmp::Reverse((_, number)) = coming.pop().unwrap();
            tracer.answered(number, answers[number as usize].clone().unwrap());
        }
        match tracer.poll(now) {
            Step::Send { number, ttl, flow } => {
                tracer.sent(number, now);
                let answer = world.answer(now, ttl, flow);
                coming.extend(answer.as_ref().map(|answer| std::cmp::Reverse((answer.at, number))));
                assert_eq!(answers.len(), number as usize, "numbers follow one another");
                answers.push(answer);
                now += Nanos::from_micros(20);
            }
            Step::Wait(until) => {
                let next = coming.peek().map_or(until, |next| next.0.0.min(until));
                now = next.max(now + Nanos::from_nanos(1));
            }
            Step::Done => {
                let found = tracer.result();
                assert!(found.packets <= u64::from(schedule.probes) * 31 + u64::from(schedule.flows) * 31);
                return found;
            }
        }
    }
    panic!("it does not end");
}

const FAR: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 9, 9, 9));

fn line(count: u8) -> Vec<Node> {
    (0..count).map(Node::new).collect()
}

#[test]
fn a_clean_path_is_whole_and_fast() {
    let mut world = World::new(line(5), 1);
    let began = schedule(10, 1, 500);
    let found = trace(&mut world, began);
    assert_eq!((found.end, found.hops.len()), (HopsEnd::Reached, 5));
    for hop in &found.hops {
        assert_eq!((hop.counted.sent, hop.counted.answered, hop.missing), (10, 10, Missing::None));
        let rtt = hop.rtt.unwrap();
        assert_eq!((rtt.min, rtt.max), (Nanos::from_millis(2 * u64::from(hop.ttl)), rtt.min), "{hop:?}");
        assert_eq!(hop.routers[0].hops_back, Some(hop.ttl));
    }
    assert_eq!((found.loss, found.changes.len(), found.circle.len()), (None, 0, 0));
    assert_eq!(found.packets, 50, "the far end is asked no oftener than needed");
}

#[test]
fn legs_are_distinguished_by_flow() {
    let mut nodes = line(4);
    nodes[1].legs = vec![1, 2, 3];
    let found = trace(&mut World::new(nodes, 1), schedule(12, 3, 10));
    assert_eq!(found.hops.iter().map(|hop| hop.routers.len()).collect::<Vec<_>>(), [1, 3, 1, 1]);
    let flows: Vec<_> = found.hops[1].routers.iter().map(|router| router.flows.clone()).collect();
    assert_eq!(flows, [[0], [1], [2]]);
    assert!(found.changes.is_empty());
}

#[test]
fn flows_of_unequal_length_end_where_each_does() {
    let mut world = World::new(line(5), 1);
    world.short_cut = true;
    let found = trace(&mut world, schedule(10, 2, 10));
    let ends: Vec<_> = found.flows.iter().map(|flow| flow.reached_at).collect();
    assert_eq!(ends, [Some(5), Some(4)]);
    let sent = |ttl: usize| found.hops[ttl - 1].flows.iter().map(|flow| flow.sent).collect::<Vec<_>>();
    // The second flow was probed for a fifth hop before it was known to have four.
    assert_eq!((sent(4), sent(5)), (vec![5, 5], vec![5, 0]));
    assert_eq!(found.far_counted().map(|counted| (counted.sent, counted.answered)), Some((10, 10)));
}

/// The far end answers a probe in a hundred milliseconds: some flows meet it at its own hop, others only behind it.
#[test]
fn a_far_end_that_limits_its_answers_is_no_further_away() {
    for distance in [1, 3] {
        let mut world = World::new(line(distance), 1);
        world.nodes[usize::from(distance) - 1].limit = Some((1, Nanos::from_millis(100)));
        let found = trace(&mut World::new(world.nodes, 1), schedule(10, 4, 20));
        assert_eq!(
            (found.end, found.hops.len()),
            (HopsEnd::Reached, usize::from(distance)),
            "{:?}",
            found.flows
        );
        assert!(
            found.flows.iter().all(|flow| flow.reached_at.is_none_or(|at| at == distance)),
            "{:?}",
            found.flows
        );
    }
}

#[test]
fn a_limit_differs_from_loss_and_doubt_stays_unclear() {
    let with = |answered: u32, probes: u32| {
        let mut nodes = line(4);
        nodes[1].limit = Some((answered, Nanos::from_secs(1_000)));
        trace(&mut World::new(nodes, 1), schedule(probes, 1, 10)).hops[1].missing
    };
    assert_eq!(with(10, 40), Missing::OwnAnswers);
    assert_eq!(with(39, 40), Missing::Unclear, "one of 40 may be chance");
}

#[test]
fn a_circle_is_found_and_not_followed_for_ever() {
    let mut world = World::new(line(3), 1);
    (world.reaches, world.circle) = (false, Some(1));
    let found = trace(&mut world, schedule(10, 1, 10));
    assert_eq!(found.end, HopsEnd::Circle);
    assert_eq!(found.circle, [IpAddr::from([10, 0, 1, 1]), IpAddr::from([10, 0, 2, 2])]);
    assert!((6..9).contains(&found.hops.len()), "{}", found.hops.len());
}

#[test]
fn silence_behind_a_hop_ends_the_trace_there() {
    let mut world = World::new(line(3), 1);
    world.reaches = false;
    let found = trace(&mut world, schedule(10, 2, 10));
    assert_eq!((found.end, found.hops.len(), found.loss), (HopsEnd::Silent, 3, None));
    let unanswered = trace(&mut World { reaches: false, ..World::new(Vec::new(), 1) }, schedule(3, 1, 10));
    assert!(unanswered.hops.is_empty());
}

#[test]
fn a_path_that_changes_is_reported_once() {
    struct Turn(u32);
    let mut tracer = Tracer::new(schedule(8, 1, 10), at(0));
    let (mut now, mut turn) = (at(0), Turn(0));
    while let step = tracer.poll(now)
        && step != Step::Done
    {
        match step {
            Step::Send { number, ttl, .. } => {
                turn.0 += u32::from(ttl == 1);
                tracer.sent(number, now);
                let router = if ttl == 1 && turn.0 > 4 { 7 } else { ttl };
                let kind = if ttl == 2 { AnswerKind::Arrived } else { AnswerKind::Expired };
                let from = IpAddr::from([10, 0, 0, router]);
                tracer.answered(number, Answer { from, at: now, kind, ttl: None, labels: Vec::new() });
            }
            Step::Wait(until) => now = until,
            Step::Done => {}
        }
    }
    let found = tracer.result();
    let [change] = found.changes.as_slice() else { panic!("{:?}", found.changes) };
    assert_eq!((change.ttl, change.from, change.to), (1, [10, 0, 0, 1].into(), [10, 0, 0, 7].into()));
}

/// A path of these many nodes from half of the trace on.
fn becomes(count: u8, after: Nanos) -> impl Fn(&mut World, Nanos) {
    move |world, time| {
        if time >= after && world.nodes.len() != usize::from(count) {
            world.nodes = line(count);
            // The far end keeps its address, the routers do not.
            world.nodes[usize::from(count) - 2].legs = vec![9];
            world.far_answers = vec![(FAR, AnswerKind::Arrived)];
            world.tokens = vec![(0.0, at(0)); usize::from(count)];
        }
    }
}

fn with_far(count: u8) -> World {
    World { far_answers: vec![(FAR, AnswerKind::Arrived)], ..World::new(line(count), 1) }
}

#[test]
fn a_path_that_grows_or_shrinks_loses_nothing_and_is_reported_as_a_change() {
    for (before, since) in [(3, 5), (5, 3), (3, 4), (4, 3)] {
        for flows in [1, 2, 4] {
            let mut world = with_far(before);
            let time = Nanos::from_millis(2_300);
            let found = trace_changing(&mut world, schedule(12, flows, 500), becomes(since, time));
            let what = format!("{before} to {since} hops in {flows} flows: {found:#?}");
            assert_eq!((found.end, found.hops.len()), (HopsEnd::Reached, usize::from(since)), "{what}");
            assert!(found.flows.iter().all(|flow| flow.reached_at == Some(since)), "{what}");
            let far = found.far_counted().unwrap();
            assert_eq!((far.sent, far.answered, found.loss), (12, 12, None), "{what}");
            let first = found.changes.iter().map(|change| change.at).min().expect(&what);
            assert!(first >= time && first < time + Nanos::from_secs(1), "{first}: {what}");
            assert!(found.hops.iter().all(|hop| hop.missing == Missing::None), "{what}");
        }
    }
}

#[test]
fn packets_that_take_turns_are_no_change_and_no_loss() {
    for seed in 0..50 {
        let mut world = with_far(4);
        world.random = seed;
        // Each answer of the second hop comes from one of two addresses, at random or by turns.
        let found = trace_changing(&mut world, schedule(10, 4, 100), |world, _| {
            let leg = if seed % 2 == 0 { world.chance() < 0.5 } else { world.turn % 8 < 4 };
            world.nodes[1].legs = vec![u8::from(leg)];
        });
        assert_eq!((found.hops.len(), found.loss, found.end), (4, None, HopsEnd::Reached));
        assert!(found.changes.is_empty(), "{seed}: {:#?}", found.changes);
    }
}

/// Packets that go by a longer leg or a shorter one, one by one.
#[test]
fn legs_of_unequal_length_by_packet_end_and_lose_nothing() {
    for seed in 1..30 {
        let mut world = with_far(4);
        world.random = seed;
        let found = trace_changing(&mut world, schedule(20, 2, 50), |world, _| {
            let count = if world.chance() < 0.5 { 4 } else { 6 };
            world.nodes = line(count);
            world.tokens = vec![(0.0, at(0)); usize::from(count)];
        });
        assert_eq!((found.end, found.loss), (HopsEnd::Reached, None), "{seed}");
        assert_eq!(found.far_counted().map(|far| far.missing()).unwrap_or(0), 0, "{seed}");
    }
}

#[test]
fn an_answer_from_another_address_is_the_far_ends_own() {
    let others = [[10, 9, 9, 77], [10, 9, 9, 78]].map(IpAddr::from);
    let unreachable = |from| (from, AnswerKind::Refused(3, 3));
    for answers in [vec![unreachable(others[0])], others.map(unreachable).to_vec()] {
        for distance in [1, 3] {
            let mut world = World::new(line(distance), 1);
            world.far_answers.clone_from(&answers);
            let found = trace(&mut world, schedule(12, 4, 20));
            assert_eq!((found.end, found.hops.len()), (HopsEnd::Reached, usize::from(distance)));
            let far = found.far_end().unwrap();
            assert!(
                far.routers.iter().all(|router| others.contains(&router.address) && router.refused.is_none())
            );
            assert!(found.changes.is_empty(), "{:?}", found.changes);
        }
    }
}

/// A firewall at the second hop rejects, and limits how often it reports that: flows hear of it at hops far behind it.
#[test]
fn who_rejects_is_named_where_it_is_met() {
    for (limit, code) in
        [(None, 3), (Some((4, Nanos::from_secs(1))), 3), (Some((4, Nanos::from_secs(1))), 13)]
    {
        // All that goes on behind the second node is refused by it.
        let mut nodes = line(3);
        nodes[2].limit = limit;
        nodes[1].legs = vec![0];
        let mut world = World::new(nodes, 1);
        let firewall = IpAddr::from([10, 0, 0, 1]);
        world.far_answers = vec![(firewall, AnswerKind::Refused(3, code))];
        let found = trace(&mut world, schedule(12, 4, 500));
        assert_eq!((found.end, found.hops.len(), found.loss), (HopsEnd::Refused, 3, None), "{found:#?}");
        assert_eq!(found.hops[2].routers[0].address, firewall);
    }
}

/// Two flows, and a far end that answers every other probe: neither is deaf.
#[test]
fn flows_are_not_in_step_with_a_limit_of_answers() {
    for flows in [2, 4] {
        let mut world = World::new(line(3), 1);
        world.nodes[2].limit = Some((1, Nanos::from_millis(1_000)));
        let found = trace(&mut world, schedule(40, flows, 501));
        let far = &found.hops[2];
        assert!(
            far.flows.iter().all(|flow| flow.answered > 0 && flow.missing() > 0),
            "{flows}: {:?}",
            far.flows
        );
    }
}

fn limits() -> impl Strategy<Value = Option<(u32, Nanos)>> {
    let limit = (1u32..8, 50u64..3000).prop_map(|(burst, each)| (burst, Nanos::from_millis(each)));
    prop::option::of(limit)
}

fn nodes(loss: bool) -> impl Strategy<Value = Vec<Node>> {
    let node = (limits(), prop::bool::weighted(0.1), 0u64..20, 0u64..80, 1usize..4);
    prop::collection::vec(node, 1..12).prop_map(move |nodes| {
        let last = nodes.len() - 1;
        let node = |(at, (limit, silent, delay, slow, legs)): (usize, (_, bool, u64, u64, usize))| Node {
            legs: (0..if at == last { 1 } else { legs }).map(|leg| u8::try_from(leg).unwrap()).collect(),
            delay: Nanos::from_micros(delay * 500 + 10),
            loss: 0.0,
            limit: if at == last { None } else { limit },
            silent: silent && at != last && !loss,
            slow: Nanos::from_millis(slow / 40 * slow),
        };
        nodes.into_iter().enumerate().map(node).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn no_loss_is_reported_that_is_none(nodes in nodes(false), flows in 1u32..5, probes in 1u32..60, every in 5u64..600) {
        let hops = nodes.len();
        let found = trace(&mut World::new(nodes, 7), schedule(probes, flows, every));
        prop_assert_eq!(found.end, HopsEnd::Reached);
        prop_assert_eq!(found.hops.len(), hops);
        prop_assert_eq!(found.loss, None);
        prop_assert!(found.hops.iter().all(|hop| hop.missing != Missing::Loss), "{:?}", found.hops);
        prop_assert!(found.circle.is_empty() && found.changes.is_empty());
        let far = found.far_counted().unwrap();
        prop_assert_eq!(far.missing(), 0);
    }

    #[test]
    fn limits_of_the_far_end_are_no_loss_either(burst in 1u32..6, each in 200u64..2000, probes in 8u32..60) {
        let mut nodes = line(4);
        nodes[3].limit = Some((burst, Nanos::from_millis(each)));
        nodes[2].limit = Some((burst, Nanos::from_millis(each)));
        let udp = Schedule { protocol: HopProtocol::Udp, ..schedule(probes, 2, 50) };
        let found = trace(&mut World::new(nodes, 7), udp);
        prop_assert_eq!(found.loss, None);
        prop_assert!(found.hops.iter().all(|hop| hop.missing != Missing::Loss));
    }
}

/// Real loss, and limits besides: over many seeds the reason is wrong no oftener than chance allows.
#[test]
fn real_loss_is_found_where_it_begins() {
    let (mut right, mut placed, mut wrong, all) = (0, 0, 0, 200);
    for seed in 0..all {
        let lossy = 1 + seed as usize % 6;
        let mut nodes = line(8);
        nodes[lossy].loss = [0.1, 0.3][seed as usize % 2];
        nodes[(lossy + 3) % 7].limit = Some((6, Nanos::from_secs(1)));
        let mut world = World::new(nodes, seed * 977);
        let found = trace(&mut world, schedule(100, 3, 100));
        assert!(world.lost > 0);
        let begins = u8::try_from(lossy).unwrap() + 1;
        let Some(loss) = found.loss else { continue };
        right += 1;
        placed += u32::from(loss.clean.is_some());
        let misplaced = loss.clean.is_some_and(|clean| clean >= begins)
            || loss.observed.is_some_and(|observed| observed < begins);
        let before = found.hops.iter().filter(|hop| hop.ttl < begins).any(|hop| hop.missing == Missing::Loss);
        wrong += u32::from(misplaced || before);
    }
    assert!(right == all && placed > 150 && wrong <= 4, "{right} found, {placed} placed, {wrong} wrong");
}

/// The result of a trace that never ends by itself, after some time; and the rounds that it began.
fn watched(world: &mut World, schedule: Schedule, change: impl Fn(&mut World, Nanos)) -> (HopsResult, u32) {
    let mut now = at(0);
    let mut tracer = Tracer::new(Schedule { rolling: true, ..schedule }, now);
    let mut coming: Vec<(MonoTime, u32, Answer)> = Vec::new();
    while now < at(0) + Nanos::from_secs(60) {
        change(world, now.saturating_since(at(0)));
        coming.sort_by_key(|next| std::cmp::Reverse((next.0, next.1)));
        while let Some((_, number, answer)) = coming.pop_if(|next| next.0 <= now) {
            tracer.answered(number, answer);
        }
        match tracer.poll(now) {
            Step::Send { number, ttl, flow } => {
                tracer.sent(number, now);
                coming.extend(world.answer(now, ttl, flow).map(|answer| (answer.at, number, answer)));
                now += Nanos::from_micros(20);
            }
            Step::Wait(until) => {
                let next = coming.iter().map(|next| next.0).min().map_or(until, |next| next.min(until));
                now = next.max(now + Nanos::from_nanos(1));
            }
            Step::Done => panic!("it ends"),
        }
    }
    (tracer.result(), tracer.progress().0)
}

#[test]
fn a_watch_keeps_the_last_rounds_alone() {
    let mut world = World::new(line(3), 5);
    // Nothing gets through in the first half minute.
    let (found, rounds) = watched(&mut world, schedule(20, 1, 100), |world, time| {
        world.nodes[2].loss = if time < Nanos::from_secs(30) { 1.0 } else { 0.0 };
    });
    assert!(rounds > 500, "{rounds}");
    assert_eq!((found.end, found.hops.len(), found.loss), (HopsEnd::Reached, 3, None));
    assert!(found.hops.iter().all(|hop| (19..=20).contains(&hop.counted.sent)), "{found:#?}");
    assert!(found.packets <= 60, "{}", found.packets);
}

#[test]
fn a_watch_follows_a_path_that_grows() {
    let mut world = World::new(line(3), 5);
    let (found, _) = watched(&mut world, schedule(20, 2, 100), |world, time| {
        if time >= Nanos::from_secs(30) && world.nodes.len() == 3 {
            world.nodes = line(5);
            world.tokens = vec![(0.0, at(0)); 5];
        }
    });
    assert_eq!((found.end, found.hops.len()), (HopsEnd::Reached, 5));
    assert!(found.flows.iter().all(|flow| flow.reached_at == Some(5)), "{:?}", found.flows);
}

#[test]
fn a_trace_that_another_carried_out_adds_up_the_same() {
    let here = IpAddr::from([192, 0, 2, 1]);
    let router = IpAddr::from([192, 0, 2, 254]);
    let answer = |from, kind, time: u64| Answer { from, at: at(time), kind, ttl: None, labels: Vec::new() };
    let of_round = |round: u64| {
        let began = at(round * 1_000_000_000);
        let answered = [
            Some(answer(router, AnswerKind::Expired, round * 1_000_000_000 + 2_000_000)),
            (round != 1).then(|| answer(here, AnswerKind::Arrived, round * 1_000_000_000)),
            // The first round went as far as it might, since nothing was known.
            (round == 0).then(|| answer(here, AnswerKind::Arrived, 0)),
        ];
        let last = if round == 0 { 3 } else { 2 };
        (1..=last).zip(answered).map(move |(ttl, answer)| Probed { ttl, at: began, answer })
    };
    let probes = (0..4).flat_map(of_round).collect();
    let found = Tracer::carried_out(schedule(4, 1, 1000), probes).result();
    assert_eq!((found.end, found.hops.len()), (HopsEnd::Reached, 2));
    let counted: Vec<(u32, u32)> =
        found.hops.iter().map(|hop| (hop.counted.sent, hop.counted.answered)).collect();
    assert_eq!(counted, [(4, 4), (4, 3)]);
    assert_eq!(found.hops[0].rtt.unwrap().p50, Nanos::from_millis(2));
}
