//! Keeping the result of a run, in the store or in a file of lines.

use super::store::{failed, open};
use crate::cli::KeepArgs;
use engine::error::{Context, Result};
use engine::run::run_id;
use linux::clock::wall_now;
use model::event::Event;
use model::run::Run;
use report::expect::headlines;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use store::{Begun, Recorder, StoreError};

/// Where the run that begins now is kept.
#[derive(Debug, Default)]
pub(crate) struct Keep {
    recorder: Option<Recorder>,
    file: Option<(PathBuf, File)>,
    /// The store took no more: told once, and the run goes on.
    broken: Option<StoreError>,
}

impl Keep {
    /// Opens what the command line names, before anything is sent. `kind`: the command; `target`: its far end.
    pub(crate) fn open(args: &KeepArgs, kind: &str, target: &str) -> Result<Keep> {
        let mut keep = Keep::default();
        match &args.save {
            // A store that the environment names is for those runs that are to be kept; one on the command line says that this is.
            None if args.store.store == std::env::var_os(STORE).map(PathBuf::from) => return Ok(keep),
            Some(Some(file)) => {
                let named = || format!("keep the result in {}", file.display());
                let opened = OpenOptions::new().create(true).append(true).open(file).with_context(named)?;
                keep.file = Some((file.clone(), opened));
            }
            _ => {
                let begun = Begun {
                    id: run_id()?,
                    kind: kind.into(),
                    target: target.into(),
                    label: args.label.join(", "),
                    started: wall_now(),
                };
                keep.recorder = Some(open(&args.store)?.begin(&begun).map_err(failed)?);
            }
        }
        Ok(keep)
    }

    /// The result goes somewhere.
    pub(crate) fn is_kept(&self) -> bool {
        self.recorder.is_some() || self.file.is_some()
    }

    /// Keeps what happens, so that a crash leaves it.
    pub(crate) fn event(&mut self, event: &Event) {
        let Some(recorder) = &mut self.recorder else { return };
        if self.broken.is_none() {
            self.broken = recorder.event(event).err();
            if let Some(error) = &self.broken {
                let _ = writeln!(std::io::stderr(), "warning: the run is not kept: {error}");
            }
        }
    }

    /// The run by the name that it is kept under.
    pub(crate) fn named(&self, run: Run) -> Run {
        match &self.recorder {
            Some(recorder) => Run { id: recorder.id().into(), ..run },
            None => run,
        }
    }

    /// Keeps the result.
    pub(crate) fn finish(self, run: &Run) -> Result<()> {
        if let Some((path, mut file)) = self.file {
            let mut line = serde_json::to_vec(run).map_err(std::io::Error::from)?;
            line.push(b'\n');
            append(&mut file, &line).with_context(|| format!("keep the result in {}", path.display()))?;
        }
        let Some(recorder) = self.recorder else { return Ok(()) };
        let id = recorder.id().to_owned();
        recorder.finish(run, &headlines(run)).map_err(failed)?;
        let _ = writeln!(std::io::stderr(), "kept as {id}: `pathmeter show {id}`, `pathmeter history`");
        Ok(())
    }
}

/// Adds a line, or nothing: a part of one, on a full disk, would make the file unreadable.
fn append(file: &mut File, line: &[u8]) -> std::io::Result<()> {
    let before = file.metadata()?.len();
    // A device takes no length, and has none to spoil.
    file.write_all(line).inspect_err(|_| drop(file.set_len(before)))
}

/// What the environment names.
const STORE: &str = "PATHMETER_STORE";
