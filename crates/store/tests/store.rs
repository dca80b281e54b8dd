//! What a store keeps, and what it does when it cannot.
#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use model::event::{Event, Warning};
use model::finding::{Status, Verdict};
use model::history::{Headline, Origin};
use model::run::Run;
use model::time::WallTime;
use pathmeter_store::{Begun, Content, Filter, Store, StoreError};
use std::path::PathBuf;
use tempfile::TempDir;

struct Place {
    _folder: TempDir,
    file: PathBuf,
}

fn place() -> Place {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("deep/runs.db");
    Place { _folder: folder, file }
}

fn begun(id: &str, started: u64) -> Begun {
    let (kind, target) = ("throughput".into(), "far.example".into());
    Begun { id: id.into(), kind, target, label: String::new(), started: WallTime(started) }
}

fn run(id: &str, status: Status) -> Run {
    let mut run = Run::unjudged(id, "throughput", &[]);
    run.verdict = Verdict { status, text: format!("the verdict of {id}") };
    run
}

fn figures() -> [Headline; 1] {
    [Headline { name: "tcp.up.goodput".into(), value: 1e9, text: "1.00 Gbit/s".into() }]
}

fn ids(store: &Store, filter: &Filter) -> Vec<String> {
    store.list(filter).unwrap().into_iter().map(|entry| entry.id).collect()
}

#[test]
fn runs_are_found_the_latest_first_and_by_what_they_are() {
    let place = place();
    let store = Store::open(&place.file).unwrap();
    for (id, started, label, status) in [
        ("a1", 1, "before", Status::Ok),
        ("a2", 3, "after", Status::Problem),
        ("b1", 2, "before", Status::Ok),
    ] {
        let begun = Begun { label: label.into(), ..begun(id, started) };
        assert!(store.insert(&begun, Origin::Imported, &run(id, status), &figures()).unwrap());
    }
    assert_eq!(ids(&store, &Filter::default()), ["a2", "b1", "a1"]);
    assert_eq!(ids(&store, &Filter { label: Some("before".into()), ..Filter::default() }), ["b1", "a1"]);
    assert_eq!(ids(&store, &Filter { status: Some("problem".into()), ..Filter::default() }), ["a2"]);
    assert_eq!(ids(&store, &Filter { since: Some(WallTime(2)), ..Filter::default() }), ["a2", "b1"]);
    assert_eq!(ids(&store, &Filter { before: Some(WallTime(2)), ..Filter::default() }), ["a1"]);
    assert_eq!(ids(&store, &Filter { limit: Some(1), ..Filter::default() }), ["a2"]);
    assert!(ids(&store, &Filter { target: Some("other".into()), ..Filter::default() }).is_empty());
    let stored = store.get("b").unwrap();
    assert_eq!(stored.content, Content::Run(Box::new(run("b1", Status::Ok))));
    assert_eq!((stored.entry.origin, stored.entry.figures.as_slice()), (Origin::Imported, &figures()[..]));
}

#[test]
fn a_run_is_put_in_once() {
    let place = place();
    let store = Store::open(&place.file).unwrap();
    assert!(store.insert(&begun("a", 1), Origin::Imported, &run("a", Status::Ok), &figures()).unwrap());
    assert!(!store.insert(&begun("a", 2), Origin::Imported, &run("a", Status::Void), &[]).unwrap());
    assert_eq!(store.get("a").unwrap().entry.status.as_deref(), Some("ok"));
}

#[test]
fn names_labels_and_ends_of_runs() {
    let place = place();
    let store = Store::open(&place.file).unwrap();
    for (id, started) in [("0a", 1), ("0b", 2), ("0", 3)] {
        store.insert(&begun(id, started), Origin::Measured, &run(id, Status::Ok), &[]).unwrap();
    }
    // A whole name is meant, though others begin with it.
    assert_eq!(store.get("0").unwrap().entry.id, "0");
    store.forget("0").unwrap();
    assert!(matches!(store.get("0"), Err(StoreError::Ambiguous { count: 2, .. })));
    assert!(matches!(store.get(""), Err(StoreError::NoRun { .. })));
    assert!(matches!(store.get("%"), Err(StoreError::NoRun { .. })));
    store.label("0a", "'; DROP TABLE runs; --").unwrap();
    assert_eq!(store.get("0a").unwrap().entry.label, "'; DROP TABLE runs; --");
    assert_eq!(store.forget_before(WallTime(2)).unwrap(), 1);
    assert_eq!(ids(&store, &Filter::default()), ["0b"]);
    assert!(matches!(store.forget("gone"), Err(StoreError::NoRun { .. })));
}

#[test]
fn what_happened_before_a_crash_is_there_and_the_end_takes_its_place() {
    let place = place();
    let warning = |text: &str| Event::Warning(Warning::new("test", text));
    let mut recorder = Store::open(&place.file).unwrap().begin(&begun("a", 1)).unwrap();
    recorder.event(&warning("one")).unwrap();
    recorder.event(&warning("two")).unwrap();
    recorder.flush().unwrap();
    // Another process looks on.
    let other = Store::open(&place.file).unwrap();
    let stored = other.get("a").unwrap();
    assert_eq!(stored.content, Content::Events(vec![warning("one"), warning("two")]));
    assert_eq!((stored.entry.status, stored.entry.finished), (None, None));
    recorder.finish(&run("a", Status::Ok), &figures()).unwrap();
    assert!(matches!(other.get("a").unwrap().content, Content::Run(_)));
}

#[test]
fn two_programs_write_at_once() {
    let place = place();
    Store::open(&place.file).unwrap();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let file = &place.file;
            scope.spawn(move || {
                let store = Store::open(file).unwrap();
                for number in 0..50 {
                    let id = format!("{writer}-{number}");
                    store
                        .insert(&begun(&id, number), Origin::Measured, &run(&id, Status::Ok), &figures())
                        .unwrap();
                }
            });
        }
    });
    assert_eq!(ids(&Store::open(&place.file).unwrap(), &Filter::default()).len(), 200);
}

#[test]
fn what_is_no_store_is_refused_and_left_as_it_is() {
    let place = place();
    std::fs::create_dir_all(place.file.parent().unwrap()).unwrap();
    let text = "this is a letter and no database, and long enough to be looked at\n".repeat(100);
    std::fs::write(&place.file, &text).unwrap();
    let error = Store::open(&place.file).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    assert!(error.to_string().contains("runs.db"), "{error}");
    assert_eq!(std::fs::read_to_string(&place.file).unwrap(), text);
}

#[test]
fn a_store_of_a_later_version_is_refused() {
    let place = place();
    drop(Store::open(&place.file).unwrap());
    let db = rusqlite::Connection::open(&place.file).unwrap();
    db.pragma_update(None, "user_version", 99).unwrap();
    let error = Store::open(&place.file).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error:?}");
}

#[test]
fn a_damaged_run_is_named_and_the_others_are_read() {
    let place = place();
    let store = Store::open(&place.file).unwrap();
    for id in ["a", "b"] {
        store.insert(&begun(id, 1), Origin::Measured, &run(id, Status::Ok), &[]).unwrap();
    }
    let db = rusqlite::Connection::open(&place.file).unwrap();
    db.execute("UPDATE runs SET document = x'00' WHERE id = 'a'", []).unwrap();
    let error = store.get("a").unwrap_err();
    assert!(matches!(&error, StoreError::Run { id, .. } if id == "a"), "{error:?}");
    assert!(store.get("b").is_ok());
}

#[test]
fn a_folder_that_cannot_be_made_and_a_locked_store_are_told() {
    let error = Store::open(&PathBuf::from("/proc/no/such/runs.db")).unwrap_err();
    assert!(matches!(error, StoreError::Folder { .. }), "{error:?}");
    let place = place();
    let store = Store::open(&place.file).unwrap();
    let db = rusqlite::Connection::open(&place.file).unwrap();
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = store.insert(&begun("a", 1), Origin::Measured, &run("a", Status::Ok), &[]).unwrap_err();
    assert!(matches!(error, StoreError::Locked { .. }), "{error:?}");
    assert!(!error.advice().is_empty());
}
