//! A sink in a file: outcomes and missed runs as JSON lines, each on the disk before it is confirmed as stored.

use crate::clock::{Clock, SystemClock};
use crate::coordinator::Sink;
use crate::error::{FleetError, Result};
use crate::job::{End, Outcome};
use crate::ledger::{LedgerRow, RunState, Stored, StoredEnd};
use crate::line_file::{self, LineFile, LineKind, Lines};
use crate::name::run_name;
use model::time::WallTime;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The file, open for writing. Two programs cannot have the same one open.
#[derive(Debug)]
pub struct ResultFile {
    file: LineFile,
    known: HashMap<String, Stored>,
    missed: BTreeMap<String, LedgerRow>,
    /// The mesh whose runs come now.
    mesh: String,
    id: String,
    damage: Option<String>,
}

/// The content of the file for each run, by its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// The outcomes, of several attempts the latest.
    pub outcomes: BTreeMap<String, Outcome>,
    /// Outcomes of earlier attempts.
    pub earlier: Vec<Outcome>,
    /// Attempts that their agents report not to have carried out, by the run: its latest.
    pub unmeasured: BTreeMap<String, u32>,
    /// Runs of which nothing came.
    pub missed: BTreeMap<String, LedgerRow>,
    /// When meshes were due that began.
    pub begun: BTreeSet<WallTime>,
    /// The mesh that each run is of; one without a name is of the only one that the file has.
    pub meshes: BTreeMap<String, String>,
    /// The mesh that was measured last.
    pub mesh: String,
    /// Distinguishes the file from every other one; empty: an earlier version made it.
    pub id: String,
    /// Lines that cannot be read, in a sentence.
    pub damage: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Outcome(Box<Outcome>),
    Missed {
        run: String,
        row: Box<LedgerRow>,
    },
    Begins {
        due: WallTime,
    },
    /// The runs that follow are of this mesh, but for the late outcome of one that was missed before.
    Mesh {
        name: String,
    },
    /// The first line of a file: no other file ever has this id.
    File {
        id: String,
    },
}

impl LineKind for Line {
    const WORDS: &'static [&'static str] = &["outcome", "missed", "begins", "mesh", "file"];
}

impl ResultFile {
    /// Opens the file, or makes an empty one.
    ///
    /// # Errors
    /// The file cannot be opened, or another program has it open.
    pub fn open(path: &Path) -> Result<ResultFile> {
        let fault = FleetError::file("open the results", path);
        let (file, lines) = LineFile::open(path, "another coordinator writes it").map_err(&fault)?;
        let is_new = lines.lines.is_empty();
        let results = Results::from_lines(path, lines);
        let known = results.outcomes.keys().chain(results.unmeasured.keys());
        let known = known.filter_map(|run| Some((run.clone(), results.stored(run)?))).collect();
        let Results { missed, mesh, id, damage, .. } = results;
        let mut file = ResultFile { file, known, missed, mesh, id, damage };
        if is_new {
            file.id = new_id(path);
            file.file.append(&Line::File { id: file.id.clone() }).map_err(fault)?;
        }
        Ok(file)
    }

    /// Distinguishes the file from every other one; empty: an earlier version made it.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Lines that cannot be read, in a sentence.
    #[must_use]
    pub fn damage(&self) -> Option<&str> {
        self.damage.as_deref()
    }

    /// The runs that follow are of the mesh of this name.
    ///
    /// # Errors
    /// The disk is full or fails.
    pub fn begin_mesh(&mut self, name: &str) -> std::result::Result<(), String> {
        if self.mesh != name {
            self.write(&Line::Mesh { name: name.to_owned() })?;
            name.clone_into(&mut self.mesh);
        }
        Ok(())
    }

    fn write(&mut self, line: &Line) -> std::result::Result<(), String> {
        self.file.append(line).map_err(|error| error.to_string())
    }
}

/// Made of where and when the file is made.
fn new_id(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let clock = SystemClock;
    let (wall, mono) = (clock.wall().0.to_string(), clock.mono().0.to_string());
    run_name(&[&path.display().to_string(), &wall, &mono, &std::process::id().to_string()])
}

impl Sink for ResultFile {
    fn stored(&self, run: &str) -> Option<Stored> {
        self.known.get(run).copied()
    }

    /// A damaged line may have been the outcome of any run: its agent would not make the first attempt again.
    fn attempts(&self, run: &str) -> u32 {
        let missed = self.missed.get(run).map_or(0, |row| row.number.max(1));
        let damaged = u32::from(self.damage.is_some());
        self.stored(run).map_or(0, |stored| stored.number).max(missed).max(damaged)
    }

    fn store(&mut self, outcome: &Outcome) -> std::result::Result<(), String> {
        self.write(&Line::Outcome(Box::new(outcome.clone())))?;
        self.known.insert(outcome.run.clone(), Stored::new(outcome));
        Ok(())
    }

    fn awaited(&self, run: &str) -> Option<LedgerRow> {
        self.missed.get(run).cloned()
    }

    fn begins(&mut self, due: WallTime) -> std::result::Result<(), String> {
        self.write(&Line::Begins { due })
    }

    fn missed(&mut self, run: &str, row: &LedgerRow) -> std::result::Result<(), String> {
        if self.missed.get(run).is_some_and(|known| known.number.max(1) >= row.number) {
            return Ok(());
        }
        self.write(&Line::Missed { run: run.to_owned(), row: Box::new(row.clone()) })?;
        self.missed.insert(run.to_owned(), row.clone());
        Ok(())
    }
}

/// A sink in memory. Clones are the same one, so that what it holds can be read while a coordinator writes it.
#[derive(Clone, Debug, Default)]
pub struct InMemory(Arc<Mutex<Results>>);

impl InMemory {
    /// The outcome of a run, if there is one.
    #[must_use]
    pub fn outcome(&self, run: &str) -> Option<Outcome> {
        self.results().outcomes.get(run).cloned()
    }

    /// A copy of its content.
    #[must_use]
    pub fn all(&self) -> Results {
        self.results().clone()
    }

    fn results(&self) -> MutexGuard<'_, Results> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for InMemory {
    fn stored(&self, run: &str) -> Option<Stored> {
        self.results().stored(run)
    }

    fn awaited(&self, run: &str) -> Option<LedgerRow> {
        self.results().missed.get(run).cloned()
    }

    fn store(&mut self, outcome: &Outcome) -> std::result::Result<(), String> {
        self.results().take(outcome.clone());
        Ok(())
    }

    fn missed(&mut self, run: &str, row: &LedgerRow) -> std::result::Result<(), String> {
        self.results().missed.insert(run.to_owned(), row.clone());
        Ok(())
    }
}

impl Results {
    /// Reads a file, also one that is being written. A run whose outcome came late is not missed.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn read(path: &Path) -> Result<Results> {
        let lines = line_file::read(path);
        lines
            .map(|lines| Results::from_lines(path, lines))
            .map_err(FleetError::file("read the results", path))
    }

    /// The runs of one mesh alone: of that of this name, or of the one that was measured last.
    #[must_use]
    pub fn of_mesh(mut self, name: Option<&str>) -> Results {
        let name = name.unwrap_or(&self.mesh);
        let is_of = |run: &String| self.meshes.get(run).is_some_and(|mesh| mesh == name);
        self.outcomes.retain(|run, _| is_of(run));
        self.missed.retain(|run, _| is_of(run));
        self
    }

    /// The record of the latest attempt at a run that ended.
    #[must_use]
    pub fn stored(&self, run: &str) -> Option<Stored> {
        let measured = self.outcomes.get(run).map(Stored::new);
        let unmeasured = self.unmeasured.get(run).map(|number| (*number, StoredEnd::Unmeasured));
        let unmeasured = unmeasured.map(|(number, end)| Stored { number, end });
        match (measured, unmeasured) {
            (Some(measured), Some(unmeasured)) if unmeasured.number > measured.number => Some(unmeasured),
            (measured, unmeasured) => measured.or(unmeasured),
        }
    }

    /// Takes an outcome: the latest attempt counts, and the first outcome of it. A result that comes late is no longer missed.
    fn take(&mut self, outcome: Outcome) {
        let number = self.outcomes.get(&outcome.run).map_or(0, |known| known.number);
        if let (true, End::Failed { reason }) = (outcome.unmeasured, &outcome.end) {
            let latest = self.unmeasured.entry(outcome.run.clone()).or_default();
            *latest = (*latest).max(outcome.number);
            if outcome.number > number {
                let row = unmeasured(&outcome, reason);
                self.missed.insert(outcome.run, row);
            }
            return;
        }
        self.missed.remove(&outcome.run);
        if outcome.number > number {
            self.earlier.extend(self.outcomes.insert(outcome.run.clone(), outcome));
        }
    }

    fn from_lines(path: &Path, lines: Lines<Line>) -> Results {
        let mut results = Results { damage: line_file::damage(path, &lines.damaged), ..Results::default() };
        for line in lines.lines {
            match line {
                Line::Outcome(outcome) => {
                    results.is_of_mesh(&outcome.run);
                    results.take(*outcome);
                }
                Line::Missed { run, row }
                    if results.outcomes.get(&run).is_none_or(|known| row.number > known.number) =>
                {
                    results.is_of_mesh(&run);
                    results.missed.insert(run, *row);
                }
                Line::Missed { .. } => {}
                Line::Begins { due } => {
                    results.begun.insert(due);
                }
                Line::Mesh { name } => {
                    // Lines from before meshes had names belong to the first mesh that has one.
                    let unnamed = results.meshes.values_mut().filter(|mesh| mesh.is_empty());
                    unnamed.for_each(|mesh| mesh.clone_from(&name));
                    results.mesh = name;
                }
                Line::File { id } => results.id = id,
            }
        }
        results
    }

    /// A run is of the mesh that is measured when it is first heard of.
    fn is_of_mesh(&mut self, run: &str) {
        if !self.meshes.contains_key(run) {
            self.meshes.insert(run.to_owned(), self.mesh.clone());
        }
    }
}

impl Stored {
    /// Makes the record of an outcome.
    #[must_use]
    pub fn new(outcome: &Outcome) -> Stored {
        let end = match &outcome.end {
            End::Done { .. } => StoredEnd::Done,
            End::Void { .. } => StoredEnd::Void,
            End::Failed { .. } if outcome.unmeasured => StoredEnd::Unmeasured,
            End::Failed { .. } => StoredEnd::Failed,
        };
        Stored { number: outcome.number, end }
    }
}

/// The row of an attempt that its agent did not carry out.
fn unmeasured(outcome: &Outcome, reason: &str) -> LedgerRow {
    LedgerRow {
        title: outcome.title.clone(),
        agent: outcome.agent.clone(),
        due: outcome.started,
        deadline: outcome.finished,
        number: outcome.number,
        state: RunState::Missed { reason: reason.to_owned() },
        ..LedgerRow::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;
    use std::io::Write;

    #[test]
    fn results_outlive_a_cut_and_late_ones_are_not_missed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("results.jsonl");
        let mut file = ResultFile::open(&path).expect("new");
        assert!(ResultFile::open(&path).expect_err("it is open").to_string().contains("another coordinator"));
        let time = WallTime(1);
        let state = RunState::Missed { reason: "silence".into() };
        let row =
            LedgerRow { title: "a -> b".into(), due: time, deadline: time, state, ..LedgerRow::default() };
        file.missed("a", &row).expect("written");
        file.missed("b", &row).expect("written");
        let end = End::Done { body: "42".into() };
        let outcome = Outcome {
            run: "a".into(),
            title: String::new(),
            agent: "x".into(),
            end,
            started: time,
            finished: time,
            token: 1,
            attempt: 1,
            number: 1,
            unmeasured: false,
        };
        file.store(&outcome).expect("written");
        drop(file);
        OpenOptions::new()
            .append(true)
            .open(&path)
            .expect("a file")
            .write_all(b"{\"outcome\":{\"ru")
            .expect("half");
        let results = Results::read(&path).expect("read");
        assert_eq!(results.outcomes.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(results.missed.keys().collect::<Vec<_>>(), ["b"]);
        let mut file = ResultFile::open(&path).expect("again");
        assert!(file.has("a") && !file.has("b"));
        file.store(&Outcome { run: "b".into(), ..outcome }).expect("written after the cut");
        assert_eq!(Results::read(&path).expect("read").outcomes.len(), 2);
    }

    #[test]
    fn a_file_of_two_meshes_shows_the_last_or_the_one_that_is_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("results.jsonl");
        let state = RunState::Missed { reason: "silence".into() };
        let row = LedgerRow { title: "a -> b".into(), state, ..LedgerRow::default() };
        let outcome = |run: &str| Outcome {
            run: run.into(),
            title: String::new(),
            agent: "x".into(),
            end: End::Done { body: String::new() },
            started: WallTime(1),
            finished: WallTime(1),
            token: 1,
            attempt: 1,
            number: 1,
            unmeasured: false,
        };
        let mut file = ResultFile::open(&path).expect("new");
        file.begin_mesh("monday").expect("written");
        file.store(&outcome("1")).expect("written");
        file.missed("late", &row).expect("written");
        drop(file);
        let mut file = ResultFile::open(&path).expect("again");
        file.begin_mesh("tuesday").expect("written");
        file.store(&outcome("2")).expect("written");
        file.store(&outcome("late")).expect("written");
        let runs = |name| -> Vec<String> {
            Results::read(&path).expect("read").of_mesh(name).outcomes.into_keys().collect()
        };
        assert_eq!(runs(None), ["2"]);
        assert_eq!(runs(Some("monday")), ["1", "late"]);
        assert!(runs(Some("sunday")).is_empty());
    }

    #[test]
    fn the_latest_attempt_counts_and_those_before_stay() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("results.jsonl");
        let failed = |number, unmeasured| Outcome {
            run: "r".into(),
            title: "latency a -> b".into(),
            agent: "a".into(),
            end: End::Failed { reason: format!("attempt {number}") },
            started: WallTime(u64::from(number)),
            finished: WallTime(u64::from(number)),
            token: 1,
            attempt: 1,
            number,
            unmeasured,
        };
        let mut file = ResultFile::open(&path).expect("new");
        file.store(&failed(1, true)).expect("written");
        assert_eq!((file.attempts("r"), file.has("r")), (1, false));
        let read = || Results::read(&path).expect("read");
        let reason = |results: &Results| {
            let row = results.missed.get("r").expect("it is missed").clone();
            (row.number, row.agent, row.state.reason().map(str::to_owned))
        };
        assert_eq!(reason(&read()), (1, "a".to_owned(), Some("attempt 1".to_owned())));
        file.store(&failed(2, false)).expect("written");
        let results = read();
        assert_eq!((results.outcomes["r"].number, results.missed.len(), results.earlier.len()), (2, 0, 0));
        let row = LedgerRow {
            number: 3,
            state: RunState::Missed { reason: "no word".into() },
            ..LedgerRow::default()
        };
        file.missed("r", &row).expect("written");
        assert_eq!((reason(&read()).0, file.attempts("r")), (3, 3));
        file.store(&Outcome { end: End::Done { body: "42".into() }, ..failed(4, false) }).expect("written");
        let results = read();
        assert_eq!((results.outcomes["r"].number, results.missed.len(), results.earlier.len()), (4, 0, 1));
        assert_eq!(results.stored("r"), Some(Stored { number: 4, end: StoredEnd::Done }));
        drop(file);
        let file = ResultFile::open(&path).expect("again");
        assert_eq!(file.stored("r"), results.stored("r"));
        // The file has an id, and no other file has the same.
        let other = ResultFile::open(&folder.path().join("other.jsonl")).expect("new");
        assert!(!file.id().is_empty() && file.id() == results.id && other.id() != file.id());
    }

    #[test]
    fn after_damage_a_run_without_an_outcome_is_no_first_attempt() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("results.jsonl");
        std::fs::write(&path, "{\"mesh\":{\"name\":\"m\"}}\n{\"outcome\":{\"ru\0\n").expect("a file");
        let file = ResultFile::open(&path).expect("ours");
        assert_eq!((file.attempts("any"), file.stored("any"), file.id()), (1, None, ""));
        assert!(file.damage().expect("damaged").starts_with("line 2 of "), "{:?}", file.damage());
    }
}
