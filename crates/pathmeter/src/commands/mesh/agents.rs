//! `pathmeter mesh agent`: who has a key of a mesh that is there.

use super::failed;
use super::server::{reloaded, to_copy};
use crate::commands::output::deliver;
use crate::exit::Exit;
use cli::{Common, MeshAgentCommand, MeshAgentNames};
use engine::error::Result;
use fleet::setup::MeshFolder;
use std::path::{Path, absolute};

pub(super) fn run(command: &MeshAgentCommand, global: &Common) -> Result<Exit> {
    let text = match command {
        MeshAgentCommand::List(args) => {
            let mesh = open(&args.dir)?;
            mesh.agents().map(|name| format!("{name}\n")).collect()
        }
        MeshAgentCommand::Add(args) => change(args, |mesh, name| mesh.add(name), &with_file)?,
        MeshAgentCommand::Renew(args) => change(args, |mesh, name| mesh.renew(name), &with_file)?,
        MeshAgentCommand::Remove(args) => change(args, |mesh, name| mesh.remove(name), &|_, name| {
            format!("{name:<12} has no key any more; expect it no more: pathmeter mesh forget {name}\n")
        })?,
    };
    deliver(global, text.as_bytes())
}

fn open(dir: &Path) -> Result<MeshFolder> {
    MeshFolder::open(&absolute(dir)?).map_err(failed)
}

/// Makes a change for each agent, and returns its lines and that of the server.
fn change(
    args: &MeshAgentNames,
    make: impl Fn(&mut MeshFolder, &str) -> fleet::Result<()>,
    line: &dyn Fn(&MeshFolder, &str) -> String,
) -> Result<String> {
    let mut mesh = open(&args.dir)?;
    let mut text = String::new();
    for name in &args.agents {
        make(&mut mesh, name).map_err(failed)?;
        text += &line(&mesh, name);
    }
    Ok(text + &reloaded(&mesh)?)
}

fn with_file(mesh: &MeshFolder, name: &str) -> String {
    to_copy(name, &mesh.join_file(name).display().to_string())
}
