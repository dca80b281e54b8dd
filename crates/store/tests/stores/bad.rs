//! Stores that are locked, full, read-only, of a later version, damaged, or not stores at all.

use crate::support::{begun, figures, ids, insert, place, run};
use model::finding::Status;
use model::history::{Kept, Measured, Origin};
use pathmeter_store::{Content, Filter, Location, Store, StoreError, salvage};
use std::path::{Path, PathBuf};
use std::process::Command;

fn put(store: &Store, id: &str) -> pathmeter_store::Result<bool> {
    store.insert(&begun(id, 1), Origin::Measured, Measured::Run(&run(id, Status::Ok)), &figures())
}

#[test]
fn what_is_not_a_store_is_refused_and_left_as_it_is() {
    let place = place();
    std::fs::create_dir_all(place.file.parent().unwrap()).unwrap();
    let text = "this is a letter and no database, and long enough to be looked at\n".repeat(100);
    std::fs::write(&place.file, &text).unwrap();
    let error = Store::open(&place.file).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    assert!(error.to_string().contains("runs.db"), "{error}");
    assert!(salvage(&place.file).is_err());
    assert_eq!(std::fs::read_to_string(&place.file).unwrap(), text);
}

#[test]
fn a_store_of_a_later_version_is_refused_left_as_it_is_and_what_can_be_read_is_read() {
    let place = place();
    insert(&Store::open(&place.file).unwrap(), &begun("a", 1), Status::Ok);
    let db = rusqlite::Connection::open(&place.file).unwrap();
    db.execute_batch(
        "PRAGMA user_version = 99; PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE",
    )
    .unwrap();
    drop(db);
    let before = std::fs::read(&place.file).unwrap();
    let error = Store::open(&place.file).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error:?}");
    assert!(error.advice().contains("pathmeter export --store"), "{}", error.advice());
    assert_eq!(
        salvage(&place.file).unwrap().runs[0].2,
        Content::Kept(Kept::Run(Box::new(run("a", Status::Ok))))
    );
    assert_eq!(std::fs::read(&place.file).unwrap(), before);
}

#[test]
fn a_damaged_run_is_named_and_the_others_are_read() {
    let place = place();
    let store = Store::open(&place.file).unwrap();
    for id in ["a", "b"] {
        put(&store, id).unwrap();
    }
    let db = rusqlite::Connection::open(&place.file).unwrap();
    db.execute("UPDATE documents SET document = x'00' WHERE run = 'a'", []).unwrap();
    let error = store.get("a").unwrap_err();
    assert!(matches!(&error, StoreError::Run { id, .. } if id == "a"), "{error:?}");
    assert!(store.get("b").is_ok());
    let salvaged = salvage(&place.file).unwrap();
    assert_eq!((salvaged.runs.len(), salvaged.lost), (1, vec!["a".to_owned()]));
}

#[test]
fn of_a_damaged_file_what_can_be_read_is_read_and_nothing_is_written() {
    let place = place();
    let store = Store::open(&place.file).unwrap();
    for number in 0..300 {
        put(&store, &format!("run-{number:03}")).unwrap();
    }
    drop(store);
    let mut bytes = std::fs::read(&place.file).unwrap();
    // Destroys some pages in the middle.
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 5 * 4096].fill(0x5a);
    std::fs::write(&place.file, &bytes).unwrap();
    let salvaged = salvage(&place.file).unwrap();
    assert!(salvaged.runs.len() > 30 && salvaged.runs.len() <= 300, "{} runs", salvaged.runs.len());
    for (id, kind, content) in &salvaged.runs {
        if let Content::Kept(Kept::Run(found)) = content {
            assert_eq!((found.id.as_str(), kind.is_empty() || kind == "throughput"), (id.as_str(), true));
        }
    }
    // Reading and writing through the store is refused where a damaged page is met, and the error names it.
    let all = Store::open(&place.file).and_then(|store| {
        store.list(&Filter::default())?;
        (0..300).try_for_each(|number| store.get(&format!("run-{number:03}")).map(drop))
    });
    assert!(matches!(all, Err(StoreError::Damaged { .. })), "{all:?}");
}

#[test]
fn a_folder_that_cannot_be_created_is_reported() {
    let error = Store::open("/proc/no/such/runs.db").unwrap_err();
    assert!(matches!(error, StoreError::Folder { .. }), "{error:?}");
}

#[test]
fn a_locked_store_is_reported_and_waiting_runs_are_written_when_it_is_free() {
    let place = place();
    let store = Store::open(&place.file).unwrap();
    let recorder = Store::open(&place.file).unwrap().begin(&begun("r", 1), None).unwrap();
    let db = rusqlite::Connection::open(&place.file).unwrap();
    db.execute_batch("BEGIN IMMEDIATE").unwrap();
    recorder.event(&crate::support::warning("kept back")).unwrap();
    let error = put(&store, "a").unwrap_err();
    assert!(matches!(error, StoreError::Locked(_)), "{error:?}");
    assert!(!error.advice().is_empty());
    db.execute_batch("COMMIT").unwrap();
    assert!(put(&store, "a").unwrap());
    recorder.finish(Measured::Run(&run("r", Status::Ok)), &figures()).unwrap();
    assert_eq!(ids(&store, &Filter::default()).len(), 2);
}

#[test]
fn a_server_that_is_missing_or_not_a_server_is_reported() {
    let error = Store::open("postgres://user@127.0.0.1:1/runs").unwrap_err();
    if cfg!(feature = "postgres") {
        assert!(matches!(error, StoreError::Unreachable { .. }), "{error:?}");
        let error = Store::open("postgres://user@[::1/runs").unwrap_err();
        assert!(matches!(error, StoreError::Unopened { .. }), "{error:?}");
    } else {
        assert!(matches!(error, StoreError::NotBuilt(_)), "{error:?}");
    }
}

/// A file system of its own in a folder; `None` where this test may not create one.
struct Mounted(PathBuf);

impl Mounted {
    fn tmpfs(at: &Path, options: &str) -> Option<Mounted> {
        std::fs::create_dir_all(at).unwrap();
        let made =
            Command::new("mount").args(["-t", "tmpfs", "-o", options, "tmpfs"]).arg(at).output().ok()?;
        if !made.status.success() {
            skip::skip("no file system can be mounted here");
        }
        made.status.success().then(|| Mounted(at.into()))
    }

    fn read_only(&self) {
        assert!(Command::new("mount").args(["-o", "remount,ro"]).arg(&self.0).status().unwrap().success());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_is_reported_and_leaves_whole_runs() {
    let place = place();
    let Some(disk) = Mounted::tmpfs(&place.folder.path().join("disk"), "size=400k") else { return };
    let file = disk.0.join("runs.db");
    let store = Store::open(&file).unwrap();
    let mut kept = 0;
    let error = loop {
        match put(&store, &format!("run-{kept:04}")) {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
        assert!(kept < 5000, "the disk is never full");
    };
    assert!(matches!(error, StoreError::Full(_)), "{error:?}");
    assert!(error.advice().contains("forget"), "{}", error.advice());
    for id in ids(&store, &Filter::default()) {
        assert!(matches!(store.get(&id).unwrap().content, Content::Kept(Kept::Run(_))), "{id}");
    }
    assert_eq!(ids(&store, &Filter::default()).len(), kept);
}

#[test]
fn a_store_on_a_read_only_disk_is_read_and_not_written() {
    let place = place();
    let Some(disk) = Mounted::tmpfs(&place.folder.path().join("disk"), "size=2m") else { return };
    let file = disk.0.join("runs.db");
    insert(&Store::open(&file).unwrap(), &begun("a", 1), Status::Ok);
    disk.read_only();
    let error = Store::open(&file).and_then(|store| put(&store, "b")).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly(_) | StoreError::Unopened { .. }), "{error:?}");
    let store = Store::open_to_read(&file).unwrap();
    assert_eq!(ids(&store, &Filter::default()), ["a"]);
    assert!(put(&store, "b").is_err());
    assert_eq!(Location::from(&file), *store.location());
}
