//! Grants of leases: a coordinator grants the leases of the runs that it hands out, under keys that no agent can write.
//!
//! A holder names its grant. One that is an agent counts for others only while that grant has its run, on the resources and in the
//! class that stand there, whatever it writes of itself.

use super::{COORDINATOR, Holder, Resource};
use crate::broker::{Broker, Bucket, Entry, Expected};
use crate::error::{FleetError, Result};
use crate::lease::Class;
use crate::name::run_name;
use model::units::Nanos;
use serde::{Deserialize, Serialize};

/// A lease that an agent may hold for a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// The agent.
    pub agent: String,
    /// The run.
    pub run: String,
    /// How it gets on with others.
    pub class: Class,
    /// Runs of one group do not exclude each other; empty: it is alone.
    #[serde(default)]
    pub group: String,
    /// The resources of the run.
    pub resources: Vec<Resource>,
}

/// Grants these, and returns the name of the grant, which their jobs carry, and the revision of its key. The same runs have the same
/// name.
///
/// # Errors
/// The broker cannot be reached, or does not permit it: a coordinator alone may grant.
pub fn grant(broker: &dyn Broker, granted: &[Granted]) -> Result<(String, u64)> {
    let parts: Vec<&str> = granted.iter().flat_map(|run| [run.agent.as_str(), run.run.as_str()]).collect();
    let name = run_name(&parts);
    let value = serde_json::to_vec(granted).unwrap_or_default();
    let revision = broker.put(Bucket::Leases, &grant_key(&name), &value, Expected::Anything, Some(LIVES))?;
    Ok((name, revision))
}

/// Takes a grant back when all of its runs have ended.
///
/// # Errors
/// The broker cannot be reached. That it was changed meanwhile is no error: it lapses by itself.
pub(crate) fn take_back(broker: &dyn Broker, name: &str, revision: u64) -> Result<()> {
    match broker.remove(Bucket::Leases, &grant_key(name), revision) {
        Err(FleetError::Conflict(_)) => Ok(()),
        removed => removed,
    }
}

/// Takes one run out of its grant, so that its agent cannot hold anything for it any more.
pub(super) fn revoke(broker: &dyn Broker, holder: &Holder) -> Result<()> {
    let key = grant_key(&holder.grant);
    let Some(entry) = broker.get(Bucket::Leases, &key)? else { return Ok(()) };
    let mut granted = parse(&entry);
    granted.retain(|run| run.run != holder.run || run.agent != holder.owner());
    let value = serde_json::to_vec(&granted).unwrap_or_default();
    broker.put(Bucket::Leases, &key, &value, Expected::Revision(entry.revision), Some(LIVES)).map(drop)
}

impl Holder {
    /// The agent whose it is, or a coordinator.
    #[must_use]
    pub fn owner(&self) -> &str {
        self.id.split_once('.').map_or("", |(owner, _)| owner)
    }

    /// Whether it needs a grant to count.
    pub(super) fn is_agent(&self) -> bool {
        self.owner() != COORDINATOR
    }

    /// The holder as its grant has it; absent: it holds nothing.
    pub(super) fn granted(self, resource: &str, grant: Option<&Entry>) -> Option<Holder> {
        let granted = parse(grant?);
        let own = granted.into_iter().find(|run| run.agent == self.owner() && run.run == self.run)?;
        let capacity = own.resources.iter().find(|found| found.name == resource)?.capacity.max(1);
        let group = if own.group.is_empty() { self.id.clone() } else { own.group };
        Some(Holder { group, capacity, class: own.class, ..self })
    }
}

fn parse(entry: &Entry) -> Vec<Granted> {
    serde_json::from_slice(&entry.value).unwrap_or_default()
}

pub(super) fn grant_key(name: &str) -> String {
    format!("grant.{name}")
}

/// The server keeps a job for as long.
const LIVES: Nanos = Nanos::from_secs(7 * 86_400);
