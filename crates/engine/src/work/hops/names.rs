//! Facts about routers beside their addresses: names, and the AS that announces them.

use super::HopsJob;
use linux::clock::mono_now;
use linux::names::name_of;
use model::hops::HopsResult;
use model::units::Nanos;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::mpsc;
use std::thread;

/// Fills in names, as far as the resolver gives them in time, and the AS of each router.
pub(super) fn fill(job: &HopsJob<'_>, result: &mut HopsResult) {
    let routers = || result.hops.iter().flat_map(|hop| &hop.routers);
    let addresses: BTreeSet<IpAddr> = routers().map(|router| router.address).collect();
    let names = if job.plan.names { names(addresses) } else { BTreeMap::new() };
    for router in result.hops.iter_mut().flat_map(|hop| &mut hop.routers) {
        router.name = names.get(&router.address).cloned();
        router.origin = job.origins.origin(router.address).cloned();
    }
}

/// Asks for all at once. A resolver that does not answer in time is not waited for: its threads end when it does.
fn names(addresses: BTreeSet<IpAddr>) -> BTreeMap<IpAddr, String> {
    let (sender, names) = mpsc::channel();
    for address in addresses.into_iter().take(MOST_NAMES) {
        let sender = sender.clone();
        // Without a thread there is no name.
        let lookup = thread::Builder::new().spawn(move || sender.send((address, name_of(address))));
        drop(lookup);
    }
    drop(sender);
    let deadline = mono_now() + LONGEST_WAIT;
    let mut found = BTreeMap::new();
    while let Ok((address, name)) = names.recv_timeout(deadline.saturating_since(mono_now()).to_duration()) {
        found.extend(name.map(|name| (address, name)));
    }
    found
}

/// Threads at once.
const MOST_NAMES: usize = 128;
const LONGEST_WAIT: Nanos = Nanos::from_secs(2);
