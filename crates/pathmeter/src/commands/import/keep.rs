//! Outputs of other tools, and of other hosts, put into the store.

use super::super::store::{failed, open};
use cli::ImportArgs;
use engine::error::Result;
use linux::clock::wall_now;
use model::history::{Mark, Measured, Origin, StoredAs};
use model::run::Run;
use report::expect::headlines;
use report::import::{Item, Tool, What};
use std::io::Write;
use store::{Begun, Store};
use uuid::Uuid;

/// A store that takes what is read.
pub(in super::super) struct Keeper<'a> {
    store: Store,
    /// The label that all runs get in place of their own.
    label: Option<&'a str>,
    /// Runs that were not there before.
    pub(in super::super) new: u64,
    pub(in super::super) all: u64,
    marks: u64,
}

impl<'a> Keeper<'a> {
    /// Opens it.
    pub(super) fn open(args: &'a ImportArgs) -> Result<Keeper<'a>> {
        Ok(Keeper::of_store(open(&args.store)?, args.label.as_deref()))
    }

    /// Keeps in this store.
    pub(in super::super) fn of_store(store: Store, label: Option<&'a str>) -> Keeper<'a> {
        Keeper { store, label, new: 0, all: 0, marks: 0 }
    }

    /// Puts what was read into it, many runs by one transaction: other programs wait no longer than for these.
    pub(in super::super) fn keep(&mut self, items: &[Item]) -> Result<()> {
        items.chunks(AT_ONCE).try_for_each(|items| {
            let rows = items.iter().map(|item| self.row(item)).collect::<Result<Vec<_>>>()?;
            let kept =
                self.store.at_once(|| rows.iter().map(|row| self.put(row)).collect::<Result<Vec<_>, _>>());
            for (row, is_new) in rows.iter().zip(kept.map_err(failed)?) {
                match row {
                    ImportedRow::Mark(_) => self.marks += 1,
                    ImportedRow::Run(..) => {
                        self.all += 1;
                        self.new += u64::from(is_new);
                    }
                }
            }
            Ok(())
        })
    }

    /// How the store is to have it.
    fn row<'i>(&self, item: &'i Item) -> Result<ImportedRow<'i>> {
        let (measured, mut stored) = match &item.what {
            What::Mark(mark) => return Ok(ImportedRow::Mark(mark)),
            What::Report(report) => (report.measured(), as_before(item, report.measured())?),
            What::Run(one) => {
                let measured = Measured::Run(&one.run);
                // By where it stands an output is known only here.
                let unnamed = Run { id: String::new(), ..one.run.clone() };
                let stored = match one.tool {
                    Tool::Pathmeter => as_before(item, measured)?,
                    _ => new_row(measured, name_of(Measured::Run(&unnamed))?, Origin::Imported),
                };
                (measured, stored)
            }
        };
        stored.label = self.label.map_or(stored.label, str::to_owned);
        Ok(ImportedRow::Run(measured, stored))
    }

    /// True: it was not there before.
    fn put(&self, row: &ImportedRow<'_>) -> store::Result<bool> {
        match row {
            ImportedRow::Mark(mark) => self.store.mark(mark).map(|()| true),
            ImportedRow::Run(measured, stored) => {
                let StoredAs { id, kind, target, label, origin, started, note } = stored.clone();
                let begun = Begun { id, kind, target, label, started };
                let is_new = self.store.insert(&begun, origin, *measured, &headlines(*measured))?;
                if is_new && !note.is_empty() {
                    self.store.set_note(&begun.id, &note)?;
                }
                Ok(is_new)
            }
        }
    }

    /// Prints how many there were.
    pub(super) fn end(self) {
        let Keeper { new, all, marks, .. } = self;
        let marks = if marks > 0 { format!("; marks of trends: {marks}") } else { String::new() };
        let _ = writeln!(std::io::stderr(), "kept: {new} of {all} were new{marks}");
    }
}

/// An item to store.
enum ImportedRow<'a> {
    Run(Measured<'a>, StoredAs),
    Mark(&'a Mark),
}

/// The row of the store that the item was exported from; a document without one was measured.
fn as_before(item: &Item, measured: Measured<'_>) -> Result<StoredAs> {
    if let Some(stored) = &item.stored {
        return Ok(stored.clone());
    }
    let id = if measured.id().is_empty() { name_of(measured)? } else { measured.id().to_owned() };
    Ok(new_row(measured, id, Origin::Measured))
}

fn new_row(measured: Measured<'_>, id: String, origin: Origin) -> StoredAs {
    let ((kind, target), [started, _]) = (measured.origin(), measured.times());
    let started = started.unwrap_or_else(wall_now);
    StoredAs { id, kind, target, label: String::new(), origin, started, note: String::new() }
}

/// A name that the same output has whenever it is read: a UUID of version 5 of its content (RFC 9562).
fn name_of(measured: Measured<'_>) -> Result<String> {
    let document = measured.value().map_err(std::io::Error::from)?.to_string();
    Ok(Uuid::new_v5(&Uuid::NAMESPACE_OID, document.as_bytes()).to_string())
}

/// Runs of a transaction.
const AT_ONCE: usize = 200;
