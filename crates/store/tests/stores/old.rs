//! A store of each earlier version is migrated to this one with all its contents.

use crate::support::{figures, ids, insert, place};
use model::finding::Status;
use model::history::Kept;
use pathmeter_store::{Content, Filter, Store};

/// Written by the program of version 1: one run that has ended, one that has not.
const FIRST: &str = include_str!("version-1.sql");

#[test]
fn a_store_of_version_1_keeps_its_runs() {
    let place = place();
    std::fs::create_dir_all(place.file.parent().unwrap()).unwrap();
    rusqlite::Connection::open(&place.file).unwrap().execute_batch(FIRST).unwrap();
    let store = Store::open(&place.file).unwrap();
    assert_eq!(ids(&store, &Filter::default()).len(), 2);
    let ended = store.get("01a205c8").unwrap();
    let Content::Kept(Kept::Run(run)) = &ended.content else { panic!("{ended:?}") };
    assert_eq!((run.id.as_str(), run.kind.as_str()), (ended.entry.id.as_str(), "latency"));
    assert_eq!(ended.entry.label, "first");
    assert!(!ended.entry.figures.is_empty());
    let cut = store.get("01a205c9").unwrap();
    assert!(matches!(&cut.content, Content::Events(events) if !events.is_empty()), "{cut:?}");
    // Data for comparisons was in the document alone.
    let labelled = Filter { label: Some("first".into()), ..Filter::default() };
    let sample = store.samples(&labelled).unwrap().remove(0);
    assert!(sample.facts.iter().any(|fact| fact.name == "kernel here"), "{sample:?}");
    assert_eq!(sample.histograms.len(), 1);
    assert_eq!(sample.histograms[0].1.count(), 10_001);
    assert!(insert(&store, &crate::support::begun("new", 1), Status::Ok));
    assert_eq!(store.get("new").unwrap().entry.figures, figures());
}
