//! The runs that an agent began, kept on its own disk, and their outcomes until the sink has them.
//!
//! A file of JSON lines, each synced to the disk before the call returns. A line that a crash cut off is left out; a file that
//! has nothing more to deliver is written anew, with the names of the last runs, so that a job that is delivered again is not
//! carried out again. On a full disk nothing new begins, and what ends is kept in memory and written when there is room.

use crate::error::{FleetError, Result};
use crate::job::{AgentJob, End, Outcome, attempt_id, parse_attempt};
use crate::line_file::{LineFile, LineKind, damage};
use model::time::WallTime;
use model::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet, VecDeque};
use std::io;
use std::path::{Path, PathBuf};

/// The spool of one agent. Two programs cannot have the same one open.
#[derive(Debug)]
pub struct Spool {
    file: LineFile,
    path: PathBuf,
    begun: HashSet<String>,
    /// The latest attempt that ended, of each run.
    finished: HashMap<String, u32>,
    /// The attempts of `finished`, oldest first.
    sequence: VecDeque<String>,
    pending: Vec<Outcome>,
    /// Lines that the disk did not take.
    unwritten: VecDeque<Line>,
    failure: Option<FleetError>,
    damage: Option<String>,
}

/// Attempts at runs go by their names.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Begun(String),
    Finished(Box<Outcome>),
    /// The sink has it.
    Stored(String),
    /// The outcome was not taken in time: it is in the file beside this one.
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
        let in_use = "another agent uses it; give each agent a folder of its own";
        let opened = LineFile::open(path, in_use);
        let (file, lines) = opened.map_err(FleetError::file("open the spool", path))?;
        let mut spool = Spool {
            file,
            path: path.to_owned(),
            begun: HashSet::new(),
            finished: HashMap::new(),
            sequence: VecDeque::new(),
            pending: Vec::new(),
            unwritten: VecDeque::new(),
            failure: None,
            damage: damage(path, &lines.damaged),
        };
        lines.lines.into_iter().for_each(|line| spool.apply(line));
        Ok(spool)
    }

    /// An attempt at a run begins.
    ///
    /// # Errors
    /// The disk is full or fails; the run must not begin then.
    pub fn begin(&mut self, job: &AgentJob) -> Result<()> {
        let line = Line::Begun(attempt_id(&job.run, job.number));
        let written = self.write_unwritten().and_then(|()| self.file.append(&line));
        if let Err(error) = written {
            let again = self.fault(&error);
            self.failure = Some(self.fault(&error));
            return Err(again);
        }
        self.apply(line);
        Ok(())
    }

    /// An attempt has ended: its outcome is kept until [`Spool::stored`], in memory while the disk does not take it.
    pub fn finish(&mut self, outcome: Outcome) {
        if !self.has_finished(&outcome.run, outcome.number) {
            self.write(Line::Finished(Box::new(outcome)));
        }
    }

    /// The sink has the outcome of an attempt, which has this name.
    pub fn stored(&mut self, id: &str) {
        if !self.pending.iter().any(|outcome| outcome.id() == id) {
            return;
        }
        self.write(Line::Stored(id.to_owned()));
        if self.pending.is_empty() && self.file.length().is_ok_and(|length| length > LARGE) {
            let compacted = self.compact();
            self.note(compacted);
        }
    }

    /// Tries to write what the disk did not take.
    pub fn catch_up(&mut self) {
        if !self.unwritten.is_empty() {
            let written = self.write_unwritten();
            self.note(written);
        }
    }

    /// Why the disk does not take what is to be written; absent: it does.
    #[must_use]
    pub fn failure(&self) -> Option<&FleetError> {
        self.failure.as_ref()
    }

    /// Whether all of it is on the disk.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.unwritten.is_empty()
    }

    /// Lines of the file that cannot be read, in a sentence.
    #[must_use]
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// How much room its disk has for this user; absent: the system does not say.
    #[must_use]
    pub fn room(&self) -> Option<u64> {
        let folder = self.path.parent().filter(|folder| !folder.as_os_str().is_empty());
        let found = rustix::fs::statvfs(folder.unwrap_or(Path::new("."))).ok()?;
        found.f_bavail.checked_mul(found.f_frsize)
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
        let fault = FleetError::file("put outcomes aside in", &path);
        let (mut aside, _) = LineFile::open::<serde_json::Value>(&path, in_use).map_err(&fault)?;
        for outcome in old {
            aside.append(&serde_json::json!({ "outcome": outcome })).map_err(&fault)?;
            self.write(Line::Lapsed(outcome.id()));
        }
        Ok(())
    }

    /// Whether an attempt began and never ended: this agent died in it.
    #[must_use]
    pub fn was_begun(&self, job: &AgentJob) -> bool {
        self.begun.contains(&attempt_id(&job.run, job.number))
    }

    /// Whether this attempt at a run, or a later one, has ended.
    #[must_use]
    pub fn has_finished(&self, run: &str, number: u32) -> bool {
        self.finished.get(run).is_some_and(|latest| *latest >= number)
    }

    /// Whether nothing is to be done for a job: it has ended, or a result that answers it is not delivered yet.
    #[must_use]
    pub fn answers(&self, job: &AgentJob) -> bool {
        self.has_finished(&job.run, job.number) || self.pending_answer(job).is_some()
    }

    /// The result that answers a job and is not delivered yet.
    #[must_use]
    pub fn pending_answer(&self, job: &AgentJob) -> Option<&Outcome> {
        let is_answer = |outcome: &Outcome| {
            outcome.run == job.run
                && outcome.number >= job.since.max(1)
                && matches!(outcome.end, End::Done { .. })
        };
        self.pending.iter().find(|outcome| is_answer(outcome))
    }

    /// The outcomes that the sink may not have.
    #[must_use]
    pub fn pending(&self) -> &[Outcome] {
        &self.pending
    }

    fn apply(&mut self, line: Line) {
        match line {
            Line::Begun(id) => {
                self.begun.insert(id);
            }
            Line::Finished(outcome) => {
                self.remember(&outcome.id());
                self.pending.push(*outcome);
            }
            Line::Stored(id) | Line::Lapsed(id) => {
                self.remember(&id);
                self.pending.retain(|outcome| outcome.id() != id);
            }
        }
    }

    fn remember(&mut self, id: &str) {
        self.begun.remove(id);
        let (run, number) = parse_attempt(id);
        let latest = self.finished.entry(run.to_owned()).or_default();
        if number > *latest {
            *latest = number;
            self.sequence.push_back(id.to_owned());
        }
    }

    /// A line counts at once, and is written as soon as the disk takes it, in its sequence.
    fn write(&mut self, line: Line) {
        self.unwritten.push_back(line.clone());
        self.apply(line);
        let written = self.write_unwritten();
        self.note(written);
    }

    fn write_unwritten(&mut self) -> io::Result<()> {
        while let Some(line) = self.unwritten.front().cloned() {
            self.file.append(&line)?;
            self.unwritten.pop_front();
        }
        Ok(())
    }

    fn note(&mut self, written: io::Result<()>) {
        self.failure = written.err().map(|error| self.fault(&error));
    }

    /// Writes the file anew: the names of the last runs, in its place at once.
    fn compact(&mut self) -> io::Result<()> {
        while self.sequence.len() > REMEMBERED {
            let Some(oldest) = self.sequence.pop_front() else { break };
            let (run, number) = parse_attempt(&oldest);
            if self.finished.get(run) == Some(&number) {
                self.finished.remove(run);
            }
        }
        let mut bytes = Vec::new();
        let begun = self.begun.iter().cloned().map(Line::Begun);
        for line in begun.chain(self.sequence.iter().cloned().map(Line::Stored)) {
            serde_json::to_writer(&mut bytes, &line)?;
            bytes.push(b'\n');
        }
        self.file.replace(&self.path, &bytes)
    }

    fn fault(&self, source: &io::Error) -> FleetError {
        // An error of the system is known by its number, which can be had twice.
        let source = match source.raw_os_error() {
            Some(number) => io::Error::from_raw_os_error(number),
            None => io::Error::new(source.kind(), source.to_string()),
        };
        FleetError::File { operation: "write the spool", file: self.path.clone(), source }
    }
}

/// Limit of delivered outcomes, in bytes, before the file is written anew.
const LARGE: u64 = 1 << 20;
/// Number of runs that are known by name after they were delivered.
const REMEMBERED: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::Class;
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
            number: 1,
            unmeasured: false,
        }
    }

    fn job(run: &str, number: u32) -> AgentJob {
        AgentJob {
            run: run.into(),
            title: String::new(),
            class: Class::Exclusive,
            resources: Vec::new(),
            group: String::new(),
            span: Nanos::ZERO,
            deadline: WallTime(0),
            handed_out: WallTime(0),
            number,
            since: number,
            grant: String::new(),
            body: String::new(),
        }
    }

    #[test]
    fn outcomes_stay_until_they_are_stored() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("spool.jsonl");
        let mut spool = Spool::open(&path).expect("new");
        assert!(Spool::open(&path).expect_err("it is open").to_string().contains("another agent"));
        spool.begin(&job("a", 1)).expect("written");
        spool.begin(&job("b", 1)).expect("written");
        spool.finish(outcome("a", 10));
        spool.finish(outcome("a", 20));
        drop(spool);
        let mut spool = Spool::open(&path).expect("again");
        assert_eq!(spool.pending(), [outcome("a", 10)]);
        assert!(
            spool.was_begun(&job("b", 1)) && !spool.was_begun(&job("a", 1)) && spool.has_finished("a", 1)
        );
        spool.stored("a");
        spool.stored("unknown");
        drop(spool);
        let spool = Spool::open(&path).expect("again");
        assert!(spool.pending().is_empty() && spool.has_finished("a", 1) && spool.was_begun(&job("b", 1)));
    }

    #[test]
    fn a_large_spool_is_written_anew_and_stays_locked() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("spool.jsonl");
        let mut spool = Spool::open(&path).expect("new");
        spool.begin(&job("open", 1)).expect("written");
        spool.finish(outcome("a", 2 << 20));
        spool.stored("a");
        assert!(std::fs::metadata(&path).expect("a file").len() < 1000);
        assert!(Spool::open(&path).is_err(), "still ours");
        spool.finish(outcome("b", 10));
        drop(spool);
        let spool = Spool::open(&path).expect("again");
        assert!(spool.has_finished("a", 1) && spool.was_begun(&job("open", 1)));
        assert_eq!(spool.pending(), [outcome("b", 10)]);
    }

    #[test]
    fn another_attempt_is_another_run_and_a_pending_result_answers_it() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("spool.jsonl");
        let mut spool = Spool::open(&path).expect("new");
        spool.finish(outcome("a", 10));
        let second = AgentJob { since: 1, ..job("a", 2) };
        assert!(spool.answers(&job("a", 1)) && spool.answers(&second), "its result is pending");
        assert!(!spool.answers(&AgentJob { since: 2, ..second.clone() }), "the sink has the first one");
        spool.stored("a");
        assert!(spool.answers(&job("a", 1)) && !spool.answers(&second));
        spool.begin(&second).expect("written");
        assert!(spool.was_begun(&second));
        let end = End::Failed { reason: "it was interrupted".into() };
        spool.finish(Outcome { end, number: 2, unmeasured: true, ..outcome("a", 0) });
        let third = AgentJob { since: 1, ..job("a", 3) };
        assert!(spool.answers(&second) && !spool.answers(&third), "that there is none answers nothing");
        drop(spool);
        let mut spool = Spool::open(&path).expect("again");
        assert!(spool.answers(&second) && !spool.answers(&third) && spool.pending().len() == 1);
        spool.stored("a@2");
        assert!(spool.pending().is_empty() && spool.has_finished("a", 2) && !spool.has_finished("a", 3));
    }

    /// `/dev/full` takes nothing, as a full disk.
    #[test]
    fn on_a_full_disk_nothing_begins_and_nothing_is_lost() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("spool.jsonl");
        let mut spool = Spool::open(&path).expect("new");
        spool.begin(&job("a", 1)).expect("written");
        let disk = std::mem::replace(
            &mut spool.file,
            LineFile::of_file(File::options().write(true).open("/dev/full").expect("it is there")),
        );
        let why = spool.begin(&job("b", 1)).expect_err("it is full").to_string();
        assert!(why.contains("No space left on device") && !spool.was_begun(&job("b", 1)), "{why}");
        spool.finish(outcome("a", 10));
        assert!(spool.has_finished("a", 1) && spool.pending().len() == 1 && !spool.is_written());
        assert!(spool.failure().is_some_and(|error| error.advice().contains("make room")));
        spool.file = disk;
        spool.catch_up();
        assert!(spool.is_written() && spool.failure().is_none());
        drop(spool);
        assert_eq!(Spool::open(&path).expect("again").pending(), [outcome("a", 10)]);
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
                spool.finish(outcome(run, 30));
                lengths.push(std::fs::metadata(&path).expect("a file").len());
            }
            drop(spool);
            let cut = (lengths[2] as f64 * share) as u64;
            File::options().write(true).open(&path).expect("a file").set_len(cut).expect("cut");
            let mut spool = Spool::open(&path).expect("again");
            prop_assert_eq!(spool.pending().len(), lengths.iter().filter(|length| **length <= cut).count());
            spool.finish(outcome("d", 5));
            drop(spool);
            let spool = Spool::open(&path).expect("again");
            prop_assert_eq!(spool.pending().last().map(|last| last.run.as_str()), Some("d"));
        }
    }
}
