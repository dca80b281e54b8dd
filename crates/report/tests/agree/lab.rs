//! A lab's report: packets that fit the path, losses that hold the drops, rates of what arrived.

use super::{Found, get, items, number, sum};
use serde_json::Value;

pub(super) fn check(found: &mut Found, report: &Value) {
    let seconds = number(report, "time_ns").map(|time| time / 1e9);
    for variant in items(report, "variants") {
        let name = variant["name"].as_str().unwrap_or_default();
        let series = items(variant, "series");
        for one in series {
            let at = format!("{name} {} {} {}", one["test"], one["family"], one["direction"]);
            for run in items(one, "runs") {
                repetition(found, &at, run, seconds.filter(|_| one["test"] == "udp"));
            }
            let medium = items(one, "runs").iter().filter_map(|run| number(run, "goodput_bps"));
            let mean = medium.clone().sum::<f64>() / medium.count().max(1) as f64;
            found.same(&at, "mean goodput", number(one, "goodput_bps.mean"), Some(mean), 1.0);
            packets(found, &at, one, series);
        }
    }
}

fn repetition(found: &mut Found, at: &str, run: &Value, seconds: Option<f64>) {
    found.at_most(at, "lost and sent", number(run, "lost"), number(run, "sent"));
    let drops = items(run, "drops");
    let dropped = sum(drops, "sent").zip(sum(drops, "received")).map(|(sent, received)| sent + received);
    found.at_most(at, "dropped and lost", dropped, number(run, "lost"));
    found.at_most(at, "least and median", number(run, "rtt_min_ns"), number(run, "rtt_p50_ns"));
    found.at_most(at, "median and p99", number(run, "rtt_p50_ns"), number(run, "rtt_p99_ns"));
    let arrived = number(run, "sent").zip(number(run, "lost")).map(|(sent, lost)| sent - lost);
    let (payload, goodput) = (number(run, "payload_bytes"), number(run, "goodput_bps"));
    if let (Some(arrived), Some(payload), Some(seconds)) = (arrived, payload, seconds) {
        let rate = arrived * payload * 8.0 / seconds;
        found.same(at, "goodput of what arrived", goodput, Some(rate), rate * 0.01);
    }
    let packets = goodput.zip(payload).map(|(goodput, payload)| goodput / 8.0 / payload);
    found.same(at, "packets of goodput and payload", number(run, "packets_per_second"), packets, 1.0);
    found.at_most(at, "goodput and frames", goodput, number(run, "frames_bps"));
}

/// The packets of a throughput test cross the path, whose MTU another test of the same topology found.
fn packets(found: &mut Found, at: &str, one: &Value, series: &[Value]) {
    let same = |other: &&Value| {
        other["test"] == "mtu" && other["family"] == one["family"] && other["direction"] == one["direction"]
    };
    let mtu = series.iter().find(same).and_then(|other| number(&items(other, "runs")[0], "path_mtu"));
    let headers = if one["family"] == "v6" || one["family"] == "ipv6" { 40.0 } else { 20.0 };
    let transport = if one["test"] == "udp" { 8.0 } else { 32.0 };
    let packet = number(get(one, "packet"), "payload_bytes").map(|payload| payload + headers + transport);
    found.at_most(at, "packets and path MTU", packet, mtu);
}
