//! What is being done, and how long the rest takes at most, on standard error.

use super::plan::about;
use model::dut::{Progress, Test};
use model::units::Nanos;
use std::io::{IsTerminal, Write};

/// Tells how far a benchmark has come: one line that changes on a terminal, elsewhere one for each test and stream.
pub(super) struct Live {
    device: String,
    terminal: bool,
    last: Option<(String, Test)>,
}

impl Live {
    /// Of this device.
    pub(super) fn new(device: &str) -> Live {
        Live { device: device.to_owned(), terminal: std::io::stderr().is_terminal(), last: None }
    }

    /// This begins. `left`: at most, of all that is to be done.
    pub(super) fn tell(&mut self, progress: &Progress, left: Nanos) {
        let now = (progress.stream.clone(), progress.test);
        let left = about(left);
        if self.terminal {
            let line = format!("{}: {}  at most {left} left", self.device, words(progress));
            let width = linux::screen::columns().map_or(80, usize::from).saturating_sub(1);
            let line: String = line.chars().take(width).collect();
            // Progress is a courtesy: a closed standard error stops nothing.
            let _ = write!(std::io::stderr(), "{CLEAR}{line}");
        } else if self.last.as_ref() != Some(&now) {
            let Progress { stream, test, row, rows, .. } = progress;
            let line = format!("{row:>4}/{rows}  {}: {stream}, {test}; at most {left} left", self.device);
            let _ = writeln!(std::io::stderr(), "{line}");
        }
        self.last = Some(now);
    }

    /// A line that stays.
    pub(super) fn say(&self, line: &str) {
        let clear = if self.terminal { CLEAR } else { "" };
        let _ = writeln!(std::io::stderr(), "{clear}{}: {line}", self.device);
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "{CLEAR}");
        }
    }
}

/// `4/12 IPv4 512, throughput: trial 7 at 1.20 Mpps`, short enough for a terminal of 80 columns.
fn words(progress: &Progress) -> String {
    let Progress { stream, test, trial, row, rows, .. } = progress;
    match progress.load {
        Some(load) => format!("{row}/{rows} {stream}, {test}: trial {trial} at {load}"),
        None => format!("{row}/{rows} {stream}: as fast as can be"),
    }
}

/// A text on standard error.
pub(super) fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// To the begin of the line, and away with what stands there.
const CLEAR: &str = "\r\x1b[K";
