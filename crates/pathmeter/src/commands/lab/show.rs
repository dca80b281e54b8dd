//! `pathmeter lab show`: a topology drawn, and what a measurement must find in it.

use crate::commands::output::{deliver, write};
use crate::exit::Exit;
use cli::{Common, LabShowArgs};
use engine::error::{Failure, Result};
use lab::feature::Host;
use lab::shipped::{FindError, find, text_of};
use lab_run::catalogue::Shown;
use report::document::Document;

/// Prints each topology.
pub(crate) fn run(args: &LabShowArgs, global: &Common) -> Result<Exit> {
    let refused =
        |error: FindError| Failure::usage(error.to_string(), "docs/lab.md has the form of the file");
    if args.file {
        let texts: Result<Vec<String>, _> =
            args.topologies.iter().map(|name| text_of(name).map_err(refused)).collect();
        return deliver(global, texts?.join("\n").as_bytes());
    }
    lab::privilege::gain().ok();
    let mut host = Host::default();
    let show = |name: &String| -> Result<Shown> {
        let topology = find(name).map_err(refused)?;
        let lacks = host.lacks(&topology);
        Ok(Shown { asked: name.clone(), topology, lacks })
    };
    let shown: Vec<Shown> = args.topologies.iter().map(show).collect::<Result<_>>()?;
    let documents: Vec<&dyn Document> = shown.iter().map(|one| one as &dyn Document).collect();
    write(&documents, global)
}
