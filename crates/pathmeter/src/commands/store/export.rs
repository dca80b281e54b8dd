//! `pathmeter export`: kept runs as lines of JSON, one at a time, however many there are.

use super::super::output::Writer;
use super::super::progress::print;
use super::shown::{of_content, stored};
use super::{failed, filter, found};
use crate::exit::{self, Exit};
use cli::{Common, ExportArgs};
use engine::error::Result;
use model::history::{Kept, Mark, StoredAs};
use std::collections::BTreeSet;
use store::{Filter, Location, Salvaged, Store, StoreError, salvage};

/// Writes them. A run that cannot be read does not keep the others from being written; of a store that is damaged or of a
/// later version, what can be read is.
pub(crate) fn export(args: &ExportArgs, global: &Common) -> Result<Exit> {
    let location = found(&args.filter.store)?;
    let mut lines = Lines(Writer::open(global)?);
    let exit = match Store::open_to_read(&location) {
        Err(error @ (StoreError::Damaged { .. } | StoreError::Newer { .. })) => {
            salvaged(&location, error, &mut lines)?
        }
        opened => {
            let store = opened.map_err(failed)?;
            let filter = filter(&args.filter)?;
            match store.ids(&filter) {
                Err(error @ StoreError::Damaged { .. }) => salvaged(&location, error, &mut lines)?,
                ids => every(&store, &ids.map_err(failed)?, &filter, &mut lines)?,
            }
        }
    };
    lines.0.end()?;
    Ok(exit)
}

fn every(store: &Store, ids: &[String], filter: &Filter, lines: &mut Lines) -> Result<Exit> {
    let (mut exit, mut targets) = (Exit::Done, BTreeSet::new());
    for id in ids {
        match stored(store, id) {
            Ok((kept, entry)) => {
                targets.insert(entry.target.clone());
                lines.write(&kept, Some(entry.into()))?;
            }
            Err(error) => {
                exit::report(&error);
                exit = Exit::from_error(&error);
            }
        }
    }
    let of_some_runs = [&filter.kind, &filter.label, &filter.status].into_iter().any(Option::is_some);
    let is_part = of_some_runs || filter.limit.is_some();
    lines.marks(store.marks_of(filter).map_err(failed)?, is_part.then_some(&targets))?;
    Ok(exit)
}

/// Writes the readable part of a store that cannot be opened, with the losses on standard error.
fn salvaged(location: &Location, error: StoreError, lines: &mut Lines) -> Result<Exit> {
    let Some(file) = location.file() else { return Err(failed(error)) };
    print(&format!("warning: {error}; what can be read of it is written, without regard to filters"));
    let Salvaged { runs, lost } = salvage(file).map_err(|_| failed(error))?;
    let count = runs.len();
    for (id, kind, content) in runs {
        lines.write(&of_content(&id, &kind, content), None)?;
    }
    print(&format!("runs read: {count}, lost: {}", lost.len()));
    lost.iter().for_each(|id| print(&format!("lost: {id}")));
    Ok(Exit::Usage)
}

/// Where the lines go.
struct Lines(Writer);

impl Lines {
    /// A document in a line, with what the store knows of it besides.
    fn write(&mut self, kept: &Kept, stored: Option<StoredAs>) -> Result<()> {
        let mut document = kept.measured().value().map_err(std::io::Error::from)?;
        if let (Some(stored), Some(fields)) = (stored, document.as_object_mut()) {
            fields.insert("stored".into(), serde_json::to_value(stored).map_err(std::io::Error::from)?);
        }
        self.0.write(format!("{document}\n").as_bytes())
    }

    /// Known changes of the targets whose runs were written; where all were requested, of every target.
    fn marks(&mut self, marks: Vec<Mark>, targets: Option<&BTreeSet<String>>) -> Result<()> {
        let is_asked = |mark: &Mark| targets.is_none_or(|targets| targets.contains(&mark.target));
        for mark in marks.into_iter().filter(is_asked) {
            let line = serde_json::to_value(mark).map_err(std::io::Error::from)?;
            self.0.write(format!("{line}\n").as_bytes())?;
        }
        Ok(())
    }
}
