//! A chart as a file, for the commands that draw one.

use cli::{Command, Common, written};
#[cfg(feature = "png")]
use engine::error::fault;
use engine::error::{Context, Failure, Result};
use report::document::{Document, picture};
use std::path::{Path, PathBuf};

/// Refuses what could not be drawn, before anything is measured for it.
///
/// # Errors
/// When the command has no figures, a name ends neither in `.svg` nor in `.png`, or a file cannot be written.
pub(crate) fn check(command: &Command, global: &Common) -> Result<()> {
    for path in &global.chart {
        let refused = |what: &str, advice: &str| {
            Err(Failure::usage(format!("--chart {}: {what}", path.display()), advice).into())
        };
        if !command.has_chart() {
            return refused("this command has no figures to draw", "leave --chart out");
        }
        if ending(path).is_none() {
            let picture =
                if cfg!(feature = "png") { "it is neither an .svg nor a .png" } else { "it is no .svg" };
            return refused(picture, "the ending of the name chooses one of them");
        }
        written::check(path)?;
    }
    Ok(())
}

/// Draws documents into each file of `--chart`. The picture of a result without figures, such as a test that ended before its
/// first interval, states that.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn write(documents: &[&dyn Document], global: &Common) -> Result<()> {
    draw(documents, &global.chart)
}

/// Draws documents into each of these files.
///
/// # Errors
/// When a file cannot be written.
pub(crate) fn draw(documents: &[&dyn Document], files: &[PathBuf]) -> Result<()> {
    if files.is_empty() {
        return Ok(());
    }
    let figure = picture(documents, &command_line());
    for path in files {
        let written = match ending(path).as_deref() {
            #[cfg(feature = "png")]
            Some("png") => {
                let png = report::plot::png(&figure.drawing(), PIXELS);
                written::write(path, &png.map_err(|error| fault(format!("draw the chart: {error}")))?)
            }
            _ => written::write(path, figure.svg().as_bytes()),
        };
        written.with_context(|| format!("write {}", path.display()))?;
    }
    Ok(())
}

/// The command line, quoted for a shell.
fn command_line() -> String {
    let quoted =
        |word: String| match word.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c)) {
            true if !word.is_empty() => word,
            _ => format!("'{}'", word.replace('\'', "'\\''")),
        };
    let args = std::env::args_os().skip(1).map(|word| quoted(word.to_string_lossy().into_owned()));
    std::iter::once("pathmeter".to_owned()).chain(args).collect::<Vec<_>>().join(" ")
}

/// The ending of a name, where it is one of a picture.
fn ending(path: &Path) -> Option<String> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    (ending == "svg" || cfg!(feature = "png") && ending == "png").then_some(ending)
}

/// Pixels for each unit of the drawing: sharp on today's screens.
#[cfg(feature = "png")]
const PIXELS: f32 = 2.0;
