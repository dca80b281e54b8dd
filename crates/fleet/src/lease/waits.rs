//! Coordinators that wait for a lease, as an operator sees them. Jobs that wait at an agent are in its report.

use super::{COORDINATOR, holder};
use crate::broker::{Broker, Bucket, Expected, Listing};
use crate::error::Result;
use model::agent::WaitingRun;
use model::units::Nanos;

/// Shows that a coordinator waits, for as long as given, and returns the revision of its key.
///
/// # Errors
/// The broker cannot be reached, or does not permit it.
pub(crate) fn wait(broker: &dyn Broker, name: &str, waiting: &WaitingRun, lifetime: Nanos) -> Result<u64> {
    let value = serde_json::to_vec(waiting).unwrap_or_default();
    broker.put(Bucket::Leases, &key(name), &value, Expected::Anything, Some(lifetime))
}

/// Ends the wait. A key that cannot be removed vanishes by itself.
pub(crate) fn stop_waiting(broker: &dyn Broker, name: &str, revision: u64) {
    let _ = broker.remove(Bucket::Leases, &key(name), revision);
}

/// The coordinators that wait now, and for which lease.
///
/// # Errors
/// The broker cannot be reached, or does not permit it.
pub fn waits(broker: &dyn Broker) -> Result<Vec<WaitingRun>> {
    let listed = Listing::whole(broker, Bucket::Leases, &format!("{WAIT}>"))?;
    Ok(listed.entries.iter().filter_map(|(_, entry)| serde_json::from_slice(&entry.value).ok()).collect())
}

fn key(name: &str) -> String {
    format!("{WAIT}{}", holder(COORDINATOR, name))
}

const WAIT: &str = "wait.";
