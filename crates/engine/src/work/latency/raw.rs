//! Every round trip, as a line of a file or kept: details that no histogram has.

use crate::error::{Context, Result};
use model::units::Nanos;
use std::fs::File;
use std::io::{BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Where the round trips go, shared by the paths of a run.
#[derive(Clone, Debug)]
pub enum RawFile {
    /// A file.
    Written(Arc<PathBuf>, Arc<Mutex<Written>>),
    /// Memory, for a dialect whose figures need them all; and the labels of the paths.
    Kept(Arc<Mutex<Vec<RoundTrip>>>, Arc<[String]>),
}

/// A round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundTrip {
    /// Its path: the place of the label among those given.
    pub egress: usize,
    /// The number of its message.
    pub message: u64,
    /// When the message was sent, since the start.
    pub sent: Nanos,
    /// When its reply came, likewise.
    pub received: Nanos,
}

/// A file, and what went wrong with it.
#[derive(Debug)]
pub struct Written {
    file: BufWriter<File>,
    failed: Option<std::io::Error>,
}

/// The lines of one way.
#[derive(Debug)]
pub(crate) struct RawLog {
    file: RawFile,
    label: String,
    egress: usize,
}

impl RawFile {
    /// Makes the file and writes its header.
    pub fn create(path: &Path) -> Result<RawFile> {
        let named = || format!("write the round trips to {}", path.display());
        let mut file = BufWriter::with_capacity(1 << 18, File::create(path).with_context(named)?);
        // Written at once: a disk that is full already is found before the first message.
        file.write_all(b"way,message,at_ns,late_ns,rtt_ns\n")
            .and_then(|()| file.flush())
            .with_context(named)?;
        let out = Arc::new(Mutex::new(Written { file, failed: None }));
        Ok(RawFile::Written(Arc::new(path.to_owned()), out))
    }

    /// Writes what is left. What could not be written is not in the file, which ends with a whole line.
    pub(crate) fn finish(&self) -> Result<()> {
        let RawFile::Written(path, out) = self else { return Ok(()) };
        let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
        let written = match out.failed.take() {
            Some(error) => Err(error),
            None => out.file.flush(),
        };
        written
            .inspect_err(|_| drop(end_with_a_line(path)))
            .with_context(|| format!("write the round trips to {}", path.display()))
    }

    /// The lines of the path with this label.
    pub(crate) fn log(&self, label: &str) -> RawLog {
        let egress = match self {
            RawFile::Written(..) => 0,
            RawFile::Kept(_, labels) => labels.iter().position(|other| other == label).unwrap_or(0),
        };
        let quoted = label.contains([',', '"', '\n']);
        let label = if quoted { format!("\"{}\"", label.replace('"', "\"\"")) } else { label.into() };
        RawLog { file: self.clone(), label, egress }
    }
}

impl RawLog {
    /// A round trip: when its message was due, how much later it was sent, how long it took from when it was due.
    pub(crate) fn round_trip(&mut self, message: u64, at: Nanos, late: Nanos, rtt: Nanos) {
        match &self.file {
            RawFile::Written(_, out) => {
                let mut out = out.lock().unwrap_or_else(PoisonError::into_inner);
                if out.failed.is_none() {
                    let line = writeln!(out.file, "{},{message},{},{},{}", self.label, at.0, late.0, rtt.0);
                    out.failed = line.err();
                }
            }
            RawFile::Kept(trips, _) => {
                let (sent, received) = (at.saturating_add(late), at.saturating_add(rtt));
                let mut trips = trips.lock().unwrap_or_else(PoisonError::into_inner);
                trips.push(RoundTrip { egress: self.egress, message, sent, received });
            }
        }
    }
}

/// Takes off a part of a line, which a full disk leaves.
fn end_with_a_line(path: &Path) -> std::io::Result<()> {
    let mut file = File::options().read(true).write(true).open(path)?;
    let metadata = file.metadata()?;
    // A device has no length, and its end is not to be looked for.
    if !metadata.is_file() {
        return Ok(());
    }
    let length = metadata.len();
    file.seek(SeekFrom::Start(length.saturating_sub(LONGEST_LINE)))?;
    let mut tail = Vec::new();
    file.read_to_end(&mut tail)?;
    let part = tail.iter().rev().take_while(|byte| **byte != b'\n').count() as u64;
    file.set_len(length.saturating_sub(part))
}

/// More than a line has.
const LONGEST_LINE: u64 = 4096;
