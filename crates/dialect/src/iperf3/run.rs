//! `pathmeter iperf3`: iPerf3's command line and output on our engine and its protocol, as client and as server.

mod client;
mod console;
mod daemon;
mod out;
mod pidfile;
mod printer;
mod server;
mod session;
mod stamp;
mod words;

pub use printer::text_report;

use super::{Request, help_text, parse, version_text};
use crate::{DONE, Interrupts};
use engine::error::Result;
use std::ffi::OsString;
use std::io::Write;

/// Runs the command. It ends as iPerf3 ends: 0, or 1 after an error told as iPerf3 tells it.
///
/// # Errors
/// Standard output cannot be written to.
pub fn run(words: &[OsString], stop: Interrupts) -> Result<u8> {
    let request = match parse(words) {
        Ok(request) => request,
        Err(fault) => {
            // Standard error may be closed: the exit code says it too.
            let _ = write!(std::io::stderr(), "{fault}");
            return Ok(FAILED);
        }
    };
    match request {
        Request::Help => show(&help_text()),
        Request::Version => show(&version_text()),
        Request::Client(line) => Ok(client::run(&line, stop)),
        Request::Server(line) => Ok(server::run(&line, words, stop)),
    }
}

fn show(text: &str) -> Result<u8> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(DONE),
    }
}

/// Every error of iPerf3.
const FAILED: u8 = 1;
