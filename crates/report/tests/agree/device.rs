//! A benchmark of a device: losses of frames sent and received, bounds in order, nothing above line rate.

use super::{Found, get, items, number, sum};
use serde_json::Value;

pub(super) fn check(found: &mut Found, report: &Value) {
    for device in items(report, "devices") {
        for row in items(device, "rows") {
            let at = format!("{} {}", device["name"], row["stream"]["frames"]["name"]);
            rates(found, &at, row);
            steps(found, &at, row);
            bursts(found, &at, row);
            for direction in items(row, "flood") {
                trial(found, &format!("{at} flood"), &direction["result"]);
            }
        }
        hops(found, device);
    }
}

fn rates(found: &mut Found, at: &str, row: &Value) {
    let (line, most) = (number(row, "line_rate_pps"), number(row, "most_pps"));
    found.at_most(at, "the most load and line rate", most, line);
    for rate in items(row, "rates") {
        found.at_most(at, "lower and upper bound", number(rate, "lower_pps"), number(rate, "upper_pps"));
        found.at_most(at, "lower bound and the most load", number(rate, "lower_pps"), most);
    }
    let directions = items(row, "flood").len().max(1) as f64;
    let offered = number(row, "mrr.offered_pps").map(|load| load * directions);
    let lost = number(row, "mrr.forwarded.mean_pps").zip(offered).map(|(mean, offered)| 1.0 - mean / offered);
    found.same(at, "lost at the most load", number(row, "mrr.loss_ratio"), lost, 0.001);
    for latency in items(row, "latency") {
        found.at_most(at, "load of latency and the most", number(latency, "load_pps"), most);
    }
}

/// Frame loss rates.
fn steps(found: &mut Found, at: &str, row: &Value) {
    let rows = items(row, "loss.rows");
    let most = rows.first().and_then(|first| number(first, "load_pps"));
    for step in rows {
        trial(found, at, &step["result"]);
        let counts = number(step, "result.sent").zip(number(step, "result.received"));
        let lost = counts.map(|(sent, received)| (sent - received) / sent * 100.0);
        found.same(at, "percent lost", number(step, "loss_percent"), lost, 0.01);
        let offered = number(step, "load_pps").zip(most).map(|(load, most)| load / most * 100.0);
        found.same(at, "percent offered", number(step, "offered_percent"), offered, 0.01);
    }
    for pair in rows.windows(2) {
        found.at_most(
            at,
            "load of a step and the one before",
            number(&pair[1], "load_pps"),
            number(&pair[0], "load_pps"),
        );
    }
}

fn bursts(found: &mut Found, at: &str, row: &Value) {
    let outcome = get(row, "back_to_back.outcome");
    let all: Vec<f64> = items(outcome, "bursts").iter().filter_map(Value::as_f64).collect();
    let mean = (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64);
    found.same(at, "mean burst", number(outcome, "mean"), mean, 1e-6);
    found.same(at, "shortest burst", number(outcome, "least"), all.iter().copied().reduce(f64::min), 0.0);
    found.same(at, "longest burst", number(outcome, "most"), all.iter().copied().reduce(f64::max), 0.0);
}

fn trial(found: &mut Found, at: &str, result: &Value) {
    found.at_most(at, "frames sent and intended", number(result, "sent"), number(result, "intended"));
    let copies = number(result, "duplicates").unwrap_or_default();
    let received = number(result, "received").map(|received| received - copies);
    found.at_most(at, "frames received and sent", received, number(result, "sent"));
}

/// What the ends sent and did not get is what the counters between them dropped.
fn hops(found: &mut Found, device: &Value) {
    let hops = items(device, "hops");
    let (Some(first), Some(last)) = (hops.first(), hops.last()) else { return };
    let ends = [first, last];
    let lost = sum(ends, "sent").zip(sum(ends, "received")).map(|(sent, received)| sent - received);
    let counters = hops.iter().filter_map(|hop| hop["drops"].as_object()).flat_map(|drops| drops.values());
    let dropped: f64 = counters.filter_map(Value::as_f64).sum();
    found.same(&device["name"].to_string(), "drops of the hops", Some(dropped), lost, 0.0);
}
