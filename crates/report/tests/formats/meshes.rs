//! Meshes that were measured: fixed documents in every format.

use super::written;
use model::finding::Status;
use model::history::{Entry, Headline, Origin};
use model::mesh::{CellState, MeshCell, MeshReport};
use model::time::WallTime;
use pathmeter_report::document::Document;
use pathmeter_report::expect::printed;
use pathmeter_report::format::{FORMATS, Style, by_name, render};
use pathmeter_report::mesh::{report_of_cells, report_of_entries};

const BEGIN: WallTime = WallTime(1_790_000_000_000_000_000);

fn cell(from: &str, to: &str, rate: f64) -> MeshCell {
    let figure =
        Headline { name: "tcp.up.goodput".into(), value: rate, text: printed("tcp.up.goodput", rate) };
    MeshCell {
        from: from.into(),
        to: to.into(),
        test: "throughput".into(),
        state: CellState::Done,
        figure: Some(figure),
        status: Some(Status::Ok),
        run: format!("0199{from}{to}-0000-5000-8000-000000000000"),
        target: format!("{from} -> {to}"),
        started: Some(BEGIN),
        token: 7,
        ..MeshCell::default()
    }
}

fn named(report: MeshReport) -> MeshReport {
    MeshReport {
        name: "night".into(),
        label: "mesh".into(),
        started: Some(BEGIN),
        finished: Some(BEGIN),
        ..report
    }
}

/// Each of so many sites to each, with the rate that `rate` gives.
fn all_of(sites: &[&str], rate: impl Fn(&str, &str) -> f64) -> MeshReport {
    let mut cells = Vec::new();
    for from in sites {
        cells.extend(sites.iter().filter(|to| *to != from).map(|to| cell(from, to, rate(from, to))));
    }
    named(report_of_cells(cells))
}

/// Three sites, everything into one of them slow, and one path in each state.
fn night() -> MeshReport {
    let slow = |_: &str, to: &str| if to == "par" { 93e6 } else { 941e6 };
    let mut cells = all_of(&["ams", "fra", "par", "waw"], slow).cells;
    let without = [
        (CellState::Failed, "connect to 192.0.2.7:5210: connection refused"),
        (CellState::Missed, "the agent waw has not been heard for 30 s"),
        (CellState::Void, "lease lost"),
    ];
    for (cell, (state, reason)) in cells.iter_mut().filter(|cell| cell.from == "waw").zip(without) {
        (cell.state, cell.reason) = (state, Some(reason.into()));
        if state != CellState::Void {
            (cell.figure, cell.status) = (None, None);
        }
    }
    let notes = vec!["not measured: waw and rom, as neither listens (start one without --no-listen)".into()];
    MeshReport { notes, ..named(report_of_cells(cells)) }
}

#[test]
fn every_format_of_every_mesh() {
    let (night, quiet) = (night(), all_of(&["ams", "fra", "par"], |_, _| 941e6));
    let names: Vec<String> = (0..10).map(|number| format!("site{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let large = all_of(&names, |from, to| 9.0e8 + 1e6 * (from.len() + to.as_bytes()[4] as usize) as f64);
    for (name, document) in [("mesh-night", &night), ("mesh-quiet", &quiet), ("mesh-large", &large)] {
        for format in FORMATS {
            let text = written(document, format.name);
            assert!(text.ends_with('\n'), "{} of {name} ends in a line feed", format.name);
            let is_kept = match name {
                "mesh-night" => {
                    ["text", "markdown", "csv", "json", "junit", "prometheus"].contains(&format.name)
                }
                _ => format.name == "text",
            };
            if is_kept {
                insta::assert_snapshot!(format!("{name}.{}", format.name), text);
            }
        }
        assert_eq!(document.charts().len(), 1, "{name}");
        let first_screen = written(document, "text").lines().count();
        assert!(first_screen <= 25, "{name} takes {first_screen} lines");
    }
    let detail = Style { detail: true, ..Style::default() };
    let text = render(&large, by_name("text").expect("a format"), &detail);
    assert!(text.contains("from \\ to") && text.contains("site9"), "details have the whole matrix: {text}");
}

#[test]
fn a_mesh_comes_back_and_its_runs_make_the_same_cells() {
    let night = night();
    assert_eq!(serde_json::from_str::<MeshReport>(&night.json()).expect("its own JSON"), night);
    let measured = |cell: &MeshCell| (cell.path(), cell.measured().map(|figure| figure.value));
    let quiet = all_of(&["ams", "fra", "par"], |_, to| if to == "par" { 93e6 } else { 941e6 });
    let kept = report_of_entries("mesh", &quiet.entries());
    assert_eq!(
        kept.cells.iter().map(measured).collect::<Vec<_>>(),
        quiet.cells.iter().map(measured).collect::<Vec<_>>()
    );
    assert_eq!(kept.findings, quiet.findings);
    assert_eq!(kept.findings[0].id, "site-slow-in");
}

/// A kept run, as a list has it.
fn entry(id: &str, kind: &str, target: &str, at: u64, figures: &[(&str, f64)]) -> Entry {
    let figure =
        |(name, value): &(&str, f64)| Headline { name: (*name).into(), value: *value, text: String::new() };
    Entry {
        id: id.into(),
        kind: kind.into(),
        target: target.into(),
        label: "mesh".into(),
        origin: Origin::Measured,
        started: WallTime(at),
        finished: Some(WallTime(at + 1)),
        note: String::new(),
        running: false,
        status: Some(if figures.is_empty() { "void" } else { "ok" }.into()),
        verdict: None,
        figures: figures.iter().map(figure).collect(),
    }
}

#[test]
fn of_kept_runs_the_latest_of_each_path_counts() {
    let mut unended = entry("5", "throughput", "fra -> ams", 9, &[]);
    unended.status = None;
    let entries = [
        entry("1", "throughput", "ams -> fra", 1, &[("tcp.up.goodput", 1e9)]),
        entry("2", "throughput", "ams -> fra", 2, &[("tcp.up.goodput", 2e9)]),
        entry("3", "mtu", "ams -> fra", 1, &[("up.path_mtu", 1500.0), ("down.path_mtu", 1400.0)]),
        entry("4", "measure", "far.example", 1, &[("tcp.up.goodput", 1e9)]),
        unended,
    ];
    let report = report_of_entries("mesh", &entries);
    let cells: Vec<_> = report
        .cells
        .iter()
        .map(|cell| (cell.test.as_str(), cell.path(), cell.state, cell.run.as_str()))
        .collect();
    let expected = [
        ("mtu", "ams -> fra".to_owned(), CellState::Done, "3"),
        ("mtu", "fra -> ams".to_owned(), CellState::Done, "3"),
        ("throughput", "ams -> fra".to_owned(), CellState::Done, "2"),
        ("throughput", "fra -> ams".to_owned(), CellState::Missed, "5"),
    ];
    assert_eq!(cells, expected);
    assert_eq!(report.cells[1].figure.as_ref().map(|figure| figure.value), Some(1400.0));
}

#[test]
fn what_is_void_or_missed_states_nothing_about_a_path() {
    let quiet = all_of(&["ams", "fra", "par"], |_, _| 941e6);
    for (state, found) in [(CellState::Void, 0), (CellState::Missed, 0), (CellState::Failed, 1)] {
        let mut cells = quiet.cells.clone();
        cells[0].state = state;
        let report = report_of_cells(cells);
        assert_eq!(report.findings.len(), found, "{state:?}: {:?}", report.findings);
    }
    // A round trip is slow at both of its ends: the site is reported once.
    let sites = ["ams", "fra", "par", "waw"];
    let mut cells = Vec::new();
    for (at, from) in sites.iter().enumerate() {
        for to in &sites[at + 1..] {
            let time = if [from, to].contains(&&"par") { 40e6 } else { 1e6 };
            let figure = Headline { name: "rtt.p50".into(), value: time, text: String::new() };
            cells.push(MeshCell { test: "latency".into(), figure: Some(figure), ..cell(from, to, 1.0) });
        }
    }
    let ids: Vec<String> = report_of_cells(cells).findings.into_iter().map(|found| found.id).collect();
    assert_eq!(ids, ["site-slow"]);
}
