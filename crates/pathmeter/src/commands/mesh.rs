//! `pathmeter mesh`: the server of a mesh, its agents, and what is measured between them.

mod doctor;
mod job;
mod matrix;
mod measure;
mod server;

use crate::exit::Exit;
use cli::{Common, MeshArgs, MeshCommand, MeshShowArgs, NatsArgs};
use engine::error::{Error, Failure, Kind, Result};
use fleet::FleetError;
use fleet::broker::nats::{Nats, NatsOptions, Reactor};
use fleet::clock::SystemClock;
use fleet::results::Results;
use fleet::setup::{COORDINATOR, read_seed};
use mesh_run::Roster;
use std::path::PathBuf;

/// Runs the command.
pub(crate) fn run(args: &MeshArgs, global: &Common) -> Result<Exit> {
    match &args.command {
        MeshCommand::Init(args) => server::init(args, global),
        MeshCommand::Up(args) => server::up(args),
        MeshCommand::Doctor(args) => doctor::run(args, global),
        MeshCommand::Run(args) => measure::run(args, global),
        MeshCommand::Show(args) => show(args, global),
    }
}

fn show(args: &MeshShowArgs, global: &Common) -> Result<Exit> {
    if let Some(file) = &args.results {
        let results = Results::read(file).map_err(failed)?;
        return matrix::print(&results, global);
    }
    let coordinator = args.coordinator.clone().unwrap_or_default();
    let nats = connect(&NatsArgs { coordinator, key: args.key.clone(), ca: args.ca.clone() }, COORDINATOR)?;
    super::output::write(&[&Roster::of(&nats, &SystemClock).map_err(failed)?], global)?;
    Ok(Exit::Done)
}

/// Connects as somebody.
pub(crate) fn connect(args: &NatsArgs, name: &str) -> Result<Nats> {
    let seed = args.key.as_deref().map(read_seed).transpose().map_err(failed)?;
    let authority: Option<PathBuf> = args.ca.clone();
    let options = NatsOptions {
        server: args.coordinator.clone(),
        name: name.to_owned(),
        seed,
        authority,
        ..NatsOptions::default()
    };
    Nats::connect(&Reactor::start().map_err(failed)?, &options).map_err(failed)
}

/// An error of the fleet, as one of this program.
pub(crate) fn failed(error: FleetError) -> Error {
    let kind = match &error {
        FleetError::Unreachable { .. }
        | FleetError::TooOld { .. }
        | FleetError::KeyRefused { .. }
        | FleetError::NotPermitted { .. }
        | FleetError::NoStream { .. }
        | FleetError::NoResponder { .. }
        | FleetError::TimedOut { .. }
        | FleetError::Refused { .. }
        | FleetError::Server { .. } => Kind::Unreachable,
        _ => Kind::Usage,
    };
    Failure { kind, message: error.to_string(), advice: Some(error.advice().to_owned()) }.into()
}
