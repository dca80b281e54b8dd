//! A run that is kept in the store.

use super::super::progress::print;
use super::super::store::{failed, folder, open};
use cli::KeepArgs;
use engine::error::Result;
use engine::run::run_id;
use linux::clock::wall_now;
use model::event::Event;
use model::history::Measured;
use report::expect::headlines;
use store::{Begun, Placed, Recorder, Store};

/// A run that is recorded from its begin on.
#[derive(Debug)]
pub(super) struct Recorded(Recorder);

impl Recorded {
    pub(super) fn begin(args: &KeepArgs, kind: &str, target: &str) -> Result<Recorded> {
        let begun = Begun {
            id: run_id()?,
            kind: kind.into(),
            target: target.into(),
            label: args.label.join(", "),
            started: wall_now(),
        };
        let store = open(&args.store)?;
        let waiting = folder().map(|folder| folder.join(UNDELIVERED));
        if store.location().file().is_none() {
            deliver(&store, waiting.as_deref());
        }
        Ok(Recorded(store.begin(&begun, waiting).map_err(failed)?))
    }

    pub(super) fn id(&self) -> &str {
        self.0.id()
    }

    /// Keeps an event. An error is printed once, and the run goes on.
    pub(super) fn event(&self, event: &Event) {
        if let Err(error) = self.0.event(event) {
            let what =
                if error.is_unreachable() { "the run is kept here until then" } else { "it is tried again" };
            print(&format!("warning: {error}; {what}"));
        }
    }

    pub(super) fn finish(self, measured: Measured<'_>) -> Result<String> {
        let id = self.id().to_owned();
        let placed = self.0.finish(measured, &headlines(measured)).map_err(failed)?;
        Ok(match placed {
            Placed::Kept => format!("kept as {id}: `pathmeter show {id}`, `pathmeter history`"),
            Placed::Waiting(file) => {
                format!(
                    "kept in {} as {id}: the next run that is kept takes it to the server",
                    file.display()
                )
            }
        })
    }
}

/// Takes runs to the server that waited here for it. A run that is measured now matters more than what goes wrong.
fn deliver(store: &Store, waiting: Option<&std::path::Path>) {
    let Some(waiting) = waiting.filter(|file| file.exists()) else { return };
    match store.deliver(waiting) {
        Ok(0) => {}
        Ok(count) => print(&format!("runs that waited in {} and are delivered: {count}", waiting.display())),
        Err(error) => {
            print(&format!("warning: runs that wait in {} are not delivered: {error}", waiting.display()))
        }
    }
}

/// Runs whose server was lost.
pub(crate) const UNDELIVERED: &str = "undelivered.db";
