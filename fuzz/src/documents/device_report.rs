//! The report of a device that is given to `--against`: what is read can be written in every format, is read again as it
//! was, and can be held against itself.

use model::dut::{DutReport, compare_devices, compare_with};
use report::expect::DeviceExpectation;
use report::document::Document;
use report::format::rfc2544;
use report::format::{FORMATS, Style, render};
use spoiled::Chance;
use spoiled::samples::devices;
use std::sync::LazyLock;

static DEVICES: LazyLock<Vec<String>> = LazyLock::new(|| devices().iter().map(json).collect());

/// One input.
pub(crate) fn run(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        read(text);
    }
    // An honest document follows, spoiled.
    let mut chance = Chance::new(data);
    let mut text = DEVICES[usize::from(chance.byte()) % DEVICES.len()].clone().into_bytes();
    for _ in 0..=chance.byte() % 8 {
        chance.spoil(&mut text);
    }
    read(&String::from_utf8_lossy(&text));
}

fn read(text: &str) {
    match rfc2544::read(text) {
        Ok(report) => hold(&report),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}

fn hold(report: &DutReport) {
    let written = json(report);
    let again = rfc2544::read(&written).expect("our own document is read");
    assert_eq!(json(&again), written, "a report changed when it went through JSON");
    let again = rfc2544::read(&report.ndjson()).expect("our own lines are read");
    assert_eq!(json(&again), written, "a report changed when it went through lines");
    every_format(report);
    let comparisons = [compare_with(report, &again), compare_devices(report)];
    let compared = DutReport { comparisons: comparisons.concat(), ..again };
    every_format(&compared);
    for expectation in ["throughput>=1kpps", "64.latency.p99<1ms", "service.broken==0"] {
        let _ = expectation.parse::<DeviceExpectation>().expect(expectation).check(report);
    }
}

fn json(report: &DutReport) -> String {
    report.json()
}

fn every_format(report: &DutReport) {
    for format in FORMATS {
        let text = render(report, format, &Style::default());
        assert!(text.ends_with('\n'), "{} does not end with a line feed", format.name);
    }
}
