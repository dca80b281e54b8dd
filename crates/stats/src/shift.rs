//! Shifts of level in a series of times: from one level to another at one time, as when a route fails over.
//!
//! The series is kept as medians of short spans, which outliers do not move. A shift is a time at which a tenth of the run before
//! it and a tenth after it lie apart, by more than either varies, and at once: a slow drift is not a shift, and neither is a
//! pause that ends.

use serde::{Deserialize, Serialize};
use units::Nanos;

/// Detects shifts in a series, in bounded memory.
#[derive(Clone, Debug)]
pub struct ShiftMeter {
    spans: Vec<Span>,
    /// Length of a span.
    width: u64,
}

/// The values of one span of time.
#[derive(Clone, Debug, Default)]
struct Span {
    /// Its place, from the start of the run.
    place: u64,
    /// The first of its values.
    values: Vec<u64>,
}

/// A shift of level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LevelShift {
    /// Its time, since the start of the run.
    #[serde(rename = "at_ns")]
    pub at: Nanos,
    /// The median before it, back to the shift before.
    #[serde(rename = "from_ns")]
    pub from: Nanos,
    /// The median after it, to the next shift.
    #[serde(rename = "to_ns")]
    pub to: Nanos,
}

impl Default for ShiftMeter {
    fn default() -> ShiftMeter {
        ShiftMeter { spans: Vec::new(), width: SHORTEST }
    }
}

impl ShiftMeter {
    /// Takes one value of the time `at`, since the start of the run.
    pub fn record(&mut self, at: Nanos, value: u64) {
        while at.0 / self.width >= MOST {
            self.widen();
        }
        let place = at.0 / self.width;
        let index = match self.spans.last() {
            Some(last) if last.place == place => self.spans.len() - 1,
            Some(last) if last.place > place => {
                match self.spans.binary_search_by_key(&place, |one| one.place) {
                    Ok(index) => index,
                    Err(index) => self.insert(index, place),
                }
            }
            _ => self.insert(self.spans.len(), place),
        };
        let values = &mut self.spans[index].values;
        if values.len() < VALUES {
            values.push(value);
        }
    }

    /// The shifts, in order of time.
    #[must_use]
    pub fn shifts(&self) -> Vec<LevelShift> {
        let series: Vec<(u64, u64)> =
            self.spans.iter().map(|span| (span.place * self.width, median(span.values.clone()))).collect();
        let (Some(first), Some(last)) = (series.first(), series.last()) else { return Vec::new() };
        let reach = ((last.0 - first.0) / PARTS).max(1);
        let mut edges: Vec<Edge> = (1..series.len()).filter_map(|at| edge(&series, at, reach)).collect();
        edges.sort_by(|a, b| b.clear.total_cmp(&a.clear).then(b.height.cmp(&a.height)));
        let mut chosen: Vec<usize> = Vec::new();
        for edge in edges {
            if chosen.iter().all(|other| series[*other].0.abs_diff(series[edge.at].0) > reach) {
                chosen.push(edge.at);
            }
        }
        chosen.sort_unstable();
        levels(&series, chosen)
    }

    fn insert(&mut self, index: usize, place: u64) -> usize {
        self.spans.insert(index, Span { place, values: Vec::new() });
        index
    }

    /// Spans of twice the length.
    fn widen(&mut self) {
        self.width *= 2;
        let mut wide: Vec<Span> = Vec::with_capacity(self.spans.len() / 2 + 1);
        for span in std::mem::take(&mut self.spans) {
            match wide.last_mut().filter(|last| last.place == span.place / 2) {
                Some(last) => {
                    // Both halves keep the same number of values.
                    last.values.truncate(VALUES / 2);
                    last.values.extend(span.values.into_iter().take(VALUES / 2));
                }
                None => wide.push(Span { place: span.place / 2, ..span }),
            }
        }
        self.spans = wide;
    }
}

/// A place where the series may shift.
struct Edge {
    at: usize,
    /// Share of the values on either side that are on their own side of the middle.
    clear: f64,
    height: u64,
}

/// Tests whether the parts before and after, as far as `reach`, are two levels.
fn edge(series: &[(u64, u64)], at: usize, reach: u64) -> Option<Edge> {
    let now = series[at].0;
    let before = &series[series.partition_point(|one| one.0 + reach < now)..at];
    let after = &series[at..series.partition_point(|one| one.0 < now + reach)];
    if before.len() < FEWEST || after.len() < FEWEST {
        return None;
    }
    let values = |part: &[(u64, u64)]| part.iter().map(|one| one.1).collect::<Vec<u64>>();
    let (low, high) = (median(values(before)), median(values(after)));
    let height = low.abs_diff(high);
    let noise = spread(values(before)).max(spread(values(after)));
    if height < least_height(low, high).max(noise.saturating_mul(NOISES)) {
        return None;
    }
    let middle = low.midpoint(high);
    let own = |part: &[(u64, u64)], level: u64| {
        part.iter().filter(|one| (one.1 > middle) == (level > middle)).count()
    };
    let clear = (own(before, low) + own(after, high)) as f64 / (before.len() + after.len()) as f64;
    // A drift is as far apart, but not where its two parts meet.
    let near = |part: &[(u64, u64)]| part.len().div_ceil(3);
    let (left, right) = (&before[before.len() - near(before)..], &after[..near(after)]);
    let jump = median(values(left)).abs_diff(median(values(right)));
    (clear >= CLEAR && jump as f64 >= AT_ONCE * height as f64).then_some(Edge { at, clear, height })
}

/// The shifts between the levels of the parts that the edges make; parts on one level are one.
fn levels(series: &[(u64, u64)], mut edges: Vec<usize>) -> Vec<LevelShift> {
    loop {
        let bounds: Vec<usize> = [0].into_iter().chain(edges.iter().copied()).chain([series.len()]).collect();
        let level =
            |part: &[usize]| median(series[part[0]..part[1]].iter().map(|one| one.1).collect::<Vec<u64>>());
        let levels: Vec<u64> = bounds.windows(2).map(level).collect();
        let same =
            levels.windows(2).position(|pair| pair[0].abs_diff(pair[1]) < least_height(pair[0], pair[1]));
        if let Some(same) = same {
            edges.remove(same);
            continue;
        }
        let shift = |(edge, pair): (&usize, &[u64])| LevelShift {
            at: Nanos(series[*edge].0),
            from: Nanos(pair[0]),
            to: Nanos(pair[1]),
        };
        return edges.iter().zip(levels.windows(2)).map(shift).collect();
    }
}

fn least_height(one: u64, other: u64) -> u64 {
    (one.min(other) / QUARTER).max(NOTICEABLE.0)
}

fn median(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or_default()
}

/// The interquartile range.
fn spread(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    let at = |share: usize| values.get(values.len() * share / 4).copied().unwrap_or_default();
    at(3).saturating_sub(at(1))
}

/// Length of a span at first.
const SHORTEST: u64 = 10_000_000;
/// Most spans.
const MOST: u64 = 512;
/// Values of a span that are kept.
const VALUES: usize = 16;
/// Smallest part of the run that a level lasts: one in this many.
const PARTS: u64 = 10;
/// Least number of spans in a level.
const FEWEST: usize = 3;
/// A level is higher by at least one part in this many …
const QUARTER: u64 = 4;
/// … and by an amount typical of a change of route, and not of a busy host.
const NOTICEABLE: Nanos = Nanos::from_micros(500);
/// Interquartile ranges by which levels lie apart.
const NOISES: u64 = 3;
/// Share of the values that are on their own side.
const CLEAR: f64 = 0.85;
/// Part of the height that occurs at once.
const AT_ONCE: f64 = 0.6;

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// The shifts of a series with a value every 20 ms for 12 s, in milliseconds.
    fn shifts(value: impl Fn(u64) -> u64) -> Vec<(u64, u64, u64)> {
        let mut meter = ShiftMeter::default();
        (0..600).map(|index| index * 20).for_each(|at| meter.record(Nanos(at * MS), value(at)));
        meter.shifts().iter().map(|one| (one.at.0 / MS, one.from.0 / MS, one.to.0 / MS)).collect()
    }

    /// Noise that repeats.
    fn noise(at: u64, most: u64) -> u64 {
        (at / 20 * 7919) % most
    }

    #[test]
    fn a_step_up_is_found_where_it_is() {
        let found = shifts(|at| if at < 4_000 { 2 * MS } else { 401 * MS } + noise(at, MS / 2));
        assert!(matches!(found[..], [(3_970..=4_010, 2, 401)]), "{found:?}");
    }

    #[test]
    fn a_step_up_and_back_is_two() {
        let found = shifts(|at| if (4_000..8_000).contains(&at) { 82 * MS } else { MS } + noise(at, MS / 10));
        assert!(matches!(found[..], [(3_970..=4_010, 1, 82), (7_970..=8_010, 82, 1)]), "{found:?}");
    }

    #[test]
    fn ping_pong_that_slows_down_with_the_path_shows_it_too() {
        let mut meter = ShiftMeter::default();
        let mut at = 0;
        while at < 12_000 * MS {
            let rtt = if at < 4_000 * MS { MS + noise(at, MS / 10) } else { 400 * MS };
            meter.record(Nanos(at), rtt);
            at += rtt;
        }
        let found = meter.shifts();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(
            found[0].at.0.abs_diff(4_000 * MS) < 50 * MS && found[0].to == Nanos::from_nanos(400 * MS),
            "{found:?}"
        );
    }

    #[test]
    fn stalls_drifts_noise_and_outliers_are_none() {
        let stall = |at: u64| match at % 3_000 {
            since @ 0..500 => (500 - since) * MS,
            _ => 2 * MS,
        };
        assert_eq!(shifts(stall), [], "half a second every three");
        assert_eq!(
            shifts(|at| if (5_000..7_000).contains(&at) { (7_000 - at) * MS } else { MS }),
            [],
            "one of 2 s"
        );
        assert_eq!(shifts(|at| MS + at * MS / 100), [], "a drift");
        assert_eq!(shifts(|at| MS + noise(at, 20 * MS)), [], "noise");
        assert_eq!(shifts(|at| if at % 1_000 == 0 { 300 * MS } else { MS }), [], "outliers");
        assert_eq!(shifts(|_| MS), []);
        assert_eq!(ShiftMeter::default().shifts(), []);
    }

    #[test]
    fn long_runs_keep_their_spans_bounded() {
        let mut meter = ShiftMeter::default();
        (0..100_000_u64)
            .for_each(|at| meter.record(Nanos(at * 50 * MS), if at < 60_000 { 30 } else { 50 } * MS));
        assert!(meter.spans.len() <= MOST as usize);
        assert_eq!(meter.shifts().len(), 1);
    }
}
