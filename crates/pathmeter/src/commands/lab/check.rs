//! `pathmeter lab check`: topology files read, and nothing built.

use crate::commands::output::deliver;
use crate::exit::Exit;
use cli::{Common, LabCheckArgs};
use engine::error::{Failure, Result};
use lab::feature::Host;
use lab::shipped::find;
use lab_run::catalogue::lacking;

/// Reads each file. Every one is reported before the first bad one ends the program.
pub(crate) fn run(args: &LabCheckArgs, global: &Common) -> Result<Exit> {
    lab::privilege::gain().ok();
    let mut host = Host::default();
    let mut text = String::new();
    let mut faults = Vec::new();
    for name in &args.topologies {
        match find(name) {
            Ok(topology) => {
                let lacks = host.lacks(&topology);
                let here = match lacks.as_slice() {
                    [] => "can be built here".to_owned(),
                    lacks => lacking(lacks.iter().map(|lack| (lack.needs.as_str(), lack.in_vm))),
                };
                text.push_str(&format!("{name}: {}: {here}\n", topology.title));
            }
            Err(error) => faults.push(error.to_string()),
        }
    }
    deliver(global, text.as_bytes())?;
    if faults.is_empty() {
        return Ok(Exit::Done);
    }
    Err(Failure::usage(
        faults.join("\n"),
        "docs/lab.md has the form of the file; `pathmeter lab show NAME --file` an example",
    )
    .into())
}
