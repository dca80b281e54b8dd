//! The messages of a playback, from a file.

use anyhow::Context;
use engine::error::Failure;
use model::latency::LatencyPlan;
use model::plan::End;
use model::playback::{Item, parse};
use std::path::Path;

/// Fits a plan to the messages: the size of the largest, and an end after the last unless the user set another.
pub(crate) fn fit(plan: &mut LatencyPlan, items: &[Item], has_end: bool) {
    plan.size = items.iter().map(|item| item.size).max().unwrap_or(plan.size);
    if !has_end {
        plan.end = End::Blocks(items.len() as u64);
    }
}

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
