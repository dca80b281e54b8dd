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

pub(crate) use printer::text_report;

use crate::cli::{Common, Iperf3Args};
use crate::dialect::iperf3::{Request, help_text, parse, version_text};
use crate::exit::Exit;
use std::io::Write;

/// Runs the command. It ends as iPerf3 ends: 0, or 1 after an error told as iPerf3 tells it.
pub(crate) fn run(args: &Iperf3Args, _global: &Common) -> anyhow::Result<Exit> {
    let request = match parse(&args.args) {
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
        Request::Client(line) => Ok(client::run(&line)),
        Request::Server(line) => Ok(server::run(&line, &args.args)),
    }
}

fn show(text: &str) -> anyhow::Result<Exit> {
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(Exit::Done),
    }
}

/// Every error of iPerf3.
const FAILED: Exit = Exit::Dialect(1);
