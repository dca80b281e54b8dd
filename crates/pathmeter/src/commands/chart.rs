//! A chart as a file, for the commands that draw one.

use anyhow::Context;
use engine::error::Failure;
use report::plot::png;
use std::path::{Path, PathBuf};

/// Refuses files that would be no picture, before anything is measured for them.
///
/// # Errors
/// When a name ends neither in `.svg` nor in `.png`.
pub(crate) fn check(files: &[PathBuf]) -> anyhow::Result<()> {
    for file in files {
        if kind(file).is_none() {
            let said = format!("--chart {}: it is neither an .svg nor a .png", file.display());
            return Err(Failure::usage(said, "the ending of the name says which of them it is").into());
        }
    }
    Ok(())
}

/// Writes the chart into each file.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn write(files: &[PathBuf], svg: impl FnOnce() -> String) -> anyhow::Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let svg = svg();
    for file in files {
        let written = match kind(file) {
            Some(Kind::Png) => std::fs::write(file, png(&svg, PIXELS)?),
            _ => std::fs::write(file, &svg),
        };
        written.with_context(|| format!("write {}", file.display()))?;
    }
    Ok(())
}

enum Kind {
    Svg,
    Png,
}

fn kind(file: &Path) -> Option<Kind> {
    match file.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "svg" => Some(Kind::Svg),
        "png" => Some(Kind::Png),
        _ => None,
    }
}

/// Pixels for each unit of the drawing: sharp on today's screens.
const PIXELS: f32 = 2.0;
