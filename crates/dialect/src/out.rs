//! Where reports go: standard output, or a file. A closed pipe (`| head`) is no failure.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::Path;

/// The output of a client or of a server.
#[derive(Debug)]
pub(crate) struct Out {
    file: Option<File>,
    name: String,
    /// Why nothing can be written any more.
    broken: Option<io::Error>,
}

impl Out {
    /// Standard output, or this file; what it holds stays.
    ///
    /// # Errors
    /// The file's name, and why it cannot be opened.
    pub(crate) fn open(file: Option<&Path>) -> Result<Out, String> {
        let name = file.map_or_else(|| "standard output".into(), |path| path.display().to_string());
        let opened = file.map(|path| OpenOptions::new().append(true).create(true).open(path)).transpose();
        Ok(Out { file: opened.map_err(|error| format!("{name}: {error}"))?, name, broken: None })
    }

    /// Whether the output is a file.
    pub(crate) fn is_file(&self) -> bool {
        self.file.is_some()
    }

    /// Writes whole lines and flushes them at once.
    pub(crate) fn write(&mut self, text: &str) {
        if self.broken.is_some() || text.is_empty() {
            return;
        }
        let written = match &mut self.file {
            Some(file) => file.write_all(text.as_bytes()),
            None => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
            }
        };
        self.broken = written.err();
    }

    /// The place where not everything was written, and why.
    pub(crate) fn failure(&self) -> Option<String> {
        let error = self.broken.as_ref().filter(|error| error.kind() != ErrorKind::BrokenPipe)?;
        Some(format!("{}: {error}", self.name))
    }
}

/// Prints a text on standard output.
///
/// # Errors
/// The failure of [`Out::failure`].
pub(crate) fn print(text: &str) -> Result<(), String> {
    let mut out = Out::open(None)?;
    out.write(text);
    out.failure().map_or(Ok(()), Err)
}
