//! What an agent remembers on its own disk: which runs it began, and their outcomes until the sink has them.
//!
//! A file of JSON lines, each synced to the disk before the call returns. A line that a crash cut off is left out; a file that
//! has nothing more to deliver is written anew, with the names of the last runs, so that a job that is delivered again is not
//! carried out again.

use crate::error::{FleetError, Result};
use crate::job::Outcome;
use crate::line_file::{LineFile, LineKind};
use model::time::WallTime;
use model::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::{HashSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};

/// The spool of one agent. Two programs cannot have the same one open.
#[derive(Debug)]
pub struct Spool {
    file: LineFile,
    path: PathBuf,
    begun: HashSet<String>,
    finished: HashSet<String>,
    /// The names of `finished`, oldest first.
    sequence: VecDeque<String>,
    pending: Vec<Outcome>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Begun(String),
    Finished(Box<Outcome>),
    /// The sink has it.
    Stored(String),
    /// Nobody took it in time: it lies in the file beside this one.
    Lapsed(String),
}

/// Outcomes that are put aside are lines of results.
impl LineKind for serde_json::Value {
    const WORDS: &'static [&'static str] = &["outcome"];
}

impl LineKind for Line {
    const WORDS: &'static [&'static str] = &["begun", "finished", "stored", "lapsed"];
}

impl Spool {
    /// Opens a spool, or makes an empty one.
    ///
    /// # Errors
    /// The file cannot be opened, or another program has it open.
    pub fn open(path: &Path) -> Result<Spool> {
        let fault = |source| FleetError::File { operation: "open the spool", file: path.to_owned(), source };
        let in_use = "another agent uses it; give each agent a folder of its own";
        let (file, lines) = LineFile::open(path, in_use).map_err(fault)?;
        let mut spool = Spool {
            file,
            path: path.to_owned(),
            begun: HashSet::new(),
            finished: HashSet::new(),
            sequence: VecDeque::new(),
            pending: Vec::new(),
        };
        lines.into_iter().for_each(|line| spool.apply(line));
        Ok(spool)
    }

    /// A run begins.
    ///
    /// # Errors
    /// The disk is full or fails; the run must not begin then.
    pub fn begin(&mut self, run: &str) -> Result<()> {
        self.write(Line::Begun(run.to_owned()))
    }

    /// A run has ended: its outcome is kept until [`Spool::stored`].
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn finish(&mut self, outcome: Outcome) -> Result<()> {
        if self.has_finished(&outcome.run) {
            return Ok(());
        }
        self.write(Line::Finished(Box::new(outcome)))
    }

    /// The sink has the outcome of a run.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn stored(&mut self, run: &str) -> Result<()> {
        if !self.pending.iter().any(|outcome| outcome.run == run) {
            return Ok(());
        }
        self.write(Line::Stored(run.to_owned()))?;
        if self.pending.is_empty() && self.file.length().is_ok_and(|length| length > LARGE) {
            return self.compact();
        }
        Ok(())
    }

    /// Puts outcomes aside that ended longer ago than this, into `NAME.lapsed.jsonl` beside the spool, whose form is that of a
    /// file of results. Nothing is offered of them any more.
    ///
    /// # Errors
    /// The disk is full or fails; they stay then.
    pub fn lapse(&mut self, now: WallTime, after: Nanos) -> Result<()> {
        let is_old = |outcome: &&Outcome| now - outcome.finished > after;
        let old: Vec<Outcome> = self.pending.iter().filter(is_old).cloned().collect();
        if old.is_empty() {
            return Ok(());
        }
        let path = self.path.with_extension("lapsed.jsonl");
        let in_use = "another program has it open";
        let fault =
            |source| FleetError::File { operation: "put outcomes aside in", file: path.clone(), source };
        let (mut aside, _) = LineFile::open::<serde_json::Value>(&path, in_use).map_err(fault)?;
        for outcome in old {
            aside.append(&serde_json::json!({ "outcome": outcome })).map_err(fault)?;
            self.write(Line::Lapsed(outcome.run))?;
        }
        Ok(())
    }

    /// Whether a run began and never ended: this agent died in it.
    #[must_use]
    pub fn was_begun(&self, run: &str) -> bool {
        self.begun.contains(run)
    }

    /// Whether a run has ended.
    #[must_use]
    pub fn has_finished(&self, run: &str) -> bool {
        self.finished.contains(run)
    }

    /// The outcomes that the sink may not have.
    #[must_use]
    pub fn pending(&self) -> &[Outcome] {
        &self.pending
    }

    fn apply(&mut self, line: Line) {
        match line {
            Line::Begun(run) => {
                self.begun.insert(run);
            }
            Line::Finished(outcome) => {
                self.remember(&outcome.run);
                self.pending.push(*outcome);
            }
            Line::Stored(run) | Line::Lapsed(run) => {
                self.remember(&run);
                self.pending.retain(|outcome| outcome.run != run);
            }
        }
    }

    fn remember(&mut self, run: &str) {
        self.begun.remove(run);
        if self.finished.insert(run.to_owned()) {
            self.sequence.push_back(run.to_owned());
        }
    }

    fn write(&mut self, line: Line) -> Result<()> {
        self.file.append(&line).map_err(|source| self.fault(source))?;
        self.apply(line);
        Ok(())
    }

    /// Writes the file anew: the names of the last runs, in its place at once.
    fn compact(&mut self) -> Result<()> {
        while self.sequence.len() > REMEMBERED {
            if let Some(oldest) = self.sequence.pop_front() {
                self.finished.remove(&oldest);
            }
        }
        let mut bytes = Vec::new();
        let begun = self.begun.iter().cloned().map(Line::Begun);
        for line in begun.chain(self.sequence.iter().cloned().map(Line::Stored)) {
            serde_json::to_writer(&mut bytes, &line)
                .map_err(|error| FleetError::malformed("the spool", error))?;
            bytes.push(b'\n');
        }
        self.file.replace(&self.path, &bytes).map_err(|source| self.fault(source))
    }

    fn fault(&self, source: io::Error) -> FleetError {
        FleetError::File { operation: "write the spool", file: self.path.clone(), source }
    }
}

/// So many bytes of delivered outcomes are kept before the file is written anew.
const LARGE: u64 = 1 << 20;
/// So many runs are known by name after they were delivered.
const REMEMBERED: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::End;
    use model::time::WallTime;
    use proptest::prelude::*;
    use std::fs::File;

    fn outcome(run: &str, size: usize) -> Outcome {
        let end = End::Done { body: "x".repeat(size) };
        let time = WallTime(1);
        Outcome {
            run: run.into(),
            title: String::new(),
            agent: "ams".into(),
            end,
            started: time,
            finished: time,
            token: 1,
            attempt: 1,
        }
    }

    #[test]
    fn outcomes_stay_until_they_are_stored() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("spool.jsonl");
        let mut spool = Spool::open(&path).expect("new");
        assert!(Spool::open(&path).expect_err("it is open").to_string().contains("another agent"));
        spool.begin("a").expect("written");
        spool.begin("b").expect("written");
        spool.finish(outcome("a", 10)).expect("written");
        spool.finish(outcome("a", 20)).expect("the first outcome counts");
        drop(spool);
        let mut spool = Spool::open(&path).expect("again");
        assert_eq!(spool.pending(), [outcome("a", 10)]);
        assert!(spool.was_begun("b") && !spool.was_begun("a") && spool.has_finished("a"));
        spool.stored("a").expect("written");
        spool.stored("unknown").expect("nothing to do");
        drop(spool);
        let spool = Spool::open(&path).expect("again");
        assert!(spool.pending().is_empty() && spool.has_finished("a") && spool.was_begun("b"));
    }

    #[test]
    fn a_large_spool_is_written_anew_and_stays_locked() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("spool.jsonl");
        let mut spool = Spool::open(&path).expect("new");
        spool.begin("open").expect("written");
        spool.finish(outcome("a", 2 << 20)).expect("written");
        spool.stored("a").expect("written");
        assert!(std::fs::metadata(&path).expect("a file").len() < 1000);
        assert!(Spool::open(&path).is_err(), "still ours");
        spool.finish(outcome("b", 10)).expect("written");
        drop(spool);
        let spool = Spool::open(&path).expect("again");
        assert!(spool.has_finished("a") && spool.was_begun("open"));
        assert_eq!(spool.pending(), [outcome("b", 10)]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        /// Wherever a crash cuts the file, what was promised before that byte is there, and what follows can be written.
        #[test]
        fn a_cut_file_keeps_what_is_before_the_cut(share in 0.0_f64..1.0) {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("spool.jsonl");
            let mut spool = Spool::open(&path).expect("new");
            let mut lengths = Vec::new();
            for run in ["a", "b", "c"] {
                spool.finish(outcome(run, 30)).expect("written");
                lengths.push(std::fs::metadata(&path).expect("a file").len());
            }
            drop(spool);
            let cut = (lengths[2] as f64 * share) as u64;
            File::options().write(true).open(&path).expect("a file").set_len(cut).expect("cut");
            let mut spool = Spool::open(&path).expect("again");
            prop_assert_eq!(spool.pending().len(), lengths.iter().filter(|length| **length <= cut).count());
            spool.finish(outcome("d", 5)).expect("written");
            drop(spool);
            let spool = Spool::open(&path).expect("again");
            prop_assert_eq!(spool.pending().last().map(|last| last.run.as_str()), Some("d"));
        }
    }
}
