//! Consistency of one JSON document: rates are bytes over times, sums are those of streams, and intervals follow one another
//! and make the whole.

use crate::figures::{Mode, at, number};
use serde_json::Value;

/// Holds a document against itself.
pub(crate) fn hold(mode: Mode, end: &str, document: &Value) {
    rates(end, document);
    for interval in list(document, "intervals") {
        sums_of_an_interval(mode, end, interval);
    }
    for (at, stream) in list(document, "end.streams").iter().enumerate() {
        whole_is_its_intervals(mode, &format!("{end}, stream {at}"), at, stream, document);
    }
    let user_and_system = number(document, "end.cpu_utilization_percent.host_user")
        + number(document, "end.cpu_utilization_percent.host_system");
    let total = number(document, "end.cpu_utilization_percent.host_total");
    assert!(total > 0.0, "{end}: a test without any work of the CPU");
    assert!(
        (total - user_and_system).abs() <= 0.02 * total + 0.05,
        "{end}: {total} % of {user_and_system} %"
    );
}

fn list<'a>(document: &'a Value, path: &str) -> &'a [Value] {
    at(document, path).as_array().map_or(&[], Vec::as_slice)
}

/// In every object that has them.
fn rates(end: &str, value: &Value) {
    match value {
        Value::Array(parts) => parts.iter().for_each(|part| rates(end, part)),
        Value::Object(fields) => {
            fields.values().for_each(|field| rates(end, field));
            let number_at = |key: &str| fields.get(key).and_then(Value::as_f64);
            if let (Some(rate), Some(bytes), Some(from), Some(to)) =
                (number_at("bits_per_second"), number_at("bytes"), number_at("start"), number_at("end"))
            {
                // The length of an interval in the real tool is more precise than its begin and end, and divides the sum of UDP
                // at the end by the other end's time.
                let bits = bytes * 8.0;
                let long =
                    number_at("seconds").filter(|_| fields.contains_key("omitted")).unwrap_or(to - from);
                let sum_of_udp = fields.contains_key("jitter_ms") && !fields.contains_key("socket");
                let off = bits * 1e-4 + rate * 1e-4;
                let right = (rate * long - bits).abs() <= off;
                assert!(right || sum_of_udp, "{end}: {bits} bits in {value}");
            }
        }
        _ => {}
    }
}

fn sums_of_an_interval(mode: Mode, end: &str, interval: &Value) {
    let sums = ["sum", "sum_bidir_reverse"].into_iter().filter_map(|name| interval.get(name));
    for sum in sums {
        let streams = list(interval, "streams").iter().filter(|stream| stream["sender"] == sum["sender"]);
        let keys: &[&str] = match (mode.is_udp(), sum["sender"] == true) {
            (false, false) => &["bytes"],
            (false, true) => &["bytes", "retransmits"],
            (true, _) => &["bytes", "packets"],
        };
        for key in keys {
            let all: f64 = streams.clone().map(|stream| number(stream, key)).sum();
            assert_eq!(all, number(sum, key), "{end}: {key} of {interval}");
        }
    }
}

/// Those that are not omitted are, one after the other, the figures of a stream at the end.
fn whole_is_its_intervals(mode: Mode, end: &str, index: usize, stream: &Value, document: &Value) {
    let rows: Vec<&Value> = list(document, "intervals")
        .iter()
        .map(|interval| &interval["streams"][index])
        .filter(|row| row["omitted"] == false)
        .collect();
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return };
    let sends = last["sender"] == true;
    let whole = match mode.is_udp() {
        true => &stream["udp"],
        false => &stream[if sends { "sender" } else { "receiver" }],
    };
    if mode.is_udp() && !sends {
        // The sent bytes of a UDP stream are those at its end.
        return;
    }
    let sum = |key: &str| rows.iter().map(|row| number(row, key)).sum::<f64>();
    assert_eq!(sum("bytes"), number(whole, "bytes"), "{end}: {stream} of {rows:?}");
    assert!(number(first, "start") < 1e-3, "{end}: {first}");
    for pair in rows.windows(2) {
        let gap = number(pair[1], "start") - number(pair[0], "end");
        assert!(gap.abs() < 1e-5, "{end}: {} does not follow {}", pair[1], pair[0]);
    }
    if mode.is_udp() || !sends {
        return;
    }
    assert_eq!(sum("retransmits"), number(whole, "retransmits"), "{end}: {stream} of {rows:?}");
    let [least, mean, most] = ["min_rtt", "mean_rtt", "max_rtt"].map(|key| number(whole, key));
    assert!(0.0 < least && least <= mean && mean <= most, "{end}: {whole}");
    for row in rows {
        let rtt = number(row, "rtt");
        assert!((least..=most).contains(&rtt), "{end}: {rtt} us in {row}, {whole}");
    }
}
