//! Programs that are killed in the middle.

use crate::support::{Fixture, begun, figures, place, run, warning};
use model::finding::Status;
use model::history::{Kept, Measured, Origin};
use pathmeter_store::{Content, Filter, Store};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

/// This test's binary again, doing one thing with a store until it is killed.
fn start(what: &str, place: &Fixture) -> Child {
    let this = std::env::current_exe().unwrap();
    let name = format!("killed::{what}");
    let mut command = Command::new(this);
    command.args(["--exact", &name, "--ignored", "--nocapture"]).env("STORE_OF_TEST", &place.file);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

fn store_of_test() -> PathBuf {
    std::env::var_os("STORE_OF_TEST").map(PathBuf::from).unwrap()
}

fn kill(mut child: Child) {
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_program_that_is_killed_during_a_run_leaves_its_events() {
    let place = place();
    drop(Store::open(&place.file).unwrap());
    let child = start("records", &place);
    let store = Store::open(&place.file).unwrap();
    let written = || match store.get("killed").map(|stored| stored.content) {
        Ok(Content::Events(events)) => events.len(),
        _ => 0,
    };
    while written() < 2 {
        std::thread::yield_now();
    }
    kill(child);
    let there = written();
    assert!(there >= 2);
    let entry = Store::open(&place.file).unwrap().list(&Filter::default()).unwrap().remove(0);
    assert_eq!((entry.status, entry.finished), (None, None));
}

#[test]
#[ignore = "a_program_that_is_killed_during_a_run_leaves_its_events runs it in a process of its own"]
fn records() {
    let recorder = Store::open(store_of_test()).unwrap().begin(&begun("killed", 1), None).unwrap();
    loop {
        recorder.event(&warning("still there")).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

/// Kills programs that insert one run after another, each after some more runs.
#[test]
fn a_program_that_is_killed_while_runs_end_leaves_whole_ones() {
    let place = place();
    let store = Store::open(&place.file).unwrap();
    for round in 1..=3 {
        let child = start("inserts", &place);
        while store.count(&Filter::default()).unwrap() < round * 20 {
            std::thread::yield_now();
        }
        kill(child);
        for entry in store.list(&Filter::default()).unwrap() {
            assert!(
                matches!(store.get(&entry.id).unwrap().content, Content::Kept(Kept::Run(_))),
                "{entry:?}"
            );
            assert_eq!(entry.figures, figures(), "row, document and figures come at once");
        }
    }
}

#[test]
#[ignore = "a_program_that_is_killed_while_runs_end_leaves_whole_ones runs it in a process of its own"]
fn inserts() {
    let store = Store::open(store_of_test()).unwrap();
    for number in 0_u64.. {
        let id = format!("{}-{number}", std::process::id());
        let run = run(&id, Status::Ok);
        store.insert(&begun(&id, number), Origin::Measured, Measured::Run(&run), &figures()).unwrap();
    }
}

#[test]
fn a_program_that_is_killed_while_it_brings_a_store_to_this_version_leaves_the_old_one() {
    let place = place();
    std::fs::create_dir_all(place.file.parent().unwrap()).unwrap();
    let db = rusqlite::Connection::open(&place.file).unwrap();
    db.execute_batch(include_str!("version-1.sql")).unwrap();
    // The changed pages do not fit into memory, and are written before the end.
    db.execute_batch(
        "WITH RECURSIVE many(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM many WHERE n < 3000)
         INSERT INTO runs SELECT 'copy-' || n, kind, target, label, origin, started, finished, status, verdict, document
         FROM many JOIN runs ON document IS NOT NULL",
    )
    .unwrap();
    db.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    drop(db);
    let log = place.file.with_extension("db-wal");
    let written = || std::fs::metadata(&log).map_or(0, |log| log.len());
    let before = written();
    let mut child = start("migrates", &place);
    while written() <= before + 1_000_000 {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before it was killed");
        std::thread::yield_now();
    }
    kill(child);
    let db = rusqlite::Connection::open(&place.file).unwrap();
    let version: i64 = db.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    let documents: i64 = db.query_row("SELECT count(document) FROM runs", [], |row| row.get(0)).unwrap();
    assert_eq!((version, documents), (1, 3001));
    drop(db);
    assert_eq!(Store::open(&place.file).unwrap().count(&Filter::default()).unwrap(), 3002);
}

#[test]
#[ignore = "a_program_that_is_killed_while_it_brings_a_store_to_this_version_leaves_the_old_one runs it in a process of its own"]
fn migrates() {
    Store::open(store_of_test()).unwrap();
}
