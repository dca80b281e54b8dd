//! `pathmeter iperf3`: iPerf3's command line and output on our engine and its protocol, as client and as server.

mod client;
mod console;
mod messages;
mod out;
mod pidfile;
mod printer;
mod server;
mod session;
mod stamp;

pub use printer::text_report;

use super::{CommandLine, Request, help_text, parse, refusal, version_text};
use crate::{DONE, Process};
use engine::request::preflight;
use model::event::Event;
use report::harmless;
use std::ffi::OsString;
use std::io::Write;

/// Runs the command. It ends as iPerf3 ends: 0, or 1 after an error, which is printed in iPerf3's form.
#[must_use]
pub fn run(args: &[OsString], process: Process) -> u8 {
    let request = match parse(args) {
        Ok(request) => request,
        Err(fault) => {
            // Standard error may be closed: the exit code reports the error too.
            let _ = write!(std::io::stderr(), "{}", refusal(&fault));
            return FAILED;
        }
    };
    match request {
        Request::Help => show(&help_text()),
        Request::Version => show(&version_text()),
        Request::Client(line) => client::run(&line, process),
        Request::Server(line) => server::run(&line, args, process),
    }
}

fn show(text: &str) -> u8 {
    match crate::out::print(text) {
        Err(failure) => {
            // Standard error may be closed, too.
            let _ = writeln!(std::io::stderr(), "iperf3: error - unable to write {failure}");
            FAILED
        }
        Ok(()) => DONE,
    }
}

/// A CPU of `-A` on which nothing of this process may run, in iPerf3's words.
fn no_such_cpu(line: &CommandLine) -> Option<&'static str> {
    let refused = preflight::cpus(&line.both.local.affinity).is_err();
    refused.then_some("unable to set CPU affinity: Invalid argument")
}

/// `-d`: prints the engine's events of a test on standard error, as lines of JSON. Intervals are printed anyway.
fn debug(asked: bool, event: &Event) {
    if !asked || matches!(event, Event::Sample(_)) {
        return;
    }
    let event = serde_json::to_string(event).unwrap_or_default();
    let _ = writeln!(std::io::stderr(), "debug: {}", harmless::json(&event));
}

/// Every error of iPerf3.
const FAILED: u8 = 1;
