//! The report of a device that is given to `--against`: what is read can be written in every format, is read again as it
//! was, and can be held against itself.
#![no_main]

use model::dut::{DutReport, compare_devices, compare_with};
use report::expect::DeviceExpectation;
use report::format::{Style, rfc2544};
use spoiled::Chance;
use spoiled::samples::devices;
use std::sync::LazyLock;

static DEVICES: LazyLock<Vec<String>> = LazyLock::new(|| devices().iter().map(rfc2544::json).collect());

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    if let Ok(text) = std::str::from_utf8(data) {
        read(text);
    }
    // And an honest one, spoiled.
    let mut chance = Chance::new(data);
    let mut text = DEVICES[usize::from(chance.byte()) % DEVICES.len()].clone().into_bytes();
    for _ in 0..=chance.byte() % 8 {
        text = chance.spoil(text);
    }
    read(&String::from_utf8_lossy(&text));
});

fn read(text: &str) {
    match rfc2544::read(text) {
        Ok(report) => hold(&report),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn hold(report: &DutReport) {
    let written = rfc2544::json(report);
    let again = rfc2544::read(&written).expect("our own document is read");
    assert_eq!(rfc2544::json(&again), written, "a report changed on its way through JSON");
    let again = rfc2544::read(&rfc2544::ndjson(report)).expect("our own lines are read");
    assert_eq!(rfc2544::json(&again), written, "a report changed on its way through lines");
    let style = Style::default();
    let _ = (rfc2544::text(report, &style), rfc2544::csv(report), rfc2544::to_markdown(report));
    let comparisons = [compare_with(report, &again), compare_devices(report)];
    let compared = DutReport { comparisons: comparisons.concat(), ..again };
    let _ = (rfc2544::text(&compared, &style), rfc2544::csv(&compared), rfc2544::to_markdown(&compared));
    for expectation in ["throughput>=1kpps", "64.latency.p99<1ms", "service.broken==0"] {
        let _ = expectation.parse::<DeviceExpectation>().expect(expectation).check(report);
    }
}
