//! Reports of devices under test: made-up documents in every format, and their chart.

mod documents;
mod tester;

use model::dut::{DutReport, SCHEMA};
use pathmeter_report::format::{Style, by_name, render, rfc2544};
use pathmeter_report::plot::png;
use serde_json::Value;
use std::sync::LazyLock;

/// Every report, simulated once for all tests.
pub(super) fn all() -> Vec<(&'static str, DutReport)> {
    static ALL: LazyLock<[DutReport; 3]> =
        LazyLock::new(|| [documents::full(), documents::quick(), documents::several()]);
    ["rfc2544-full", "rfc2544-quick", "rfc2544-several"].into_iter().zip(ALL.clone()).collect()
}

#[test]
fn every_format_of_a_devices_report() {
    for (name, report) in all() {
        insta::assert_snapshot!(format!("{name}.text"), super::written(&report, "text"));
        insta::assert_snapshot!(format!("{name}.csv"), super::written(&report, "csv"));
        insta::assert_snapshot!(format!("{name}.markdown"), super::written(&report, "markdown"));
        insta::assert_snapshot!(format!("{name}.json"), super::written(&report, "json"));
        insta::assert_snapshot!(format!("{name}.svg"), rfc2544::chart(&report).drawing().svg());
    }
}

#[test]
fn colour_changes_no_letter_and_text_fits() {
    for (name, report) in all() {
        for width in [80, 100, 132] {
            let plain = render(&report, by_name("text").unwrap(), &Style { width, ..Style::default() });
            let colour =
                render(&report, by_name("text").unwrap(), &Style { colour: true, width, ..Style::default() });
            assert_eq!(super::without_codes(&colour), plain, "{name}");
            let widest = plain.lines().max_by_key(|line| line.chars().count()).unwrap();
            assert!(widest.chars().count() <= width.max(100), "{name}: {widest}");
        }
    }
}

#[test]
fn a_quick_report_fits_forty_lines_and_its_details_have_every_table() {
    let mut report = documents::quick();
    report.devices[0].findings.truncate(2);
    let brief = super::written(&report, "text");
    assert!(brief.lines().count() <= 40, "{brief}");
    let full = render(&report, by_name("text").unwrap(), &Style { detail: true, ..Style::default() });
    for table in ["Throughput (RFC 2544 section 26.1)", "Frame loss rate (RFC 2544 section 26.3)"] {
        assert!(full.contains(table) && !brief.contains(table), "{full}");
    }
}

#[test]
fn a_report_is_read_back() {
    for (name, report) in all() {
        assert_eq!(rfc2544::read(&super::written(&report, "json")).unwrap(), report, "{name}");
        let lines = super::written(&report, "ndjson");
        assert_eq!(rfc2544::read(&lines).unwrap(), report, "{name}");
        let streams: usize = report.devices.iter().map(|device| device.rows.len()).sum();
        assert_eq!(lines.lines().count(), streams + 1, "{name}");
        for line in lines.lines().take(streams) {
            let value: Value = serde_json::from_str(line).unwrap();
            assert_eq!(value["event"], "stream", "{name}");
            assert!(value["device"].is_string() && value["rates"].is_array(), "{name}: {line}");
        }
    }
}

#[test]
fn what_is_no_report_states_why() {
    let newer = super::written(&documents::quick(), "json").replace(SCHEMA, "pathmeter/rfc2544/2");
    let cut = super::written(&documents::quick(), "json").replace("\"devices\"", "\"device\"");
    for (text, part) in [
        ("Device under test: router", "it is not JSON"),
        ("", "it is not JSON"),
        (
            "{\"schema\":\"pathmeter/result/1\"}",
            "its schema is \"pathmeter/result/1\", not pathmeter/rfc2544/1",
        ),
        ("{}", "its schema is missing"),
        (&newer, "its schema is \"pathmeter/rfc2544/2\""),
        (&cut, "it is not a pathmeter/rfc2544/1: missing field `devices`"),
    ] {
        let error = rfc2544::read(text).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
}

#[test]
fn the_chart_can_be_drawn() {
    for (name, report) in all() {
        let picture = png(&rfc2544::chart(&report).drawing(), 2.0).unwrap();
        assert!(picture.starts_with(b"\x89PNG"), "{name}");
        if let Some(dir) = std::env::var_os("CHARTS_TO") {
            std::fs::write(std::path::Path::new(&dir).join(format!("{name}.png")), picture).unwrap();
        }
    }
}

/// A report of which nothing was measured is shown too.
#[test]
fn nothing_measured_is_shown() {
    let mut report = all().swap_remove(0).1;
    report.devices.iter_mut().for_each(|device| device.rows.clear());
    assert!(super::written(&report, "text").contains("router"));
    assert_eq!(rfc2544::chart(&report).panels, []);
    report.devices.clear();
    assert!(super::written(&report, "text").contains("Throughput"));
    assert!(png(&rfc2544::chart(&report).drawing(), 1.0).is_ok());
}

/// A stored report may hold any number.
#[test]
fn figures_of_any_size_are_shown() {
    for number in [0, 1, u32::MAX] {
        for (name, report) in all() {
            let mut value: Value = serde_json::from_str(&super::written(&report, "json")).unwrap();
            set_numbers(&mut value, number);
            let mut report: DutReport = serde_json::from_value(value).unwrap();
            let setup = report.setup.clone();
            report.devices.iter_mut().for_each(|device| insight::device::conclude(device, &setup));
            report.comparisons = model::dut::compare_devices(&report);
            for document in [
                super::written(&report, "text"),
                super::written(&report, "csv"),
                super::written(&report, "markdown"),
            ] {
                assert!(!document.contains("NaN"), "{name} with {number}: {document}");
            }
            let svg = rfc2544::chart(&report).drawing().svg();
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{name} with {number}");
        }
    }
}

fn set_numbers(value: &mut Value, number: u32) {
    match value {
        Value::Number(_) => *value = number.into(),
        Value::Array(items) => items.iter_mut().for_each(|item| set_numbers(item, number)),
        Value::Object(items) => items.values_mut().for_each(|item| set_numbers(item, number)),
        _ => {}
    }
}
