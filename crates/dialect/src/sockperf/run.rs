//! `pathmeter sockperf`: SockPerf's command line and output on our engine and its protocol, as client and as server.

mod client;
mod end;
mod plan;
mod records;
mod server;

use super::{Both, Places, Request, Role, SocketSpec, SockperfJob, feed, help_text, parse, version_text};
use crate::{Process, daemon};
use std::ffi::OsString;
use std::fmt::Display;
use std::io::Write;

use end::{End, Stepped};

/// Runs the command with the words after `sockperf`. It ends with sockperf's numbers: 0, or that of the fault.
#[must_use]
pub fn run(args: &[OsString], process: Process) -> u8 {
    let request = match parse(args) {
        Ok(request) => request,
        Err(fault) => {
            // Standard error may be closed: the exit code reports the error too.
            let _ = write!(std::io::stderr(), "{fault}");
            return fault.code;
        }
    };
    end::exit(match request {
        Request::Help(command) => say(&help_text(command)),
        Request::Version => say(&version_text()),
        Request::Run(job, notes) => {
            notes.iter().for_each(|line| note(line));
            start(&job, args, process)
        }
    })
}

fn start(job: &SockperfJob, args: &[OsString], process: Process) -> Stepped<()> {
    if job.both.daemon && !daemon::is_detached() {
        return daemon::start("sockperf", args).map_err(no_daemon);
    }
    if daemon::is_detached() {
        linux::screen::leave_terminal().map_err(no_daemon)?;
    }
    let places = places(&job.both, matches!(job.role, Role::Client(_)))?;
    match &job.role {
        Role::Client(client) => client::run(&job.both, client, &places, process),
        Role::Server(server) => server::run(&job.both, server, &places, process),
    }
}

fn no_daemon(error: impl Display) -> End {
    End::fatal(format!("Daemonize failed: {error}"))
}

/// The sockets, a feed file's among them.
fn places(both: &Both, client: bool) -> Stepped<Vec<SocketSpec>> {
    match &both.places {
        Places::One(place) => Ok(vec![place.clone()]),
        Places::Feed(file) => {
            let text = std::fs::read_to_string(file)
                .map_err(|error| End::missing(format!("Can't open file: {}: {error}", file.display())))?;
            feed(&text, client)
                .map_err(|error| End::with_code(error.code(), format!("{}: {error}", file.display())))
        }
    }
}

/// For standard output, at once: scripts read it line by line. A reader that has gone is no fault.
fn say(text: &str) -> Stepped<()> {
    crate::out::print(text).map_err(|failure| End::bad(format!("write to {failure}")))
}

/// For standard error.
fn note(line: &str) {
    let _ = writeln!(std::io::stderr(), "sockperf: {line}");
}
