//! A file that a browser sends, put into the store as `pathmeter import --save` does.

use super::super::import::{Counts, keep_all, of_bytes};
use super::super::store::open;
use super::start::refused;
use cli::StoreArgs;
use engine::error::Result;
use report::import::Known;
use web::{Refused, Upload, Uploaded};

/// Keeps what is in it.
pub(super) fn keep(upload: Upload, store: &StoreArgs) -> Result<Uploaded, Refused> {
    kept(upload, store).map(|Counts { new, all }| Uploaded { new, all }).map_err(|error| refused(&error))
}

fn kept(upload: Upload, store: &StoreArgs) -> Result<Counts> {
    let Upload { name, bytes, label } = upload;
    let held = of_bytes(&name, bytes, Known::default())?;
    keep_all(&[&held], &open(store)?, Some(label.as_str()).filter(|label| !label.is_empty()))
}
