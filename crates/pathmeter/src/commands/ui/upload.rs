//! A file that a browser sends, put into the store as `pathmeter import --save` does.

use super::super::import::{Contents, Keeper, of_bytes};
use super::super::store::open;
use super::start::refused;
use cli::StoreArgs;
use engine::error::Result;
use report::import::Known;
use web::{Refused, Upload, Uploaded};

/// Keeps what is in it.
pub(super) fn keep(upload: Upload, store: &StoreArgs) -> Result<Uploaded, Refused> {
    kept(upload, store).map_err(|error| refused(&error))
}

fn kept(upload: Upload, store: &StoreArgs) -> Result<Uploaded> {
    let Upload { name, bytes, label } = upload;
    let Contents { items, damage } = of_bytes(&name, bytes, Known::default())?;
    let label = Some(label.as_str()).filter(|label| !label.is_empty());
    let mut keeper = Keeper::of_store(open(store)?, label);
    keeper.keep(&items)?;
    Ok(Uploaded { new: keeper.new, all: keeper.all, damage: damage.map(|damage| refused(&damage).error) })
}
