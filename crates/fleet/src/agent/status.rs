//! How an agent stands: what it reports of itself beside its inventory.

use super::Agent;
use super::work::Active;
use model::agent::{AgentStatus, SpoolStatus, WaitingRun};

impl Agent<'_> {
    /// How it stands now.
    #[must_use]
    pub fn status(&self) -> AgentStatus {
        let active = self.active.iter().map(|active| &active.job);
        let runs = active.chain(self.prepared.iter().map(|prepared| &prepared.job));
        let (failed_at, last_failure) = self.last_failure.clone().unzip();
        AgentStatus {
            clock: Some(self.context.clock.wall()),
            runs: runs.map(|job| job.run.clone()).collect(),
            waiting: self.active.iter().filter_map(waiting).collect(),
            spool: SpoolStatus {
                pending: self.spool.pending().len(),
                room_bytes: self.spool.room(),
                damage: self.spool.damage().map(str::to_owned),
            },
            failure: self.failure.clone(),
            last_failure,
            failed_at,
            last_end: self.last_end,
            has_name: self.has_name(),
        }
    }
}

fn waiting(active: &Active) -> Option<WaitingRun> {
    let (why, since) = active.waits_for()?;
    let needs = active.job.resources.iter().map(|resource| resource.name.clone()).collect();
    Some(WaitingRun { title: active.job.title.clone(), needs, why: why.to_owned(), since })
}
