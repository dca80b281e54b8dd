//! Outcomes of a mesh as runs of a store, each once, so that histories, trends and comparisons have them.

use crate::job::{lapse, result_of};
use crate::matrix;
use fleet::coordinator::Sink;
use fleet::job::{Outcome, attempt_id};
use fleet::ledger::{LedgerRow, Stored};
use fleet::results::ResultFile;
use insight::run_of_failure;
use model::history::{Measured, Origin};
use model::run::Run;
use model::time::WallTime;
use report::expect::headlines;
use store::{Begun, Store, StoreError};

/// The results of a mesh in their file and in a store. The store finds an outcome by its run's name, so that an outcome which
/// is delivered again changes nothing.
#[derive(Debug)]
pub struct KeptResults {
    file: ResultFile,
    store: Store,
    label: String,
}

impl KeptResults {
    /// `label`: what holds the runs of the mesh together, night after night.
    #[must_use]
    pub fn new(file: ResultFile, store: Store, label: impl Into<String>) -> KeptResults {
        KeptResults { file, store, label: label.into() }
    }
}

impl Sink for KeptResults {
    fn stored(&self, run: &str) -> Option<Stored> {
        self.file.stored(run)
    }

    fn attempts(&self, run: &str) -> u32 {
        self.file.attempts(run)
    }

    /// Writes to the store first: a run that is in the file is never requested again.
    fn store(&mut self, outcome: &Outcome) -> std::result::Result<(), String> {
        let kept = match outcome.unmeasured {
            // A row without a result, as of one that was missed.
            true => {
                let begun = begun(&outcome.id(), &outcome.title, outcome.started, &self.label);
                self.store.expect(&begun).map(drop)
            }
            false => keep(&self.store, outcome, &self.label).map(drop),
        };
        kept.map_err(|error| error.to_string())?;
        self.file.store(outcome)
    }

    fn awaited(&self, run: &str) -> Option<LedgerRow> {
        self.file.awaited(run)
    }

    fn begins(&mut self, due: WallTime) -> std::result::Result<(), String> {
        self.file.begins(due)
    }

    /// A row without a result, which a late one fills.
    fn missed(&mut self, run: &str, row: &LedgerRow) -> std::result::Result<(), String> {
        let begun = begun(&attempt_id(run, row.number), &row.title, row.due, &self.label);
        self.store.expect(&begun).map_err(|error| error.to_string())?;
        self.file.missed(run, row)
    }
}

/// Keeps an outcome. True: it is new.
///
/// # Errors
/// The store cannot be written.
pub fn keep(store: &Store, outcome: &Outcome, label: &str) -> std::result::Result<bool, StoreError> {
    let run = document(outcome);
    let begun = begun(&outcome.id(), &outcome.title, outcome.started, label);
    let measured = Measured::Run(&run);
    store.insert(&begun, Origin::Measured, measured, &headlines(measured))
}

/// The document of an outcome. One whose lease lapsed is void, whatever its figures, and so is one without a result.
#[must_use]
pub fn document(outcome: &Outcome) -> Run {
    let kind = split(&outcome.title).0;
    let nothing =
        |reason: &str| run_of_failure(&outcome.id(), kind, [outcome.started, outcome.finished], reason);
    let (result, void) = result_of(outcome);
    let mut run = match result {
        Ok(result) => Run { id: outcome.id(), ..result.run },
        Err(why) => return nothing(&why),
    };
    void.iter().for_each(|reason| lapse(&mut run, reason));
    run
}

fn begun(run: &str, title: &str, started: WallTime, label: &str) -> Begun {
    let (kind, target) = split(title);
    Begun { id: run.into(), kind: kind.into(), target: target.into(), label: label.into(), started }
}

/// The test and the path of a run's title.
fn split(title: &str) -> (&str, &str) {
    matrix::split(title).unwrap_or(("mesh", title))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcomes::{done, failed, latency, missed, outcome};
    use fleet::job::End;
    use model::finding::Status;
    use model::history::Sample;
    use model::stats::compare::Rules;
    use report::format::trend::Trends;
    use store::{Content, Filter};

    fn samples(store: &Store) -> Vec<Sample> {
        let filter = Filter { target: Some("ams -> fra".into()), ..Filter::default() };
        store.series(&filter).expect("readable")
    }

    #[test]
    fn an_outcome_is_kept_once_and_a_late_one_fills_what_was_missed() {
        let folder = tempfile::tempdir().expect("a folder");
        let open = || Store::open(folder.path().join("runs.db").as_path()).expect("usable");
        let store = open();
        let file = ResultFile::open(&folder.path().join("results.jsonl")).expect("new");
        let mut sink = KeptResults::new(file, open(), "mesh");
        let job = latency("ams", "fra");
        let first = outcome("1", &job.title(), End::Done { body: done(&job, 1_000) });
        // Delivered again, by an agent whose token is a later one: the first result stays.
        let again = Outcome { token: 2, end: End::Done { body: done(&job, 9_000) }, ..first.clone() };
        sink.missed("1", &missed(&job.title())).expect("kept");
        assert_eq!(samples(&store)[0].status, None, "no result yet");
        for one in [&first, &again, &first] {
            sink.store(one).expect("kept");
        }
        let kept = samples(&store);
        assert_eq!((kept.len(), kept[0].figure("rtt.p50")), (1, Some(1_000.0)));
        let entry = store.get("1").expect("kept").entry;
        assert_eq!((entry.kind.as_str(), entry.label.as_str()), ("latency", "mesh"));
        sink.missed("1", &missed(&job.title())).expect("it is not missed any more");
        assert_eq!(samples(&store)[0].status.as_deref(), Some("ok"));
    }

    #[test]
    fn what_is_void_is_kept_and_never_counts() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path().join("runs.db").as_path()).expect("new");
        let job = latency("ams", "fra");
        let lapsed = End::Void { reason: "lease lost".into(), body: done(&job, 9_000_000) };
        let lie = End::Done { body: done(&latency("par", "waw"), 1) };
        for one in [
            outcome("1", &job.title(), End::Done { body: done(&job, 1_000) }),
            outcome("2", &job.title(), lapsed),
            failed("3", &job.title()),
            outcome("4", &job.title(), lie),
            outcome("5", &job.title(), End::Done { body: "{".into() }),
        ] {
            assert!(keep(&store, &one, "mesh").expect("kept"), "{} is new", one.run);
        }
        let kept = samples(&store);
        assert_eq!(kept.iter().filter(|sample| sample.is_void()).count(), 4);
        let trends = Trends::from_samples("ams -> fra", &kept, &[], Rules::new(true));
        let points: Vec<f64> =
            trends.series.iter().flat_map(|one| one.points.iter().map(|point| point.value)).collect();
        assert!(!points.is_empty() && points.iter().all(|value| *value == 1_000.0), "{points:?}");
        let Content::Kept(document) = store.get("2").expect("kept").content else { panic!("it has ended") };
        let verdict = document.measured().verdict();
        assert!(verdict.status == Status::Void && verdict.text.starts_with("Lease lost"), "{verdict:?}");
    }
}
