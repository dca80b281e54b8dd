//! Every format of every kind of run, held against snapshots in `snapshots/`.

#[path = "../agree/mod.rs"]
mod agree;
mod agreement;
mod blocks;
mod charts;
mod experiments;
mod figures;
mod frames;
mod hops;
mod labs;
mod latency;
mod meshes;
mod over_time;
mod packets;
mod pages;
mod paths;
mod reach;
mod rfc2544;
mod runs;
mod same;
mod screen;
mod spread;
mod throughput;
mod transfers;

use model::event::{Event, Started, Warning};
use model::latency::LatencyStarted;
use model::path::PathStarted;
use model::plan::{Direction, Transport};
use model::run::{Run, Subject};
use model::sample::{Role, StreamInfo};
use model::summary::Loss;
use model::time::WallTime;
use model::units::Bytes;
use pathmeter_report::document::Document;
use pathmeter_report::format::{FORMATS, RunDocument, Style, by_name, ndjson, render, text};

fn all() -> Vec<(&'static str, Run)> {
    let tests = runs::all().into_iter().chain(latency::all()).chain(paths::all()).chain(hops::all());
    tests.chain(packets::all()).chain(reach::all()).chain(transfers::all()).chain(frames::all()).collect()
}

/// A document in the format of this name, on a plain screen.
fn written(document: &dyn Document, format: &str) -> String {
    render(document, by_name(format).expect(format), &Style::default())
}

#[test]
fn every_format_of_every_run() {
    for (name, run) in all() {
        for format in FORMATS {
            let document = written(&RunDocument::from_run(&run), format.name);
            assert!(document.ends_with('\n'), "{} of {name} ends in a line feed", format.name);
            assert!(!document.contains('\x1b'), "{} of {name} has no control codes", format.name);
            if pages::is_kept(format, name) {
                insta::assert_snapshot!(format!("{name}.{}", format.name), pages::without_style(&document));
            }
        }
    }
}

/// The details of each kind of run, laid out from the blocks that other formats show.
#[test]
fn details_of_every_kind_of_run() {
    let kinds = [
        "udp_down",
        "measure",
        "latency_lan",
        "latency_loaded",
        "mtu_black_hole",
        "transfer_mtu",
        "frames_sweep",
    ];
    for (name, run) in all().into_iter().filter(|(name, _)| kinds.contains(name)) {
        let style = Style { detail: true, ..Style::default() };
        insta::assert_snapshot!(format!("{name}.details"), text::document(&run, &style));
    }
}

#[test]
fn names_are_unique_and_found() {
    for format in FORMATS {
        let same = FORMATS.iter().filter(|other| other.name == format.name).count();
        assert_eq!((same, by_name(format.name).map(|found| found.about)), (1, Some(format.about)));
    }
    assert!(by_name("nonsense").is_none());
}

#[test]
fn text_fits_the_screen_and_colour_changes_no_letter() {
    for (name, run) in all() {
        for (width, detail) in
            [60, 80, 120, 200].into_iter().flat_map(|width| [(width, false), (width, true)])
        {
            let plain = text::document(&run, &Style { width, detail, ..Style::default() });
            let colour = text::document(&run, &Style { colour: true, width, detail, ..Style::default() });
            assert_eq!(without_codes(&colour), plain, "{name} at {width}");
            assert_ne!(colour, plain, "{name} has some colour");
            let widest = plain.lines().map(|line| line.chars().count()).max().unwrap();
            // Tables of several paths, frames, files and packets are as wide as their columns.
            let is_wide = run.summary.egress_paths.len() > 1
                || run.summary.loaded.is_some()
                || run.subject() == Subject::Frames
                || run.transfer().is_some()
                || run.summary.packets.is_some()
                || run.summary.hops.is_some();
            let most = if detail || is_wide { width.max(80) } else { width };
            assert!(widest <= most, "{name} at {width} is {widest} wide:\n{plain}");
        }
    }
}

/// The answer shows a drop in the middle of a test.
#[test]
fn rates_over_time_are_bars_where_the_screen_draws_them() {
    let is_of_udp = |run: &Run| run.throughput().is_some_and(|plan| plan.test.transport == Transport::Udp);
    let (_, mut run) =
        all().into_iter().find(|(_, run)| is_of_udp(run) && !run.intervals.is_empty()).expect("there is one");
    let first = run.intervals.iter().filter(|sample| !sample.omitted).map(|sample| sample.start).min();
    let of_first: Vec<_> = run
        .intervals
        .iter()
        .filter(|sample| Some(sample.start) == first && !sample.omitted)
        .cloned()
        .collect();
    let interval = |(index, share): (u64, u64)| {
        of_first.iter().cloned().map(move |mut sample| {
            let length = sample.end.saturating_sub(sample.start);
            sample.start = length.saturating_mul(index);
            sample.end = sample.start + length;
            sample.streams.iter_mut().for_each(|stream| stream.bytes = Bytes(stream.bytes.0 / share));
            sample
        })
    };
    run.intervals = (0..).zip([1, 4, 1]).flat_map(interval).collect();
    let row = |bars| {
        let text = text::document(&run, &Style { detail: true, bars, ..Style::default() });
        text.lines().find(|line| line.contains("over time")).map(str::to_owned)
    };
    let drawn = row(true).expect("a row of bars");
    assert!(drawn.contains(" █▃█ "), "{drawn}");
    assert_eq!(row(false), None);
}

/// The first screen is what people read and paste into a ticket.
#[test]
fn a_clean_measure_fits_one_screen_with_the_verdict_first() {
    let (_, mut run) = all().into_iter().find(|(name, _)| *name == "measure").expect("there is one");
    run.findings.clear();
    run.verdict.status = model::finding::Status::Ok;
    for summary in run.tests.iter_mut().map(|test| &mut test.summary) {
        summary.warnings.clear();
        for direction in [&mut summary.up, &mut summary.down].into_iter().flatten() {
            direction.streams.truncate(1);
            (direction.reordered, direction.duplicates, direction.one_way, direction.loss) =
                (Some(0), Some(0), None, direction.loss.map(|_| Loss::default()));
        }
    }
    run.summary.warnings.clear();
    let text = text::document(&run, &Style::default());
    let lines: Vec<&str> = text.lines().collect();
    assert!(
        lines[0].starts_with("OK  TCP 9.40 Gbit/s up: the line rate of 10.0 Gbit/s; 5.00 Gbit/s down"),
        "{text}"
    );
    assert!(lines.len() <= 24 && lines.iter().all(|line| line.chars().count() <= 80), "{text}");
}

fn without_codes(text: &str) -> String {
    let mut parts = text.split('\x1b');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once('m').map_or("", |(_, rest)| rest))
}

#[test]
fn json_is_the_document_itself() {
    for (name, run) in all() {
        let json = written(&RunDocument::from_run(&run), "json");
        let read: Run = serde_json::from_str(&json).unwrap();
        // What the fold remembers of the plan is not written.
        assert_eq!(serde_json::to_value(&read).unwrap(), serde_json::to_value(&run).unwrap(), "{name}");
    }
}

#[test]
fn ndjson_has_one_object_per_line_and_ends_with_the_run() {
    for (name, run) in all() {
        let lines = written(&RunDocument::from_run(&run), "ndjson");
        let objects: Vec<serde_json::Value> =
            lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let (last, samples) = objects.split_last().unwrap();
        assert_eq!(last["event"], "run", "{name}");
        let is_sample =
            |sample: &serde_json::Value| sample["event"] == "sample" || sample["event"] == "latency_sample";
        assert!(samples.iter().all(is_sample), "{name}");
        let own = run.intervals.len() + run.latency_intervals.len();
        let stored = own + run.tests.iter().map(|test| test.intervals.len()).sum::<usize>();
        assert_eq!(samples.len(), stored, "{name}");
    }
}

#[test]
fn an_event_is_a_line() {
    let event = Event::Warning(Warning::new("no-gso", "line\nfeed"));
    let line = ndjson::line(&event);
    assert_eq!(line, "{\"event\":\"warning\",\"id\":\"no-gso\",\"text\":\"line\\nfeed\"}\n");
    assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event);
}

/// A figure is named by host, time and target, and a table has no column of a measurement that was not made.
#[test]
fn csv_has_the_columns_of_its_kind() {
    let shared = ["run", "started", "host", "target", "kind", "status", "test", "row", "direction"];
    let mut widest = 0;
    for (name, run) in all() {
        let csv = RunDocument::from_run(&run).csv();
        assert_eq!(csv.columns[..shared.len()], shared, "{name}");
        assert!(csv.rows.iter().all(|row| row.len() == csv.columns.len()), "{name}");
        let column = |name: &str| csv.columns.iter().position(|column| column == name);
        let measured = [
            ("rtt_p50_ns", run.latency().is_some() || run.hops().is_some()),
            ("hop_name", run.hops().is_some()),
            ("path_mtu_bytes", run.summary.path.is_some() || run.transfer().is_some()),
            ("http_status", run.transfer().is_some()),
            ("line_rate_pps", run.subject() == Subject::Frames),
        ];
        for (figure, measured) in measured.into_iter().filter(|_| run.tests.is_empty()) {
            assert_eq!(column(figure).is_some(), measured, "{figure} of {name}");
        }
        if let Some(started) = run.started {
            assert!(csv.rows.iter().all(|row| row[1] == started.to_string()), "{name}");
        }
        widest = widest.max(csv.columns.len());
    }
    assert!(widest < 60, "{widest} columns");
}

/// Names come from far hosts and from users.
#[test]
fn csv_of_hostile_names_runs_no_formula() {
    let mut run = all().swap_remove(0).1;
    for hostile in ["=HYPERLINK(\"http://x\")", "+1+cmd", "-2+3", "@SUM(A1)"] {
        run.host.as_mut().unwrap().name = hostile.into();
        let csv = written(&RunDocument::from_run(&run), "csv");
        let guarded = format!("'{hostile}").replace('"', "\"\"");
        assert!(csv.contains(&guarded) && !csv.contains(&format!(",{hostile}")), "{csv}");
    }
}

#[test]
fn csv_of_several_runs_is_one_table() {
    let runs = all();
    let documents: Vec<RunDocument<'_>> = runs.iter().map(|(_, run)| RunDocument::from_run(run)).collect();
    let documents: Vec<&dyn Document> = documents.iter().map(|document| document as &dyn Document).collect();
    let csv = by_name("csv").unwrap().write(&documents, &Style::default());
    assert_eq!(csv.lines().filter(|line| line.starts_with("run,started,")).count(), 1);
}

/// Live parts and the stored document show the same table.
#[test]
fn live_rows_are_the_documents_rows() {
    let style = Style { detail: true, ..Style::default() };
    for (name, run) in all() {
        let Some(plan) = run.throughput().filter(|_| !run.intervals.is_empty()) else { continue };
        let mut live = text::LiveRows::default();
        let rows: String = run.intervals.iter().map(|sample| live.rows(sample, plan, &style)).collect();
        let rows = rows + &live.rest(plan, &style);
        assert!(text::document(&run, &style).contains(&rows), "{name}:\n{rows}");
        assert!(!text::result(&run, &style).contains(&rows), "{name}: what was shown is not shown again");
    }
}

#[test]
fn live_header_states_from_where() {
    let (_, run) = all().swap_remove(0);
    let stream = StreamInfo {
        stream: 0,
        direction: Direction::Up,
        role: Role::Sender,
        local: ([192, 0, 2, 10], 40_000).into(),
        remote: ([192, 0, 2, 20], 5210).into(),
        socket: 5,
        mss: None,
        path_mtu: None,
        send_buffer: Bytes(0),
        receive_buffer: Bytes(0),
        congestion: None,
    };
    let started = Started { wall: WallTime(0), streams: vec![stream] };
    let plan = run.throughput().unwrap();
    insta::assert_snapshot!(text::live_header(&started, plan, &Style::default()));
}

#[test]
fn live_rows_of_paths_are_the_documents_rows() {
    let style = Style { detail: true, ..Style::default() };
    for (name, run) in latency::all() {
        let plan = run.latency().unwrap();
        let rows: String =
            run.latency_intervals.iter().map(|sample| text::latency_live_row(sample, plan)).collect();
        assert!(text::document(&run, &style).contains(&rows), "{name}:\n{rows}");
        let is_again = !rows.is_empty() && text::result(&run, &style).contains(&rows);
        assert!(!is_again, "{name}: what was shown is not shown again");
    }
}

#[test]
fn live_header_of_paths_states_how_each_goes() {
    for (name, run) in latency::all() {
        let ends = run.summary.egress_paths.iter().map(|egress| egress.ends.clone()).collect();
        let plan = run.latency().cloned().unwrap();
        let begun = LatencyStarted { wall: WallTime(0), plan, ends, host: run.host.clone().unwrap() };
        let text = text::latency_live_header(&begun, &Style::default());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        if name == "latency_five_paths" {
            insta::assert_snapshot!(text);
        }
    }
}

/// The paths of several runs, kept in a file, are shown without a plan.
#[test]
fn paths_without_a_plan_are_a_table() {
    for (name, mut run) in latency::all().into_iter().filter(|(_, run)| !run.summary.egress_paths.is_empty())
    {
        let table = |run: &Run| {
            let text = text::result(run, &Style { detail: true, ..Style::default() });
            text.split("\n\n").skip(1).map(str::to_owned).take(2).collect::<Vec<_>>()
        };
        let whole = table(&run);
        run.work = None;
        assert_eq!(table(&run), whole, "{name}");
    }
}

#[test]
fn no_percentile_that_the_count_cannot_carry() {
    let (_, run) = latency::all().swap_remove(2);
    let text = text::result(&run, &Style::default());
    assert!(text.contains("p90") && !text.contains("p99"), "{text}");
    let text = text::result(&run, &Style { detail: true, ..Style::default() });
    let is_reserved = |line: &str| line.starts_with("  p99 ") && line.ends_with("takes 68 more round trips");
    assert!(text.lines().any(is_reserved), "{text}");
}

/// A stored run may hold any number.
#[test]
fn figures_of_any_size_are_shown() {
    for number in [0, 1, u64::MAX] {
        for (name, run) in latency::all() {
            let run = latency::of_size(run, number);
            for format in FORMATS {
                let document = written(&RunDocument::from_run(&run), format.name);
                assert!(!document.contains("NaN"), "{} of {name} with {number}: {document}", format.name);
            }
        }
    }
}

#[test]
fn packet_sizes_of_any_size_are_shown() {
    for number in [0, 1, u32::MAX] {
        for (name, run) in paths::all() {
            let run = paths::of_size(run, number);
            for format in FORMATS {
                let document = written(&RunDocument::from_run(&run), format.name);
                assert!(!document.contains("NaN"), "{} of {name} with {number}: {document}", format.name);
            }
        }
    }
}

#[test]
fn live_header_of_a_run_about_packet_sizes_is_the_documents() {
    for (name, run) in paths::all() {
        let (plan, host) = (run.path().cloned().unwrap(), run.host.clone().unwrap());
        let begun = PathStarted { wall: WallTime(0), plan, host, peer: run.peer.clone() };
        let header = text::path_live_header(&begun, &Style::default());
        let document = text::document(&run, &Style { detail: true, ..Style::default() });
        let title = header.lines().next().expect("there is a title");
        assert!(document.lines().any(|line| line == title), "{name}: {title}\n{document}");
    }
}

#[test]
fn long_labels_leave_room_for_the_figures() {
    let (_, mut run) = latency::all().swap_remove(1);
    run.summary
        .egress_paths
        .iter_mut()
        .for_each(|egress| egress.label = format!("{}-of-a-very-long-name-indeed", egress.label));
    run.summary.egress_paths[0].counted.lost = 9;
    for width in [60, 80, 132] {
        let text = text::result(&run, &Style { width, ..Style::default() });
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width.max(80), "{text}");
    }
}
