//! Runs that are kept: found again, shown again, compared, and there after a crash.

use super::support::{Ended, Running, Scratch, Server, on_a_small_disk, pathmeter, run};
use serde_json::Value;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

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

    fn history(&self, args: &[&str]) -> Vec<Value> {
        let listed = self.run(&[&["history", "--json"], args].concat()).code(0).json();
        listed.as_array().unwrap().clone()
    }

    fn throughput_refused(&self, server: &Server, why: &str) {
        let host = server.host();
        self.run(&["throughput", &host, "-t", "60s", "--save"]).code(2).prints(why);
    }

    fn throughput(&self, server: &Server, args: &[&str]) -> Ended {
        self.run(&[&["throughput", &server.host(), "-n", "1M", "--save"], args].concat()).code(0)
    }
}

/// A store, its folder and what SQLite makes beside it can be read by their owner alone.
#[test]
fn a_store_is_its_owners_alone() {
    let (server, scratch) = (Server::start(&[]), Scratch::new("keep-modes"));
    let store = scratch.file("made/here/runs.db", None);
    run(&["throughput", &server.host(), "-n", "100K", "--save", "--store", &store]).code(0);
    let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let folder = Path::new(&store).parent().unwrap();
    assert_eq!((mode(folder), mode(folder.parent().unwrap())), (0o700, 0o700));
    for file in std::fs::read_dir(folder).unwrap() {
        assert_eq!(mode(&file.unwrap().path()), 0o600);
    }
    server.stop();
}

#[test]
fn a_full_disk_leaves_a_file_of_lines_as_it_was_and_shows_the_result() {
    let test = "a_full_disk_leaves_a_file_of_lines_as_it_was";
    let (server, scratch) = (Server::start(&[]), Scratch::new("keep-full"));
    let line = format!("throughput {} -n 1M --save=small/runs.ndjson", server.host());
    let script = format!(
        "\"$PATHMETER\" {line} >/dev/null 2>&1 || exit 98\n\
         cp small/runs.ndjson before\nhead -c 999999 /dev/zero >small/rest 2>/dev/null\n\
         \"$PATHMETER\" {line}; code=$?\ncp small/runs.ndjson after\nexit $code"
    );
    let Some(ended) = on_a_small_disk(test, &scratch, "64k", &script) else { return };
    let ended = ended.code(2).prints("small/runs.ndjson").prints("No space left");
    assert!(ended.stdout.contains("Details: -v"), "the result is shown: {}", ended.stdout);
    let [before, after] = ["before", "after"].map(|name| std::fs::read(scratch.file(name, None)).unwrap());
    assert!(before == after && before.ends_with(b"\n"), "{} and {} bytes", before.len(), after.len());
    server.stop();
}

#[test]
fn a_kept_run_is_listed_and_shown_as_it_was() {
    let (server, kept) = (Server::start(&[]), Kept::new("keep-show"));
    let ended = kept.throughput(&server, &["--label", "first", "--json"]).prints("kept as ");
    let measured = ended.json();
    let listed = kept.history(&[]);
    assert_eq!(listed.len(), 1);
    let entry = &listed[0];
    assert_eq!((&entry["kind"], &entry["label"]), (&"throughput".into(), &"first".into()));
    let figure = entry["figures"].as_array().unwrap().iter().find(|f| f["name"] == "tcp.up.goodput").unwrap();
    assert_eq!(figure["value"], measured["summary"]["up"]["goodput_bps"].as_f64().unwrap());
    let id = entry["id"].as_str().unwrap();
    let shown = kept.run(&["show", &id[..18], "--json"]).code(0).json();
    assert_eq!((&shown, shown["id"].as_str()), (&measured, Some(id)));
    for format in ["text", "markdown", "csv", "html", "ndjson", "junit"] {
        assert!(!kept.run(&["show", id, "--format", format]).code(0).stdout.is_empty(), "{format}");
    }
    kept.run(&["label", id, "second"]).code(0);
    assert_eq!(kept.history(&["--label", "second"]).len(), 1);
    assert!(kept.history(&["--label", "first"]).is_empty());
    kept.run(&["forget", id]).code(0);
    kept.run(&["show", id]).code(2).prints("no run is called");
}

#[test]
fn runs_go_from_store_to_store_and_are_taken_once() {
    let (server, kept, other) = (Server::start(&[]), Kept::new("keep-from"), Kept::new("keep-to"));
    kept.throughput(&server, &[]);
    kept.throughput(&server, &["-R"]);
    kept.run(&["trend", &server.host(), "--mark", "new router"]).code(0);
    let lines = kept.scratch.file("runs.ndjson", None);
    kept.run(&["export", "-o", &lines]).code(0);
    let moved = other.run(&["import", &lines, "--save", "--label", "moved"]).code(0);
    moved.prints("2 of 2 were new; marks of trends: 1");
    let marks = |kept: &Kept| {
        let exported = kept.run(&["export"]).code(0).stdout;
        exported
            .lines()
            .filter(|line| line.contains("pathmeter/mark/1"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    assert!(marks(&kept)[0].contains("new router"));
    assert_eq!(marks(&other), marks(&kept));
    let labelled = kept.run(&["export", "--label", "nothing"]).code(0).stdout;
    assert_eq!(labelled, "", "marks go with the runs that were asked for");
    other.run(&["import", &lines, "--save"]).code(0).prints("0 of 2 were new");
    let ids = |kept: &Kept| {
        let mut ids: Vec<String> = kept.history(&[]).iter().map(|entry| entry["id"].to_string()).collect();
        ids.sort();
        ids
    };
    assert_eq!(ids(&other), ids(&kept));
}

/// Every recorded output of every tool, in stores one after the other: names, labels, origins, targets, times and documents stay.
#[test]
fn imported_outputs_go_from_store_to_store_and_lose_nothing() {
    let stores = ["keep-first", "keep-second", "keep-third"].map(Kept::new);
    let outputs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/import/outputs");
    for (folder, label) in [(outputs.clone(), "of a tool"), (outputs.join("cases"), "")] {
        let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = entries.filter(|path| path.is_file()).collect();
        files.sort();
        assert!(files.len() > 40, "{}", files.len());
        let files = files.iter().map(|path| path.to_str().unwrap());
        let mut args: Vec<&str> = ["import"].into_iter().chain(files).collect();
        args.extend(["--save", "--format", "ndjson"]);
        args.extend(["--label", label].into_iter().filter(|_| !label.is_empty()));
        assert!(stores[0].run(&args).stderr.contains(" were new"), "they are kept");
    }
    let exported = |kept: &Kept| {
        let file = kept.scratch.file("exported.ndjson", None);
        kept.run(&["export", "-o", &file]).code(0);
        let mut lines: Vec<String> =
            std::fs::read_to_string(&file).unwrap().lines().map(str::to_owned).collect();
        lines.sort();
        (file, lines)
    };
    let (mut file, first) = exported(&stores[0]);
    let tools = |label: &str| {
        let rows = first.iter().map(|line| serde_json::from_str::<Value>(line).unwrap()["stored"].clone());
        let own: Vec<Value> = rows.filter(|row| row["label"] == label).collect();
        assert!(own.iter().all(|row| row["origin"] == "imported"), "{own:?}");
        own.len()
    };
    assert!(tools("of a tool") > 60 && tools("") > 60, "{} and {}", tools("of a tool"), tools(""));
    for next in &stores[1..] {
        let all = format!("{0} of {0} were new", first.len());
        assert!(next.run(&["import", &file, "--save", "--format", "ndjson"]).stderr.contains(&all));
        let lines;
        (file, lines) = exported(next);
        for (before, after) in first.iter().zip(&lines) {
            assert_eq!(after, before);
        }
        assert_eq!(lines.len(), first.len());
    }
}

#[test]
fn sets_of_runs_are_compared_by_label_name_and_file() {
    let (server, kept) = (Server::start(&[]), Kept::new("keep-compare"));
    for (label, rate) in [("slow", "2M"), ("fast", "20M")] {
        for _ in 0..6 {
            let args = ["-u", "-b", rate, "-t", "300ms", "--label", label];
            kept.run(&[&["throughput", &server.host(), "--save"], &args[..]].concat()).code(0);
        }
    }
    let better = kept.run(&["compare", "slow", "fast", "--json"]).code(0).json();
    let row = |compared: &Value| {
        let rows = compared["figures"].as_array().unwrap().clone();
        rows.into_iter().find(|row| row["name"] == "udp.up.goodput").unwrap()
    };
    assert_eq!(row(&better)["judgement"]["word"], "better", "{better}");
    let what: Vec<&str> =
        better["differences"].as_array().unwrap().iter().map(|one| one["what"].as_str().unwrap()).collect();
    assert!(what.contains(&"rate asked for"), "{what:?}");
    // Exit code 5 only where it was requested.
    kept.run(&["compare", "fast", "slow", "--baseline"]).code(5);
    kept.run(&["compare", "fast", "slow"]).code(0);
    let file = kept.scratch.file("fast.ndjson", None);
    kept.run(&["export", "--label", "fast", "-o", &file]).code(0);
    let of_file = kept.run(&["compare", "slow", &file, "--json"]).code(0).json();
    assert_eq!(row(&of_file)["other"], row(&better)["other"]);
    kept.run(&["compare", "slow", "nothing"]).code(2).prints("no kept run has the label or name");
}

#[test]
fn a_run_whose_far_end_is_dead_is_kept_as_void_with_its_reason() {
    let (server, kept) = (Server::start(&[]), Kept::new("keep-dead"));
    let host = server.host();
    kept.throughput(&server, &[]);
    server.process.signal("TERM");
    server.process.end();
    kept.run(&["throughput", &host, "-n", "1M", "--save"]).code(3);
    let listed = kept.history(&[]);
    assert_eq!(listed[0]["status"], "void", "{listed:?}");
    assert_ne!(listed[1]["status"], "void", "{listed:?}");
    assert_eq!(listed[0]["target"], listed[1]["target"]);
    let verdict = listed[0]["verdict"].as_str().expect("a verdict");
    assert!(verdict.contains("refused"), "{verdict}");
    let metrics = kept.run(&["history", "--format", "prometheus"]).code(0).stdout;
    assert!(
        metrics.lines().any(|line| line.starts_with("pathmeter_up{") && line.ends_with(" 0")),
        "{metrics}"
    );
}

#[test]
fn a_run_that_was_killed_is_there_as_far_as_it_went() {
    let (server, kept) = (Server::start(&[]), Kept::new("keep-killed"));
    let host = server.host();
    let args =
        ["throughput", &host, "-t", "60s", "-i", "100ms", "-b", "10M", "--save", "--store", &kept.store];
    let running = Running::start(pathmeter(None, &args));
    let cut = loop {
        // Events are written once a second: some intervals are there when the first is.
        if let [entry] = kept.history(&[]).as_slice() {
            let id = entry["id"].as_str().unwrap().to_owned();
            let run = kept.run(&["show", &id, "--json"]).code(0).json();
            if run["intervals"].as_array().is_some_and(|rows| !rows.is_empty()) {
                break id;
            }
        }
    };
    running.signal("KILL");
    running.end();
    let entry = kept.history(&[]).remove(0);
    assert_eq!((&entry["status"], &entry["finished"]), (&Value::Null, &Value::Null));
    let run = kept.run(&["show", &cut, "--json"]).code(0).json();
    assert!(!run["intervals"].as_array().unwrap().is_empty(), "{run}");
    // A program that measures renews its mark; the run has not ended once that is 20 s old.
    let killed = std::time::Instant::now();
    while !kept.run(&["history"]).code(0).stdout.contains("not ended") {
        assert!(killed.elapsed().as_secs() < 60, "{}", kept.run(&["history"]).stdout);
        std::thread::sleep(std::time::Duration::from_millis(500));
    }
}

#[test]
fn a_store_that_cannot_be_used_is_reported_before_the_test_and_an_old_file_is_kept_to() {
    let (server, kept) = (Server::start(&[]), Kept::new("keep-refused"));
    let letter = kept.scratch.file("letter.db", Some(&"no database\n".repeat(1000)));
    let host = server.host();
    run(&["throughput", &host, "-t", "60s", "--save", "--store", &letter])
        .code(2)
        .prints("is damaged, or not a store");
    // A file of lines, as `latency --save FILE` always was.
    let lines = kept.scratch.file("paths.ndjson", None);
    for _ in 0..2 {
        run(&["throughput", &host, "-n", "100k", "--save", &lines]).code(0);
    }
    let text = std::fs::read_to_string(&lines).unwrap();
    assert_eq!(text.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count(), 2);
    kept.run(&["history", "--since", "yesterday"]).code(2).prints("neither a date nor a time");
}

#[test]
fn of_a_damaged_store_export_writes_what_can_be_read() {
    let (server, kept) = (Server::start(&[]), Kept::new("keep-damaged"));
    for _ in 0..2 {
        kept.throughput(&server, &[]);
    }
    let before = kept.history(&[]);
    // A later program made it.
    let mut bytes = std::fs::read(&kept.store).unwrap();
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    std::fs::write(&kept.store, &bytes).unwrap();
    kept.throughput_refused(&server, "has version 99");
    let exported = kept
        .run(&["export"])
        .code(2)
        .prints("what can be read of it is written")
        .prints("runs read: 2, lost: 0");
    assert_eq!(exported.stdout.lines().count(), before.len());
    let other = Kept::new("keep-saved");
    let lines = other.scratch.file("saved.ndjson", Some(&exported.stdout));
    other.run(&["import", &lines, "--save"]).code(0).prints("2 of 2 were new");
    assert_eq!(std::fs::read(&kept.store).unwrap(), bytes, "it is as it was");
}
