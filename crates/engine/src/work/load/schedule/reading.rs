//! The findings of the steps of a decision phase so far, and their conclusion once all are there.

use crate::work::load::StepOutcome;
use model::limit::{LimitPlace, LoadStep, Purpose, StepReceived, StepRequest, StepSent};
use model::units::{BitRate, Bytes, Nanos};

/// The steps so far.
#[derive(Debug, Default)]
pub(super) struct Reading {
    taken: Vec<Taken>,
    overhead: u32,
    /// Why it ended early.
    pub(super) note: Option<String>,
    /// Where the limit is.
    pub(super) place: Option<LimitPlace>,
    /// The links of the path, where the far end's datagrams show them.
    pub(super) links: Option<u8>,
    /// By how much the round trip to each router, and to the far end, grew.
    pub(super) router_growth: Vec<Option<Nanos>>,
}

#[derive(Clone, Copy, Debug)]
struct Taken {
    purpose: Purpose,
    request: StepRequest,
    sent: StepSent,
    received: StepReceived,
    links: Option<u8>,
}

/// Rates of one step in frames, bits per second, and what its delays did.
#[derive(Clone, Copy, Debug)]
pub(super) struct StepRates {
    pub(super) sent: f64,
    pub(super) delivered: f64,
    pub(super) loss: f64,
    datagrams: f64,
    /// The sender was delayed for a quarter of the time.
    pub(super) stalled: bool,
    growth: i64,
    visible: i64,
}

impl StepRates {
    /// The path took no more. `lost`: what TCP lost, which may be lost at any rate.
    pub(super) fn is_capped(&self, lost: f64) -> bool {
        let by_chance = lost + 4.0 * (lost / self.datagrams.max(1.0)).sqrt();
        let base_loss = (3.0 * lost).max(by_chance).min(MOST_BASE_LOSS);
        let queued = self.growth > self.visible && self.delivered < CAPPED * self.sent;
        self.loss > CAPPED_LOSS.max(base_loss) || queued
    }

    /// The losses may be chance: most of it arrived, and nothing waited.
    pub(super) fn is_doubtful(&self) -> bool {
        self.growth <= self.visible && self.delivered >= MOSTLY_DELIVERED * self.sent
    }
}

impl Reading {
    pub(super) fn new(overhead: u32) -> Reading {
        Reading { overhead, ..Reading::default() }
    }

    /// Takes what came of a step; its rates, where enough of it was sent.
    pub(super) fn take(
        &mut self,
        purpose: Purpose,
        request: StepRequest,
        outcome: Option<&StepOutcome>,
    ) -> Option<StepRates> {
        self.take_scoped(purpose, request, outcome, None)
    }

    /// The same of a load that ends after so many links.
    pub(super) fn take_scoped(
        &mut self,
        purpose: Purpose,
        request: StepRequest,
        outcome: Option<&StepOutcome>,
        links: Option<u8>,
    ) -> Option<StepRates> {
        let StepOutcome { sent, received, ttl } = *outcome?;
        if let (Some(ttl), None) = (ttl, request.ttl) {
            self.links = packet::links_crossed(ttl);
        }
        let taken = Taken { purpose, request, sent, received, links };
        self.taken.push(taken);
        (sent.late > 1).then(|| taken.rates(self.overhead))
    }

    /// The rate of the path, from the hot steps.
    pub(super) fn rate(&self) -> Option<f64> {
        let mut rates: Vec<f64> = self.hot().map(|taken| taken.rates(self.overhead).delivered).collect();
        rates.sort_by(f64::total_cmp);
        rates.get(rates.len() / 2).copied()
    }

    /// How long the queue is that a load fills: the median of the hot steps.
    pub(super) fn hot_queue(&self) -> Nanos {
        let least = self.least();
        let mut queues: Vec<Nanos> =
            self.hot().map(|taken| growth(taken.received.transit_p50, least)).collect();
        queues.sort_unstable();
        queues.get(queues.len() / 2).copied().unwrap_or_default().min(LONGEST_QUEUE)
    }

    /// By how much a transit is longer than the least.
    pub(super) fn growth_of(&self, transit: i64) -> Nanos {
        growth(transit, self.least())
    }

    /// How long the queue is that is to drain.
    pub(super) fn queue(&self) -> Nanos {
        let least = self.least();
        let last = self.taken.iter().rev().take(3).map(|taken| taken.received.transit_max).max();
        last.map_or(Nanos::ZERO, |last| growth(last, least)).min(LONGEST_QUEUE)
    }

    /// The steps, with the growth of the delay over the least of all.
    pub(super) fn steps(&self) -> Vec<LoadStep> {
        let least = self.least();
        self.taken.iter().map(|taken| taken.step(least, self.overhead)).collect()
    }

    fn hot(&self) -> impl Iterator<Item = &Taken> {
        self.taken.iter().filter(|taken| taken.purpose == Purpose::Hot && taken.received.late > 1)
    }

    fn least(&self) -> i64 {
        let came = self.taken.iter().filter(|taken| taken.received.datagrams > 0);
        came.map(|taken| taken.received.transit_min).min().unwrap_or(0)
    }
}

impl Taken {
    fn frame_bits(&self, overhead: u32) -> f64 {
        f64::from((self.request.size + overhead) * 8)
    }

    fn rates(&self, overhead: u32) -> StepRates {
        let bits = self.frame_bits(overhead);
        let rate = |count: u64, time: Nanos| match (count, time.0) {
            (0 | 1, _) | (_, 0) => 0.0,
            (count, time) => (count - 1) as f64 * bits * 1e9 / time as f64,
        };
        let (sent, received) = (&self.sent, &self.received);
        let main = sent.late.saturating_sub(sent.late_sparse);
        let arrived = received.late + received.late_sparse;
        let delivered = rate(arrived, received.late_time);
        let datagram_rate = if delivered > 0.0 { bits * 1e9 / delivered } else { 0.0 };
        StepRates {
            sent: rate(sent.late, sent.late_time),
            delivered,
            loss: 1.0 - (received.late as f64 / main.max(1) as f64).min(1.0),
            datagrams: main as f64,
            stalled: self.sent.stalled.0 as f64 >= STALLED * self.request.time.0 as f64,
            growth: received.transit_p90 - received.transit_first.min(received.transit_p10),
            visible: VISIBLE.max((datagram_rate * 1.3) as i64),
        }
    }

    fn step(&self, least: i64, overhead: u32) -> LoadStep {
        let Taken { received, sent, .. } = self;
        let rates = self.rates(overhead);
        let growth = |transit: i64| growth(transit, least);
        let sparse_loss = (sent.late_sparse >= FEW_SPARSE)
            .then(|| 1.0 - (received.late_sparse as f64 / sent.late_sparse as f64).min(1.0));
        let time = self.request.time.0.max(1) as f64;
        LoadStep {
            purpose: self.purpose,
            size: self.request.size,
            sent: BitRate(rates.sent.round() as u64),
            delivered: BitRate(rates.delivered.round() as u64),
            datagrams: sent.late,
            loss: rates.loss,
            growth: growth(received.transit_p50),
            growth_p10: growth(received.transit_p10),
            growth_first: growth(received.transit_first),
            spread: Nanos((received.transit_p90 - received.transit_p50).max(0).cast_unsigned()),
            growth_p98: growth(received.transit_p98),
            growth_max: growth(received.transit_max),
            growth_at_loss: received.transit_at_loss.map(growth),
            other_growth: received.sparse_p50.map(growth),
            drift: received.sparse_p50.zip(received.sparse_first).map(|(late, first)| late - first),
            sparse_loss,
            sparse: sent.late_sparse,
            ahead: Bytes(received.ahead * u64::from(self.request.size + overhead)),
            marked: received.marked,
            reordered: received.reordered,
            stalled: (sent.stalled.0 as f64 / time).min(1.0),
            links: self.links,
        }
    }
}

/// By how much a transit is longer than the least.
fn growth(transit: i64, least: i64) -> Nanos {
    Nanos(transit.saturating_sub(least).max(0).cast_unsigned())
}

/// Share of the time of a step.
const STALLED: f64 = 0.25;
/// A step whose late part loses more is capped.
const CAPPED_LOSS: f64 = 0.03;
/// A cap at the first step of the ladder loses more than this.
const MOST_BASE_LOSS: f64 = 0.12;
/// A step that delivers more of what was sent, without a queue, may have lost the rest by chance.
const MOSTLY_DELIVERED: f64 = 0.8;
/// A step that delivers less of what was sent, with a queue that grows, is capped too.
const CAPPED: f64 = 0.9;
/// Growth of the delay within a step that shows, nanoseconds.
const VISIBLE: i64 = 1_000_000;
/// Sparse datagrams that make a share.
const FEW_SPARSE: u64 = 8;
/// A queue that takes longer to drain is not waited for.
const LONGEST_QUEUE: Nanos = Nanos::from_millis(1200);
