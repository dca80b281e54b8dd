//! A chart as a file, for the commands that draw one.

use super::file;
#[cfg(feature = "png")]
use engine::error::fault;
use engine::error::{Context, Failure, Result};
use std::path::{Path, PathBuf};

/// Refuses files that would be no picture, before anything is measured for them.
///
/// # Errors
/// When a name ends neither in `.svg` nor in `.png`, or the file cannot be written.
pub(crate) fn check(files: &[PathBuf]) -> Result<()> {
    for path in files {
        if kind(path).is_none() {
            let picture = if cfg!(feature = "png") { "neither an .svg nor a .png" } else { "no .svg" };
            let said = format!("--chart {}: it is {picture}", path.display());
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
pub(crate) fn write(files: &[PathBuf], svg: impl FnOnce() -> String) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let svg = svg();
    for path in files {
        let written = match kind(path) {
            #[cfg(feature = "png")]
            Some(Kind::Png) => {
                let png = report::plot::png(&svg, PIXELS);
                file::write(path, &png.map_err(|error| fault(format!("draw the chart: {error}")))?)
            }
            _ => file::write(path, svg.as_bytes()),
        };
        written.with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}

enum Kind {
    Svg,
    #[cfg(feature = "png")]
    Png,
}

fn kind(path: &Path) -> Option<Kind> {
    match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
        "svg" => Some(Kind::Svg),
        #[cfg(feature = "png")]
        "png" => Some(Kind::Png),
        _ => None,
    }
}

/// Pixels for each unit of the drawing: sharp on today's screens.
#[cfg(feature = "png")]
const PIXELS: f32 = 2.0;
