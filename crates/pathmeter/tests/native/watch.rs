//! Paths that are watched, trends of what was kept, and commands run in turn.

use super::support::{Ended, Scratch, Server, free_port, run, start};
use serde_json::Value;

/// A store of this test's own.
struct Kept {
    scratch: Scratch,
    store: String,
}

impl Kept {
    fn new(name: &str) -> Kept {
        let scratch = Scratch::new(name);
        let store = scratch.file("runs.db", None);
        Kept { scratch, store }
    }

    fn run(&self, args: &[&str]) -> Ended {
        run(&[args, &["--store", &self.store]].concat())
    }
}

#[test]
fn a_path_that_gets_worse_is_reported_once_and_its_recovery_once() {
    let (server, kept) = (Server::start(&[]), Kept::new("watch-worse"));
    let host = server.host();
    let reported = kept.scratch.file("reported", None);
    let hook = format!("echo \"$PATHMETER_ALERT $PATHMETER_FIGURE $PATHMETER_TARGET\" >> {reported}");
    let watch = |rate: &str, rounds: &str| {
        // Small datagrams: a test so short has a whole number of them.
        let task = format!("throughput -u -l 500 -b {rate} -t 100ms");
        let args = ["watch", &host, "--every", "1ms", "--rounds", rounds, "--run", &task, "--alert", &hook];
        // Figures that a busy machine changes by a tenth are not what this test is about.
        kept.run(&[&args[..], &["--noise-floor", "30"]].concat())
    };
    // This test does not depend on jitter and loss on a busy host.
    let as_usual = |ended: Ended| assert!(!ended.stdout.contains("udp.up.goodput worse"), "{}", ended.stdout);
    as_usual(watch("8M", "11"));
    let worse = watch("2M", "6").code(5);
    assert!(
        worse.stdout.contains("ALERT") && worse.stdout.contains("udp.up.goodput worse"),
        "{}",
        worse.stdout
    );
    as_usual(watch("8M", "8"));
    let reported = std::fs::read_to_string(reported).expect("the hook has run");
    let of_goodput: Vec<&str> = reported.lines().filter(|line| line.contains("udp.up.goodput")).collect();
    // A far end is kept under its name, whatever its port.
    let name = host.split(':').next().expect("a name");
    let expected = ["worse", "recovered"].map(|word| format!("{word} udp.up.goodput {name}"));
    assert_eq!(of_goodput, expected, "{reported}");
    let trend = kept.run(&["trend", &host, "--json", "--noise-floor", "30"]).code(0).json();
    let series =
        trend["series"].as_array().unwrap().iter().find(|one| one["figure"] == "udp.up.goodput").unwrap();
    let kinds: Vec<&Value> = series["changes"].as_array().unwrap().iter().map(|one| &one["kind"]).collect();
    assert_eq!(kinds, ["worse", "recovered"], "{series}");
    for format in ["text", "markdown", "csv", "html", "ndjson", "junit"] {
        assert!(!kept.run(&["trend", &host, "--format", format]).code(0).stdout.is_empty(), "{format}");
    }
    // A known change begins anew.
    let marked = kept.run(&["trend", &host, "--mark", "new <line>", "--json"]).code(0).json();
    assert_eq!(
        (&marked["series"], &marked["marks"][0]["note"]),
        (&Value::Array(Vec::new()), &"new <line>".into())
    );
}

#[test]
fn a_far_end_that_is_gone_is_reported_once_kept_and_the_exit_code() {
    let kept = Kept::new("watch-gone");
    let target = format!("127.0.0.1:{}", free_port());
    let args = [
        "watch",
        &target,
        "--every",
        "1ms",
        "--rounds",
        "3",
        "--run",
        "throughput -t 100ms",
        "--alert",
        "exit 7",
    ];
    let ended = kept.run(&args).code(3);
    assert_eq!(ended.stdout.matches("ALERT").count(), 1, "{}", ended.stdout);
    assert!(ended.stderr.contains("--alert exit 7: exit status: 7"), "{}", ended.stderr);
    let listed = kept.run(&["history", "--json"]).code(0).json();
    let states: Vec<&Value> = listed.as_array().unwrap().iter().map(|entry| &entry["status"]).collect();
    // The first failure is measured again before it is reported.
    assert_eq!(states, ["void"; 4]);
    let metrics = kept.run(&["history", "--format", "prometheus"]).code(0).stdout;
    assert!(metrics.contains("pathmeter_up{target=") && metrics.contains("} 0\n"), "{metrics}");
    assert!(!metrics.contains("goodput"), "{metrics}");
    let server = Server::start(&[]);
    let host = server.host();
    let back =
        kept.run(&["watch", &host, "--every", "1ms", "--rounds", "1", "--run", "throughput -n 100k"]).code(0);
    // At another port, but the same far end.
    let alerts: Vec<&str> = back.stdout.lines().filter(|line| line.starts_with("ALERT")).collect();
    assert_eq!(alerts, ["ALERT 127.0.0.1: can be measured again"], "{}", back.stdout);
}

#[test]
fn a_watch_that_cannot_be_is_refused_and_one_that_is_interrupted_ends() {
    let kept = Kept::new("watch-refused");
    kept.run(&["watch", "127.0.0.1", "--run", "serve"])
        .code(2)
        .prints("is not one of the commands that can be run so");
    kept.run(&["watch", "127.0.0.1", "--run", "throughput --nonsense"]).code(2).prints("--nonsense");
    kept.run(&["watch", "127.0.0.1", "--run", "'"]).code(2);
    let server = Server::start(&[]);
    let args =
        ["watch", &server.host(), "--every", "1h", "--run", "throughput -n 100k", "--store", &kept.store];
    let running = start(&args);
    running.wait_for_output("throughput 127.0.0.1");
    running.signal("USR1");
    running.wait_for("1 round, the far end unreachable in 0");
    running.signal("INT");
    let ended = running.end().code(0);
    assert_eq!(ended.stderr.matches("tcp.up.goodput: ").count(), 2, "once asked for, once at the end");
    let rounds = ["--rounds", "2", "--every", "1ms", "--run", "throughput -n 100k", "--format", "ndjson"];
    let ended = kept.run(&[&["watch", &server.host()], &rounds[..]].concat()).code(0);
    let runs: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!((runs.len(), &runs[1]["kind"]), (2, &"throughput".into()));
}

#[test]
fn two_commands_in_turn_are_compared() {
    let (server, kept) = (Server::start(&[]), Kept::new("interleave"));
    let command = |rate: &str| format!("pathmeter throughput {} -u -l 500 -b {rate} -t 100ms", server.host());
    let (slow, fast) = (command("2M"), command("20M"));
    let args = ["compare", "--interleave", "--runs", "9", &slow, &fast, "--json"];
    let ended = kept.run(&args).code(0);
    let compared = ended.json();
    let goodput =
        compared["figures"].as_array().unwrap().iter().find(|row| row["name"] == "udp.up.goodput").unwrap();
    assert_eq!((&goodput["base"]["runs"], &goodput["judgement"]["word"]), (&9.into(), &"better".into()));
    let rounds: Vec<&str> = ended.stderr.lines().filter(|line| line.contains("/9  ")).collect();
    assert!(
        rounds.len() == 18 && rounds[0].contains("-b 2M") && rounds[1].contains("-b 20M"),
        "{}",
        ended.stderr
    );
    let regression = ["compare", "--interleave", "--runs", "9", &fast, &slow, "--baseline"];
    kept.run(&regression).code(5);
    let gone = format!("throughput 127.0.0.1:{}", free_port());
    kept.run(&["compare", "--interleave", "--runs", "1", &gone, &gone]).code(3);
    kept.run(&["compare", "--interleave", "history", &slow])
        .code(2)
        .prints("is not one of the commands that can be run so");
}

#[test]
fn a_far_end_has_one_name_however_it_was_measured() {
    let (server, kept) = (Server::start(&[]), Kept::new("one-name"));
    let host = server.host();
    let name = host.split(':').next().expect("a name").to_owned();
    kept.run(&["throughput", &host, "-n", "100K", "--save"]).code(0);
    kept.run(&["watch", &host, "--rounds", "1", "--run", "throughput -n 100K"]).code(0);
    for target in [&host, &name] {
        let listed = kept.run(&["history", "--target", target, "--json"]).code(0).json();
        let runs = listed["runs"].as_array().or(listed.as_array()).expect("a list");
        let targets: Vec<&str> = runs.iter().filter_map(|run| run["target"].as_str()).collect();
        assert_eq!(targets, [&name, &name], "{target}");
        let trend = kept.run(&["trend", target, "--json"]).code(0).json();
        assert_eq!(trend["target"], *name, "{trend:#}");
    }
}
