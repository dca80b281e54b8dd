//! Tests that hold for a file and for a server alike.

use crate::support::{begun, each, figures, ids, insert, run, warning};
use model::dut::DutReport;
use model::finding::Status;
use model::history::{Kept, Measured, Origin, StoredAs};
use model::host::Host;
use model::lab::LabReport;
use model::run::Run;
use model::time::WallTime;
use model::units::Nanos;
use pathmeter_store::{Begun, Change, Content, Filter, ListOrder, Mark, Names, Placed, Store, StoreError};
use std::path::Path;

#[test]
fn runs_are_found_the_latest_first_and_by_what_they_are() {
    each(|location| {
        let store = Store::open(location).unwrap();
        for (id, started, label, status) in [
            ("a1", 1, "before", Status::Ok),
            ("a2", 3, "after", Status::Problem),
            ("b1", 2, "before", Status::Ok),
        ] {
            assert!(insert(&store, &Begun { label: label.into(), ..begun(id, started) }, status));
        }
        let by = |filter: Filter| ids(&store, &filter);
        assert_eq!(by(Filter::default()), ["a2", "b1", "a1"]);
        assert_eq!(by(Filter { label: Some("before".into()), ..Filter::default() }), ["b1", "a1"]);
        assert_eq!(by(Filter { status: Some("problem".into()), ..Filter::default() }), ["a2"]);
        assert_eq!(by(Filter { since: Some(WallTime(2)), ..Filter::default() }), ["a2", "b1"]);
        assert_eq!(by(Filter { before: Some(WallTime(2)), ..Filter::default() }), ["a1"]);
        assert_eq!(by(Filter { limit: Some(1), ..Filter::default() }), ["a2"]);
        assert_eq!(by(Filter { limit: Some(1), skip: 1, ..Filter::default() }), ["b1"]);
        let after = |id: &str| by(Filter { after: Some(id.into()), ..Filter::default() });
        assert_eq!((after("a2"), after("a1")), (vec!["b1".to_owned(), "a1".into()], Vec::new()));
        assert!(after("unknown").is_empty());
        assert!(by(Filter { target: Some("other".into()), ..Filter::default() }).is_empty());
        let labels = |labels: &[&str]| {
            by(Filter {
                labels: labels.iter().map(|&label| label.into()).collect(),
                since: Some(WallTime(2)),
                ..Filter::default()
            })
        };
        assert_eq!(labels(&["after", "before"]), ["a2", "b1"]);
        assert_eq!(labels(&["none", "before"]), ["b1"]);
        assert!(labels(&["none"]).is_empty());
        let labelled = Filter { label: Some("before".into()), limit: Some(1), ..Filter::default() };
        assert_eq!(store.count(&labelled).unwrap(), 2, "a page knows how many there are");
        let stored = store.get("b").unwrap();
        assert_eq!(stored.content, Content::Kept(Kept::Run(Box::new(run("b1", Status::Ok)))));
        assert_eq!(
            (stored.entry.origin, stored.entry.figures.as_slice()),
            (Origin::Imported, &figures()[..])
        );
        let listed = store.list(&labelled).unwrap();
        assert_eq!(listed, [stored.entry], "a list has the figures of its runs, and of no others");
    });
}

/// The orders of lists, each paged through by the run that a page ends with, and searches by a part of names.
#[test]
fn lists_have_orders_and_are_searched_by_parts() {
    each(|location| {
        let store = Store::open(location).unwrap();
        for (id, started, target, label, status) in [
            ("a", 1, "fra1.example", "x", Status::Ok),
            ("b", 1, "ams.example", "FRANKFURT", Status::Problem),
            ("c", 2, "fra1.example", "100%", Status::Void),
            ("d", 3, "ams.example", "É", Status::Ok),
        ] {
            let row = Begun { target: target.into(), label: label.into(), ..begun(id, started) };
            assert!(insert(&store, &row, status));
        }
        store.expect(&Begun { target: "zrh_1".into(), ..begun("e", 4) }).unwrap();
        let by = |filter: Filter| ids(&store, &filter);
        for (order, wanted) in [
            (ListOrder::Latest, "e d c a b"),
            (ListOrder::Earliest, "a b c d e"),
            (ListOrder::Target, "d b c a e"),
            (ListOrder::Label, "e c b a d"),
            (ListOrder::Verdict, "b c e d a"),
        ] {
            // PostgreSQL may sort letters by another rule: these differ in the first one.
            let whole = by(Filter { order, ..Filter::default() });
            if order != ListOrder::Label {
                assert_eq!(whole.join(" "), wanted, "{order:?}");
            }
            let (mut paged, mut after) = (Vec::new(), None);
            while paged.len() < whole.len() {
                let page = by(Filter { order, after: after.take(), limit: Some(2), ..Filter::default() });
                after = page.last().cloned();
                assert!(!page.is_empty(), "{order:?}: {paged:?}");
                paged.extend(page);
            }
            assert_eq!(paged, whole, "{order:?}");
        }
        let found = |part: &str| by(Filter { find: Some(part.into()), ..Filter::default() }).join(" ");
        assert_eq!((found("FRA1").as_str(), found("fra").as_str()), ("c a", "c a b"));
        assert_eq!((found("%").as_str(), found("h_1").as_str(), found("_").as_str()), ("c", "e", "e"));
        assert_eq!((found("É").as_str(), found("absent").as_str(), found("!").as_str()), ("d", "", ""));
        assert_eq!(by(Filter { unended: true, ..Filter::default() }), ["e"]);
        assert_eq!(store.names(Names::Targets, 2).unwrap(), ["zrh_1", "ams.example"]);
        assert_eq!(store.names(Names::Labels, 9).unwrap(), ["É", "100%", "FRANKFURT", "x"]);
        assert_eq!(store.label_all(&["a".into(), "b".into(), "gone".into()], "new").unwrap(), 2);
        assert_eq!(by(Filter { label: Some("new".into()), ..Filter::default() }), ["a", "b"]);
        assert!(matches!(store.label_all(&["a".into()], "\u{202e}"), Err(StoreError::Label(_))));
        assert_eq!(store.forget_all(&["a".into(), "b".into()]).unwrap(), 2);
        assert_eq!(by(Filter::default()).join(" "), "e d c");
    });
}

/// An export has the documents as they are read singly, in the order of the names, with the note of each.
#[test]
fn runs_are_exported_as_they_are() {
    each(|location| {
        let store = Store::open(location).unwrap();
        for id in ["a", "b"] {
            assert!(insert(&store, &begun(id, 1), Status::Ok));
        }
        store.expect(&begun("unended", 2)).unwrap();
        store.set_note("b", "a note").unwrap();
        let ids = ["b", "gone", "unended", "a"].map(str::to_owned);
        let exported = store.exported(&ids).unwrap();
        let rows: Vec<(&str, &str)> =
            exported.iter().map(|run| (run.stored.id.as_str(), run.stored.note.as_str())).collect();
        assert_eq!(rows, [("b", "a note"), ("unended", ""), ("a", "")]);
        for run in exported {
            let single = store.get(&run.stored.id).unwrap();
            assert_eq!(run.stored, StoredAs::from(single.entry));
            let document = run.document.map(|document| document.unwrap());
            assert_eq!(document, single.content.into_document().map(|kept| kept.measured().value().unwrap()));
        }
        assert!(store.exported(&[]).unwrap().is_empty());
    });
}

/// A note stays with its run, and leaves with it.
#[test]
fn a_run_has_a_note() {
    each(|location| {
        let store = Store::open(location).unwrap();
        for id in ["abc", "abd"] {
            assert!(insert(&store, &begun(id, 1), Status::Ok));
        }
        assert_eq!(store.note("abc").unwrap(), "");
        for note in ["first\nsecond", "another"] {
            store.set_note("abc", note).unwrap();
            let listed = store.list(&Filter::default()).unwrap();
            let note_in_list = |id: &str| listed.iter().find(|run| run.id == id).map(|run| run.note.as_str());
            assert_eq!((note_in_list("abc"), note_in_list("abd")), (Some(note), Some("")), "lists have it");
            let found = |part: &str| ids(&store, &Filter { find: Some(part.into()), ..Filter::default() });
            assert_eq!(found(&note[1..].to_uppercase()), ["abc"], "and it is searched");
            assert_eq!(
                (store.note("abc").unwrap().as_str(), store.note("abd").unwrap().as_str()),
                (note, "")
            );
        }
        assert!(matches!(store.set_note("abc", "\u{202e}"), Err(StoreError::Note(_))));
        assert!(matches!(store.set_note("ab", "x"), Err(StoreError::Ambiguous { count: 2, .. })));
        assert!(matches!(store.note("none"), Err(StoreError::NoRun(_))));
        store.forget("abc").unwrap();
        assert!(insert(&store, &begun("abc", 1), Status::Ok));
        assert_eq!(store.note("abc").unwrap(), "", "another run of the same name has none");
        store.set_note("abc", "x").unwrap();
        store.set_note("abc", "").unwrap();
        assert_eq!(store.note("abc").unwrap(), "");
    });
}

/// Runs that have not ended do not count, and of two that began at one time the first name does.
#[test]
fn each_path_has_its_latest_run() {
    each(|location| {
        let store = Store::open(location).unwrap();
        let put = |id: &str, started, target: &str, label: &str| {
            let row = Begun { target: target.into(), label: label.into(), ..begun(id, started) };
            assert!(insert(&store, &row, Status::Ok));
        };
        put("a", 1, "far", "");
        put("b", 2, "far", "");
        put("c", 2, "far", "");
        put("d", 1, "far", "x");
        put("e", 3, "other", "");
        store.expect(&begun("f", 9)).unwrap();
        let latest = store.latest(99).unwrap();
        assert_eq!(latest.iter().map(|entry| entry.id.as_str()).collect::<String>(), "ebd");
        assert!(latest.iter().all(|entry| entry.figures == figures()));
        assert_eq!(store.latest(2).unwrap().len(), 2, "of the latest runs");
    });
}

/// The worst first: each verdict has a place of its own, and runs that have not ended precede good ones.
#[test]
fn every_verdict_has_its_place_in_the_order() {
    each(|location| {
        let store = Store::open(location).unwrap();
        for (started, status) in (1..).zip(Status::ALL) {
            assert!(insert(&store, &begun(status.word(), started), status));
        }
        store.expect(&begun("unended", 9)).unwrap();
        let listed = ids(&store, &Filter { order: ListOrder::Verdict, ..Filter::default() });
        assert_eq!(listed.join(" "), "problem void broken degraded unended ok");
    });
}

#[test]
fn a_run_is_put_in_once() {
    each(|location| {
        let store = Store::open(location).unwrap();
        assert!(insert(&store, &begun("a", 1), Status::Ok));
        assert!(!insert(&store, &begun("a", 2), Status::Void));
        assert_eq!(store.get("a").unwrap().entry.status.as_deref(), Some("ok"));
    });
}

#[test]
fn names_labels_and_ends_of_runs() {
    each(|location| {
        let store = Store::open(location).unwrap();
        for (id, started) in [("0a", 1), ("0b", 2), ("0", 3)] {
            insert(&store, &begun(id, started), Status::Ok);
        }
        // A complete name is meant, though others begin with it.
        assert_eq!(store.get("0").unwrap().entry.id, "0");
        store.forget("0").unwrap();
        assert!(matches!(store.get("0"), Err(StoreError::Ambiguous { count: 2, .. })));
        assert!(matches!(store.get(""), Err(StoreError::NoRun(_))));
        assert!(matches!(store.get("%"), Err(StoreError::NoRun(_))));
        let hostile = "'; DROP TABLE runs; -- $1 \u{1F600} <b>";
        store.label("0a", hostile).unwrap();
        assert_eq!(store.get("0a").unwrap().entry.label, hostile);
        for refused in ["a\0b", "\u{202e}evil", &"x".repeat(101)] {
            assert!(matches!(store.label("0a", refused), Err(StoreError::Label(_))), "{refused:?}");
            let labelled = Begun { label: refused.into(), ..begun("0c", 4) };
            assert!(matches!(store.expect(&labelled), Err(StoreError::Label(_))), "{refused:?}");
        }
        assert_eq!(store.get("0a").unwrap().entry.label, hostile, "it stays as it was");
        assert_eq!(store.forget_before(WallTime(2)).unwrap(), 1);
        assert_eq!(ids(&store, &Filter::default()), ["0b"]);
        assert!(matches!(store.forget("gone"), Err(StoreError::NoRun(_))));
    });
}

#[test]
fn what_happened_before_a_crash_is_there_and_the_end_takes_its_place() {
    each(|location| {
        let recorder = Store::open(location).unwrap().begin(&begun("a", 1), None).unwrap();
        recorder.event(&warning("one")).unwrap();
        recorder.event(&warning("two")).unwrap();
        // Another process reads meanwhile.
        let other = Store::open(location).unwrap();
        while other.get("a").unwrap().content != Content::Events(vec![warning("one"), warning("two")]) {
            std::thread::yield_now();
        }
        let entry = other.get("a").unwrap().entry;
        assert_eq!((entry.status, entry.finished), (None, None));
        let ended = recorder.finish(Measured::Run(&run("a", Status::Ok)), &figures()).unwrap();
        assert_eq!(ended, Placed::Kept);
        assert!(matches!(other.get("a").unwrap().content, Content::Kept(Kept::Run(_))));
        assert_eq!(other.list(&Filter::default()).unwrap()[0].figures, figures());
    });
}

#[test]
fn a_run_that_was_taken_out_while_it_was_measured_is_kept_all_the_same() {
    each(|location| {
        let recorder = Store::open(location).unwrap().begin(&begun("a", 1), None).unwrap();
        Store::open(location).unwrap().forget("a").unwrap();
        recorder.finish(Measured::Run(&run("a", Status::Ok)), &[]).unwrap();
        assert!(matches!(
            Store::open(location).unwrap().get("a").unwrap().content,
            Content::Kept(Kept::Run(_))
        ));
    });
}

#[test]
fn reports_of_devices_and_labs_are_kept_too() {
    each(|location| {
        let store = Store::open(location).unwrap();
        let lab = LabReport {
            schema: "pathmeter/lab/1".into(),
            started: Some(WallTime(5)),
            finished: None,
            host: Some(Host::default()),
            repetitions: 3,
            time: Nanos::from_secs(1),
            variants: Vec::new(),
            comparisons: Vec::new(),
            notes: vec!["a note".into()],
        };
        let kind = |kind: &str, id| Begun { kind: kind.into(), ..begun(id, 1) };
        store.insert(&kind("lab", "l"), Origin::Measured, Measured::Lab(&lab), &[]).unwrap();
        let stored = store.get("l").unwrap();
        assert_eq!(stored.content, Content::Kept(Kept::Lab(Box::new(lab))));
        assert_eq!((stored.entry.started, stored.entry.status.as_deref()), (WallTime(5), Some("void")));
        let device: DutReport =
            serde_json::from_str(&snapshot("formats__rfc2544__rfc2544-quick.json.snap")).unwrap();
        store.insert(&kind("rfc2544", "d"), Origin::Measured, Measured::Device(&device), &figures()).unwrap();
        assert_eq!(store.get("d").unwrap().content, Content::Kept(Kept::Device(Box::new(device))));
    });
}

/// The document of a snapshot of `report`.
fn snapshot(name: impl AsRef<Path>) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/formats/snapshots");
    let text = std::fs::read_to_string(folder.join(name)).unwrap();
    text.splitn(3, "---\n").nth(2).unwrap().to_owned()
}

#[test]
fn documents_come_back_as_they_were() {
    let place = crate::support::place();
    let store = Store::open(&place.file).unwrap();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../report/tests/formats/snapshots");
    let mut runs = 0_u64;
    for file in std::fs::read_dir(folder).unwrap() {
        let name = file.unwrap().file_name();
        if !name.to_string_lossy().ends_with(".json.snap") {
            continue;
        }
        let Ok(run) = serde_json::from_str::<Run>(&snapshot(&name)) else { continue };
        runs += 1;
        let id = format!("run-{runs}");
        store.insert(&begun(&id, runs), Origin::Measured, Measured::Run(&run), &[]).unwrap();
        let Content::Kept(Kept::Run(found)) = store.get(&format!("run-{runs}")).unwrap().content else {
            panic!("{name:?}")
        };
        assert_eq!(*found, run, "{name:?}");
    }
    assert!(runs > 20, "{runs} runs");
}

#[test]
fn comparisons_need_no_documents() {
    each(|location| {
        let store = Store::open(location).unwrap();
        for (id, kernel) in [("a", "6.1"), ("b", "6.2"), ("c", "6.1")] {
            let mut run = run(id, Status::Ok);
            run.host = Some(Host { kernel: kernel.into(), ..Host::default() });
            store.insert(&begun(id, 1), Origin::Measured, Measured::Run(&run), &figures()).unwrap();
        }
        let samples = store.samples(&Filter::default()).unwrap();
        let kernels: Vec<&str> = samples
            .iter()
            .flat_map(|sample| &sample.facts)
            .filter(|fact| fact.name == "kernel here")
            .map(|fact| fact.value.as_str())
            .collect();
        assert_eq!(kernels, ["6.1", "6.2", "6.1"]);
        assert_eq!((samples[1].figure("rtt.p50"), samples[1].figure("rtt.p99")), (Some(1.5e6), None));
        assert_eq!((samples[1].id.as_str(), samples[1].is_void()), ("b", false));
    });
}

#[test]
fn marks_are_kept_by_time_and_alerts_reported_once() {
    each(|location| {
        let store = Store::open(location).unwrap();
        let mark = |at, note: &str| Mark { target: "far".into(), at: WallTime(at), note: note.into() };
        for mark in [mark(5, "new router"), mark(2, "moved"), mark(5, "new switch")] {
            store.mark(&mark).unwrap();
        }
        assert_eq!(store.marks("far").unwrap(), [mark(2, "moved"), mark(5, "new switch")]);
        assert!(store.marks("near").unwrap().is_empty());
        insert(&store, &begun("a", 1), Status::Ok);
        let reported = |change, at, receivers: &[&str]| {
            let receivers: Vec<String> = receivers.iter().map(|one| (*one).to_owned()).collect();
            let change = Change { run: "a", figure: "rtt.p50", change };
            store.alert(change, &format!("{{\"{at}\":1}}"), WallTime(at), &receivers).unwrap()
        };
        assert!(reported("worse", 1, &["hook", "mail"]));
        assert!(!reported("worse", 2, &["hook", "late"]), "it was reported");
        assert!(reported("recovered", 3, &["hook"]));
        // Each receiver has its own alerts, in order, until it has got them; another program finds them.
        let another = Store::open(location).unwrap();
        let left = |receiver: &str| -> Vec<u64> {
            another.undelivered(receiver).unwrap().into_iter().map(|one| one.since.0).collect()
        };
        assert_eq!((left("hook"), left("mail"), left("late")), (vec![1, 3], vec![1], vec![]));
        another.delivered(Change { run: "a", figure: "rtt.p50", change: "worse" }, "hook").unwrap();
        assert_eq!((left("hook"), left("mail")), (vec![3], vec![1]));
        assert_eq!(another.undelivered("hook").unwrap()[0].alert, "{\"3\":1}");
        // A list shows them, and how many receivers wait for each.
        let listed = |target: Option<&str>| -> Vec<(String, u64)> {
            another.alerts(target, 9).unwrap().into_iter().map(|one| (one.change, one.waiting)).collect()
        };
        assert_eq!(listed(None), [("recovered".to_owned(), 1), ("worse".into(), 1)]);
        assert_eq!(listed(Some("far.example")), listed(None));
        assert!(listed(Some("near")).is_empty());
    });
}

#[test]
fn several_programs_write_at_once() {
    each(|location| {
        std::thread::scope(|scope| {
            for writer in 0..4 {
                scope.spawn(move || {
                    // The first program that opens the store creates the tables.
                    let store = Store::open(location).unwrap();
                    for number in 0..25 {
                        insert(&store, &begun(&format!("{writer}-{number}"), number), Status::Ok);
                    }
                });
            }
        });
        assert_eq!(ids(&Store::open(location).unwrap(), &Filter::default()).len(), 100);
    });
}
