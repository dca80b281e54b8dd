//! Leases as an operator sees them: who holds what, and taking it away.

use super::acquire::holder_at;
use super::grant::{grant_key, revoke};
use super::{
    FREED, Holder, MOST_CONFLICTS, ON, heartbeat_key, holder_and_resource, is_void, resource_pattern,
};
use crate::broker::{Broker, Bucket, Entry, Expected, Listing};
use crate::error::{FleetError, Result};
use model::units::Nanos;
use std::collections::BTreeMap;

/// A resource that is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// Its name.
    pub resource: String,
    /// Those who hold it and are alive.
    pub holders: Vec<Holder>,
}

/// Every resource that somebody holds who is alive and whose it is, by name.
///
/// # Errors
/// The broker cannot be reached, or does not permit it.
pub fn held(broker: &dyn Broker) -> Result<Vec<Held>> {
    let mut all: BTreeMap<String, Vec<Holder>> = BTreeMap::new();
    let mut grants: BTreeMap<String, Option<Entry>> = BTreeMap::new();
    for (key, entry) in holders(broker)? {
        let Some((_, resource)) = holder_and_resource(&key) else { continue };
        let Some(holder) = holder_at(&key, &entry).filter(|holder| !is_dead(broker, &holder.id)) else {
            continue;
        };
        let known = match holder.is_agent() {
            false => Some(holder),
            true => {
                let grant = grant_key(&holder.grant);
                if !grants.contains_key(&grant) {
                    grants.insert(grant.clone(), broker.get(Bucket::Leases, &grant)?);
                }
                holder.granted(resource, grants[&grant].as_ref())
            }
        };
        if let Some(holder) = known {
            all.entry(resource.to_owned()).or_default().push(holder);
        }
    }
    Ok(all.into_iter().map(|(resource, holders)| Held { resource, holders }).collect())
}

/// The keys of all holders, with what they hold.
fn holders(broker: &dyn Broker) -> Result<Vec<(String, Entry)>> {
    let keys = broker.keys(Bucket::Leases)?;
    let read = |key: String| Ok(broker.get(Bucket::Leases, &key)?.map(|entry| (key, entry)));
    keys.into_iter().filter(|key| key.starts_with(ON)).filter_map(|key| read(key).transpose()).collect()
}

/// Whether it has no heartbeat, or was taken off. One of which that is not known is alive.
fn is_dead(broker: &dyn Broker, holder: &str) -> bool {
    let heartbeat = broker.get(Bucket::Leases, &heartbeat_key(holder));
    heartbeat.is_ok_and(|entry| entry.is_none_or(|entry| is_void(&entry.value)))
}

/// Takes a resource from all who hold it, and returns them: each finds at its next heartbeat that its lease is lost, for this
/// reason. They lose their other resources, too, and an agent cannot hold it for the same run again.
///
/// # Errors
/// The broker cannot be reached, or does not permit it; the resource has no holder.
pub fn free(broker: &dyn Broker, resource: &str, reason: &str) -> Result<Vec<Holder>> {
    let mut freed = Vec::new();
    for (key, entry) in Listing::whole(broker, Bucket::Leases, &resource_pattern(resource))?.entries {
        let Some(holder) = holder_at(&key, &entry) else { continue };
        let is_alive = !is_dead(broker, &holder.id);
        take_off(broker, &holder.id, reason)?;
        if holder.is_agent() {
            revoke(broker, &holder)?;
        }
        match broker.remove(Bucket::Leases, &key, entry.revision) {
            // The holder released it meanwhile.
            Err(FleetError::Conflict(_)) => {}
            outcome => outcome?,
        }
        freed.extend(is_alive.then_some(holder));
    }
    if !freed.is_empty() {
        return Ok(freed);
    }
    let why = "it has no holder: `pathmeter mesh show` lists what is held".to_owned();
    Err(FleetError::Refused { agent: resource.to_owned(), why })
}

/// Removes the keys of holders that died without giving them back, and returns how many. A coordinator's key is needed.
///
/// # Errors
/// The broker cannot be reached, or does not permit it.
pub fn remove_dead(broker: &dyn Broker) -> Result<usize> {
    let (mut removed, mut after) = (0, 0);
    loop {
        let listing = broker.list(Bucket::Leases, &format!("{ON}>"), after)?;
        for (key, entry) in &listing.entries {
            let Some((holder, _)) = holder_and_resource(key) else { continue };
            if is_proven_dead(broker, holder)? && broker.remove(Bucket::Leases, key, entry.revision).is_ok() {
                removed += 1;
            }
        }
        if listing.is_whole {
            return Ok(removed);
        }
        after = listing.last;
    }
}

/// Whether it is dead for good. Once it is taken off, it cannot come back, however old the answer was that it is dead.
fn is_proven_dead(broker: &dyn Broker, holder: &str) -> Result<bool> {
    if !is_dead(broker, holder) {
        return Ok(false);
    }
    match broker.put(Bucket::Leases, &heartbeat_key(holder), FREED, Expected::Absent, Some(KNOWN_FOR)) {
        Err(FleetError::Conflict(_)) => Ok(is_dead(broker, holder)),
        written => written.map(|_| true),
    }
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
            Err(FleetError::Conflict(_)) => {}
            Err(error) => return Err(error),
        }
    }
    Err(FleetError::Conflict(key))
}

/// Its holder reads the reason at its next heartbeat.
const KNOWN_FOR: Nanos = Nanos::from_secs(60);
