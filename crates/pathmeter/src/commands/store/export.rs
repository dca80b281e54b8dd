//! `pathmeter export`: kept runs as lines of JSON, one at a time, however many there are.

use super::shown::{of_content, stored};
use super::{failed, filter, found};
use crate::exit::{self, Exit};
use cli::{Common, ExportArgs};
use engine::error::{Context, Result};
use model::history::{Kept, StoredAs};
use std::fs::File;
use std::io::{BufWriter, ErrorKind, Write};
use store::{Location, Salvaged, Store, StoreError, salvage};

/// Writes them. A run that cannot be read does not keep the others from being written; of a store that is damaged or of a
/// later version, what can be read is.
pub(crate) fn export(args: &ExportArgs, global: &Common) -> Result<Exit> {
    let location = found(&args.filter.store)?;
    let mut lines = Lines::open(global)?;
    let exit = match Store::open_to_read(&location) {
        Err(error @ (StoreError::Damaged { .. } | StoreError::Newer { .. })) => {
            salvaged(&location, error, &mut lines)?
        }
        opened => {
            let store = opened.map_err(failed)?;
            let listed = store.ids(&filter(&args.filter)?);
            match listed {
                Err(error @ StoreError::Damaged { .. }) => salvaged(&location, error, &mut lines)?,
                ids => every(&store, &ids.map_err(failed)?, &mut lines)?,
            }
        }
    };
    lines.end()?;
    Ok(exit)
}

fn every(store: &Store, ids: &[String], lines: &mut Lines) -> Result<Exit> {
    let mut exit = Exit::Done;
    for id in ids {
        match stored(store, id) {
            Ok((kept, entry)) => lines.write(&kept, Some(entry.into()))?,
            Err(error) => {
                exit::report(&error);
                exit = Exit::from_error(&error);
            }
        }
    }
    Ok(exit)
}

/// What can be read of a store that cannot be opened, with what is lost on standard error.
fn salvaged(location: &Location, error: StoreError, lines: &mut Lines) -> Result<Exit> {
    let Some(file) = location.file() else { return Err(failed(error)) };
    say(&format!("warning: {error}; what can be read of it is written, without regard to filters"));
    let Salvaged { runs, lost } = salvage(file).map_err(|_| failed(error))?;
    let count = runs.len();
    for (id, kind, content) in runs {
        lines.write(&of_content(&id, &kind, content), None)?;
    }
    say(&format!("runs read: {count}, lost: {}", lost.len()));
    lost.iter().for_each(|id| say(&format!("lost: {id}")));
    Ok(Exit::Usage)
}

/// Where the lines go.
struct Lines {
    to: Option<Box<dyn Write>>,
    name: String,
}

impl Lines {
    fn open(global: &Common) -> Result<Lines> {
        let Some(path) = &global.output else {
            return Ok(Lines {
                to: Some(Box::new(BufWriter::new(std::io::stdout()))),
                name: "standard output".into(),
            });
        };
        let name = path.display().to_string();
        let file = File::create(path).with_context(|| format!("write {name}"))?;
        Ok(Lines { to: Some(Box::new(BufWriter::new(file))), name })
    }

    /// A document in a line, with what the store knows of it besides.
    fn write(&mut self, kept: &Kept, stored: Option<StoredAs>) -> Result<()> {
        let mut document = kept.measured().value().map_err(std::io::Error::from)?;
        if let (Some(stored), Some(fields)) = (stored, document.as_object_mut()) {
            fields.insert("stored".into(), serde_json::to_value(stored).map_err(std::io::Error::from)?);
        }
        self.put(|to| writeln!(to, "{document}"))
    }

    fn end(mut self) -> Result<()> {
        self.put(|to| to.flush())
    }

    /// A reader that has seen enough (`| head`) is no error.
    fn put(&mut self, act: impl FnOnce(&mut dyn Write) -> std::io::Result<()>) -> Result<()> {
        let Some(to) = &mut self.to else { return Ok(()) };
        match act(to.as_mut()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.to = None;
                Ok(())
            }
            done => done.with_context(|| format!("write {}", self.name)),
        }
    }
}

fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
