//! Where a command's finished text goes: standard output, or the file of `-o`.

use super::chart;
use crate::exit::Exit;
use cli::written::{self, Writing};
use cli::{Colour, Common};
#[cfg(any(feature = "device", feature = "plan"))]
use engine::error::Failure;
use engine::error::{Context, Result};
use report::document::{Document, ErrorBody};
use report::format::{Format, Style};
use std::io::{BufWriter, ErrorKind, IsTerminal, Stdout, StdoutLock, Write, stdout};
#[cfg(any(feature = "device", feature = "plan"))]
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// Writes documents in the requested format, and then draws them where requested, too. Returns the exit code of a command that does no
/// more.
///
/// # Errors
/// Those of [`deliver`] and [`chart::write`].
pub(crate) fn write(documents: &[&dyn Document], global: &Common) -> Result<Exit> {
    let text = global.format().write(documents, &style(global));
    deliver(global, text.as_bytes())?;
    chart::write(documents, global)?;
    Ok(Exit::Done)
}

/// From now on an error is a document in this format, too.
pub(crate) fn report_errors_as(format: Option<&'static Format>) {
    *ERRORS_AS.lock().unwrap_or_else(PoisonError::into_inner) = format;
}

/// Writes the document of an error on standard output where its format has one, unless a part of a result stands there: two documents
/// are no JSON, and a result that broke off has its error.
pub(crate) fn deliver_error(error: ErrorBody) {
    let format = *ERRORS_AS.lock().unwrap_or_else(PoisonError::into_inner);
    let document =
        format.filter(|_| !IS_BEGUN.load(Ordering::Relaxed)).and_then(|format| format.error(error));
    if let Some(document) = document {
        let mut out = std::io::stdout().lock();
        let _ = out.write_all(document.as_bytes()).and_then(|()| out.flush());
    }
}

static ERRORS_AS: Mutex<Option<&'static Format>> = Mutex::new(None);

/// A part of a result is on standard output.
static IS_BEGUN: AtomicBool = AtomicBool::new(false);

/// Standard output, for a part of a result.
fn begun() -> StdoutLock<'static> {
    IS_BEGUN.store(true, Ordering::Relaxed);
    std::io::stdout().lock()
}

/// Writes the whole text. A closed pipe (`| head`) is no error. Returns the exit code of a command that does no more.
///
/// # Errors
/// When the file or standard output takes no more: a full disk, no permission.
pub(crate) fn deliver(global: &Common, text: &[u8]) -> Result<Exit> {
    let Some(path) = &global.output else {
        let is_screen = global.format().name == "text" && stdout().is_terminal() && !has_utf8();
        let text: &[u8] = if is_screen { &in_ascii(text) } else { text };
        let mut out = begun();
        return match out.write_all(text).and_then(|()| out.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(Exit::Done),
            written => written.context("write standard output").map(|()| Exit::Done),
        };
    };
    let Err(error) = written::write(path, text) else { return Ok(Exit::Done) };
    // The result must not be lost with the file.
    let mut out = begun();
    out.write_all(text).and_then(|()| out.flush()).ok();
    let note = "the result went to standard output instead";
    Err(error).with_context(|| format!("write {}: {note}", path.display()))
}

/// Where text goes that is written as it comes.
pub(crate) struct Writer {
    to: To,
    name: String,
}

enum To {
    Out(BufWriter<Stdout>),
    File(BufWriter<Writing>),
    /// A reader that closes early (`| head`) is no error.
    Closed,
}

impl Writer {
    /// Standard output, or the file of `-o`, which takes its place at the end.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn open(global: &Common) -> Result<Writer> {
        let Some(path) = &global.output else {
            return Ok(Writer { to: To::Out(BufWriter::new(stdout())), name: "standard output".into() });
        };
        let name = path.display().to_string();
        let file = written::begin(path).with_context(|| format!("write {name}"))?;
        Ok(Writer { to: To::File(BufWriter::new(file)), name })
    }

    /// Writes a part.
    ///
    /// # Errors
    /// When the file or standard output takes no more.
    pub(crate) fn write(&mut self, text: &[u8]) -> Result<()> {
        let done = match &mut self.to {
            To::Out(out) => {
                IS_BEGUN.fetch_or(!text.is_empty(), Ordering::Relaxed);
                out.write_all(text)
            }
            To::File(file) => file.write_all(text),
            To::Closed => Ok(()),
        };
        self.ended(done)
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// The errors are those of [`Writer::write`].
    pub(crate) fn end(mut self) -> Result<()> {
        let done = match std::mem::replace(&mut self.to, To::Closed) {
            To::Out(mut out) => out.flush(),
            To::File(file) => file.into_inner().map_err(|error| error.into_error()).and_then(Writing::end),
            To::Closed => Ok(()),
        };
        self.ended(done)
    }

    fn ended(&mut self, done: std::io::Result<()>) -> Result<()> {
        match done {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.to = To::Closed;
                Ok(())
            }
            done => done.with_context(|| format!("write {}", self.name)),
        }
    }
}

/// How text is shown where the output of this command line goes.
pub(crate) fn style(global: &Common) -> Style {
    let is_out = global.output.is_none();
    style_on(is_out && stdout().is_terminal(), linux::screen::columns().filter(|_| is_out), global)
}

/// How text is shown beside the result: on standard error.
pub(crate) fn style_of_errors(global: &Common) -> Style {
    let columns = linux::screen::size().map(|(_, columns)| columns);
    style_on(std::io::stderr().is_terminal(), columns, global)
}

/// By itself colour only on a terminal and without `NO_COLOR`, bars where the locale has their characters. `columns`: those of the
/// screen, where they are known.
fn style_on(is_terminal: bool, columns: Option<u16>, global: &Common) -> Style {
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colour = match global.color {
        Colour::Always => true,
        Colour::Never => false,
        Colour::Auto => is_terminal && !no_color && !is_dumb(),
    };
    let width = columns.map_or(Style::default().width, usize::from).clamp(40, 200);
    Style { colour, width, detail: global.verbose > 0, bars: !global.plain && has_utf8() }
}

/// The journal beside the file of `-o`; none where the output is no file, which `--resume` needs. `what`: `plan` or `run`.
#[cfg(any(feature = "device", feature = "plan"))]
pub(crate) fn journal_file(global: &Common, resume: bool, what: &str) -> Result<Option<PathBuf>> {
    let Some(file) = &global.output else {
        let what = format!(
            "--resume without -o FILE: the journal of the {what} that was cut off is beside that file"
        );
        let refused = Failure::usage(what, "give the command line of that run, and --resume");
        return if resume { Err(refused.into()) } else { Ok(None) };
    };
    let is_special = file.exists() && !file.is_file();
    let mut beside = file.clone().into_os_string();
    beside.push(".journal");
    Ok(Some(beside.into()).filter(|_| resume || !is_special))
}

/// Whether the terminal knows no control codes, such as that of an editor.
pub(crate) fn is_dumb() -> bool {
    std::env::var_os("TERM").is_some_and(|terminal| terminal == "dumb")
}

/// A text for a terminal without UTF-8, which would show two or three other characters in the place of each of these.
fn in_ascii(text: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let letters =
        LETTERS.iter().fold(text.into_owned(), |text, (letter, ascii)| text.replace(*letter, ascii));
    letters.into_bytes()
}

/// Letters of results, and the same in ASCII.
const LETTERS: [(char, &str); 10] = [
    ('µ', "u"),
    ('–', "-"),
    ('−', "-"),
    ('…', "..."),
    ('±', "+/-"),
    ('≥', ">="),
    ('≤', "<="),
    ('→', "->"),
    ('×', "x"),
    ('\u{a0}', " "),
];

/// Whether the locale is of UTF-8: the first of these variables that is set decides (setlocale(3)). Where none is set, as in
/// containers, the terminal outside mostly is.
fn has_utf8() -> bool {
    let value = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(|name| {
        let value = std::env::var_os(name)?;
        (!value.is_empty()).then_some(value)
    });
    value.is_none_or(|value| {
        let value = value.to_string_lossy().to_ascii_lowercase();
        value.contains("utf-8") || value.contains("utf8")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_without_utf8_gets_ascii() {
        let shown = in_ascii("RTT 13.5 µs ± 0.01, 1\u{a0}220 times, −5 % … ≥ 3 × 2 –\n".as_bytes());
        assert_eq!(shown, b"RTT 13.5 us +/- 0.01, 1 220 times, -5 % ... >= 3 x 2 -\n");
    }
}
