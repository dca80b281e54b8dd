//! Pairs that start at the same time, as one measurement.

use super::{coordinate, id, miss};
use crate::commands::mesh::failed;
use crate::commands::session::conclude;
use crate::exit::Exit;
use cli::Common;
use engine::error::Result;
use engine::host::interrupt::Interrupt;
use fleet::broker::nats::Nats;
use fleet::clock::SystemClock;
use fleet::coordinator::Coordinator;
use fleet::mesh::MeshPlan;
use fleet::results::InMemory;
use mesh::expected::Expected;
use mesh::job::check;
use mesh::roll::Roll;
use mesh::together::document;
use model::run::Run;

/// The pairs, and who measures them.
pub(super) struct Pairs<'a> {
    #[cfg(feature = "store")]
    pub(super) args: &'a cli::MeshRunArgs,
    pub(super) nats: &'a Nats,
    pub(super) roll: &'a Roll,
    #[cfg(feature = "store")]
    pub(super) asked: &'a mesh::rounds::MeshRequest,
    pub(super) interrupt: &'a Interrupt,
}

impl Pairs<'_> {
    /// Measures them, keeps the run where requested, and writes it.
    pub(super) fn run(&self, plan: MeshPlan, expected: &[Expected], global: &Common) -> Result<Exit> {
        let mut run = self.keep(self.measure(plan)?)?;
        let expected: Vec<_> = expected.iter().map(|one| one.written.clone()).collect();
        conclude(&mut run, None, false, &expected, global)
    }

    fn measure(&self, plan: MeshPlan) -> Result<Run> {
        let group = plan.rounds.concat();
        let results = InMemory::default();
        let mut sink = results.clone();
        if !self.roll.absent.is_empty() {
            // They start together or not at all.
            for run in &group {
                miss(&mut sink, run, self.roll.why_not(run).unwrap_or(NOT_ALL))?;
            }
            return document(&group, None, &results.all());
        }
        let coordinator = Coordinator::new(id(), self.nats, &SystemClock, plan, (&mut sink, check));
        let mut coordinator = coordinator.map_err(failed)?;
        coordinate(&mut coordinator, self.interrupt, &mut |_| {})?;
        let started = group.first().and_then(|run| coordinator.started(&run.job.group)).cloned();
        coordinator.resign().map_err(failed)?;
        document(&group, started.as_ref(), &results.all())
    }

    /// A change is measured again before an alert is sent; the last run is the result.
    #[cfg(feature = "store")]
    fn keep(&self, run: Run) -> Result<Run> {
        let group = crate::commands::mesh::kept::Group::from_args(self.args, &self.asked.pairs)?;
        let Some(group) = group.filter(|_| !self.interrupt.is_raised()) else { return Ok(run) };
        let (mut run, mut attempt) = (run, 1);
        while group.keep(&run, attempt)? {
            let again = mesh::rounds::plan(&engine::run::run_id()?, &self.roll.reports, self.asked);
            run = self.measure(again.map_err(super::asked::refused)?.plan)?;
            if self.interrupt.is_raised() {
                return Ok(run);
            }
            attempt += 1;
        }
        group.notify(&run)?;
        Ok(run)
    }

    #[cfg(not(feature = "store"))]
    fn keep(&self, run: Run) -> Result<Run> {
        Ok(run)
    }
}

/// Why a pair whose agents are there was not measured.
const NOT_ALL: &str = "it was not started: an agent of another pair is not there";
