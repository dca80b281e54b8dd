//! A sink in a file: outcomes and missed runs as JSON lines, each on the disk before anybody is told that it is stored.

use crate::coordinator::Sink;
use crate::error::{FleetError, Result};
use crate::job::Outcome;
use crate::ledger::LedgerRow;
use crate::line_file::{self, LineFile, LineKind};
use model::time::WallTime;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The file, open for writing. Two programs cannot have the same one open.
#[derive(Debug)]
pub struct ResultFile {
    file: LineFile,
    known: HashSet<String>,
    missed: BTreeMap<String, LedgerRow>,
    /// The mesh whose runs come now.
    mesh: String,
}

/// What the file holds of each run, by its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// The outcomes.
    pub outcomes: BTreeMap<String, Outcome>,
    /// Runs of which nothing came.
    pub missed: BTreeMap<String, LedgerRow>,
    /// When meshes were due that began.
    pub begun: BTreeSet<WallTime>,
    /// The mesh that each run is of; one without a name is of the only one that the file has.
    pub meshes: BTreeMap<String, String>,
    /// The mesh that was measured last.
    pub mesh: String,
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
}

impl LineKind for Line {
    const WORDS: &'static [&'static str] = &["outcome", "missed", "begins", "mesh"];
}

impl ResultFile {
    /// Opens the file, or makes an empty one.
    ///
    /// # Errors
    /// It cannot be opened, or another program has it open.
    pub fn open(path: &Path) -> Result<ResultFile> {
        let fault =
            |source| FleetError::File { operation: "open the results", file: path.to_owned(), source };
        let (file, lines) = LineFile::open(path, "another coordinator writes it").map_err(fault)?;
        let results = Results::from_lines(lines);
        let known = results.outcomes.into_keys().collect();
        Ok(ResultFile { file, known, missed: results.missed, mesh: results.mesh })
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

impl Sink for ResultFile {
    fn has(&self, run: &str) -> bool {
        self.known.contains(run)
    }

    fn store(&mut self, outcome: &Outcome) -> std::result::Result<(), String> {
        self.write(&Line::Outcome(Box::new(outcome.clone())))?;
        self.known.insert(outcome.run.clone());
        Ok(())
    }

    fn awaited(&self, run: &str) -> Option<LedgerRow> {
        self.missed.get(run).cloned()
    }

    fn begins(&mut self, due: WallTime) -> std::result::Result<(), String> {
        self.write(&Line::Begins { due })
    }

    fn missed(&mut self, run: &str, row: &LedgerRow) -> std::result::Result<(), String> {
        if self.missed.contains_key(run) {
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

    /// What it holds.
    #[must_use]
    pub fn all(&self) -> Results {
        self.results().clone()
    }

    fn results(&self) -> MutexGuard<'_, Results> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sink for InMemory {
    fn has(&self, run: &str) -> bool {
        self.results().outcomes.contains_key(run)
    }

    fn store(&mut self, outcome: &Outcome) -> std::result::Result<(), String> {
        let mut results = self.results();
        results.missed.remove(&outcome.run);
        results.outcomes.entry(outcome.run.clone()).or_insert_with(|| outcome.clone());
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
    /// It cannot be read.
    pub fn read(path: &Path) -> Result<Results> {
        let lines = line_file::read(path);
        lines.map(Results::from_lines).map_err(|source| FleetError::File {
            operation: "read the results",
            file: path.to_owned(),
            source,
        })
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

    fn from_lines(lines: Vec<Line>) -> Results {
        let mut results = Results::default();
        for line in lines {
            match line {
                Line::Outcome(outcome) => {
                    results.missed.remove(&outcome.run);
                    results.is_of_mesh(&outcome.run);
                    results.outcomes.entry(outcome.run.clone()).or_insert(*outcome);
                }
                Line::Missed { run, row } if !results.outcomes.contains_key(&run) => {
                    results.is_of_mesh(&run);
                    results.missed.insert(run, *row);
                }
                Line::Missed { .. } => {}
                Line::Begins { due } => {
                    results.begun.insert(due);
                }
                Line::Mesh { name } => {
                    // What was written before meshes had names is of the first that has one.
                    let unnamed = results.meshes.values_mut().filter(|mesh| mesh.is_empty());
                    unnamed.for_each(|mesh| mesh.clone_from(&name));
                    results.mesh = name;
                }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::End;
    use crate::ledger::RunState;
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
}
