//! The journal of a benchmark: what came of each order, in a file, as it comes. A run that was cut off, by `kill -9` or a
//! power cut, goes on from there.
//!
//! A line of JSON for the plan, then one for each order. The last line may be torn: it is measured again.

use super::DevicePlan;
use crate::error::{Context, Error, Failure, Result};
use model::dut::{Observation, Order, Setup};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    /// What was measured before, in its order.
    known: VecDeque<Entry>,
    /// Why nothing is written any more.
    broken: Option<io::Error>,
    /// No order is in it yet.
    is_empty: bool,
}

/// Which benchmark it is of.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Head {
    schema: String,
    setup: Setup,
    devices: Vec<String>,
}

/// What came of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Entry {
    /// The device.
    pub(super) device: String,
    /// What was to be done.
    pub(super) order: Order,
    /// What was observed, or why the order was left out.
    pub(super) came: Came,
    /// Trials of it that the host spoilt.
    pub(super) voided: u64,
}

/// What came of an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Came {
    /// This.
    Observed(Observation),
    /// It could not be done.
    LeftOut(String),
}

impl Journal {
    /// Begins one for this plan.
    ///
    /// # Errors
    /// `Kind::Usage`: there is one already, of a run that was cut off, or none can be written.
    pub fn begin(path: &Path, plan: &DevicePlan) -> Result<Journal> {
        // Of a run that was cut off before anything was measured nothing is lost.
        let is_empty = std::fs::read_to_string(path).is_ok_and(|text| text.lines().nth(1).is_none());
        let mut options = OpenOptions::new();
        let options = if is_empty { options.truncate(true) } else { options.create_new(true) };
        let made = options.write(true).open(path);
        let mut file = made.map_err(|error| refused(path, &error))?;
        written(&mut file, &Head::of(plan)).map_err(|error| refused(path, &error))?;
        Ok(Journal { path: path.to_owned(), file, known: VecDeque::new(), broken: None, is_empty: true })
    }

    /// Goes on with that of a run of the same plan.
    ///
    /// # Errors
    /// `Kind::Usage`: there is none, or it is of another benchmark.
    pub fn resume(path: &Path, plan: &DevicePlan) -> Result<Journal> {
        let no = |what: String| Failure::usage(format!("--resume: {}: {what}", path.display()), ANOTHER);
        let text = std::fs::read_to_string(path).map_err(|error| no(error.to_string()))?;
        let whole = text.rfind('\n').map_or(0, |last| last + 1);
        let mut lines = text[..whole].lines();
        let head = lines.next().unwrap_or_default();
        let head: Head = serde_json::from_str(head).map_err(|_| no("it is no journal".into()))?;
        if head != Head::of(plan) {
            return Err(no("it is the journal of another benchmark".into()).into());
        }
        let known: serde_json::Result<VecDeque<Entry>> = lines.map(serde_json::from_str).collect();
        let known = known.map_err(|error| no(format!("a line cannot be read: {error}")))?;
        let file = OpenOptions::new().append(true).open(path).map_err(|error| no(error.to_string()))?;
        file.set_len(whole as u64).map_err(|error| no(error.to_string()))?;
        let is_empty = known.is_empty();
        Ok(Journal { path: path.to_owned(), file, known, broken: None, is_empty })
    }

    /// How many orders were carried out before.
    #[must_use]
    pub fn known(&self) -> usize {
        self.known.len()
    }

    /// What came of this order before, if it was carried out.
    ///
    /// # Errors
    /// `Kind::Usage`: something else was done at this place.
    pub(super) fn recall(&mut self, device: &str, order: &Order) -> Result<Option<Entry>> {
        let Some(next) = self.known.pop_front() else { return Ok(None) };
        if next.device == device && next.order == *order {
            return Ok(Some(next));
        }
        let what = format!(
            "{} says that {} was at {}, {} here, and now it is {device} at {}, {}",
            self.path.display(),
            next.device,
            next.order.stream,
            next.order.test,
            order.stream,
            order.test
        );
        Err(Failure::usage(what, ANOTHER).into())
    }

    /// Writes down what came of an order. The first time that it cannot, it says why: what is measured goes on.
    pub(super) fn write(&mut self, entry: &Entry) -> Option<Error> {
        if self.broken.is_some() {
            return None;
        }
        self.is_empty = false;
        let error = written(&mut self.file, entry).err()?;
        let told =
            Error::from(io::Error::from(error.kind())).context(format!("write {}", self.path.display()));
        self.broken = Some(error);
        Some(told)
    }

    /// Everything was measured, and is kept elsewhere.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn remove(&self) -> Result<()> {
        std::fs::remove_file(&self.path).with_context(|| format!("remove {}", self.path.display()))
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if self.is_empty {
            // An error here leaves a file that the next run may write over.
            self.remove().ok();
        }
    }
}

impl Head {
    fn of(plan: &DevicePlan) -> Head {
        let devices = plan.benches.iter().map(|bench| bench.device.name()).collect();
        Head { schema: SCHEMA.into(), setup: plan.setup.clone(), devices }
    }
}

/// Writes a line of JSON, which is on the disk then.
fn written(file: &mut File, line: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(line)?;
    line.push(b'\n');
    file.write_all(&line)?;
    file.sync_data()
}

fn refused(path: &Path, error: &io::Error) -> Failure {
    match error.kind() {
        ErrorKind::AlreadyExists => Failure::usage(
            format!("{} holds what a run that was cut off has measured", path.display()),
            "go on with it by the same command and --resume, or remove the file",
        ),
        _ => Failure::usage(format!("write {}: {error}", path.display()), "nothing was measured"),
    }
}

const SCHEMA: &str = "pathmeter/rfc2544-journal/1";
const ANOTHER: &str =
    "give the command line and the -o FILE of the run that was cut off; its journal is FILE.journal";
