//! A device with a known limit: a policer of 500 frames/s, which lets some more through at once.

use super::device::{Device, Kind, device, steps};
use serde_json::Value;

fn policer(test: &str, burst: u32) -> Option<Device> {
    let router = Device::new(test, Kind::Router)?;
    router.forwards_with(&format!("limit rate over 500/second burst {burst} packets drop"));
    Some(router)
}

#[test]
fn every_test_finds_the_limit() {
    let Some(router) = policer("every_test_finds_the_limit", 20) else { return };
    let tests = "throughput,latency,loss,back-to-back,recovery,mrr,delay-variation";
    let device = router.routed(&["--frame", "128", "--tests", tests]);
    let row = &device["rows"][0];
    assert_eq!(row["left_out"], Value::Array(Vec::new()), "{row:#}");
    let throughput = rate(row, "throughput");
    // 20 frames in a trial always pass, however late they are sent; 200 never do.
    assert!((90.0..1000.0).contains(&throughput) && rate(row, "pdr") > 0.0, "{row:#}");
    latencies(row, throughput);
    falling_loss(row);
    let burst = number(&row["back_to_back"]["outcome"]["mean"]);
    assert!((20.0..500.0).contains(&burst), "the policer's burst, and less than all: {row:#}");
    let recovery = &row["recovery"];
    let (over, relief) = (&recovery["loads"]["overload_pps"], &recovery["loads"]["relief_pps"]);
    assert!(number(over) > throughput && (number(over) / 2.0 - number(relief)).abs() < 0.01, "{row:#}");
    let times = recovery["times_ns"].as_array().unwrap();
    assert!(times.iter().all(|time| number(time) < 200e6), "within the trial: {row:#}");
    let mrr = number(&row["mrr"]["forwarded"]["mean_pps"]);
    assert!(mrr < 1000.0 && number(&row["mrr"]["loss_ratio"]) > 0.0, "{row:#}");
    let direction = &row["delay_variation"]["ways"][0];
    assert!(direction["way"] == "up" && number(&direction["packet"]["median"]) >= 0.0, "{row:#}");
}

/// Delays at 10, 50, 90 and 100 % of the throughput, in order.
#[track_caller]
fn latencies(row: &Value, throughput: f64) {
    let latencies = row["latency"].as_array().unwrap();
    let percents: Vec<f64> = latencies.iter().map(|latency| number(&latency["percent"])).collect();
    assert_eq!(percents, [10.0, 50.0, 90.0, 100.0], "{row:#}");
    for latency in latencies {
        let load = throughput * number(&latency["percent"]) / 100.0;
        assert!((number(&latency["load_pps"]) - load).abs() < 0.01, "{latency:#}");
        let delays = &latency["ways"][0]["delays"];
        assert!(number(&delays["count"]) >= 1.0, "{latency:#}");
        let ordered = ["min", "p50", "p90", "p99", "p999", "max"].map(|figure| number(&delays[figure]));
        assert!(ordered.is_sorted() && ordered[0] > 0.0, "{latency:#}");
    }
}

/// From all of the load down to two steps without loss.
#[track_caller]
fn falling_loss(row: &Value) {
    let steps = steps(row);
    assert!(steps.is_sorted_by(|one, next| one.0 > next.0), "{steps:?}");
    assert!(steps[0].0 == 200 && steps[0].1 < 200, "{steps:?}");
    let clean: Vec<bool> = steps.iter().map(|(sent, came)| sent == came).collect();
    assert!(clean.ends_with(&[true, true]) || steps.len() == 10, "{steps:?}");
}

/// 400 kbit/s of 128 bytes are 391 frames/s, 1 Mbit/s are 977. The burst is enough for half a second in which this host delayed
/// the generator.
#[test]
fn a_service_within_the_limit_passes_and_one_above_it_fails() {
    let test = "a_service_within_the_limit_passes_and_one_above_it_fails";
    let Some(router) = policer(test, 200) else { return };
    let like =
        ["--frame", "128", "--tests", "service", "--max-delay", "1m", "--max-variation", "1m", "--json"];
    let tested = |profile: &[&str], code| {
        device(&router.start_routed(&[&like[..], profile].concat()).end().code(code))
    };
    let kept = tested(&["--cir", "400k", "--eir", "480k"], 0);
    let steps = kept["service"]["steps"].as_array().unwrap();
    let kinds: Vec<&str> = steps.iter().map(|step| step["step"]["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["committed", "committed", "committed", "committed", "excess", "policing"]);
    assert_eq!(kept["service"]["passed"], true, "{kept:#}");
    let broken = tested(&["--cir", "1M"], 1);
    assert_eq!(broken["service"]["passed"], false, "{broken:#}");
    let whole = &broken["service"]["steps"][3];
    assert!(
        number(&whole["observed"]["loss"]) > 0.1 && whole["misses"] != Value::Array(Vec::new()),
        "{whole:#}"
    );
    assert!(broken["findings"].to_string().contains("service-failed"), "{broken:#}");
}

/// The rate found for a goal.
#[track_caller]
fn rate(row: &Value, goal: &str) -> f64 {
    let rates = row["rates"].as_array().unwrap();
    number(&rates.iter().find(|rate| rate["goal"] == goal).unwrap_or_else(|| panic!("{row:#}"))["lower_pps"])
}

#[track_caller]
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("no number: {value}"))
}
