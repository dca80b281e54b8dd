//! `pathmeter mesh`: the server of a mesh, its agents, and what is measured between them.

mod doctor;
#[cfg(feature = "store")]
mod kept;
mod measure;
mod server;

use super::output::write;
use crate::exit::Exit;
use cli::{Common, MeshArgs, MeshCommand, MeshShowArgs, NatsArgs};
use engine::error::{Error, Failure, Kind, Result};
use fleet::FleetError;
use fleet::broker::nats::{Nats, NatsOptions, Reactor};
use fleet::broker::{Broker, Bucket};
use fleet::results::Results;
use fleet::setup::{COORDINATOR, read_seed};
use mesh::matrix::report_of_results;
use model::mesh::{CellState, MeshReport};
use serde_json::Value;
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
        let name = file.display().to_string();
        return print(&report_of_results(&name, &results, Vec::new()), global);
    }
    #[cfg(feature = "store")]
    if let Some(label) = &args.saved {
        return print(&kept::report(label, &args.store)?, global);
    }
    let coordinator = args.coordinator.clone().unwrap_or_default();
    let nats = connect(&NatsArgs { coordinator, key: args.key.clone(), ca: args.ca.clone() }, COORDINATOR)?;
    let agents = agents(&nats)?;
    let mut text = format!("{:<20} {:<8} {:<24} {}\n", "agent", "listens", "address", "version");
    for (name, report) in &agents {
        let listens = if report["listens"].as_bool() == Some(true) { "yes" } else { "no" };
        let field = |key: &str| report[key].as_str().unwrap_or("-").to_owned();
        text += &format!("{name:<20} {listens:<8} {:<24} {}\n", field("address"), field("version"));
    }
    super::output::deliver(global, report::harmless::text(&text).as_bytes())?;
    Ok(Exit::Done)
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

/// The agents that are there, with what they report of themselves.
fn agents(nats: &Nats) -> Result<Vec<(String, Value)>> {
    let names = nats.keys(Bucket::Agents).map_err(failed)?;
    let mut agents = Vec::new();
    for name in names {
        // One may vanish meanwhile.
        if let Some(entry) = nats.get(Bucket::Agents, &name).map_err(failed)? {
            agents.push((name, serde_json::from_slice(&entry.value).unwrap_or_default()));
        }
    }
    Ok(agents)
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
