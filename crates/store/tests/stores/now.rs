//! Which runs are being measured, and when paths are measured next.

use crate::support::{begun, each, figures, run, sql};
use model::finding::Status;
use model::history::Measured;
use model::time::WallTime;
use model::units::Nanos;
use pathmeter_store::{Filter, Schedule, ScheduleKey, Store};

/// Whether this run is being measured, by a list and by a single row.
fn runs(store: &Store, id: &str) -> bool {
    let listed = store.list(&Filter { id: Some(id.into()), ..Filter::default() }).unwrap().remove(0);
    assert_eq!(store.get(id).unwrap().entry, listed);
    listed.running
}

#[test]
fn a_run_that_another_program_measures_differs_from_one_that_was_cut_off() {
    each(|location| {
        let store = Store::open(location).unwrap();
        store.expect(&begun("b", 1)).unwrap();
        assert!(!runs(&store, "b"), "nothing measures it yet");
        let recorder = Store::open(location).unwrap().begin(&begun("a", 2), None).unwrap();
        assert!(runs(&store, "a"), "before anything happened");
        let last_word = |seconds: u64| {
            let ago = format!("alive = (SELECT alive FROM runs WHERE id = 'a') - {seconds}000000000");
            sql(location, &format!("UPDATE runs SET {ago} WHERE id = 'b'"));
        };
        last_word(8);
        assert!(runs(&store, "b"), "a program that was delayed");
        // Its program was killed: it updates `alive` no more.
        last_word(60);
        assert!(!runs(&store, "b"));
        recorder.finish(Measured::Run(&run("a", Status::Ok)), &figures()).unwrap();
        assert!(!runs(&store, "a"), "it has ended");
    });
}

/// A program that measures without an event updates `alive` all the same.
#[test]
fn a_run_without_events_stays_one_that_is_measured() {
    let place = crate::support::place();
    let store = Store::open(&place.file).unwrap();
    let recorder = Store::open(&place.file).unwrap().begin(&begun("a", 2), None).unwrap();
    sql(&(&place.file).into(), "UPDATE runs SET alive = 0");
    assert!(!runs(&store, "a"));
    // The next update is due within five seconds; a busy host may take far longer.
    let end = std::time::Instant::now() + std::time::Duration::from_secs(60);
    while !runs(&store, "a") {
        assert!(std::time::Instant::now() < end, "no word came");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    recorder.finish(Measured::Run(&run("a", Status::Ok)), &[]).unwrap();
}

#[test]
fn schedules_are_kept_replaced_and_dropped() {
    each(|location| {
        let store = Store::open(location).unwrap();
        let key = |host: &str, label: &str| ScheduleKey {
            host: host.into(),
            target: "far.example".into(),
            kind: "measure".into(),
            label: label.into(),
        };
        let schedule = |key: ScheduleKey, due| Schedule {
            key,
            every: Nanos::from_secs(900),
            latest: WallTime(due - 900_000_000_000),
            due: WallTime(due),
        };
        let (first, other) =
            (schedule(key("here", ""), 2_000_000_000_000), schedule(key("here", "night"), 1_000_000_000_000));
        store.schedule(&first).unwrap();
        store.schedule(&other).unwrap();
        let elsewhere = schedule(key("there", ""), 3_000_000_000_000);
        store.schedule(&elsewhere).unwrap();
        let another = Store::open(location).unwrap();
        assert_eq!(
            another.schedules(None).unwrap(),
            [other.clone(), first.clone(), elsewhere.clone()],
            "the first that is due"
        );
        // Its next round.
        let next = Schedule { due: WallTime(4_000_000_000_000), ..first };
        store.schedule(&next).unwrap();
        assert_eq!(another.schedules(Some("far.example")).unwrap(), [other, elsewhere, next.clone()]);
        assert!(another.schedules(Some("near.example")).unwrap().is_empty());
        assert!(another.unschedule(&next.key).unwrap());
        assert!(!another.unschedule(&next.key).unwrap(), "it is gone");
        assert_eq!(store.schedules(None).unwrap().len(), 2);
    });
}
