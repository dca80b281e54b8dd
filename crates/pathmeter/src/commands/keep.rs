//! Keeping the result of a run, in the store or in a file of lines.

#[cfg(feature = "store")]
mod recorded;
#[cfg(not(feature = "store"))]
mod unrecorded;

#[cfg(feature = "store")]
use recorded::Recorded;
#[cfg(feature = "web")]
pub(crate) use recorded::UNDELIVERED;
#[cfg(not(feature = "store"))]
use unrecorded::Recorded;

use cli::KeepArgs;
use engine::error::{Context, Error, Result, sentence};
use engine::run::run_id;
use insight::run_of_failure;
use linux::clock::wall_now;
use model::event::Event;
use model::history::Measured;
use model::run::Run;
use model::time::WallTime;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;

/// Where the run that begins now is kept.
#[derive(Debug, Default)]
pub(crate) struct Keep {
    recorded: Option<Recorded>,
    file: Option<(PathBuf, File)>,
    /// The command.
    kind: String,
    begun: WallTime,
}

impl Keep {
    /// Opens what the command line names, before anything is sent. `kind`: the command; `target`: its far end.
    pub(crate) fn open(args: &KeepArgs, kind: &str, target: &str) -> Result<Keep> {
        let mut keep = Keep { kind: kind.into(), begun: wall_now(), ..Keep::default() };
        match &args.save {
            None => {}
            Some(Some(file)) => {
                let named = || format!("keep the result in {}", file.display());
                let opened = OpenOptions::new().create(true).append(true).open(file).with_context(named)?;
                keep.file = Some((file.clone(), opened));
            }
            Some(None) => keep.recorded = Some(Recorded::begin(args, kind, target)?),
        }
        Ok(keep)
    }

    /// The result goes somewhere.
    pub(crate) fn is_kept(&self) -> bool {
        self.recorded.is_some() || self.file.is_some()
    }

    /// Keeps what happens, so that a crash leaves it.
    pub(crate) fn event(&mut self, event: &Event) {
        self.recorded.iter().for_each(|recorded| recorded.event(event));
    }

    /// The name that the run is kept under.
    pub(crate) fn id(&self) -> Option<&str> {
        self.recorded.as_ref().map(Recorded::id)
    }

    /// The run by the name that it is kept under.
    pub(crate) fn named(&self, run: Run) -> Run {
        match self.id() {
            Some(id) => Run { id: id.into(), ..run },
            None => run,
        }
    }

    /// Keeps the result, and prints where.
    pub(crate) fn finish(self, measured: Measured<'_>) -> Result<()> {
        if let Some(notice) = self.store(measured)? {
            let _ = writeln!(std::io::stderr(), "{notice}");
        }
        Ok(())
    }

    /// Notes that nothing was measured, and why. Otherwise the run would be listed as one that was cut off.
    ///
    /// # Errors
    /// The note cannot be kept.
    pub(crate) fn fail(&mut self, error: &Error) -> Result<()> {
        let keep = std::mem::take(self);
        if !keep.is_kept() {
            return Ok(());
        }
        let id = keep.id().map_or_else(run_id, |id| Ok(id.to_owned()))?;
        let run = run_of_failure(&id, &keep.kind, [keep.begun, wall_now()], &sentence(error));
        keep.store(Measured::Run(&run)).map(drop)
    }

    /// Keeps the result; for the store, returns a line that names the place.
    pub(crate) fn store(self, measured: Measured<'_>) -> Result<Option<String>> {
        if let Some((path, mut file)) = self.file {
            let line = format!("{}\n", measured.value().map_err(std::io::Error::from)?);
            append(&mut file, line.as_bytes())
                .with_context(|| format!("keep the result in {}", path.display()))?;
        }
        self.recorded.map(|recorded| recorded.finish(measured)).transpose()
    }
}

/// Adds a line, or nothing: a part of one, on a full disk, would make the file unreadable.
fn append(file: &mut File, line: &[u8]) -> std::io::Result<()> {
    let before = file.metadata()?.len();
    // A device takes no length, and has none to spoil.
    file.write_all(line).inspect_err(|_| drop(file.set_len(before)))?;
    // Nor can it be synced.
    if file.metadata()?.is_file() { file.sync_all() } else { Ok(()) }
}
