//! Leases as an operator sees them: who holds what, and taking it away.

use super::{FREED, Holder, MOST_CONFLICTS, heartbeat_key, is_void, resource_key};
use crate::broker::{Broker, Bucket, Expected};
use crate::error::{FleetError, Result};
use model::units::Nanos;

/// A resource that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its name.
    pub resource: String,
    /// Those who hold it and are alive.
    pub holders: Vec<Holder>,
}

/// Every resource that somebody holds who is alive, by name.
///
/// # Errors
/// The broker cannot be reached, or does not permit it.
pub fn held(broker: &dyn Broker) -> Result<Vec<Held>> {
    let mut all = Vec::new();
    let prefix = resource_key("");
    for key in broker.keys(Bucket::Leases)? {
        let Some(resource) = key.strip_prefix(&prefix) else { continue };
        let Some(entry) = broker.get(Bucket::Leases, &key)? else { continue };
        let mut holders = Vec::new();
        for holder in serde_json::from_slice::<Vec<Holder>>(&entry.value).unwrap_or_default() {
            let heartbeat = broker.get(Bucket::Leases, &heartbeat_key(&holder.id))?;
            if heartbeat.is_some_and(|entry| !is_void(&entry.value)) {
                holders.push(holder);
            }
        }
        if !holders.is_empty() {
            all.push(Held { resource: resource.to_owned(), holders });
        }
    }
    Ok(all)
}

/// Takes a resource from all who hold it, and returns them: each finds at its next heartbeat that its lease is lost, for this
/// reason. What they hold beside it they lose, too.
///
/// # Errors
/// The broker cannot be reached, or does not permit it; the resource has no holder.
pub fn free(broker: &dyn Broker, resource: &str, reason: &str) -> Result<Vec<Holder>> {
    let key = resource_key(resource);
    for _ in 0..MOST_CONFLICTS {
        let entry = broker.get(Bucket::Leases, &key)?;
        let holders = entry.as_ref().map(|entry| serde_json::from_slice::<Vec<Holder>>(&entry.value));
        let (Some(entry), Some(Ok(holders))) = (entry, holders) else { break };
        for holder in &holders {
            take_off(broker, &holder.id, reason)?;
        }
        match broker.remove(Bucket::Leases, &key, entry.revision) {
            Ok(()) => return Ok(holders),
            // Somebody came or went meanwhile.
            Err(FleetError::Conflict { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    let why = "it has no holder: `pathmeter mesh show` lists what is held".to_owned();
    Err(FleetError::Refused { agent: resource.to_owned(), why })
}

/// Writes over a holder's heartbeat, against what it is, so that it can never be renewed.
fn take_off(broker: &dyn Broker, holder: &str, reason: &str) -> Result<()> {
    let key = heartbeat_key(holder);
    let value = [FREED, reason.as_bytes()].concat();
    for _ in 0..MOST_CONFLICTS {
        let known = broker.get(Bucket::Leases, &key)?;
        let expected = known.map_or(Expected::Absent, |entry| Expected::Revision(entry.revision));
        match broker.put(Bucket::Leases, &key, &value, expected, Some(KNOWN_FOR)) {
            Ok(_) => return Ok(()),
            Err(FleetError::Conflict { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    Err(FleetError::Conflict { key })
}

/// Its holder reads the reason at its next heartbeat.
const KNOWN_FOR: Nanos = Nanos::from_secs(60);
