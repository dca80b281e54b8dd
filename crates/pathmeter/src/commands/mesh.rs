//! `pathmeter mesh`: the server of a mesh, its agents, and what is measured between them.

mod agents;
mod doctor;
#[cfg(feature = "store")]
mod kept;
mod measure;
mod server;

use super::output::{deliver, write};
use crate::exit::Exit;
use cli::{Common, MeshCommand, MeshForgetArgs, MeshFreeArgs, MeshShowArgs, NatsArgs};
use engine::error::{Context, Error, Failure, Kind, Result};
use fleet::FleetError;
use fleet::broker::nats::{Authority, Nats, NatsOptions, Reactor};
use fleet::clock::SystemClock;
use fleet::results::Results;
use fleet::setup::{COORDINATOR, JoinFile, seed};
use mesh::matrix::report_of_results;
use mesh::roster::Roster;
use mesh::runs::RunList;
use model::mesh::{CellState, MeshReport};
use std::path::{Path, PathBuf};

/// Runs the command.
pub(crate) fn run(command: &MeshCommand, global: &Common) -> Result<Exit> {
    match command {
        MeshCommand::Init(args) => server::init(args, global),
        MeshCommand::Up(args) => server::up(args),
        MeshCommand::Renew(args) => server::renew(args, global),
        MeshCommand::Doctor(args) => doctor::run(args, global),
        MeshCommand::Run(args) => measure::run(args, global),
        MeshCommand::Show(args) => show(args, global),
        MeshCommand::Forget(args) => forget(args),
        MeshCommand::Free(args) => free(args, global),
        MeshCommand::Agent(args) => agents::run(args, global),
    }
}

/// Takes a lease from those who hold it.
fn free(args: &MeshFreeArgs, global: &Common) -> Result<Exit> {
    let nats = connect(&args.nats, COORDINATOR)?;
    let freed = mesh::leases::free(&nats, &SystemClock, &args.lease, &args.reason).map_err(failed)?;
    let text = format!("{} is free; it was held by {}\n", freed.lease, freed.holders.join(", "));
    deliver(global, text.as_bytes())
}

fn forget(args: &MeshForgetArgs) -> Result<Exit> {
    let nats = connect(&args.nats, COORDINATOR)?;
    args.agents.iter().try_for_each(|name| mesh::inventory::forget(&nats, name)).map_err(failed)?;
    Ok(Exit::Done)
}

fn show(args: &MeshShowArgs, global: &Common) -> Result<Exit> {
    if let Some(file) = &args.results {
        return show_results(file, args, global);
    }
    #[cfg(feature = "store")]
    if let Some(label) = &args.saved {
        return print(&kept::report(label, &args.store)?, global);
    }
    let (coordinator, join) = (args.coordinator.clone(), args.join.clone());
    let args = NatsArgs { coordinator, join, key: args.key.clone(), ca: args.ca.clone() };
    let nats = connect(&args, COORDINATOR)?;
    // A new server has none.
    streams(&nats, None).map_err(failed)?;
    write(&[&Roster::read(&nats, &SystemClock).map_err(failed)?], global)
}

/// The mesh that was measured last, or the one that is named; with `--runs` every run, of all meshes unless one is named.
fn show_results(file: &Path, args: &MeshShowArgs, global: &Common) -> Result<Exit> {
    let results = Results::read(file).map_err(failed)?;
    let mut meshes: Vec<String> = results.meshes.values().cloned().collect();
    meshes.sort_unstable();
    meshes.dedup();
    if let Some(name) = args.name.as_ref().filter(|name| !meshes.contains(name)) {
        let what = format!("{} has no mesh `{name}`", file.display());
        return Err(Failure::usage(what, format!("it has {}", meshes.join(", "))).into());
    }
    let name = file.display().to_string();
    if args.runs {
        let results = if args.name.is_some() { results.of_mesh(args.name.as_deref()) } else { results };
        return write(&[&RunList::from_results(&name, &results)], global);
    }
    let shown = args.name.as_ref().unwrap_or(&results.mesh);
    let notes = match meshes.len() {
        0 | 1 => Vec::new(),
        _ => vec![format!("The file has {}; this is {shown} (--name shows another).", meshes.join(", "))],
    };
    let results = results.of_mesh(args.name.as_deref());
    print(&report_of_results(&name, &results, notes), global)
}

/// Writes the matrix. A path that could not be reached comes before one of which nothing is known.
fn print(report: &MeshReport, global: &Common) -> Result<Exit> {
    write(&[report], global)?;
    Ok(match report.in_state(CellState::Failed).next() {
        Some(_) => Exit::Unreachable,
        None if report.is_void() => Exit::Void,
        None if report.cells.iter().all(|cell| cell.state == CellState::Done) => Exit::Done,
        None => Exit::Void,
    })
}

/// Makes the streams that are missing, and sets the number of replicas of all of them, if requested.
fn streams(nats: &Nats, replicas: Option<usize>) -> fleet::Result<()> {
    nats.make_streams(replicas.unwrap_or(1))?;
    replicas.map_or(Ok(()), |replicas| nats.set_replicas(replicas))
}

/// Connects as somebody.
pub(crate) fn connect(args: &NatsArgs, name: &str) -> Result<Nats> {
    dial(&options(args, name)?)
}

/// The servers to connect to and the identity to use: the key and the authority are read.
pub(crate) fn options(args: &NatsArgs, name: &str) -> Result<NatsOptions> {
    options_of(args, join(args)?.as_ref(), name)
}

/// The file that has all that this end needs.
pub(crate) fn join(args: &NatsArgs) -> Result<Option<JoinFile>> {
    let read = |file: &PathBuf| {
        let bytes = engine::session::secret::read(file).context("the file of --join")?;
        JoinFile::parse(file, &bytes).map_err(failed)
    };
    args.join.as_ref().map(read).transpose()
}

/// The same, with that file. Options beside it count more.
pub(crate) fn options_of(args: &NatsArgs, join: Option<&JoinFile>, name: &str) -> Result<NatsOptions> {
    let read = |file: &PathBuf| {
        let bytes = engine::session::secret::read(file).context("the key")?;
        seed(file, &bytes).map_err(failed)
    };
    let server = args.coordinator.clone().or_else(|| join?.coordinator.clone());
    let server = server.ok_or_else(|| {
        let advice =
            "name it: --coordinator tls://HOST:4222; `mesh init --server HOST` writes it into such files";
        Failure::usage("the file of --join does not name the server", advice)
    })?;
    let authority = match (&args.ca, join.and_then(|join| join.authority.as_ref())) {
        (Some(file), _) => Some(Authority::read(file)),
        (None, Some(text)) => {
            Some(Authority::parse(args.join.as_deref().unwrap_or(Path::new("")), text.as_bytes()))
        }
        (None, None) => None,
    };
    let key = args.key.as_ref().map(read).transpose()?;
    Ok(NatsOptions {
        server,
        name: name.to_owned(),
        seed: key.or_else(|| join.map(|join| join.key.clone())),
        authority: authority.transpose().map_err(failed)?,
        ..NatsOptions::default()
    })
}

/// Connects, by a thread of its own.
pub(crate) fn dial(options: &NatsOptions) -> Result<Nats> {
    Nats::connect(&Reactor::start().map_err(failed)?, options).map_err(failed)
}

/// An error of the fleet, as one of this program.
pub(crate) fn failed(error: FleetError) -> Error {
    let kind = match &error {
        FleetError::Unreachable { .. }
        | FleetError::TooOld { .. }
        | FleetError::Certificate { .. }
        | FleetError::NoKey(_)
        | FleetError::KeyRefused { .. }
        | FleetError::NotPermitted { .. }
        | FleetError::NoStream { .. }
        | FleetError::NoJetStream(_)
        | FleetError::NoResponder(_)
        | FleetError::TimedOut { .. }
        | FleetError::Refused { .. }
        | FleetError::Server { .. } => Kind::Unreachable,
        _ => Kind::Usage,
    };
    Failure { kind, message: error.to_string(), advice: Some(error.advice().to_owned()) }.into()
}
