//! The decision phase over simulated paths, and what the rules make of it: thousands of worlds of known truth.

use super::*;
use insight::limit::limit_of;
use model::limit::{Arrival, Evidence, HostFacts, LimitKind, StepReceived, StepSent, TcpSigns, UdpSigns};
use model::units::Bytes;
use proptest::prelude::*;

/// A bucket that drops, or queues up to so many bits.
#[derive(Clone, Debug)]
struct Bucket {
    link: u8,
    rate: f64,
    burst: f64,
    queue: f64,
    /// The limit counts packets and not bits.
    counts_packets: bool,
    per_flow: bool,
    /// For each flow: tokens, when they were counted, and when its queue is empty.
    state: [(f64, f64, f64); 4],
}

#[derive(Clone, Debug)]
struct SimPath {
    now: f64,
    delay: f64,
    jitter: f64,
    buckets: Vec<Bucket>,
    loss: f64,
    links: u8,
    random: u64,
    /// The last step that was asked for, which goes on.
    last: Option<StepRequest>,
}

const OVERHEAD: u32 = 42;
const FULL: f64 = 1514.0 * 8.0;

impl Bucket {
    fn new(link: u8, rate: f64, burst: f64, queue: f64) -> Bucket {
        let burst = burst.max(2.0 * FULL);
        Bucket {
            link,
            rate,
            burst,
            queue,
            counts_packets: false,
            per_flow: false,
            state: [(burst, 0.0, 0.0); 4],
        }
    }

    /// When it lets a packet go; `None`: it drops it.
    fn pass(&mut self, at: f64, bits: f64, flow: usize) -> Option<f64> {
        let bits = if self.counts_packets { FULL } else { bits };
        let (tokens, counted, empty) = &mut self.state[if self.per_flow { flow } else { 0 }];
        if self.queue > 0.0 {
            // Waiting packets have used up the tokens; what is saved shortens the time.
            let start = empty.max(at - self.burst / self.rate);
            let leaves = start + bits / self.rate;
            if (leaves - at) * self.rate > self.queue {
                return None;
            }
            *empty = leaves;
            return Some(leaves.max(at));
        }
        *tokens = (*tokens + (at - *counted) * self.rate).min(self.burst);
        *counted = at;
        (*tokens >= bits).then(|| {
            *tokens -= bits;
            at
        })
    }
}

impl SimPath {
    fn new(buckets: Vec<Bucket>, delay: f64, seed: u64) -> SimPath {
        SimPath { now: 1.0, delay, jitter: 2e-5, buckets, loss: 0.0, links: 3, random: seed | 1, last: None }
    }

    fn draw(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// One packet sent now; when it arrives. A load that ends after some links meets no bucket behind them.
    fn packet(&mut self, at: f64, bits: f64, flow: usize, crosses: u8) -> Option<f64> {
        let mut time = at;
        for index in 0..self.buckets.len() {
            if self.buckets[index].link > crosses {
                return None;
            }
            time = self.buckets[index].pass(time, bits, flow)?;
        }
        if crosses < self.links || self.draw() < self.loss {
            return None;
        }
        Some(time + self.delay + self.draw() * self.jitter)
    }

    fn step(&mut self, request: StepRequest, time: f64) -> StepOutcome {
        let (began, bits) = (self.now, f64::from(request.size + OVERHEAD) * 8.0);
        let mut sent = StepSent { ended: true, ..StepSent::default() };
        let (mut arrivals, mut first_late, mut last_late) = (Vec::new(), None, 0.0);
        let mut index = 0;
        while self.now < began + time {
            let late = self.now >= began + 0.4 * time;
            let sparse = request.sparse > 0 && self.draw() * f64::from(request.sparse) < 1.0;
            let own = index as usize % usize::from(request.flows.max(1));
            let flow = if sparse && request.ttl.is_none() { (own + 1) % 4 } else { own };
            let crosses = if sparse { u8::MAX } else { request.ttl.unwrap_or(u8::MAX) };
            sent.datagrams += 1;
            sent.late += u64::from(late);
            sent.late_sparse += u64::from(late && sparse);
            if late {
                first_late.get_or_insert(self.now);
                last_late = self.now;
            }
            if let Some(came) = self.packet(self.now, bits, flow, crosses) {
                let (came, transit) = ((came * 1e9) as i64, ((came - self.now) * 1e9) as i64);
                arrivals.push(Arrival {
                    index,
                    late,
                    sparse,
                    marked: false,
                    came,
                    transit: transit - 77_000_000,
                });
            }
            index += 1;
            self.now += request.gap.0 as f64 / 1e9;
        }
        sent.late_time = Nanos(((last_late - first_late.unwrap_or(last_late)) * 1e9) as u64);
        arrivals.sort_by_key(|one| one.came);
        StepOutcome { sent, received: StepReceived::from_arrivals(&arrivals), ttl: Some(65 - self.links) }
    }

    /// The time in which the answer comes is load, too.
    fn hold(&mut self, time: f64) {
        if let Some(last) = self.last {
            self.step(last, time);
        }
    }
}

impl LoadPath for SimPath {
    fn now(&self) -> MonoTime {
        MonoTime((self.now * 1e9) as u64)
    }

    fn run(&mut self, steps: &[StepRequest]) -> Result<Vec<StepOutcome>> {
        let outcome = steps.iter().map(|step| self.step(*step, step.time.as_secs_f64())).collect();
        self.last = steps.last().copied();
        self.hold(2.0 * self.delay + 0.01);
        Ok(outcome)
    }

    fn saturate(&mut self, step: StepRequest, most: f64) -> Result<bool> {
        self.last = Some(step);
        let mut slow = 0;
        for _ in 0..(step.time.as_secs_f64() / 0.06) as u32 {
            let outcome = self.step(step, 0.06);
            let rate = outcome.received.datagrams as f64 / 0.06;
            slow = if rate <= most { slow + 1 } else { 0 };
            if slow == 2 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn rest(&mut self, time: Nanos) -> Result<()> {
        self.last = None;
        self.now += time.as_secs_f64();
        Ok(())
    }

    fn host_drops(&self) -> u64 {
        0
    }
}

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
    let quest = Quest {
        direction: Direction::Up,
        reached: BitRate(before.rate as u64),
        payload: 1472,
        overhead: OVERHEAD,
        most: None,
        lost: before.lost,
        is_met: before.is_met,
        short: false,
        place: true,
        budget: Nanos::from_secs(4),
    };
    let load = probe(path, quest);
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
    assert!(path.now - began < 5.5, "it took {} s", path.now - began);
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
        assert!(load.elapsed < Nanos::from_millis(2000), "{}", load.elapsed);
        assert_eq!(load.place, None);
        found.load = Some(load);
        assert_eq!(limit_of(&found).kind, kind);
    }
}
