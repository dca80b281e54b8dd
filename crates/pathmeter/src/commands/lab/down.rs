//! `pathmeter lab down`: labs taken away.

use crate::exit::Exit;
use cli::{Common, LabDownArgs};
use engine::error::Result;
use lab::error::LabError;
use lab::hold::take_down;
use lab::state::{Directory, HeldLab};
use lab_run::refusal::failed;
use std::io::Write;

/// Takes them away. Every name is looked up before the first lab goes.
pub(crate) fn run(args: &LabDownArgs, _global: &Common) -> Result<Exit> {
    let directory = Directory::open().map_err(failed)?;
    let labs = directory.labs().map_err(failed)?;
    let chosen: Vec<&HeldLab> = match args.all {
        true => labs.iter().collect(),
        false => args.names.iter().map(|name| find(&labs, name)).collect::<Result<_, _>>().map_err(failed)?,
    };
    for lab in chosen {
        take_down(lab, &directory).map_err(failed)?;
        writeln!(std::io::stdout(), "{} is down", lab.name)?;
    }
    Ok(Exit::Done)
}

/// A lab that is being built may be taken away too, and what is left of a dead one.
fn find<'a>(labs: &'a [HeldLab], name: &str) -> Result<&'a HeldLab, LabError> {
    labs.iter().find(|lab| lab.name == name).ok_or_else(|| {
        let names: Vec<&str> = labs.iter().map(|lab| lab.name.as_str()).collect();
        LabError::NotUp(match names[..] {
            [] => format!("no lab named {name} is up, nor any other"),
            _ => format!("no lab named {name} is up; there is {}", names.join(", ")),
        })
    })
}
