//! A chart as a file, for the commands that draw one.

use super::file;
use anyhow::Context;
use engine::error::Failure;
use report::plot::png;
use std::path::{Path, PathBuf};

/// Refuses files that would be no picture, before anything is measured for them.
///
/// # Errors
/// When a name ends neither in `.svg` nor in `.png`, or the file cannot be written.
pub(crate) fn check(files: &[PathBuf]) -> anyhow::Result<()> {
    for path in files {
        if kind(path).is_none() {
            let said = format!("--chart {}: it is neither an .svg nor a .png", path.display());
            return Err(Failure::usage(said, "the ending of the name says which of them it is").into());
        }
        file::check(path)?;
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
    for path in files {
        let written = match kind(path) {
            Some(Kind::Png) => file::write(path, &png(&svg, PIXELS)?),
            _ => file::write(path, svg.as_bytes()),
        };
        written.with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}

enum Kind {
    Svg,
    Png,
}

fn kind(path: &Path) -> Option<Kind> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "svg" => Some(Kind::Svg),
        "png" => Some(Kind::Png),
        _ => None,
    }
}

/// Pixels for each unit of the drawing: sharp on today's screens.
const PIXELS: f32 = 2.0;
