//! Where the lines go: standard output and standard error, or the file of `--logfile`.

use super::stamp;
use crate::iperf3::Both;
use report::harmless;
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;

/// The output of a client or of a server.
#[derive(Debug)]
pub(super) struct Out {
    log: Option<(PathBuf, File)>,
    format: Option<String>,
    /// Nothing can be written any more, and why.
    broken: Option<io::Error>,
}

impl Out {
    /// Opens the log file, where there is one; what it holds stays.
    ///
    /// # Errors
    /// A sentence for the user.
    pub(super) fn open(both: &Both) -> Result<Out, String> {
        let open = |path: &PathBuf| {
            let opened = OpenOptions::new().append(true).create(true).open(path);
            let named = |e| format!("unable to open log file: {}: {e}", path.display());
            opened.map(|file| (path.clone(), file)).map_err(named)
        };
        let log = both.logfile.as_ref().map(open).transpose()?;
        Ok(Out { log, format: both.timestamps.clone(), broken: None })
    }

    /// The text before every line now; empty without `--timestamps`.
    pub(super) fn stamp(&self) -> String {
        self.format.as_deref().map(stamp::now).unwrap_or_default()
    }

    /// Writes whole lines and flushes them at once: that is the effect of `--forceflush`.
    pub(super) fn write(&mut self, text: &str) {
        if self.broken.is_some() || text.is_empty() {
            return;
        }
        // A server's output, and its version, come from an untrusted peer.
        let text = harmless::text(text);
        let written = match &mut self.log {
            Some((_, file)) => file.write_all(text.as_bytes()),
            None => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
            }
        };
        self.broken = written.err();
    }

    /// Prints an error: on standard error, or among the lines of the log file.
    pub(super) fn error(&mut self, sentence: &str) {
        let line = format!("{}iperf3: {sentence}\n", self.stamp());
        if self.log.is_some() {
            self.write(&line);
        } else {
            // Standard error may be closed: the exit code reports the error too.
            let _ = io::stderr().write_all(harmless::text(&line).as_bytes());
        }
    }

    /// Do errors stand among the other lines?
    pub(super) fn is_log(&self) -> bool {
        self.log.is_some()
    }

    /// The reason why not everything was written: a full disk, no permission. A closed pipe (`| head`) is no failure.
    pub(super) fn failure(&self) -> Option<String> {
        let error = self.broken.as_ref().filter(|error| error.kind() != ErrorKind::BrokenPipe)?;
        let name = self.log.as_ref().map_or("standard output".into(), |(path, _)| path.display().to_string());
        Some(format!("error - unable to write {name}: {error}"))
    }
}
