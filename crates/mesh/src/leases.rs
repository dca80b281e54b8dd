//! Leases as an operator sees them: who holds what since when, what waits for it, and freeing it with a reason that is kept.

use crate::interfaces::labels;
use crate::rounds::Reports;
use fleet::broker::{Broker, Bucket, Expected};
use fleet::clock::Clock;
use fleet::lease::{Holder, free as take, held, waits};
use fleet::{FleetError, Result};
use model::time::WallTime;
use model::toml_file::suggest;
use serde::{Deserialize, Serialize};

/// A lease that is held.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeaseRow {
    /// The resource: what `mesh free` takes.
    pub lease: String,
    /// Its name for people: `eth0 of ams`; empty: not known.
    pub what: String,
    /// The run or mesh that holds it.
    pub holder: String,
    /// Since when, by the holder's clock.
    pub since: Option<WallTime>,
    /// Runs and coordinators that wait for it.
    pub waiting: Vec<String>,
    /// The same with the time since when each waits.
    pub waiters: Vec<LeaseWaiter>,
}

/// A run or a coordinator that waits for a lease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeaseWaiter {
    /// The run or mesh that waits: `throughput ams -> fra`, `the mesh night`.
    pub title: String,
    /// Since when, by the clock of who waits.
    pub since: WallTime,
}

/// A lease that was freed by hand, the last time of each.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FreedLease {
    /// The resource.
    pub lease: String,
    /// The agent that held it.
    pub holders: Vec<String>,
    /// Why it was freed.
    pub reason: String,
    /// When, by the clock of the host where that was done.
    pub at: WallTime,
}

/// The leases that are held now, but for those of the doctor.
///
/// # Errors
/// The server cannot be reached, or does not permit it.
pub fn rows(broker: &dyn Broker, reports: &Reports) -> Result<Vec<LeaseRow>> {
    let labels = labels(reports);
    let coordinators = waits(broker)?;
    let waiters = |lease: &str| -> Vec<LeaseWaiter> {
        let all = reports.values().flat_map(|report| &report.status.waiting).chain(&coordinators);
        let fitting = all.filter(|run| run.needs.iter().any(|need| need == lease));
        fitting.map(|run| LeaseWaiter { title: run.title.clone(), since: run.since }).collect()
    };
    let mut rows = Vec::new();
    for one in held(broker)? {
        for holder in &one.holders {
            let waiters = waiters(&one.resource);
            let resource = one.resource.trim_start_matches("mesh.");
            rows.push(LeaseRow {
                lease: one.resource.clone(),
                what: labels.get(resource).cloned().unwrap_or_default(),
                holder: holder.label().to_owned(),
                since: Some(holder.about.since).filter(|since| since.0 > 0),
                waiting: waiters.iter().map(|waiter| waiter.title.clone()).collect(),
                waiters,
            });
        }
    }
    Ok(rows)
}

/// The leases that were freed by hand.
///
/// # Errors
/// The errors are those of [`rows`].
pub fn freed(broker: &dyn Broker) -> Result<Vec<FreedLease>> {
    let mut all = Vec::new();
    for key in broker.keys(Bucket::Plans)?.iter().filter(|key| key.starts_with(FREED)) {
        let Some(entry) = broker.get(Bucket::Plans, key)? else { continue };
        all.extend(serde_json::from_slice::<FreedLease>(&entry.value).ok());
    }
    all.sort_by_key(|one: &FreedLease| std::cmp::Reverse(one.at));
    Ok(all)
}

/// Takes a lease from all who hold it, and keeps the reason.
///
/// # Errors
/// The lease has no holder; or as [`rows`].
pub fn free(broker: &dyn Broker, clock: &dyn Clock, lease: &str, reason: &str) -> Result<FreedLease> {
    let known = held(broker)?;
    if !known.iter().any(|one| one.resource == lease) {
        let meant = suggest(lease, known.iter().map(|one| one.resource.as_str()));
        return Err(FleetError::Refused {
            agent: lease.to_owned(),
            why: format!("this lease has no holder{meant}"),
        });
    }
    let holders = take(broker, lease, reason)?;
    let freed = FreedLease {
        lease: lease.to_owned(),
        holders: holders.iter().map(Holder::label).map(str::to_owned).collect(),
        reason: reason.to_owned(),
        at: clock.wall(),
    };
    let text = serde_json::to_vec(&freed).unwrap_or_default();
    broker.put(Bucket::Plans, &format!("{FREED}{lease}"), &text, Expected::Anything, None)?;
    Ok(freed)
}

const FREED: &str = "freed.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::AgentReport;
    use fleet::clock::SystemClock;
    use fleet::lease::{About, Acquired, COORDINATOR, Claim, Class, Lease, Resource, holder};
    use model::agent::{AgentStatus, WaitingRun};
    use model::units::Nanos;
    use world::broker::Local;

    #[test]
    fn who_holds_what_is_shown_and_freed_with_a_reason() {
        let broker = Local::default();
        let clock = || SystemClock.mono();
        let claim = Claim {
            holder: holder(COORDINATOR, "1"),
            run: String::new(),
            grant: String::new(),
            group: "1".into(),
            class: Class::Exclusive,
            resources: vec![Resource::sole("nic.ams")],
            lifetime: Nanos::from_secs(15),
            about: About { title: "throughput ams -> fra by ams".into(), since: WallTime(5) },
        };
        let Acquired::Held(_) = Lease::acquire(&broker, claim, &clock).expect("asked") else {
            panic!("free")
        };
        let waiting = WaitingRun {
            title: "latency lon -> ams".into(),
            needs: vec!["nic.ams".into()],
            since: WallTime(9),
            ..WaitingRun::default()
        };
        let status = AgentStatus { waiting: vec![waiting], ..AgentStatus::default() };
        let report = AgentReport { status, ..AgentReport::default() };
        let reports = [("ams".to_owned(), report)].into();
        let rows = rows(&broker, &reports).expect("listed");
        let expected = LeaseRow {
            lease: "nic.ams".into(),
            what: "an interface of ams".into(),
            holder: "throughput ams -> fra by ams".into(),
            since: Some(WallTime(5)),
            waiting: vec!["latency lon -> ams".into()],
            waiters: vec![LeaseWaiter { title: "latency lon -> ams".into(), since: WallTime(9) }],
        };
        assert_eq!(rows, [expected]);
        let unknown = free(&broker, &SystemClock, "nic.amz", "typo").expect_err("unknown");
        assert!(unknown.to_string().contains("`nic.ams`"), "{unknown}");
        free(&broker, &SystemClock, "nic.ams", "the host was moved").expect("freed");
        assert!(super::rows(&broker, &reports).expect("listed").is_empty());
        let kept = freed(&broker).expect("listed");
        assert_eq!((kept.len(), kept[0].reason.as_str()), (1, "the host was moved"));
    }
}
