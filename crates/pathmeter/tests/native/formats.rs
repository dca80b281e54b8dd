//! Every format of every command that measures, against its schema or its own rules; expectations, plans, files.

use super::schema::Schema;
use super::support::{Scratch, Server, pathmeter, run, start};
use serde_json::Value;

#[test]
fn json_is_as_its_schema_requires() {
    let schema = Schema::named("result");
    let server = Server::start(&[]);
    for argv in [
        &["-t", "1s", "-i", "100ms"][..],
        &["-t", "1s", "-R", "-P", "2"],
        &["-n", "1M", "--bidir"],
        &["-u", "-b", "10M", "-t", "1s", "--bidir", "--link", "10G"],
    ] {
        schema.accept(&server.measured(argv));
    }
    let host = server.host();
    let measured = run(&["measure", &host, "--quick", "--json"]).code(0).json();
    schema.accept(&measured);
    assert_eq!(measured["tests"].as_array().unwrap().len(), 4);
    // The same instant, without what a program with floating point alone rounds.
    let started = measured["started_at"].as_str().unwrap().parse::<model::time::WallTime>().unwrap();
    assert_eq!(started.0, measured["started"].as_u64().unwrap() / 1_000_000 * 1_000_000);
    assert_eq!(measured["units"]["omit"], "ns");
}

#[test]
fn ndjson_is_events_and_then_the_result() {
    let (event, result) = (Schema::named("event"), Schema::named("result"));
    let server = Server::start(&[]);
    let ended = server.throughput(&["-t", "400ms", "-i", "100ms", "--format", "ndjson"]).code(0);
    let lines: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (last, events) = lines.split_last().unwrap();
    events.iter().for_each(|line| event.accept(line));
    let kinds: Vec<&str> = events.iter().map(|line| line["event"].as_str().unwrap()).collect();
    for kind in ["connected", "started", "sample", "result", "finished"] {
        assert!(kinds.contains(&kind), "{kinds:?}");
    }
    // The last line is the document, distinguished by a key of its own.
    let mut document = last.clone();
    document.as_object_mut().unwrap().remove("event");
    result.accept(&document);
    assert_eq!(document["schema"], "pathmeter/result/1");
}

#[test]
fn csv_has_a_header_and_rows_of_its_width() {
    let server = Server::start(&[]);
    let host = server.host();
    let throughput = server.throughput(&["-n", "1M", "--bidir", "--format", "csv"]).code(0);
    let measure = run(&["measure", &host, "--quick", "--format", "csv"]).code(0);
    for text in [throughput.stdout, measure.stdout] {
        let rows: Vec<Vec<String>> = text.lines().map(fields).collect();
        assert!(rows.len() > 2, "{text}");
        assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{text}");
        assert!(rows[0].iter().any(|name| name == "bits_per_second"), "{text}");
    }
}

#[test]
fn markdown_and_text_name_the_figures_and_the_verdict() {
    let server = Server::start(&[]);
    let host = server.host();
    for format in ["markdown", "text"] {
        for argv in [&["throughput", &host, "-t", "1s"][..], &["measure", &host, "--quick"]] {
            let text = run(&[argv, &["--format", format]].concat()).code(0).stdout;
            let verdict = ["OK", "DEGRADED", "PROBLEM"].iter().any(|word| text.contains(word));
            assert!(text.contains("bit/s") && verdict, "{format}: {text}");
            assert!(text.contains("at both ends"), "it states whence it comes: {text}");
            assert!(!text.contains('\x1b'), "no colour without a terminal");
            if format == "markdown" {
                assert!(text.lines().any(|line| line.starts_with('|') && line.contains("---")), "{text}");
            }
        }
    }
}

#[test]
fn expectations_decide_the_exit_code() {
    let server = Server::start(&[]);
    let held = ["-n", "1M", "--expect", "up.goodput>=1k", "--expect", "up.bytes==1MiB"];
    server.throughput(&held).code(0);
    let broken = ["-n", "1M", "--expect", "up.goodput>=1k", "--expect", "up.goodput>=900T"];
    let ended = server.throughput(&broken).code(1).prints("up.goodput>=900T");
    assert!(!ended.stderr.contains("up.goodput>=1k"), "only the broken one: {}", ended.stderr);
    let never = ["-n", "1M", "--expect", "down.goodput>=1k"];
    server.throughput(&never).code(2).prints("measures TCP up only").prints("nothing was measured");
    server.throughput(&["--expect", "up.godput>=1k"]).code(2).prints("no figure `up.godput`");
    server.throughput(&["--expect", "up.goodput"]).code(2).prints("--expect");
}

#[test]
fn a_dry_run_prints_the_plan_and_sends_nothing() {
    let schema = Schema::named("plan");
    let plan = run(&["throughput", "127.0.0.9", "-u", "--bidir", "-P", "2", "--dry-run"]).code(0).json();
    schema.accept(&plan);
    assert_eq!(plan["target"]["address"], "127.0.0.9:5210");
    assert!(plan["test"]["length"].as_u64().unwrap() > 0, "every default is filled: {plan:#}");
    let plans = run(&["measure", "127.0.0.9", "--dry-run"]).code(0).json();
    plans.as_array().unwrap().iter().for_each(|plan| schema.accept(plan));
}

#[test]
fn a_file_gets_the_result_and_one_that_cannot_loses_nothing() {
    let server = Server::start(&[]);
    let scratch = Scratch::new("output");
    let file = scratch.file("result.json", None);
    let ended = server.throughput(&["-n", "1M", "--json", "-o", &file]).code(0);
    assert_eq!(ended.stdout, "");
    let written: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    Schema::named("result").accept(&written);
    let nowhere = scratch.file("no/such/directory/result.json", None);
    // Found before the test.
    for path in [&nowhere, "/proc/result.json", "/dev/full"] {
        let ended = server.throughput(&["-n", "1M", "--json", "-o", path]).code(2).prints(path);
        let document = ended.json();
        Schema::named("error").accept(&document);
        assert_eq!(document["error"]["code"], "usage", "{path}: {document:#}");
    }
    // A place that is gone when the test is over.
    let gone = scratch.file("gone", None);
    std::fs::create_dir(&gone).unwrap();
    let (host, file) = (server.host(), format!("{gone}/result.json"));
    let client = start(&["throughput", &host, "-t", "1s", "-i", "100ms", "-o", &file]);
    client.wait_for("bit/s");
    std::fs::remove_dir(&gone).unwrap();
    let ended = client.end().code(2).prints(&file).prints("went to standard output instead");
    assert!(
        ended.stdout.contains("bit/s") && ended.stdout.contains("Details: -v"),
        "nothing is lost: {ended:?}"
    );
    let full = std::fs::File::create("/dev/full").unwrap();
    let mut command = pathmeter(None, &["throughput", &server.host(), "-n", "1M"]);
    let output = command.stdout(full).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(2) && text.contains("write standard output: No space left"),
        "{text}"
    );
}

#[test]
fn a_chart_shows_what_the_text_does_not_and_takes_nothing_from_it() {
    let server = Server::start(&[]);
    let scratch = Scratch::new("chart");
    let [svg, png] = ["chart.svg", "chart.png"].map(|name| scratch.file(name, None));
    let argv = ["-t", "500ms", "-i", "100ms", "--chart", &svg, "--chart", &png];
    let ended = server.throughput(&argv).code(0);
    assert!(ended.stdout.contains("bit/s") && !ended.stdout.contains("<svg"), "{}", ended.stdout);
    let drawn = std::fs::read_to_string(&svg).unwrap();
    for part in ["<polyline", "RTT loaded", "Retransmits per interval", "--chart", "at both ends"] {
        assert!(drawn.contains(part), "{part}: {drawn}");
    }
    assert!(std::fs::read(&png).unwrap().starts_with(b"\x89PNG"));
    server.throughput(&["-n", "1M", "--chart", "/proc/chart.svg"]).code(2).prints("/proc/chart.svg");
}

#[test]
fn a_chart_that_is_asked_for_is_there() {
    let scratch = Scratch::new("charts-there");
    let svg = scratch.file("hops.svg", None);
    // The port is closed, and this host reports it.
    let port = super::support::free_port().to_string();
    let argv = ["hops", "127.0.0.1", "--protocol", "tcp", "-p", &port, "-c", "1", "--chart", &svg];
    let ended = super::support::run(&argv);
    let drawn = std::fs::read_to_string(&svg).unwrap_or_else(|error| panic!("{error}: {}", ended.stderr));
    assert!(drawn.contains("<svg") && drawn.contains("Hops to 127.0.0.1"), "{drawn}");
}

#[test]
fn a_reader_that_leaves_stops_nothing() {
    let server = Server::start(&[]);
    let line = format!(
        "{} throughput {} -t 600ms -i 100ms | head -n 1; echo ${{PIPESTATUS[0]}}",
        env!("CARGO_BIN_EXE_pathmeter"),
        server.host()
    );
    let output = std::process::Command::new("bash").args(["-c", &line]).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text.lines().last(), Some("0"), "{text}");
}

/// The fields of one line of CSV (RFC 4180).
fn fields(line: &str) -> Vec<String> {
    let (mut fields, mut quoted) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '"' => quoted = !quoted,
            ',' if !quoted => fields.push(String::new()),
            c => fields.last_mut().expect("there is one").push(c),
        }
    }
    fields
}

/// `-t 0` goes on until it is stopped, prints its measurement on request, and keeps no interval of it.
#[test]
fn a_test_without_an_end_is_summed_up_when_asked_and_when_stopped() {
    let server = Server::start(&[]);
    let host = server.host();
    for (argv, sample, sums, result) in [
        (&["throughput", &host, "-b", "2M", "-l", "1000"][..], "\"sample\"", "so far, ", "up"),
        (
            &["throughput", &host, "-u", "-R", "-b", "2M", "-l", "500"],
            "\"sample\"",
            " datagrams lost (",
            "down",
        ),
        (&["latency", &host, "--rate", "100"], "\"latency_sample\"", " round trips, ", "ways"),
    ] {
        let running = start(&[argv, &["-t", "0", "-i", "20ms", "--format", "ndjson"]].concat());
        running.wait_for_output(sample);
        running.signal("USR1");
        running.wait_for(sums);
        running.signal("INT");
        let ended = running.end().code(0);
        let run: Value = serde_json::from_str(ended.stdout.lines().last().unwrap()).unwrap();
        assert!(run["event"] == "run" && !run["summary"][result].is_null(), "{run:#}");
    }
    // Nor does any other format.
    let running = start(&["throughput", &host, "-b", "2M", "-t", "0", "-i", "20ms", "-v", "--plain"]);
    running.wait_for(" s     up ");
    running.signal("INT");
    let ended = running.end().code(0);
    assert!(ended.stderr.contains("Retransmits") && !ended.stdout.contains(" s     up "), "{}", ended.stdout);
}
