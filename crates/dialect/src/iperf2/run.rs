//! `pathmeter iperf`: iPerf2's command line and output on our engine and its protocol, as client and as server.

mod bounceback;
mod client;
mod facts;
mod out;
mod server;

use super::{CommandLine, Request, help_text, parse, refusal, version_text};
use crate::iperf2::output::Zone;
use crate::{DONE, Process, daemon};
use jiff::Zoned;
use std::ffi::OsString;
use std::io::Write;

/// Runs the command with the words after `iperf`. It ends with 0, or with 1 after an error printed on standard error: iPerf2
/// itself ends with 0 after many of its errors, which no script can use.
#[must_use]
pub fn run(remarks: &[OsString], process: Process) -> u8 {
    let request = match parse(remarks) {
        Ok(request) => request,
        Err(fault) => {
            // Standard error may be closed: the exit code reports the error too.
            let _ = write!(std::io::stderr(), "{}", refusal(&fault));
            return FAILED;
        }
    };
    let done = match request {
        Request::Help => show(&help_text()),
        Request::Version => show(&version_text()),
        Request::Client(line) => {
            warned(&line);
            match line.client.bounceback {
                Some(asked) => bounceback::run(&line, asked, process),
                None => client::run(&line, process),
            }
        }
        Request::Server(line) => serve(&line, remarks, process),
    };
    match done {
        Ok(()) => DONE,
        Err(sentence) => {
            complain(&sentence);
            FAILED
        }
    }
}

fn serve(line: &CommandLine, remarks: &[OsString], process: Process) -> Result<(), String> {
    warned(line);
    if line.server.daemon && !daemon::is_detached() {
        // Errors are detected here, where the user sees them.
        drop(server::listen(line)?);
        return daemon::start("iperf", remarks)
            .map_err(|error| format!("unable to become a daemon: {error}"));
    }
    if daemon::is_detached() {
        linux::screen::leave_terminal().map_err(|error| format!("unable to become a daemon: {error}"))?;
    }
    server::run(line, process)
}

fn show(text: &str) -> Result<(), String> {
    crate::out::print(text).map_err(|failure| format!("write to {failure}"))
}

fn warned(line: &CommandLine) {
    line.warnings.iter().for_each(|warning| complain(warning));
}

/// A line on standard error; it may be closed.
fn complain(sentence: &str) {
    let _ = writeln!(std::io::stderr(), "{sentence}");
}

/// The zone in which times of day are printed: that of the host's clock now.
fn zone(line: &CommandLine) -> Zone {
    if line.both.utc {
        return Zone::default();
    }
    let now = Zoned::now();
    Zone { offset: now.offset().seconds(), name: now.strftime("%Z").to_string() }
}

/// Every error.
const FAILED: u8 = 1;
