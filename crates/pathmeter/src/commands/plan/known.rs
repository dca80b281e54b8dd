//! Names that plans may use and their files do not define: hosts of the configuration, and the agents of a mesh.

use crate::commands::file_kind::is_no_topology;
use crate::commands::targets::named;
use cli::{PlanFileArgs, PlanKnownArgs};
use engine::error::{Failure, Result};
use experiment::{Known, Moment, Options, Plan};
use model::experiment::Experiment;
use std::path::Path;

/// The plan of a command line, made shorter where that asks for it.
pub(super) fn plan(args: &PlanFileArgs) -> Result<Plan> {
    let plan = read(&args.file, &args.known, &named(&args.known.targets)?)?;
    Ok(plan.with(args.time, args.runs))
}

/// Reads a file. One that names agents is held against those that are there, where a server is given that knows them.
pub(super) fn read(file: &Path, args: &PlanKnownArgs, known: &Known) -> Result<Plan> {
    is_no_topology(file)?;
    let read = |known: &Known| Plan::read(file, known).map_err(|error| faulty(error.to_string()));
    let plan = read(known)?;
    match plan.has_agents() {
        true => Ok(read(&with_agents(args, known)?)?),
        false => Ok(plan),
    }
}

pub(super) fn faulty(faults: String) -> Failure {
    Failure::usage(faults, "docs/plans.md has the form of the file, examples/plans/ has plans to begin with")
}

#[cfg(not(feature = "fleet"))]
fn with_agents(_: &PlanKnownArgs, known: &Known) -> Result<Known> {
    Ok(known.clone())
}

/// Carries a plan out, with the agents that it names.
#[cfg(not(feature = "fleet"))]
pub(super) fn run(
    plan: &Plan,
    _: &PlanFileArgs,
    options: &mut Options,
    watch: &mut (dyn FnMut(Moment<'_>) -> Result<()> + Send),
) -> Result<Experiment> {
    experiment::run(plan, options, None, watch)
}

#[cfg(feature = "fleet")]
pub(super) use fleet::{run, with_agents};

#[cfg(feature = "fleet")]
mod fleet {
    use super::{Experiment, Known, Moment, Options, Plan, PlanFileArgs, PlanKnownArgs, Result};
    use crate::commands::mesh::{connect, failed};
    use ::fleet::broker::nats::Nats;
    use ::fleet::clock::SystemClock;
    use ::fleet::results::InMemory;
    use ::fleet::setup::COORDINATOR;
    use cli::NatsArgs;
    use engine::run::run_id;
    use mesh::errand::Errands;
    use mesh::inventory::known_agents;

    /// With the agents that are there; without a server none is known, and any name is one.
    pub(in super::super) fn with_agents(args: &PlanKnownArgs, known: &Known) -> Result<Known> {
        let Some(nats) = server(args)? else { return Ok(known.clone()) };
        let agents = known_agents(&nats).map_err(failed)?;
        Ok(Known { agents: Some(agents), ..known.clone() })
    }

    /// Carries a plan out, with the agents that it names.
    pub(in super::super) fn run(
        plan: &Plan,
        args: &PlanFileArgs,
        options: &mut Options,
        watch: &mut (dyn FnMut(Moment<'_>) -> Result<()> + Send),
    ) -> Result<Experiment> {
        let Some(nats) = server(&args.known)?.filter(|_| plan.has_agents()) else {
            return experiment::run(plan, options, None, watch);
        };
        nats.make_streams(1).map_err(failed)?;
        let results = InMemory::default();
        let mut sink = results.clone();
        let errands = Errands::new(run_id()?, &nats, &SystemClock, (&mut sink, results), (plan, args.time));
        let mut errands = errands.map_err(failed)?;
        let ended = experiment::run(plan, options, Some(&mut errands), watch);
        errands.resign().map_err(failed)?;
        ended
    }

    fn server(args: &PlanKnownArgs) -> Result<Option<Nats>> {
        let Some(coordinator) = args.coordinator.clone() else { return Ok(None) };
        let (key, ca) = (args.key.clone(), args.ca.clone());
        let nats = NatsArgs { coordinator: Some(coordinator), join: None, key, ca };
        connect(&nats, COORDINATOR).map(Some)
    }
}
