//! Percentiles that the count carries, their bounds, and how many more round trips the others take.

use model::latency::EgressResult;
use model::stats::distribution::Distribution;
use model::stats::histogram::Histogram;
use model::stats::percentile::{Percentile, Standing, percentiles, samples_needed};
use model::units::{Nanos, count};

/// A percentile that can be given.
#[derive(Clone, Copy, Debug)]
pub(in crate::format) struct Given {
    /// Which one: 99.9 is p99.9.
    pub(in crate::format) percent: f64,
    pub(in crate::format) value: Nanos,
    /// Between which times it truly lies with 95 %.
    pub(in crate::format) bounds: Option<(Nanos, Nanos)>,
    /// Messages that never came back reach it: it is no less than this, and no more is known.
    pub(in crate::format) at_least: bool,
}

impl Given {
    /// The value, or the least that it can be.
    pub(in crate::format) fn text(&self) -> String {
        if self.at_least { format!("≥ {}", self.value) } else { self.value.to_string() }
    }
}

/// The percentiles that can be given, with the bounds where they are known.
pub(in crate::format) fn given(egress: &EgressResult) -> Vec<Given> {
    let Some(rtt) = &egress.rtt else { return Vec::new() };
    let known = bounded(egress);
    let value = |(percent, of): &(f64, fn(&Distribution) -> Nanos)| {
        let at_least = match egress.standing(*percent) {
            Standing::Known => false,
            Standing::AtLeast => true,
            Standing::TooFew | Standing::Spoiled | Standing::NotGiven => return None,
        };
        let bounded = known.iter().find(|one| !at_least && (one.percent - percent).abs() < 1e-9);
        let bounds = bounded.map(|one| (one.low, one.high));
        let value = bounded.map_or_else(|| of(rtt), |one| one.value);
        Some(Given { percent: *percent, value, bounds, at_least })
    };
    PERCENTILES.iter().filter_map(value).collect()
}

/// Why some percentiles are bounds, or withheld.
pub(in crate::format) fn reservation(egress: &EgressResult) -> Option<String> {
    let lost = egress.rtt.map_or(0, |rtt| rtt.missing);
    let at_least = given(egress).iter().any(|one| one.at_least);
    let missing = (lost > 0).then(|| {
        let what =
            if at_least { "which reach the percentiles marked ≥" } else { "which are in no percentile" };
        format!("{} never came back, {what}", count(lost, "message"))
    });
    let from_send_call = egress
        .median_from_send_call()
        .map(|median| format!("; from the send call the median is {median}"))
        .unwrap_or_default();
    let spoiled = egress.spoiled_from_percent.map(|from| {
        format!("p{from} and above are withheld: this host was too busy to send or to receive in time{from_send_call}")
    });
    let parts: Vec<String> = [missing, spoiled].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join("; "))
}

/// The percentiles that so few round trips cannot carry, and how many more they take.
pub(in crate::format) fn missing(egress: &EgressResult) -> Vec<(f64, u64)> {
    let count = egress.rtt.map_or(0, |rtt| rtt.count);
    let more = |percent: f64| samples_needed(percent).map(|needed| (percent, needed.saturating_sub(count)));
    let too_few = |percent: &f64| egress.standing(*percent) == Standing::TooFew;
    let percents = PERCENTILES.iter().map(|(percent, _)| *percent).filter(too_few);
    percents.filter_map(more).filter(|(_, more)| *more > 0).collect()
}

/// The bounds of the median, measured, or McGill's notches (1.57 quartile distances over √n) where only these are known.
pub(super) fn median_bounds(egress: &EgressResult) -> Option<(Nanos, Nanos)> {
    let is_spoiled = egress.standing(50.0) == Standing::Spoiled;
    let rtt = egress.rtt.filter(|rtt| rtt.count > 0 && !is_spoiled)?;
    if let Some(median) = bounded(egress).iter().find(|one| (one.percent - 50.0).abs() < 1e-9) {
        return Some((median.low, median.high));
    }
    let median = rtt.median()?;
    let notch = Nanos((NOTCH * egress.iqr?.0 as f64 / (rtt.count as f64).sqrt()) as u64);
    Some((median.saturating_sub(notch), median.saturating_add(notch)))
}

/// The percentiles that the run has, or those from its histogram.
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
