//! iPerf2's bounceback (`--bounceback`): `10=0.055/0.015/0.402/0.122 ms` in each row, and a histogram at the end.

use super::super::Tool;
use super::super::block::Block;
use super::super::latency::ParsedRun;
use super::super::number::Printed;
use super::super::row::{Id, IperfRow};
use super::lines::Output;
use model::latency::Counted;
use model::plan::Transport;
use model::stats::distribution::PartialDistribution;
use model::units::Nanos;
use std::collections::BTreeMap;

/// The figures of a row.
#[derive(Clone)]
struct Trips {
    count: u64,
    mean: Nanos,
    min: Nanos,
    max: Nanos,
    stddev: Nanos,
}

/// The run of a block; `None` when it is no bounceback of a client.
pub(super) fn parse_bounceback(output: &Output<'_>, block: &Block) -> Option<ParsedRun> {
    let (row, trips) = whole(output)?;
    let mut parsed = ParsedRun::new(Tool::Iperf2, block.line, output.host.as_deref());
    if let Some(stream) = output.streams.first() {
        (parsed.local, parsed.remote) = (Some(stream.local), Some(stream.remote));
    }
    (parsed.transport, parsed.elapsed) = (Transport::Tcp, row.elapsed());
    parsed.size = block.lines.iter().find_map(size).unwrap_or_default();
    let count = trips.count;
    parsed.counted = Counted { sent: count, asked: count, received: count, ..Counted::default() };
    let bins = merged(block.lines.iter().filter_map(bins).flatten());
    let at = |share: f64| Some(percentile(&bins, share)?.max(trips.min).min(trips.max));
    let figures = PartialDistribution {
        count,
        min: Some(trips.min),
        mean: trips.mean,
        stddev: Some(trips.stddev),
        p50: at(0.5),
        p90: at(0.9),
        p99: at(0.99),
        p999: at(0.999),
        p9999: at(0.9999),
        max: Some(trips.max),
        missing: 0,
    };
    if bins.is_empty() {
        parsed.of_extremes(figures);
    } else {
        parsed.rtt = Some(figures.into());
    }
    Some(parsed)
}

/// The run of a server's block: how many round trips there were, whose times it does not report.
pub(super) fn parse_served(output: &Output<'_>, block: &Block) -> Option<ParsedRun> {
    let (first, bounce) = output.bounces.first()?;
    let stream = output.streams.iter().find(|stream| stream.id == *first)?;
    let mut parsed = ParsedRun::new(Tool::Iperf2, block.line, Some(&stream.local.ip().to_string()));
    (parsed.local, parsed.remote) = (Some(stream.remote), Some(stream.local));
    (parsed.transport, parsed.size) = (Transport::Tcp, bounce.request);
    let mut count = 0_u64;
    for (id, bounce) in &output.bounces {
        let rows = || output.rows.iter().filter(|row| row.id == Id::Stream(*id));
        let last = rows().max_by_key(|row| (row.start == Nanos::ZERO, row.end));
        let Some(row) = last else { continue };
        // Both directions are in one figure.
        let each = u64::from(bounce.request) + u64::from(bounce.reply);
        let trips = row.bytes.value / each.max(1) as f64;
        count = count.saturating_add(trips.clamp(0.0, 1e15).round() as u64);
        parsed.elapsed = parsed.elapsed.max(row.elapsed());
    }
    parsed.counted = Counted { sent: count, asked: count, received: count, ..Counted::default() };
    parsed.warn("times-unknown", "A server's output gives how much was asked and answered: the number of round trips is reckoned from the bytes, and their times are in the client's output.");
    (count > 0).then_some(parsed)
}

/// The last row of the whole time of each connection (`-P`), as one; of a cut output its last row.
fn whole<'a>(output: &'a Output<'a>) -> Option<(&'a IperfRow<'a>, Trips)> {
    let mut last: Vec<(&IperfRow<'_>, Trips)> = Vec::new();
    for row in output.rows.iter().filter(|row| row.id != Id::Sum) {
        let Some(trips) = trips(row) else { continue };
        match last.iter_mut().find(|(known, _)| known.id == row.id) {
            Some(known)
                if (row.start == Nanos::ZERO, row.end) >= (known.0.start == Nanos::ZERO, known.0.end) =>
            {
                *known = (row, trips);
            }
            Some(_) => {}
            None => last.push((row, trips)),
        }
    }
    let sum = last.iter().map(|(_, trips)| trips).fold(None, |sum: Option<Trips>, trips| {
        Some(sum.map_or_else(|| trips.clone(), |sum| sum.and(trips)))
    })?;
    last.into_iter().map(|(row, _)| row).max_by_key(|row| row.end).map(|row| (row, sum))
}

impl Trips {
    /// Those of two connections together.
    fn and(&self, other: &Trips) -> Trips {
        let (a, b) = (self.count as f64, other.count as f64);
        let mean = (self.mean.0 as f64 * a + other.mean.0 as f64 * b) / (a + b);
        let about_mean = |of: &Trips| {
            let (deviation, off) = (of.stddev.0 as f64, of.mean.0 as f64 - mean);
            deviation * deviation * (of.count as f64 - 1.0) + off * off * of.count as f64
        };
        let variance = (about_mean(self) + about_mean(other)) / (a + b - 1.0).max(1.0);
        Trips {
            count: self.count.saturating_add(other.count),
            mean: Nanos(mean.round() as u64),
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            stddev: Nanos(variance.sqrt().round() as u64),
        }
    }
}

/// Bins of one width in order, each once.
fn merged(all: impl Iterator<Item = (Nanos, u64)>) -> Vec<(Nanos, u64)> {
    let mut bins: BTreeMap<Nanos, u64> = BTreeMap::new();
    for (edge, count) in all {
        let sum = bins.entry(edge).or_default();
        *sum = sum.saturating_add(count);
    }
    bins.into_iter().collect()
}

fn trips(row: &IperfRow<'_>) -> Option<Trips> {
    let at = row.tokens().position(|word| word == "ms")?;
    let (count, times) = row.token(at.checked_sub(1)?)?.split_once('=')?;
    let count: u64 = count.parse().ok().filter(|count| *count > 0)?;
    let times: Vec<Nanos> = times.split('/').filter_map(millis).collect();
    let [mean, min, max, stddev] = times.as_slice() else { return None };
    // The tool leaves the extremes of a single round trip at zero.
    let is_single = count == 1 || *max < *mean;
    let (min, max) = if is_single { (*mean, *mean) } else { (*min, *max) };
    Some(Trips { count, mean: *mean, min, max, stddev: *stddev })
}

fn millis(text: &str) -> Option<Nanos> {
    let value =
        Printed::from_text(text).map(|printed| printed.value).filter(|value| (0.0..1e9).contains(value))?;
    Some(Nanos((value * 1e6).round() as u64))
}

/// `Bounce-back test (size= 100 Byte) …`, and of 2.2 `Bounceback test (req/reply size = 100 Byte/ 300 Byte) …`: the request.
fn size(line: &str) -> Option<u32> {
    let old = line.split_once("Bounce-back test (size=");
    let new = || line.split_once("Bounceback test (req/reply size =")?.1.split_once('/');
    let rest = old.map(|(_, rest)| rest).or_else(|| new().map(|(request, _)| request))?.trim_start();
    let mut tokens = rest.split([' ', ')']);
    let bytes = Printed::bytes(tokens.next()?, tokens.next()?)?.value;
    (0.0..1e9).contains(&bytes).then_some(bytes as u32)
}

/// `BB8(f)-PDF: bin(w=100us):cnt(20)=1:18,2:1,5:1 (…)`: the upper edge of each bin, and how many it holds.
fn bins(line: &str) -> Option<Vec<(Nanos, u64)>> {
    let rest = line.split_once("-PDF: bin(w=").filter(|(before, _)| before.contains(" BB"))?.1;
    let (width, rest) = rest.split_once("us):cnt(")?;
    let width = Nanos(width.parse::<u64>().ok()?.checked_mul(1000)?);
    let listed = rest.split_once(")=")?.1.split_whitespace().next()?;
    let bin = |pair: &str| {
        let (number, count) = pair.split_once(':')?;
        Some((width.saturating_mul(number.parse().ok()?), count.parse().ok()?))
    };
    listed.split(',').map(bin).collect()
}

/// By nearest rank.
fn percentile(bins: &[(Nanos, u64)], share: f64) -> Option<Nanos> {
    let total = bins.iter().fold(0_u64, |sum, (_, count)| sum.saturating_add(*count));
    let mut left = ((total as f64 * share).ceil() as u64).max(1);
    bins.iter().find_map(|(edge, count)| {
        let here = *count >= left;
        left = left.saturating_sub(*count);
        here.then_some(*edge)
    })
}
