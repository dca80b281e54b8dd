//! Percentiles that the count carries, their bounds, and how many more round trips the others take.

use model::latency::EgressResult;
use model::stats::histogram::{Distribution, Histogram};
use model::stats::percentile::{Percentile, percentiles, samples_needed};
use model::units::Nanos;

/// A percentile, its value, and between which times it truly lies with 95 %.
pub(in crate::format) type Given = (f64, Nanos, Option<(Nanos, Nanos)>);

/// The percentiles that can be given, with the bounds where they are known.
pub(in crate::format) fn given(egress: &EgressResult) -> Vec<Given> {
    let Some(rtt) = &egress.rtt else { return Vec::new() };
    let known = bounded(egress);
    let value = |(percent, of): &(f64, fn(&Distribution) -> Nanos)| {
        if rtt.count < samples_needed(*percent)? {
            return None;
        }
        let bounded = known.iter().find(|one| (one.percent - percent).abs() < 1e-9);
        let bounds = bounded.map(|one| (one.low, one.high));
        Some((*percent, bounded.map_or_else(|| of(rtt), |one| one.value), bounds))
    };
    PERCENTILES.iter().filter_map(value).collect()
}

/// The percentiles that so few round trips cannot carry, and how many more they take.
pub(in crate::format) fn missing(egress: &EgressResult) -> Vec<(f64, u64)> {
    let count = egress.rtt.map_or(0, |rtt| rtt.count);
    let more = |percent: f64| samples_needed(percent).map(|needed| (percent, needed.saturating_sub(count)));
    PERCENTILES.iter().filter_map(|(percent, _)| more(*percent)).filter(|(_, more)| *more > 0).collect()
}

/// The bounds of the median, measured, or McGill's notches (1.57 quartile distances over √n) where only these are known.
pub(super) fn median_bounds(egress: &EgressResult) -> Option<(Nanos, Nanos)> {
    let rtt = egress.rtt.filter(|rtt| rtt.count > 0)?;
    if let Some(median) = bounded(egress).iter().find(|one| (one.percent - 50.0).abs() < 1e-9) {
        return Some((median.low, median.high));
    }
    let notch = Nanos((NOTCH * egress.iqr?.0 as f64 / (rtt.count as f64).sqrt()) as u64);
    Some((rtt.p50.saturating_sub(notch), rtt.p50.saturating_add(notch)))
}

/// As the run carries them, or from its histogram.
fn bounded(egress: &EgressResult) -> Vec<Percentile> {
    if !egress.percentiles.is_empty() {
        return egress.percentiles.clone();
    }
    let histogram = egress.histogram.as_ref().and_then(|text| Histogram::from_v2_base64(text).ok());
    histogram
        .map(|histogram| percentiles(&histogram, &PERCENTILES.map(|(percent, _)| percent)))
        .unwrap_or_default()
}

type Of = fn(&Distribution) -> Nanos;

const PERCENTILES: [(f64, Of); 5] = [
    (50.0, |rtt| rtt.p50),
    (90.0, |rtt| rtt.p90),
    (99.0, |rtt| rtt.p99),
    (99.9, |rtt| rtt.p999),
    (99.99, |rtt| rtt.p9999),
];
const NOTCH: f64 = 1.57;
