//! A kept run as a document that can be printed.

use super::failed;
use engine::error::Result;
use insight::run_of_events;
use model::history::{Entry, Kept};
use store::{Content, Store, Stored};

/// A run of the store and its row; of one that has not ended what was measured until then.
///
/// # Errors
/// There is none of this name, or it cannot be read.
pub(super) fn stored(store: &Store, id: &str) -> Result<(Kept, Entry)> {
    let Stored { entry, content } = store.get(id).map_err(failed)?;
    Ok((of_content(&entry.id, &entry.kind, content), entry))
}

/// The same of what was read already.
pub(super) fn of_content(id: &str, kind: &str, content: Content) -> Kept {
    match content {
        Content::Kept(kept) => kept,
        Content::Events(events) => Kept::Run(Box::new(run_of_events(id, kind, &events))),
    }
}
