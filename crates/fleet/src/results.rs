//! A sink in a file: outcomes and missed runs as JSON lines, each on the disk before anybody is told that it is stored.

use crate::coordinator::Sink;
use crate::error::{FleetError, Result};
use crate::job::Outcome;
use crate::ledger::LedgerRow;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// The file, open for writing. Two programs cannot have the same one open.
#[derive(Debug)]
pub struct ResultFile {
    file: File,
    known: HashSet<String>,
    missed: HashSet<String>,
}

/// What the file holds of each run, by its name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Results {
    /// The outcomes.
    pub outcomes: BTreeMap<String, Outcome>,
    /// Runs of which nothing came.
    pub missed: BTreeMap<String, LedgerRow>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Line {
    Outcome(Box<Outcome>),
    Missed { run: String, row: Box<LedgerRow> },
}

impl ResultFile {
    /// Opens the file, or makes an empty one.
    ///
    /// # Errors
    /// It cannot be opened, or another program has it open.
    pub fn open(path: &Path) -> Result<ResultFile> {
        let fault =
            |source| FleetError::File { operation: "open the results", file: path.to_owned(), source };
        let opened = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
        let mut file = opened.map_err(fault)?;
        file.try_lock().map_err(|_| fault(io::Error::other("another coordinator writes it")))?;
        let (results, whole) = parse(&std::fs::read(path).map_err(fault)?);
        file.set_len(whole).and_then(|()| file.seek(SeekFrom::End(0))).map_err(fault)?;
        let known = results.outcomes.into_keys().collect();
        Ok(ResultFile { file, known, missed: results.missed.into_keys().collect() })
    }

    fn write(&mut self, line: &Line) -> std::result::Result<(), String> {
        let mut text = serde_json::to_vec(line).map_err(|error| error.to_string())?;
        text.push(b'\n');
        let before = self.file.stream_position().map_err(|error| error.to_string())?;
        self.file.write_all(&text).and_then(|()| self.file.sync_data()).map_err(|error| {
            // Half a line must not stay before the next one.
            let _ = self.file.set_len(before).and_then(|()| self.file.seek(SeekFrom::Start(before)));
            error.to_string()
        })
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

    fn missed(&mut self, run: &str, row: &LedgerRow) -> std::result::Result<(), String> {
        if self.missed.contains(run) {
            return Ok(());
        }
        self.write(&Line::Missed { run: run.to_owned(), row: Box::new(row.clone()) })?;
        self.missed.insert(run.to_owned());
        Ok(())
    }
}

impl Results {
    /// Reads a file, also one that is being written. A run whose outcome came late is not missed.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &Path) -> Result<Results> {
        let bytes = std::fs::read(path);
        let bytes = bytes.map_err(|source| FleetError::File {
            operation: "read the results",
            file: path.to_owned(),
            source,
        })?;
        Ok(parse(&bytes).0)
    }
}

/// What the whole lines hold, and how many bytes they are: a crash may have cut the last line off.
fn parse(bytes: &[u8]) -> (Results, u64) {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    let mut results = Results::default();
    for line in bytes[..whole].split(|byte| *byte == b'\n') {
        match serde_json::from_slice(line) {
            Ok(Line::Outcome(outcome)) => {
                results.missed.remove(&outcome.run);
                results.outcomes.entry(outcome.run.clone()).or_insert(*outcome);
            }
            Ok(Line::Missed { run, row }) if !results.outcomes.contains_key(&run) => {
                results.missed.insert(run, *row);
            }
            _ => {}
        }
    }
    (results, whole as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::End;
    use crate::ledger::RunState;
    use model::time::WallTime;

    #[test]
    fn results_outlive_a_cut_and_late_ones_are_not_missed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("results.jsonl");
        let mut file = ResultFile::open(&path).expect("new");
        assert!(ResultFile::open(&path).expect_err("it is open").to_string().contains("another coordinator"));
        let time = WallTime(1);
        let state = RunState::Missed { reason: "silence".into() };
        let row = LedgerRow { title: "a -> b".into(), due: time, deadline: time, state };
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
}
