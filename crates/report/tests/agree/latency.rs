//! Round trips: counts, rates, intervals, one-way delays, and the phases under load.

use super::{Found, get, items, number, sum};
use serde_json::Value;

pub(super) fn check(found: &mut Found, run: &Value) {
    let egress_paths = items(run, "summary.ways");
    for egress in egress_paths {
        let at = format!("path {}", egress["label"]);
        counts(found, &at, egress);
        rates(found, &at, egress);
        delays(found, &at, egress);
        percentiles(found, &at, egress);
    }
    if let [egress] = egress_paths {
        let same = run["summary"]["rtt_ns"] == egress["rtt_ns"];
        found.that("the only path", same, || "its round trips are not the run's".into());
    }
    intervals(found, run, egress_paths);
    loaded(found, run, egress_paths);
}

fn counts(found: &mut Found, at: &str, egress: &Value) {
    let counted = &egress["counted"];
    let figure = |name: &str| number(counted, name);
    if let (Some(asked), Some(received), Some(lost)) = (figure("asked"), figure("received"), figure("lost")) {
        found.same(at, "received and lost of those asked", Some(received + lost), Some(asked), 0.0);
    }
    found.at_most(at, "asked and sent", figure("asked"), figure("sent"));
    // Those of the warm-up came too, and are in no figure.
    let warm_up = number(egress, "warm_up_count");
    let all = number(egress, "rtt_ns.count").zip(warm_up).map(|(count, warm_up)| count + warm_up);
    found.same(at, "round trips and replies", all, figure("received"), 0.0);
    let egress_paths = figure("lost_up").zip(figure("lost_down")).map(|(up, down)| up + down);
    found.same(
        at,
        "lost up and down",
        figure("lost").filter(|_| figure("far_received").is_none()),
        egress_paths,
        0.0,
    );
    found.at_most(at, "late and lost", figure("late"), figure("lost"));
    found.at_most(at, "reordered and received", figure("reordered"), figure("received"));
    found.at_most(at, "received by the far end and sent", figure("far_received"), figure("sent"));
}

fn rates(found: &mut Found, at: &str, egress: &Value) {
    let seconds = number(egress, "elapsed_ns").map(|time| time / 1e9).filter(|time| *time > 0.0);
    let reckoned = number(egress, "counted.sent").zip(seconds).map(|(sent, time)| sent / time);
    found.same(at, "messages sent per second", number(egress, "sent_pps"), reckoned, 1.0);
    let received = number(egress, "counted.far_received").zip(seconds).map(|(count, time)| count / time);
    // Its time runs from the first to the last that came.
    if let (Some(found_rate), Some(received)) = (number(egress, "received_pps"), received) {
        found.at_most(at, "received per second", Some(received * 0.99), Some(found_rate));
    }
}

fn delays(found: &mut Found, at: &str, egress: &Value) {
    let error = number(egress, "one_way.error_ns").unwrap_or_default();
    let both = number(egress, "one_way.up_ns.min").zip(number(egress, "one_way.down_ns.min"));
    let least = both.map(|(up, down)| up + down - 2.0 * error);
    found.at_most(at, "one-way delays and round trip", least, number(egress, "rtt_ns.min"));
    found.at_most(
        at,
        "on the wire and in all",
        number(egress, "wire.rtt_ns.mean"),
        number(egress, "rtt_ns.mean"),
    );
    found.at_most(
        at,
        "service and response",
        number(egress, "service_ns.mean"),
        number(egress, "rtt_ns.mean"),
    );
    let deviation = number(egress, "mad_ns");
    let range = number(egress, "rtt_ns.max").zip(number(egress, "rtt_ns.min")).map(|(max, min)| max - min);
    found.at_most(at, "median deviation and range", deviation, range);
    found.at_most(at, "quartiles' distance and range", number(egress, "iqr_ns"), range);
    for outlier in items(egress, "outliers") {
        found.at_most(
            at,
            "held by the host and round trip",
            number(outlier, "host_ns"),
            number(outlier, "rtt_ns"),
        );
        found.at_most(
            at,
            "an outlier and the largest",
            number(outlier, "rtt_ns"),
            number(egress, "rtt_ns.max"),
        );
        found.at_most(
            at,
            "an outlier's time and the run's",
            number(outlier, "at_ns"),
            number(egress, "elapsed_ns"),
        );
    }
    // Batches leave a remainder out.
    let half = number(egress, "mean.half_width").unwrap_or_default();
    found.same(at, "mean and its interval", number(egress, "rtt_ns.mean"), number(egress, "mean.mean"), half);
    let counted = number(egress, "mean.count");
    found.at_most(at, "round trips of the interval and all", counted, number(egress, "rtt_ns.count"));
}

fn percentiles(found: &mut Found, at: &str, egress: &Value) {
    let rows: Vec<(f64, f64)> = items(egress, "percentiles")
        .iter()
        .filter_map(|row| Some((number(row, "percent")?, number(row, "value_ns")?)))
        .collect();
    for pair in rows.windows(2) {
        found.at_most(at, "a percentile and the next", Some(pair[0].1), Some(pair[1].1));
    }
}

fn intervals(found: &mut Found, run: &Value, egress_paths: &[Value]) {
    let samples = items(run, "latency_intervals").iter().filter(|sample| sample["load"].is_null());
    let samples: Vec<&Value> = samples.collect();
    for (index, egress) in egress_paths.iter().enumerate() {
        let rows: Vec<Value> = samples.iter().map(|sample| sample["ways"][index].clone()).collect();
        let at = format!("intervals of path {}", egress["label"]);
        found.at_most(&at, "sent and in all", sum(&rows, "sent"), number(egress, "counted.sent"));
        found.at_most(&at, "lost and in all", sum(&rows, "lost"), number(egress, "counted.lost"));
        for row in &rows {
            found.at_most(&at, "round trips and sent", number(row, "rtt_ns.count"), number(row, "sent"));
        }
    }
}

fn loaded(found: &mut Found, run: &Value, egress_paths: &[Value]) {
    let phases = items(run, "summary.loaded.phases");
    for phase in phases {
        let at = format!("load {}", phase["load"]);
        let replies =
            number(phase, "rtt_ns.count").zip(number(phase, "lost")).map(|(count, lost)| count + lost);
        found.at_most(&at, "replies and losses of those sent", replies, number(phase, "sent"));
        responsiveness(found, &at, &phase["responsiveness"]);
    }
    let idle = phases.iter().find(|phase| phase["load"].is_null());
    if let (Some(idle), [egress]) = (idle, egress_paths) {
        let all = get(egress, "rtt_ns");
        if idle["rtt_ns"]["count"] == all["count"] {
            found.that("idle phase", idle["rtt_ns"] == *all, || "differs from the path's round trips".into());
        }
        found.at_most("idle phase", "sent and in all", number(idle, "sent"), number(egress, "counted.sent"));
    }
}

fn responsiveness(found: &mut Found, at: &str, of: &Value) {
    let per_minute = |nanos: f64| 60e9 / nanos;
    let parts: Vec<f64> =
        ["tcp_ns", "tls_ns", "http_ns"].iter().filter_map(|name| number(of, name)).collect();
    let foreign = (!parts.is_empty()).then(|| per_minute(parts.iter().sum::<f64>() / parts.len() as f64));
    let rounding = number(of, "foreign").map_or(0.0, |rpm| rpm * 1e-3);
    found.same(at, "round trips of new connections", number(of, "foreign"), foreign, rounding);
    let own = number(of, "loaded_ns").map(per_minute);
    found.same(at, "round trips of loaded connections", number(of, "loaded"), own, rounding);
    let both =
        number(of, "foreign").zip(number(of, "loaded")).map(|(foreign, own)| f64::midpoint(foreign, own));
    found.same(at, "responsiveness", number(of, "rpm"), both, 1e-6);
}
