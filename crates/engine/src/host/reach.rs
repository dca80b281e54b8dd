//! Reachability beside a test: a thread that follows the kernel's neighbour events, attempts over the other family, and reasons
//! of failures.

mod duplicate;
mod families;
mod reason;
mod record;
mod settings;

pub use families::Others;
pub(crate) use families::is_dead;
pub(crate) use reason::{other_family, reason, rejected, unanswered};

use crate::host::interrupt::Interrupt;
use duplicate::Question;
use linux::clock::mono_now;
use linux::error::Rejection;
use linux::netlink::{NeighbourChanges, Network};
use model::event::Event;
use model::reach::{NeighbourState, NextHop, Reach};
use model::time::MonoTime;
use model::units::Nanos;
use record::{NeighbourKey, Record, States, states};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// Hears changes of neighbours from [`watch`] until [`Watch::finish`]. Dropped, it ends.
#[derive(Debug)]
pub struct Watch {
    began: MonoTime,
    /// The neighbours known before, and the next hop toward the address in use.
    before: States,
    next_hop: Option<HopToward>,
    /// How often the interface toward that hop had lost its carrier before.
    carrier_losses: Option<u32>,
    /// Asks which devices have the next hop's address.
    question: Option<Question>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Listener>>,
}

/// The thread that hears of changes, and what it has heard.
#[derive(Debug)]
struct Listener {
    began: MonoTime,
    changes: NeighbourChanges,
    network: Network,
    record: Record,
}

/// The next hop toward an address.
#[derive(Clone, Debug)]
struct HopToward {
    place: NeighbourKey,
    interface: String,
    is_far_host: bool,
}

/// A reason, to stand behind what happened, and advice that fits it better than the general one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reason {
    /// `the router 10.0.0.1 on eth0 does not answer ARP (FAILED)`.
    pub(crate) what: String,
    /// Advice, where it is known.
    pub(crate) advice: Option<String>,
}

/// The rejection, unless this host's own kernel sent it, as it does to itself where a neighbour does not answer.
pub(crate) fn of_another(rejection: Option<Rejection>) -> Option<Rejection> {
    let own = Network::open().and_then(|mut network| network.addresses()).unwrap_or_default();
    let is_own = |from: IpAddr| own.iter().any(|one| one.address == from.to_canonical());
    rejection.filter(|rejection| !rejection.from.is_some_and(is_own))
}

/// Begins to watch the neighbours of the calling thread's network namespace; nothing where the kernel does not let it.
pub fn watch(toward: IpAddr) -> Option<Watch> {
    // Before the dump, so that no change falls between the two.
    let changes = NeighbourChanges::open().ok()?;
    let mut network = Network::open().ok()?;
    let (began, before) = (mono_now(), states(&network.neighbours().ok()?));
    let next_hop = next_hop_toward(&mut network, toward);
    let carrier_losses =
        next_hop.as_ref().and_then(|next_hop| carrier_losses(&mut network, next_hop.place.0));
    let question = next_hop.as_ref().and_then(|next_hop| Question::ask(&mut network, next_hop));
    let stop = Arc::new(AtomicBool::new(false));
    let (record, stopped) = (Record::new(before.clone()), stop.clone());
    let listener = Listener { began, changes, network, record };
    let hear = move || listener.hear_until(&stopped);
    let thread = std::thread::Builder::new().name("neighbours".into()).spawn(hear).ok()?;
    Some(Watch { began, before, next_hop, carrier_losses, question, stop, thread: Some(thread) })
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
                // The kernel keeps a neighbour REACHABLE for up to 45 seconds after the last confirmation.
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

    /// Ends, and reports the next hops toward the address in use and toward all that were tried.
    pub fn finish(mut self, mut observed: Reach) -> Option<Event> {
        let Listener { mut network, mut record, .. } = self.end()?;
        let all = network.neighbours().ok()?;
        record.look(&all, mono_now().saturating_since(self.began));
        // Later than the last change in the record, so that no outage ends before it began.
        let length = mono_now().saturating_since(self.began);
        let after = states(&all);
        let carrier_losses = self.lost_carrier(&mut network);
        let used = self.next_hop.as_ref().map(|next_hop| next_hop.place);
        let answers = self.question.as_ref().map(Question::answers).filter(|answers| answers.len() > 1);
        let tried = observed.families.iter().map(|family| family.address.ip());
        let others = tried.filter_map(|address| next_hop_toward(&mut network, address));
        for next_hop in self.next_hop.take().into_iter().chain(others.collect::<Vec<_>>()) {
            let state = |of: &States| of.get(&next_hop.place).copied().unwrap_or_default();
            let changes = record.changes_of(next_hop.place);
            let states = (state(&self.before), state(&after));
            // Loopback and tunnels have no neighbours.
            let is_used = used == Some(next_hop.place);
            let lost = is_used && carrier_losses > 0;
            let known =
                lost || !changes.is_empty() || states != (NeighbourState::Unknown, NeighbourState::Unknown);
            let reported = observed.next_hops.iter().any(|hop| hop.address == next_hop.place.1);
            if known && !reported {
                let hop = (next_hop.place.1, next_hop.interface, next_hop.is_far_host);
                let confirmed = all.iter().find(|known| (known.link, known.address) == next_hop.place);
                observed.next_hops.push(NextHop {
                    confirmed_ago: confirmed.and_then(|known| known.confirmed),
                    carrier_losses: if is_used { carrier_losses } else { 0 },
                    answers_from: answers.iter().flatten().filter(|_| is_used).cloned().collect(),
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

    fn end(&mut self) -> Option<Listener> {
        self.stop.store(true, Ordering::Relaxed);
        self.thread.take()?.join().ok()
    }
}

impl Listener {
    fn hear_until(mut self, stopped: &AtomicBool) -> Listener {
        while !stopped.load(Ordering::Relaxed) {
            if self.hear(STEP).is_none() {
                return self;
            }
        }
        // All that the kernel has reported by now, however late this thread had its turn.
        for _ in 0..MOST_LATE {
            if self.hear(Nanos::ZERO).is_none_or(|count| count == 0) {
                break;
            }
        }
        self
    }

    /// How many changes came within this time; `None`: the kernel reports no more.
    fn hear(&mut self, timeout: Nanos) -> Option<usize> {
        let reported = self.changes.next(timeout);
        let at = || mono_now().saturating_since(self.began);
        match reported {
            Ok(reported) => {
                self.record.hear(&reported, at());
                Some(reported.len())
            }
            // The kernel dropped some: look at all.
            Err(_) => {
                let all = self.network.neighbours().ok()?;
                self.record.look(&all, at());
                Some(all.len())
            }
        }
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

const STEP: Nanos = Nanos::from_millis(100);
/// Five seconds of doubt and three questions, a second each (`delay_first_probe_time`, `ucast_solicit`: arp(7)), and a little.
const SETTLED: Nanos = Nanos::from_secs(9);
/// Reports that wait at the end; on a host whose neighbours change all the time there is always one more.
const MOST_LATE: usize = 1000;
