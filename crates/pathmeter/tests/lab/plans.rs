//! `plan check`, `show` and `run`: faults, the example plans in the lab, paths that fail beside paths that do not, a crash.

use super::support::{Ended, Scratch, Server, free_port, run, start};
use super::topologies::buildable;
use serde_json::Value;

/// Enough for a rate, and for round trips even where other tests take the CPUs.
const SHORT: &str = "200ms";
const LONG: &str = "600ms";
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/plans");

/// Carries an example out, shortened to runs of this length.
#[track_caller]
fn example(name: &str, time: &str, args: &[&str]) -> Ended {
    let file = format!("{EXAMPLES}/{name}.toml");
    run(&[&["plan", "run", &file, "--time", time], args].concat())
}

fn rows(report: &Value) -> &[Value] {
    report["rows"].as_array().unwrap()
}

/// The median of a figure of a row.
#[track_caller]
fn median(row: &Value, figure: &str) -> f64 {
    let figures = row["figures"].as_array().unwrap();
    let found =
        figures.iter().find(|one| one["name"] == figure).unwrap_or_else(|| panic!("{figure}: {row:#}"));
    found["runs"]["median"].as_f64().unwrap()
}

/// The values of the variables of every row.
fn settings(report: &Value) -> Vec<String> {
    let settings_of = |row: &Value| {
        let settings = row["settings"].as_array().unwrap();
        settings.iter().map(|one| one["value"].as_str().unwrap().to_owned()).collect::<Vec<_>>().join(" ")
    };
    rows(report).iter().map(settings_of).collect()
}

#[track_caller]
fn all_have_runs(report: &Value, runs: usize) {
    for row in rows(report) {
        let done = row["runs"].as_array().unwrap();
        assert!(done.len() == runs && done.iter().all(|run| run["error"].is_null()), "{row:#}");
    }
}

#[test]
fn five_egress_paths_are_compared_by_their_round_trips() {
    if buildable("five_egress_paths").is_none() {
        return;
    }
    let scratch = Scratch::new("plan-five");
    let svg = scratch.file("chart.svg", None);
    let report = example("five-paths", LONG, &["--runs", "2", "--json", "--chart", &svg]).code(0).json();
    assert_eq!(report["schema"], "pathmeter/experiment/1");
    let names: Vec<&str> = rows(&report).iter().map(|row| row["path"].as_str().unwrap()).collect();
    assert_eq!(names, ["snat", "public", "balancer", "natgw", "firewall"]);
    all_have_runs(&report, 2);
    // The base is the path of the lowest median, which is none with a delay of its own.
    let bases: Vec<&Value> = rows(&report).iter().filter(|row| row["against"].is_null()).collect();
    let base = bases[0]["path"].clone();
    assert!(bases.len() == 1 && base != "firewall", "{bases:#?}");
    for row in rows(&report) {
        let all = &row["rtt_ns"];
        assert!(all["count"].as_u64() > Some(0) && all["p99"].as_u64() >= all["p50"].as_u64(), "{row:#}");
        assert!(row["expectations"].as_array().unwrap().iter().all(|one| one["held"] == true), "{row:#}");
        let against = if row["path"] == base { &Value::Null } else { &base };
        assert_eq!(row["against"], *against);
    }
    // A message of 64 bytes is a frame of 130 and more: at 2 Mbit/s no more than 1923 leave in a second, beside what leaves at once
    // after a pause. Twice as many as in both runs, and on any host as many as there is time for.
    let firewall = &rows(&report)[4];
    assert!(firewall["rtt_ns"]["count"].as_u64() < Some(2 * 2 * 1923 * 6 / 10), "{firewall:#}");
    let drawn = std::fs::read_to_string(svg).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.contains("firewall"), "{drawn}");
}

#[test]
fn transfers_are_compared_by_mtu_for_each_service() {
    if buildable("transfers_are_compared_by_mtu").is_none() {
        return;
    }
    let ended = example("mtu-services", SHORT, &["--runs", "1", "--json"]).code(0);
    let report = ended.json();
    let mtus = ["1280", "1280", "1430", "1430", "2000", "2000"];
    assert_eq!(settings(&report), [mtus, mtus].concat(), "downloads, and uploads");
    all_have_runs(&report, 1);
    for row in rows(&report) {
        let mtu = row["settings"][0]["value"].as_str().unwrap();
        let path = row["path"].as_str().unwrap();
        let against = if mtu == "1280" { Value::Null } else { format!("{path}, mtu 1280").into() };
        assert_eq!(row["against"], against, "{row:#}");
        // Headers leave so much of the link's 200 Mbit/s, and no more.
        let most = (mtu.parse::<f64>().unwrap() - 52.0) / (mtu.parse::<f64>().unwrap() + 14.0);
        let rate = median(row, "transfer.rate");
        assert!(rate > 10e6 && rate < 200e6 * most * 1.1, "{rate}: {row:#}");
    }
}

#[test]
fn the_variants_of_a_router_are_compared_with_the_cable() {
    if buildable("the_variants_of_a_router").is_none() {
        return;
    }
    let ended = example("router-variants", SHORT, &["--runs", "1", "--json"]).code(0);
    let report = ended.json();
    assert_eq!(rows(&report).len(), 8, "four paths, two tests");
    for row in rows(&report) {
        // A kernel without a tunnel has the reason in its row.
        let is_here = row["unavailable"] == false;
        let (runs, reason) = (row["runs"].as_array().unwrap().len(), row["reason"].as_str());
        assert_eq!((runs, reason.is_none()), if is_here { (1, true) } else { (0, false) }, "{row:#}");
        if is_here {
            let figure = if row["test"] == "TCP" { "tcp.up.goodput" } else { "rtt.p50" };
            assert!(median(row, figure) > 0.0, "{row:#}");
        }
    }
    assert!(rows(&report).iter().filter(|row| row["path"] != "ipip6").all(|row| row["unavailable"] == false));
}

#[test]
fn frames_are_swept_by_one_session_and_by_two() {
    if buildable("frames_are_swept_by_one").is_none() {
        return;
    }
    let report = example("frame-sweep", SHORT, &["--runs", "1", "--json"]).code(0).json();
    let sizes = ["64", "256", "512", "1024", "1518"];
    let all: Vec<String> =
        ["1", "2"].iter().flat_map(|pairs| sizes.map(|frame| format!("{frame} {pairs}"))).collect();
    let mut found = settings(&report);
    found.sort();
    let mut wanted = all;
    wanted.sort();
    assert_eq!(found, wanted);
    all_have_runs(&report, 1);
    for row in rows(&report) {
        assert!(median(row, "frames.goodput") > 0.0, "{row:#}");
    }
}

/// A plan of paths of this host: one to a server, one to a closed port, one of an agent.
fn mixed(scratch: &Scratch, server: &Server) -> String {
    let closed = free_port();
    let text = format!(
        "title = \"Three paths\"\nlabels = [\"mixed\"]\nrepetitions = 2\n\
         [paths.open]\nto = \"{}\"\n[paths.closed]\nto = \"127.0.0.1:{closed}\"\n\
         [paths.far]\nagent = \"ams\"\nto-agent = \"fra\"\n\
         [[tests]]\ntest = \"latency\"\ncount = 20\nsize = [64, 200]\nexpect = [\"lost<=0\", \"rtt.p50<60s\"]\n",
        server.host()
    );
    scratch.file("mixed.toml", Some(&text))
}

#[test]
fn what_fails_is_a_row_with_its_reason_and_stops_nothing() {
    let (scratch, server) = (Scratch::new("plan-mixed"), Server::start(&[]));
    let plan = mixed(&scratch, &server);
    let (store, each) = (scratch.file("runs.db", None), scratch.file("each", None));
    let args = ["plan", "run", &plan, "--json", "--store", &store, "--save", "--each", &each];
    let ended =
        run(&args).code(3).prints("mixed.toml: closed, size 64: ").prints("needs a fleet: agent `ams`");
    let report = ended.json();
    let known: Vec<(&str, bool, usize)> = rows(&report)
        .iter()
        .map(|row| {
            let runs = row["runs"].as_array().unwrap().iter().filter(|run| run["error"].is_null()).count();
            (row["path"].as_str().unwrap(), row["unavailable"] == true, runs)
        })
        .collect();
    let each_size = [("open", false, 2), ("closed", false, 0), ("far", true, 0)];
    assert_eq!(known, [each_size, each_size].concat());
    for row in rows(&report) {
        assert_eq!(row["reason"].is_null(), row["path"] == "open", "{row:#}");
        assert_eq!(row["expectations"][0]["held"] == true, row["path"] == "open", "{row:#}");
    }
    assert_eq!(std::fs::read_dir(&each).unwrap().count(), 4, "the runs that were measured");
    let kept = run(&["history", "--store", &store, "--label", "mixed, open: latency, size 64", "--json"]);
    let ids: Vec<Value> =
        kept.code(0).json().as_array().unwrap().iter().map(|run| run["id"].clone()).collect();
    let mut own: Vec<Value> =
        rows(&report)[0]["runs"].as_array().unwrap().iter().map(|run| run["id"].clone()).collect();
    own.reverse();
    assert_eq!(ids, own, "a run has one name in the result and in the store");
    server.stop();
}

#[test]
fn every_format_shows_a_plan() {
    let (scratch, server) = (Scratch::new("plan-formats"), Server::start(&[]));
    let plan = mixed(&scratch, &server);
    for (format, part) in [
        ("text", "not measured"),
        ("markdown", "| cannot run here"),
        ("csv", "open,latency,size=64,1,"),
        ("html", "needs a fleet"),
        ("junit", "rtt.p50&lt;60s"),
        ("ndjson", "\"schema\":\"pathmeter/experiment/1\""),
    ] {
        let text = run(&["plan", "run", &plan, "--runs", "1", "--format", format]).code(3).stdout;
        assert!(text.contains(part), "{format}:\n{text}");
    }
    server.stop();
}

#[test]
fn a_plan_that_was_killed_goes_on_where_it_was() {
    let (scratch, server) = (Scratch::new("plan-killed"), Server::start(&[]));
    let text = format!(
        "title = \"Four rounds\"\nrepetitions = 4\n[paths.open]\nto = \"{}\"\n[[tests]]\ntest = \"latency\"\n\
         time = \"300ms\"\n",
        server.host()
    );
    let (plan, out) = (scratch.file("four.toml", Some(&text)), scratch.file("out.json", None));
    let journal = format!("{out}.journal");
    let args = ["plan", "run", &plan, "--json", "-o", &out];
    let running = start(&args);
    running.wait_for("   3/4  open: latency, run 3");
    running.signal("KILL");
    running.end();
    let ids = |text: &str| -> Vec<String> {
        let runs = text.lines().skip(1).filter_map(|line| serde_json::from_str::<Value>(line).ok());
        runs.map(|run| run["run"]["id"].as_str().unwrap().to_owned()).collect()
    };
    let before = ids(&std::fs::read_to_string(&journal).unwrap());
    assert_eq!(before.len(), 2, "two runs had ended");
    run(&args).code(2).prints("holds what a run that was cut off has measured");
    let shorter = [&args[..], &["--resume", "--runs", "3"]].concat();
    run(&shorter).code(2).prints("it is the journal of another plan");
    // Ctrl-C leaves it, too, and the measurement is printed.
    let resumed = [&args[..], &["--resume"]].concat();
    let running = start(&resumed);
    running.wait_for("   3/4  open: latency, run 3");
    running.signal("INT");
    running.end().code(0);
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
    all_have_runs(&report, 2);
    assert!(rows(&report)[0]["reason"].as_str().unwrap().contains("it was stopped"), "{report:#}");
    run(&resumed).code(0).prints("2 runs were carried out before.");
    let report: Value = serde_json::from_str(&std::fs::read_to_string(&out).unwrap()).unwrap();
    all_have_runs(&report, 4);
    let after: Vec<&str> =
        rows(&report)[0]["runs"].as_array().unwrap().iter().map(|run| run["id"].as_str().unwrap()).collect();
    assert_eq!(after[..2], before);
    assert!(!std::path::Path::new(&journal).exists(), "all of it is in the result");
    server.stop();
}

#[test]
fn a_limit_ends_a_plan_and_is_reported() {
    let (scratch, server) = (Scratch::new("plan-limit"), Server::start(&[]));
    let text = format!(
        "title = \"Bounded\"\nrepetitions = 3\n[paths.open]\nto = \"{}\"\n[limits]\nbytes = 1500000\n\
         [[tests]]\ntest = \"throughput\"\nbytes = 1000000\n",
        server.host()
    );
    let plan = scratch.file("bounded.toml", Some(&text));
    let report = run(&["plan", "run", &plan, "--json"]).code(0).json();
    let row = &rows(&report)[0];
    assert_eq!(row["runs"].as_array().unwrap().len(), 2, "the third would begin after 2 MB");
    assert!(row["reason"].as_str().unwrap().contains("limit on bytes"), "{row:#}");
    server.stop();
}

#[test]
fn faults_of_a_file_are_reported_at_once_and_a_right_one_is_shown() {
    let scratch = Scratch::new("plan-faults");
    let wrong = scratch.file(
        "wrong.toml",
        Some("titel = \"x\"\n[paths.a]\nto = \"h\"\n[[tests]]\ntest = \"mtu\"\nlargst = 1\n"),
    );
    let ended = run(&["plan", "check", &wrong, &format!("{EXAMPLES}/five-paths.toml")]).code(2);
    for part in
        ["wrong.toml:1:1: unknown key `titel`: did you mean `title`?", "wrong.toml:6:1: unknown key `largst`"]
    {
        assert!(ended.stderr.contains(part), "{}", ended.stderr);
    }
    assert!(ended.stdout.contains("5 rows, 40 runs"), "{}", ended.stdout);
    run(&["plan", "check", "/no/such.toml"]).code(2).prints("read the plan /no/such.toml");
    run(&["plan", "run", &wrong]).code(2);
    let shown = run(&["plan", "show", &format!("{EXAMPLES}/five-paths.toml"), "--json", "--runs", "2"])
        .code(0)
        .json();
    assert_eq!((&shown["runs"], shown["paths"][4]["address"].as_str()), (&10.into(), Some("198.51.100.66")));
    assert_eq!(shown["order"], serde_json::json!([1, 2, 3, 4, 5, 1, 2, 3, 4, 5]));
    let text = run(&["plan", "show", &format!("{EXAMPLES}/frame-sweep.toml")]).code(0).stdout;
    assert!(text.contains("60 runs") && text.contains("frame 64, pairs 1"), "{text}");
}
