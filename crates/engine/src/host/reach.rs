//! Reachability beside a test: a thread that hears what the kernel says of neighbours, the other family, and why not.

mod families;
mod reason;

pub use families::Others;
pub(crate) use families::is_dead;
pub(crate) use reason::{Reason, of_another, other_family, reason, rejected, unanswered};

use crate::host::interrupt::Interrupt;
use linux::clock::mono_now;
use linux::netlink::{Neighbour, NeighbourChanges, Network};
use model::event::Event;
use model::reach::{NeighbourChange, NeighbourState, NextHop, Reach};
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Hears changes of neighbours from [`watch`] until [`Watch::finish`]. Dropped, it ends.
#[derive(Debug)]
pub struct Watch {
    began: MonoTime,
    /// What was known before, and the way to the address in use.
    before: States,
    next_hop: Option<HopToward>,
    /// How often the interface of that way had lost its carrier before.
    carrier_losses: Option<u32>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<(Place, NeighbourChange)>>>,
}

/// Where a neighbour is: number of the interface, and its address.
type Place = (u32, IpAddr);
type States = BTreeMap<Place, NeighbourState>;

/// The next hop toward an address.
#[derive(Clone, Debug)]
struct HopToward {
    place: Place,
    interface: String,
    is_far_host: bool,
}

/// Begins to watch the neighbours of the calling thread's network namespace; nothing where the kernel does not let it.
pub fn watch(toward: IpAddr) -> Option<Watch> {
    // Before the dump, so that no change falls between the two.
    let mut changes = NeighbourChanges::open().ok()?;
    let mut network = Network::open().ok()?;
    let (began, before) = (mono_now(), states(&network.neighbours().ok()?));
    let next_hop = next_hop_toward(&mut network, toward);
    let carrier_losses =
        next_hop.as_ref().and_then(|next_hop| carrier_losses(&mut network, next_hop.place.0));
    let stop = Arc::new(AtomicBool::new(false));
    let (known, stopped) = (before.clone(), stop.clone());
    let hear = move || {
        let mut heard = Vec::new();
        let mut last = known;
        while !stopped.load(Ordering::Relaxed) {
            let (news, reported) = match changes.next(STEP) {
                Ok(news) => (news, true),
                // The kernel dropped some: look at all.
                Err(_) => match network.neighbours() {
                    Ok(all) => (all, false),
                    Err(_) => return heard,
                },
            };
            let at = mono_now().saturating_since(began);
            for (place, state) in news.iter().map(entry) {
                let changed = last.insert(place, state) != Some(state);
                // The kernel tells each failure, and not that it has asked again since the last.
                let again = reported && state == NeighbourState::Failed;
                if (changed || again) && heard.len() < MOST_HEARD {
                    heard.push((place, NeighbourChange { at, state }));
                }
            }
        }
        heard
    };
    let thread = std::thread::Builder::new().name("neighbours".into()).spawn(hear).ok()?;
    Some(Watch { began, before, next_hop, carrier_losses, stop, thread: Some(thread) })
}

impl Watch {
    /// After a test that broke off: waits, for some seconds at most, until the kernel has made up its mind about the next
    /// hop. A dead neighbour is only then known as one; while it is trusted still, the kernel is made to ask it.
    pub fn settle(&self, interrupt: &Interrupt) {
        let (Some(next_hop), Ok(mut network)) = (&self.next_hop, Network::open()) else { return };
        let until = mono_now() + SETTLED;
        let mut checked = false;
        while mono_now() < until && !interrupt.is_raised() {
            let Ok(all) = network.neighbours() else { return };
            match states(&all).get(&next_hop.place) {
                Some(NeighbourState::Delay | NeighbourState::Probe | NeighbourState::Incomplete) => {}
                // It keeps a neighbour for REACHABLE for up to 45 seconds after the last sign of it.
                Some(NeighbourState::Reachable | NeighbourState::Stale) if !checked => {
                    checked = true;
                    if network.check_neighbour(next_hop.place.0, next_hop.place.1).is_err() {
                        return;
                    }
                }
                _ => return,
            }
            std::thread::sleep(STEP.to_duration());
        }
    }

    /// Ends, and tells of the next hops toward the address in use and toward all that were tried.
    pub fn finish(mut self, mut observed: Reach) -> Option<Event> {
        let length = mono_now().saturating_since(self.began);
        let heard = self.end()?;
        let mut network = Network::open().ok()?;
        let all = network.neighbours().ok()?;
        let after = states(&all);
        let carrier_losses = self.lost_carrier(&mut network);
        let used = self.next_hop.as_ref().map(|next_hop| next_hop.place);
        let tried = observed.families.iter().map(|family| family.address.ip());
        let others = tried.filter_map(|address| next_hop_toward(&mut network, address));
        for next_hop in self.next_hop.take().into_iter().chain(others.collect::<Vec<_>>()) {
            let state = |of: &States| of.get(&next_hop.place).copied().unwrap_or_default();
            let changes: Vec<NeighbourChange> = heard
                .iter()
                .filter(|(place, _)| *place == next_hop.place)
                .map(|(_, change)| *change)
                .collect();
            let states = (state(&self.before), state(&after));
            // Loopback and tunnels have no neighbours.
            let lost = used == Some(next_hop.place) && carrier_losses > 0;
            let known =
                lost || !changes.is_empty() || states != (NeighbourState::Unknown, NeighbourState::Unknown);
            let reported = observed.next_hops.iter().any(|hop| hop.address == next_hop.place.1);
            if known && !reported {
                let hop = (next_hop.place.1, next_hop.interface, next_hop.is_far_host);
                let confirmed = all.iter().find(|known| (known.link, known.address) == next_hop.place);
                observed.next_hops.push(NextHop {
                    confirmed_ago: confirmed.and_then(|known| known.confirmed),
                    carrier_losses: if used == Some(next_hop.place) { carrier_losses } else { 0 },
                    ..NextHop::judge(hop, states, &changes, length)
                });
            }
        }
        (observed != Reach::default()).then(|| Event::Reach(Box::new(observed)))
    }

    /// How often the interface in use has lost its carrier since the begin.
    fn lost_carrier(&self, network: &mut Network) -> u32 {
        let now = self.next_hop.as_ref().and_then(|next_hop| carrier_losses(network, next_hop.place.0));
        now.zip(self.carrier_losses).map_or(0, |(now, before)| now.saturating_sub(before))
    }

    fn end(&mut self) -> Option<Vec<(Place, NeighbourChange)>> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take()?.join().ok()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.end();
    }
}

fn carrier_losses(network: &mut Network, link: u32) -> Option<u32> {
    network.link_by_index(link).ok()?.carrier_losses
}

fn states(neighbours: &[Neighbour]) -> States {
    neighbours.iter().map(entry).collect()
}

fn entry(neighbour: &Neighbour) -> (Place, NeighbourState) {
    ((neighbour.link, neighbour.address), neighbour.state)
}

fn next_hop_toward(network: &mut Network, toward: IpAddr) -> Option<HopToward> {
    let toward = toward.to_canonical();
    let route = network.route_to(toward).ok()?;
    let link = network.link_by_index(route.link).ok()?;
    if link.is_loopback {
        return None;
    }
    let hop = route.gateway.unwrap_or(toward);
    Some(HopToward { place: (route.link, hop), interface: link.name, is_far_host: hop == toward })
}

const STEP: Nanos = Nanos(100_000_000);
/// Five seconds of doubt and three questions, a second each (`delay_first_probe_time`, `ucast_solicit`: arp(7)), and a little.
const SETTLED: Nanos = Nanos::from_secs(9);
/// A host with thousands of neighbours tells of them all.
const MOST_HEARD: usize = 100_000;
