//! Load of the decision phase and its results: steps of UDP load one after another, each judged by its late part.

use super::LimitPlace;
use crate::plan::Direction;
use crate::units::{BitRate, Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// One step of load, as it is requested of its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRequest {
    /// Number of the step, in every datagram of it.
    pub step: u32,
    /// UDP payload of each datagram, bytes.
    pub size: u32,
    /// Time from one datagram to the next; of four flows, from one flow's to the next flow's.
    #[serde(rename = "gap_ns")]
    pub gap: Nanos,
    /// Duration.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// Flows that send in turn.
    pub flows: u8,
    /// One datagram of so many, chosen at random, is sparse: its TTL reaches the far end, or another flow has it; 0: none.
    #[serde(default)]
    pub sparse: u8,
    /// TTL of the datagrams that are not sparse; absent: as usual. Without it sparse datagrams go over the next flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl: Option<u8>,
}

/// Counters of the sender of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepSent {
    /// Datagrams.
    pub datagrams: u64,
    /// Those of them that were sent after the first part of the step.
    pub late: u64,
    /// Late ones that were sparse.
    pub late_sparse: u64,
    /// From the first late one to the last.
    #[serde(rename = "late_time_ns")]
    pub late_time: Nanos,
    /// Time by which the sender was delayed.
    #[serde(rename = "stalled_ns")]
    pub stalled: Nanos,
    /// All of the step has been sent.
    pub ended: bool,
}

/// One datagram that arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Number within the step.
    pub index: u32,
    /// Whether it was sent after the first part of the step.
    pub late: bool,
    /// Whether it was a sparse one.
    pub sparse: bool,
    /// Whether it arrived marked: congestion experienced.
    pub marked: bool,
    /// When it came, nanoseconds of the receiver's clock.
    pub came: i64,
    /// Arrival less sending, across two clocks, nanoseconds.
    pub transit: i64,
}

/// Arrivals of a step. Transit times are across two clocks: only their differences have a meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepReceived {
    /// Datagrams.
    pub datagrams: u64,
    /// Late ones that are not sparse.
    pub late: u64,
    /// Late ones that are.
    pub late_sparse: u64,
    /// From the first late arrival to the last, sparse ones included.
    #[serde(rename = "late_time_ns")]
    pub late_time: Nanos,
    /// Datagrams by which the arrivals were at most ahead of the rate of the late ones: what a bucket let pass.
    pub ahead: u64,
    /// Share of the late ones that arrived marked.
    pub marked: f64,
    /// Share of those that are not sparse that arrived after one with a higher number.
    pub reordered: f64,
    /// Smallest transit of all.
    pub transit_min: i64,
    /// Median of the first ten.
    pub transit_first: i64,
    /// The 10th percentile of the late ones that are not sparse.
    pub transit_p10: i64,
    /// Their median.
    pub transit_p50: i64,
    /// Their 90th percentile.
    pub transit_p90: i64,
    /// Their 98th percentile.
    pub transit_p98: i64,
    /// Largest of all.
    pub transit_max: i64,
    /// Median of those before a gap in the numbers; absent: fewer than five gaps.
    pub transit_at_loss: Option<i64>,
    /// Median of the first five sparse ones; absent: fewer than five came.
    pub sparse_first: Option<i64>,
    /// Median of the late sparse ones; likewise.
    pub sparse_p50: Option<i64>,
}

impl StepReceived {
    /// Summarizes the datagrams of a step, given in order of arrival.
    #[must_use]
    pub fn from_arrivals(arrivals: &[Arrival]) -> StepReceived {
        let main: Vec<&Arrival> = arrivals.iter().filter(|one| !one.sparse).collect();
        let late = || arrivals.iter().filter(|one| one.late);
        let late_main = sorted(late().filter(|one| !one.sparse).map(|one| one.transit));
        let late_sparse = sorted(late().filter(|one| one.sparse).map(|one| one.transit));
        let times = (late().map(|one| one.came).min(), late().map(|one| one.came).max());
        let late_time = match times {
            (Some(first), Some(last)) => Nanos(last.saturating_sub(first).max(0).cast_unsigned()),
            _ => Nanos::ZERO,
        };
        let marked = late().filter(|one| one.marked).count() as f64 / late().count().max(1) as f64;
        let first = sorted(main.iter().take(FIRST).map(|one| one.transit));
        let at_loss = sorted(before_gaps(&main));
        let sparse_first = sorted(arrivals.iter().filter(|one| one.sparse).take(FEW).map(|one| one.transit));
        let enough = |values: &Vec<i64>| (values.len() >= FEW).then(|| quantile(values, 0.5));
        StepReceived {
            datagrams: arrivals.len() as u64,
            late: late_main.len() as u64,
            late_sparse: late_sparse.len() as u64,
            late_time,
            ahead: ahead(arrivals, late().count(), late_time),
            marked,
            reordered: reordered(&main),
            transit_min: arrivals.iter().map(|one| one.transit).min().unwrap_or(0),
            transit_first: quantile(&first, 0.5),
            transit_p10: quantile(&late_main, 0.1),
            transit_p50: quantile(&late_main, 0.5),
            transit_p90: quantile(&late_main, 0.9),
            transit_p98: quantile(&late_main, 0.98),
            transit_max: arrivals.iter().map(|one| one.transit).max().unwrap_or(0),
            transit_at_loss: enough(&at_loss),
            sparse_first: enough(&sparse_first),
            sparse_p50: enough(&late_sparse),
        }
    }
}

/// The share of datagrams that another one, sent after them, overtook.
fn reordered(main: &[&Arrival]) -> f64 {
    let mut in_time: Vec<(i64, u32)> = main.iter().map(|one| (one.came, one.index)).collect();
    in_time.sort_unstable();
    let mut highest = 0;
    let overtaken = in_time.iter().filter(|(_, index)| {
        let is_behind = *index < highest;
        highest = highest.max(*index);
        is_behind
    });
    overtaken.count() as f64 / in_time.len().max(1) as f64
}

/// By how many datagrams the arrivals were at most ahead of a steady rate: that of the late ones.
fn ahead(arrivals: &[Arrival], late: usize, late_time: Nanos) -> u64 {
    let mut times: Vec<i64> = arrivals.iter().map(|one| one.came).collect();
    times.sort_unstable();
    let (Some(first), true) = (times.first().copied(), late > 1 && late_time.0 > 0) else { return 0 };
    let rate = (late - 1) as f64 / late_time.0 as f64;
    let ahead = times.iter().enumerate().map(|(index, came)| index as f64 - (came - first) as f64 * rate);
    ahead.fold(0.0, f64::max).round() as u64
}

/// Transits of the late datagrams whose next number is missing. What is overtaken is no gap.
fn before_gaps(main: &[&Arrival]) -> Vec<i64> {
    let mut numbers: Vec<(u32, i64, bool)> =
        main.iter().map(|one| (one.index, one.transit, one.late)).collect();
    numbers.sort_unstable_by_key(|one| one.0);
    let gaps = numbers.windows(2).filter(|pair| pair[0].2 && pair[1].0 > pair[0].0 + LONE);
    gaps.map(|pair| pair[0].1).collect()
}

fn sorted(values: impl IntoIterator<Item = i64>) -> Vec<i64> {
    let mut values: Vec<i64> = values.into_iter().collect();
    values.sort_unstable();
    values
}

fn quantile(sorted: &[i64], share: f64) -> i64 {
    let last = sorted.len().saturating_sub(1) as f64;
    sorted.get((last * share).round() as usize).copied().unwrap_or(0)
}

/// The hot load, as a multiple of the rate that the path takes, and no whole one: a limit and a load must not fall into step.
pub const FLOOD: f64 = 2.13;

/// Purpose of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// A higher rate than before, until one is capped.
    Ladder,
    /// The saturated path, one flow at about twice its rate.
    Hot,
    /// The same over four flows.
    FourFlows,
    /// Little above its rate.
    Lower,
    /// A few percent above its rate: the queue of a link that is hardly faster drains.
    Edge,
    /// Far above its rate.
    Higher,
    /// Small frames.
    Small,
    /// Below its rate, after the queue has drained.
    Below,
    /// A few small datagrams on the idle path.
    Idle,
    /// Far above its rate, after a pause: what a bucket lets pass.
    Cold,
    /// The load ends at a hop, and sparse datagrams go on.
    Scoped,
}

/// The result of one step. Rates are in frames on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadStep {
    /// Its purpose.
    pub purpose: Purpose,
    /// UDP payload, bytes.
    pub size: u32,
    /// Rate sent in its late part.
    #[serde(rename = "sent_bps")]
    pub sent: BitRate,
    /// Rate of that part that arrived.
    #[serde(rename = "delivered_bps")]
    pub delivered: BitRate,
    /// Datagrams sent in its late part.
    pub datagrams: u64,
    /// Share of these that did not arrive.
    pub loss: f64,
    /// Growth of the one-way delay over its least of the whole phase: the median.
    #[serde(rename = "growth_ns")]
    pub growth: Nanos,
    /// Its 10th percentile.
    #[serde(rename = "growth_p10_ns")]
    pub growth_p10: Nanos,
    /// The same of the first datagrams of the step.
    #[serde(rename = "growth_first_ns")]
    pub growth_first: Nanos,
    /// From its 50th to its 90th percentile.
    #[serde(rename = "spread_ns")]
    pub spread: Nanos,
    /// Its 98th percentile.
    #[serde(rename = "growth_p98_ns")]
    pub growth_p98: Nanos,
    /// Its largest.
    #[serde(rename = "growth_max_ns")]
    pub growth_max: Nanos,
    /// Growth of datagrams before a gap.
    #[serde(rename = "growth_at_loss_ns", skip_serializing_if = "Option::is_none")]
    pub growth_at_loss: Option<Nanos>,
    /// Growth of a few datagrams over another flow, or of the sparse ones of a load that ends at a hop.
    #[serde(rename = "other_growth_ns", skip_serializing_if = "Option::is_none")]
    pub other_growth: Option<Nanos>,
    /// By how much the delay of the sparse ones grew within the step; negative where it fell.
    #[serde(rename = "drift_ns", skip_serializing_if = "Option::is_none")]
    pub drift: Option<i64>,
    /// Share of the sparse ones that did not arrive.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sparse_loss: Option<f64>,
    /// Sparse ones sent in the late part.
    pub sparse: u64,
    /// Bytes by which the arrivals were at most ahead of the rate of the late ones.
    #[serde(rename = "ahead_bytes", default)]
    pub ahead: Bytes,
    /// Share that came marked (CE).
    pub marked: f64,
    /// Share that arrived after one which was sent later; of several flows this shows nothing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub reordered: f64,
    /// Share of the step's time in which the sender was delayed.
    pub stalled: f64,
    /// Number of links that the load crossed, when it ends at a hop; 0: the sparse ones alone were sent, 255: all links.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<u8>,
}

/// The results of a decision phase in one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LoadProbing {
    /// The direction.
    pub direction: Direction,
    /// Its steps, in order.
    pub steps: Vec<LoadStep>,
    /// The highest rate that was allowed (`-b`, the server), where there was one, in frames.
    #[serde(rename = "most_bps", skip_serializing_if = "Option::is_none")]
    pub most: Option<BitRate>,
    /// The path was saturated before the hot steps.
    pub saturated: bool,
    /// Datagrams that the receiving host dropped in its kernel meanwhile.
    pub host_drops: u64,
    /// Where the load found the limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<LimitPlace>,
    /// Number of links, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub links: Option<u8>,
    /// By how much the round trip to each router, from the first on, and to the far end grew while the queue was full; `null`: it did
    /// not answer. Empty: not asked.
    #[serde(default, rename = "router_growth_ns", skip_serializing_if = "Vec::is_empty")]
    pub router_growth: Vec<Option<Nanos>>,
    /// Why it was cut short or left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Duration.
    #[serde(rename = "elapsed_ns")]
    pub elapsed: Nanos,
}

impl LoadProbing {
    /// The result for a direction in which nothing could be sent, with the reason.
    #[must_use]
    pub fn without(direction: Direction, note: impl Into<String>) -> LoadProbing {
        LoadProbing { direction, note: Some(note.into()), ..LoadProbing::default() }
    }

    /// The steps of one purpose.
    pub fn for_purpose(&self, purpose: Purpose) -> impl Iterator<Item = &LoadStep> {
        self.steps.iter().filter(move |step| step.purpose == purpose)
    }
}

fn is_zero(share: &f64) -> bool {
    *share == 0.0
}

/// Datagrams at the begin of a step.
const FIRST: usize = 10;
/// Fewer make no median.
const FEW: usize = 5;
/// A number that is missing because its datagram was sparse is no gap.
const LONE: u32 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn arrival(index: u32, transit: i64) -> Arrival {
        let late = index >= 40;
        Arrival {
            index,
            late,
            sparse: index % 10 == 5,
            marked: index.is_multiple_of(4),
            came: i64::from(index) * 1_000_000 + transit,
            transit,
        }
    }

    #[test]
    fn the_late_part_of_a_step_is_summed_up() {
        let all: Vec<Arrival> = (0..100).map(|index| arrival(index, 5_000 + i64::from(index))).collect();
        let step = StepReceived::from_arrivals(&all);
        assert_eq!((step.datagrams, step.late, step.late_sparse), (100, 54, 6));
        assert_eq!(step.late_time, Nanos::from_nanos(59_000_059));
        assert_eq!((step.transit_min, step.transit_max), (5_000, 5_099));
        assert_eq!(step.transit_at_loss, None, "numbers of sparse datagrams are no gaps");
        assert_eq!(step.sparse_first, Some(5_025));
        assert_eq!(step.reordered, 0.0);
        assert_eq!(StepReceived::from_arrivals(&[]), StepReceived::default());
    }

    #[test]
    fn a_datagram_that_is_overtaken_counts() {
        // Each tenth is late by 2.5 intervals, so that the next two overtake it.
        let transit = |index: u32| if index % 10 == 3 { 2_500_000 } else { 0 };
        let all: Vec<Arrival> = (0..100).map(|index| arrival(index, transit(index))).collect();
        assert_eq!(StepReceived::from_arrivals(&all).reordered, 10.0 / 90.0);
    }

    #[test]
    fn a_gap_has_the_delay_before_it() {
        let kept = (0..100).filter(|index| index % 10 < 6).map(|index| arrival(index, i64::from(index % 10)));
        let step = StepReceived::from_arrivals(&kept.collect::<Vec<_>>());
        // The fifth of each ten is sparse, so the gap begins behind the fourth.
        assert_eq!(step.transit_at_loss, Some(4));
    }
}
