//! Where the lines go: standard output and standard error, or the file of `--logfile`.

use super::stamp;
use crate::iperf3::Both;
use crate::out;
use report::harmless;
use std::io::Write;

/// The output of a client or of a server.
#[derive(Debug)]
pub(super) struct Out {
    out: out::Out,
    format: Option<String>,
}

impl Out {
    /// Opens the log file, where there is one; what it holds stays.
    ///
    /// # Errors
    /// A sentence for the user.
    pub(super) fn open(both: &Both) -> Result<Out, String> {
        let opened = out::Out::open(both.logfile.as_deref());
        let out = opened.map_err(|failure| format!("unable to open log file: {failure}"))?;
        Ok(Out { out, format: both.timestamps.clone() })
    }

    /// The text before every line now; empty without `--timestamps`.
    pub(super) fn stamp(&self) -> String {
        self.format.as_deref().map(stamp::now).unwrap_or_default()
    }

    /// Writes whole lines and flushes them at once: that is the effect of `--forceflush`. A server's output, and its version, come
    /// from an untrusted peer.
    pub(super) fn write(&mut self, text: &str) {
        self.out.write(&harmless::text(text));
    }

    /// Prints an error: on standard error, or among the lines of the log file.
    pub(super) fn error(&mut self, sentence: &str) {
        let line = format!("{}iperf3: {sentence}\n", self.stamp());
        if self.is_log() {
            self.write(&line);
        } else {
            // Standard error may be closed: the exit code reports the error too.
            let _ = std::io::stderr().write_all(harmless::text(&line).as_bytes());
        }
    }

    /// Do errors stand among the other lines?
    pub(super) fn is_log(&self) -> bool {
        self.out.is_file()
    }

    /// The reason why not everything was written: a full disk, no permission.
    pub(super) fn failure(&self) -> Option<String> {
        self.out.failure().map(|failure| format!("error - unable to write {failure}"))
    }
}
