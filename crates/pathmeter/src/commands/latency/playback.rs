//! The messages of a playback, from a file.

use crate::exit::Failure;
use anyhow::Context;
use model::playback::{Item, parse};
use std::path::Path;

/// Reads a playback file.
pub(crate) fn read(file: &Path) -> anyhow::Result<Vec<Item>> {
    let text = std::fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    parse(&text).map_err(|e| {
        Failure::usage(
            format!("{}: {e}", file.display()),
            "write `time in seconds, size in bytes` for each message, times rising, sizes from 14 to 64000",
        )
        .into()
    })
}
