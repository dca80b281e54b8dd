//! Plans that were carried out, and what they would do: fixed documents in every format.

use super::written;
use model::expectation::Checked;
use model::experiment::{
    Experiment, ExperimentRow, MatrixFinding, OUTLINE_SCHEMA, Outline, OutlinePath, OutlineRow, RowFigure,
    RowFinding, RowRun, SCHEMA, Setting, Sites,
};
use model::finding::{Severity, Status};
use model::history::Headline;
use model::stats::compare::{Case, Group, Rules, table};
use model::stats::histogram::Histogram;
use model::time::WallTime;
use model::units::{Bytes, Nanos};
use pathmeter_report::document::Document;
use pathmeter_report::expect::printed;
use pathmeter_report::format::FORMATS;

/// Six round trips of each path, one path that is far slower, one that cannot run here and one that does not answer.
fn five_paths() -> Experiment {
    let base = around(50_000.0);
    let slow = around(540_000.0);
    let mut firewall = compared(row("firewall", &slow), &base, "snat");
    firewall.expectations = vec![checked("rtt.p50<200us", Some("541.35 µs"), false)];
    firewall.findings = vec![RowFinding {
        id: "rtt-outliers".into(),
        severity: Severity::Warning,
        title: "the slowest round trip took 12 ms, 22 times the median".into(),
        advice: String::new(),
        runs: 2,
    }];
    let tunnel = ExperimentRow {
        reason: Some("not on this host: needs wireguard (CONFIG_WIREGUARD)".into()),
        unavailable: true,
        runs: Vec::new(),
        figures: Vec::new(),
        round_trips: None,
        ..row("tunnel", &base)
    };
    let refused = "127.0.0.1:9: connection refused; given up after 3 failures one after the other";
    let closed = ExperimentRow {
        reason: Some(refused.into()),
        runs: vec![RowRun {
            round: 1,
            error: Some("127.0.0.1:9: connection refused".into()),
            ..RowRun::default()
        }],
        expectations: vec![checked("rtt.p50<200us", None, false)],
        figures: Vec::new(),
        round_trips: None,
        ..row("closed", &base)
    };
    let public = compared(row("public", &around(50_100.0)), &base, "snat");
    Experiment {
        schema: SCHEMA.into(),
        name: "five-paths".into(),
        title: "Round trips over five egress paths".into(),
        labels: vec!["five-paths".into()],
        started: Some(WallTime(1_790_000_000_000_000_000)),
        finished: Some(WallTime(1_790_000_300_000_000_000)),
        host: None,
        repetitions: 6,
        interleaved: true,
        rows: vec![row("snat", &base), firewall, tunnel, closed, public],
        findings: Vec::new(),
        notes: vec!["Some runs are missing: the plan's limit on time, 10 min, is reached.".into()],
    }
}

/// Rates at two MTUs.
fn two_mtus() -> Experiment {
    let row_of = |mtu: &str, rate: f64| {
        let runs =
            (0..6).map(|step| run("transfer.rate", step, rate * (1.0 + f64::from(step) / 500.0))).collect();
        let settings = vec![Setting { name: "mtu".into(), value: mtu.into() }];
        with_figures(ExperimentRow {
            path: "storage".into(),
            test: "download".into(),
            settings,
            runs,
            ..ExperimentRow::default()
        })
    };
    let (small, large) = (row_of("1280", 180e6), row_of("2000", 190e6));
    let base: Vec<f64> = values(&small);
    let large = compared_by(large, &base, "storage, mtu 1280", true);
    Experiment { rows: vec![small, large], notes: Vec::new(), interleaved: false, ..five_paths() }
}

fn around(middle: f64) -> Vec<f64> {
    (0..6).map(|step| middle * (1.0 + f64::from(step) / 1000.0)).collect()
}

fn run(figure: &str, step: u32, value: f64) -> RowRun {
    RowRun {
        id: format!("01990000-0000-7000-8000-00000000000{step}"),
        round: step + 1,
        started: Some(WallTime(1_790_000_000_000_000_000 + u64::from(step) * 1_000_000_000)),
        status: Some(Status::Ok),
        verdict: "No loss.".into(),
        figures: vec![Headline { name: figure.into(), value, text: printed(figure, value) }],
        error: None,
        agent: None,
        lease_token: None,
    }
}

fn row(path: &str, times: &[f64]) -> ExperimentRow {
    let runs = times.iter().enumerate().map(|(step, time)| run("rtt.p50", step as u32, *time)).collect();
    let mut all = Histogram::default();
    times.iter().for_each(|time| all.record(*time as u64));
    let round_trips = all.distribution();
    with_figures(ExperimentRow {
        path: path.into(),
        test: "TCP ping-pong".into(),
        runs,
        round_trips,
        ..ExperimentRow::default()
    })
}

fn values(row: &ExperimentRow) -> Vec<f64> {
    row.counted().map(|run| run.figures[0].value).collect()
}

fn with_figures(row: ExperimentRow) -> ExperimentRow {
    let name = row.runs[0].figures[0].name.clone();
    let runs = Group::from_values(&values(&row));
    let text = printed(&name, runs.median.expect("there are runs"));
    ExperimentRow { figures: vec![RowFigure { name, runs, text, comparison: None }], ..row }
}

fn compared(row: ExperimentRow, base: &[f64], against: &str) -> ExperimentRow {
    compared_by(row, base, against, false)
}

fn compared_by(mut row: ExperimentRow, base: &[f64], against: &str, higher_is_better: bool) -> ExperimentRow {
    let other = values(&row);
    let case = Case { name: &row.figures[0].name, base, other: &other, rules: Rules::new(higher_is_better) };
    let comparison = table(&[case]).expect("times and rates").remove(0);
    row.figures[0].comparison = Some(comparison);
    row.against = Some(against.into());
    row
}

fn checked(expectation: &str, measured: Option<&str>, held: bool) -> Checked {
    Checked { expectation: expectation.into(), measured: measured.map(str::to_owned), held }
}

/// Three sites, everything into one of them slow, one direction not measured.
fn sites() -> Experiment {
    let row_of = |source: &str, target: &str, time: f64| {
        let sites = Some(Sites { source: source.into(), target: target.into(), family: None });
        ExperimentRow { sites, ..row(&format!("{source}-{target}"), &around(time)) }
    };
    let closed = ExperimentRow {
        figures: Vec::new(),
        runs: Vec::new(),
        round_trips: None,
        reason: Some("nothing listens".into()),
        ..row_of("C", "A", 1e6)
    };
    let title = "everything into C is slow: A, B with it are 2 times worse or more than the same sites are with others";
    let rows = vec![
        row_of("A", "B", 1e6),
        row_of("A", "C", 9e6),
        row_of("B", "A", 1e6),
        row_of("B", "C", 9e6),
        closed,
        row_of("C", "B", 1e6),
    ];
    let findings =
        vec![MatrixFinding { id: "site-slow-in".into(), test: "TCP ping-pong".into(), title: title.into() }];
    Experiment { rows, findings, notes: Vec::new(), title: "Three sites".into(), ..five_paths() }
}

fn outline() -> Outline {
    let path = |name: &str, from: &str, address: Option<&str>, refused: Option<&str>| OutlinePath {
        name: name.into(),
        from: from.into(),
        to: "far.example".into(),
        address: address.map(str::to_owned),
        bind: None,
        device: (name == "line").then(|| "eth0".into()),
        refused: refused.map(str::to_owned),
    };
    let row = |path: &str, mtu: &str, bytes: Option<Bytes>| OutlineRow {
        path: path.into(),
        test: "bulk".into(),
        settings: vec![Setting { name: "mss".into(), value: mtu.into() }],
        what: "TCP up, 10 s".into(),
        time: bytes.map(|_| Nanos::from_secs(11)),
        bytes,
        refused: None,
    };
    Outline {
        schema: OUTLINE_SCHEMA.into(),
        name: "line".into(),
        title: "The line and an agent".into(),
        paths: vec![
            path("line", "this host", Some("192.0.2.1"), None),
            path("far", "agent ams", None, Some("needs a fleet: agent `ams`")),
        ],
        repetitions: 6,
        interleaved: true,
        rows: vec![row("line", "1000", Some(Bytes(1_000_000))), row("line", "1400", None)],
        order: [1, 2].repeat(6),
        runs: 12,
        time: Nanos::from_secs(66),
        is_time_known: false,
        bytes: Bytes(6_000_000),
        are_bytes_known: false,
        time_limit: Some(Nanos::from_secs(600)),
        bytes_limit: None,
    }
}

#[test]
fn every_format_of_every_plan() {
    let (directions, mtus, sites, outline) = (five_paths(), two_mtus(), sites(), outline());
    let all: [(&str, &dyn Document); 4] = [
        ("plan-paths", &directions),
        ("plan-sites", &sites),
        ("plan-mtus", &mtus),
        ("plan-outline", &outline),
    ];
    for (name, document) in all {
        for format in FORMATS {
            let text = written(document, format.name);
            assert!(text.ends_with('\n'), "{} of {name} ends in a line feed", format.name);
            // The rows are the same in every format of JSON, and a page has its drawings in it.
            if ["text", "markdown", "csv", "junit", "json"].contains(&format.name)
                && (!["json", "csv", "junit"].contains(&format.name)
                    || ["plan-paths", "plan-outline"].contains(&name))
            {
                insta::assert_snapshot!(format!("{name}.{}", format.name), text);
            }
        }
    }
    assert_eq!((directions.charts().len(), mtus.charts().len()), (1, 1));
}

#[test]
fn a_document_comes_back() {
    let directions = five_paths();
    assert_eq!(serde_json::from_str::<Experiment>(&directions.json()).expect("its own JSON"), directions);
}
