//! `pathmeter lab up`: a topology built and kept, by a process of its own.

use crate::exit::Exit;
use cli::exit::kind;
use cli::{Common, LabUpArgs};
use engine::error::{Error, Failure, Result, fault};
use lab::hold::Held;
use lab::privilege::gain_and_enclose;
use lab::shipped::find;
use lab::state::Directory;
use lab::topology::Topology;
use lab_run::refusal::failed;
use linux::process::{Detached, detach};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::{self, BufRead, BufReader, PipeReader, Write};

/// Splits off the process that builds the lab and holds it, and prints its result.
pub(crate) fn run(args: &LabUpArgs, _global: &Common) -> Result<Exit> {
    let topology = find(&args.topology)
        .map_err(|error| Failure::usage(error.to_string(), "docs/lab.md has the form of the file"))?;
    let name = args.name.as_ref().unwrap_or(&topology.name);
    // Before the rights change: the directory is the calling user's.
    let directory = Directory::open().map_err(failed)?;
    match detach()? {
        Detached::Parent(answer) => report_machine(name, &topology, answer),
        Detached::Child(mut answer) => {
            let held = match hold(name, &topology, directory) {
                Ok(held) => held,
                Err(error) => return refuse(&error, &mut answer),
            };
            let ready = Answer::Ready { notes: held.0.lab().notes().to_vec() };
            wait(held, &ready, answer)
        }
    }
}

/// The report of the process that holds a lab, on one line.
#[derive(Debug, Serialize, Deserialize)]
enum Answer {
    Ready { notes: Vec<String> },
    Refused { exit: u8, message: String, advice: Option<String> },
}

fn hold(name: &str, topology: &Topology, directory: Directory) -> Result<(Held, Signals)> {
    gain_and_enclose().map_err(lab_run::refusal::unprivileged)?;
    // From here on a requested end is an orderly one.
    let signals = Signals::new([SIGINT, SIGTERM, SIGHUP])?;
    let held = Held::build(name, topology, directory).map_err(failed)?;
    Ok((held, signals))
}

/// Holds the lab until a signal comes; not at all when the parent process does not receive that it is ready.
fn wait((held, mut signals): (Held, Signals), ready: &Answer, mut answer: impl Write) -> Result<Exit> {
    if say(ready, &mut answer).is_ok() {
        drop(answer);
        signals.forever().next();
    }
    held.take_down().map_err(failed)?;
    Ok(Exit::Done)
}

fn refuse(error: &Error, answer: &mut impl Write) -> Result<Exit> {
    let advice = error.advice().map(Into::into);
    let exit = Exit::from_error(error);
    say(&Answer::Refused { exit: exit.code(), message: format!("{error:#}"), advice }, answer)?;
    Ok(exit)
}

fn say(answer: &Answer, to: &mut impl Write) -> Result<()> {
    let line = serde_json::to_string(answer).map_err(io::Error::from)? + "\n";
    Ok(to.write_all(line.as_bytes())?)
}

fn report_machine(name: &str, topology: &Topology, answer: PipeReader) -> Result<Exit> {
    let mut line = String::new();
    BufReader::new(answer).read_line(&mut line)?;
    let answer =
        serde_json::from_str(&line).map_err(|_| fault("the process that builds the lab was killed"))?;
    match answer {
        Answer::Ready { notes } => {
            let mut err = std::io::stderr();
            for note in notes {
                writeln!(err, "note: {note}")?;
            }
            let mut out = std::io::stdout();
            writeln!(
                out,
                "{name} is up: try `pathmeter lab exec --lab {name} {} -- ip address`",
                topology.from
            )?;
            writeln!(out, "It stays until `pathmeter lab down {name}`.")?;
            Ok(Exit::Done)
        }
        Answer::Refused { exit, message, advice } => {
            Err(Failure { kind: kind(exit), message, advice }.into())
        }
    }
}
