//! A path of buckets and queues in virtual time, for the tests of the decision phase.

use super::*;
use model::limit::{Arrival, StepReceived, StepSent};

/// A bucket that drops, or queues up to so many bits.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    pub(super) link: u8,
    pub(super) rate: f64,
    pub(super) burst: f64,
    pub(super) queue: f64,
    /// The limit counts packets and not bits.
    pub(super) counts_packets: bool,
    pub(super) per_flow: bool,
    /// For each flow: tokens, when they were counted, and when its queue is empty.
    pub(super) state: [(f64, f64, f64); 4],
    /// CoDel (RFC 8289) keeps the queue at so many seconds, and marks instead of dropping.
    pub(super) codel: Option<Codel>,
}

#[derive(Clone, Debug)]
pub(super) struct Codel {
    target: f64,
    is_marking: bool,
    above: Option<f64>,
    next: f64,
    count: u32,
}

impl Codel {
    pub(super) fn new(target: f64, is_marking: bool) -> Codel {
        Codel { target, is_marking, above: None, next: 0.0, count: 0 }
    }

    /// Whether a packet that leaves now after such a wait is dropped or marked.
    fn takes(&mut self, leaves: f64, waited: f64) -> bool {
        if waited < self.target {
            (self.above, self.count) = (None, 0);
            return false;
        }
        let since = *self.above.get_or_insert(leaves + INTERVAL);
        if leaves < since || self.count > 0 && leaves < self.next {
            return false;
        }
        self.count += 1;
        self.next = leaves.max(self.next) + INTERVAL / f64::from(self.count).sqrt();
        true
    }
}

/// When a packet leaves a bucket, in seconds, or that it is dropped.
enum Passed {
    Leaves(f64),
    Marked(f64),
    Dropped,
}

#[derive(Clone, Debug)]
pub(super) struct SimPath {
    pub(super) now: f64,
    pub(super) delay: f64,
    pub(super) jitter: f64,
    pub(super) buckets: Vec<Bucket>,
    /// Share of packets that are lost by chance.
    pub(super) loss: f64,
    /// Share of packets that come late, behind others.
    pub(super) late: f64,
    pub(super) links: u8,
    /// Routers that answer nothing, and the far end where it does not.
    pub(super) silent: Vec<u8>,
    pub(super) random: u64,
    /// The last step that was asked for, which goes on.
    pub(super) last: Option<StepRequest>,
}

pub(super) const OVERHEAD: u32 = 42;
pub(super) const FULL: f64 = 1514.0 * 8.0;
/// Bits of a probe of a router.
const SMALL: f64 = 60.0 * 8.0;

impl Bucket {
    pub(super) fn new(link: u8, rate: f64, burst: f64, queue: f64) -> Bucket {
        let burst = burst.max(2.0 * FULL);
        Bucket {
            link,
            rate,
            burst,
            queue,
            counts_packets: false,
            per_flow: false,
            state: [(burst, 0.0, 0.0); 4],
            codel: None,
        }
    }

    /// Takes a packet of a flow: when it leaves, or that it is dropped.
    fn pass(&mut self, at: f64, bits: f64, flow: usize) -> Passed {
        let bits = if self.counts_packets { FULL } else { bits };
        let rate = self.rate;
        let (tokens, counted, empty) = &mut self.state[if self.per_flow { flow } else { 0 }];
        if self.queue > 0.0 {
            // Waiting packets have used up the tokens; what is saved shortens the time.
            let start = empty.max(at - self.burst / rate);
            let leaves = start + bits / rate;
            if (leaves - at) * rate > self.queue {
                return Passed::Dropped;
            }
            let is_taken = self.codel.as_mut().is_some_and(|codel| codel.takes(leaves, leaves - at));
            let is_marking = self.codel.as_ref().is_some_and(|codel| codel.is_marking);
            if is_taken && !is_marking {
                return Passed::Dropped;
            }
            *empty = leaves;
            return if is_taken { Passed::Marked(leaves) } else { Passed::Leaves(leaves.max(at)) };
        }
        *tokens = (*tokens + (at - *counted) * rate).min(self.burst);
        *counted = at;
        if *tokens < bits {
            return Passed::Dropped;
        }
        *tokens -= bits;
        Passed::Leaves(at)
    }
}

impl SimPath {
    pub(super) fn new(buckets: Vec<Bucket>, delay: f64, seed: u64) -> SimPath {
        SimPath {
            now: 1.0,
            delay,
            jitter: 2e-5,
            buckets,
            loss: 0.0,
            late: 0.0,
            links: 3,
            silent: Vec::new(),
            random: seed | 1,
            last: None,
        }
    }

    fn draw(&mut self) -> f64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        (self.random >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// One packet sent now; when it arrives. A load that ends after some links meets no bucket behind them.
    fn packet(&mut self, at: f64, bits: f64, flow: usize, crosses: u8) -> Option<(f64, bool)> {
        let (mut time, mut is_marked) = (at, false);
        for index in 0..self.buckets.len() {
            if self.buckets[index].link > crosses {
                return None;
            }
            match self.buckets[index].pass(time, bits, flow) {
                Passed::Leaves(leaves) => time = leaves,
                Passed::Marked(leaves) => (time, is_marked) = (leaves, true),
                Passed::Dropped => return None,
            }
        }
        if crosses < self.links || self.draw() < self.loss {
            return None;
        }
        let is_late = self.draw() < self.late;
        let later = if is_late { LATE } else { 0.0 };
        Some((time + self.delay + self.draw() * self.jitter + later, is_marked))
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
            if let Some((came, marked)) = self.packet(self.now, bits, flow, crosses) {
                let (came, transit) = ((came * 1e9) as i64, ((came - self.now) * 1e9) as i64);
                arrivals.push(Arrival { index, late, sparse, marked, came, transit: transit - 77_000_000 });
            }
            index += 1;
            self.now += request.gap.0 as f64 / 1e9;
        }
        sent.late_time = Nanos(((last_late - first_late.unwrap_or(last_late)) * 1e9) as u64);
        arrivals.sort_by_key(|one| one.came);
        StepOutcome { sent, received: StepReceived::from_arrivals(&arrivals), ttl: Some(65 - self.links) }
    }

    /// The round trip of a small packet that is answered behind so many links; `None`: it was dropped.
    fn trip(&mut self, links: u8) -> Option<Nanos> {
        let (began, mut time) = (self.now, self.now);
        for bucket in self.buckets.iter_mut().filter(|bucket| bucket.link <= links) {
            match bucket.pass(time, SMALL, 0) {
                Passed::Leaves(leaves) | Passed::Marked(leaves) => time = leaves,
                Passed::Dropped => return None,
            }
        }
        let there = self.delay * f64::from(links) / f64::from(self.links);
        Some(Nanos(((time - began + 2.0 * there + self.draw() * self.jitter) * 1e9) as u64))
    }

    /// Time passes, with what is sent.
    fn pass_time(&mut self, time: f64) {
        if self.last.is_some() { self.hold(time) } else { self.now += time }
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
        assert!(
            steps.is_sorted_by_key(|step| step.step),
            "the newest step has the highest number: {steps:?}"
        );
        let outcome = steps.iter().map(|step| self.step(*step, step.time.as_secs_f64())).collect();
        self.last = steps.last().copied();
        self.hold(2.0 * self.delay + 0.01);
        Ok(outcome)
    }

    fn saturate(&mut self, step: StepRequest, most: f64) -> Result<Saturation> {
        self.last = Some(step);
        let (mut slow, mut longest) = (0, i64::MIN);
        for _ in 0..(step.time.as_secs_f64() / 0.06) as u32 {
            let received = self.step(step, 0.06).received;
            let rate = received.datagrams as f64 / 0.06;
            longest = longest.max(received.transit_max);
            slow = if rate <= most { slow + 1 } else { 0 };
            if slow == 2 {
                break;
            }
        }
        let is_reached = slow == 2;
        Ok(Saturation { is_reached, longest: is_reached.then_some(longest) })
    }

    fn rest(&mut self, time: Nanos) -> Result<()> {
        self.last = None;
        self.now += time.as_secs_f64();
        Ok(())
    }

    fn router_trips(&mut self, probes: RouterProbes) -> Result<Vec<Option<Nanos>>> {
        let mut all: Vec<Vec<Nanos>> = vec![Vec::new(); usize::from(probes.links)];
        for _ in 0..probes.rounds {
            for (link, trips) in (1..=probes.links).zip(&mut all) {
                trips.extend(self.trip(link).filter(|_| !self.silent.contains(&link)));
            }
            self.pass_time(0.07);
        }
        self.pass_time(probes.wait.as_secs_f64());
        Ok(all.iter().map(|trips| probes.shortest(trips)).collect())
    }

    fn host_drops(&self) -> u64 {
        0
    }
}

/// By how much a late packet is later, seconds.
const LATE: f64 = 0.002;
/// CoDel's interval, seconds.
const INTERVAL: f64 = 0.1;
