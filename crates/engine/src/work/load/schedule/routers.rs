//! Round trips to each router and to the far end while the queue is full, and without load: they grow from the first router behind
//! the queue on. A few small datagrams end at each router, so that this is asked on public paths too, and behind slow links, where a
//! load that ends at each router takes long.

use super::{Phase, STEP};
use crate::error::Result;
use crate::work::load::routers::RouterProbes;
use model::units::Nanos;

/// The round trips while the queue is full; absent: none is, they are not wanted, or there is no time.
pub(super) fn under_load(phase: &mut Phase<'_>, rate: f64) -> Result<Option<FullQueue>> {
    let is_wanted = !phase.quest.short && (!phase.quest.place || rate < SLOW);
    let Some(links) = phase.reading.links.filter(|links| is_wanted && (2..=MOST_LINKS).contains(links))
    else {
        return Ok(None);
    };
    let queue = phase.reading.hot_queue();
    let packets = phase.time_of(STEADY_PACKETS, rate);
    let steady = Some(STEADY.max(packets).max(Nanos(queue.0 / 20)));
    let probes = RouterProbes { links, rounds: ROUNDS, wait: queue + Nanos(queue.0 / 4) + WAIT, steady };
    let fill = phase.time_of(FILL_PACKETS, rate).max(FILL);
    let on_idle_path = compared(links).time() + phase.answer;
    let following = probes.time() + fill + phase.answer + on_idle_path;
    if queue < LEAST_QUEUE || phase.left_for_load() < following + STEP {
        return Ok(None);
    }
    phase.saturate(rate, phase.saturation_time(following))?;
    // A load that is little above the rate keeps the queue full, and drops few of the probes.
    let full = phase.step(phase.allowed(rate * FULL), phase.quest.payload, fill);
    phase.run(&[full])?;
    phase.router_time = on_idle_path;
    Ok(Some(FullQueue { trips: phase.path.router_trips(probes)?, links }))
}

/// The round trips under a full queue.
#[derive(Clone, Debug)]
pub(super) struct FullQueue {
    trips: Vec<Option<Nanos>>,
    links: u8,
}

impl FullQueue {
    /// The probes of the idle path, for comparison.
    pub(super) fn compared(&self) -> RouterProbes {
        compared(self.links)
    }

    /// By how much each round trip grew.
    pub(super) fn growth(&self, idle: &[Option<Nanos>]) -> Vec<Option<Nanos>> {
        let grew = |(full, idle): (&Option<Nanos>, &Option<Nanos>)| Some((*full)?.saturating_sub((*idle)?));
        self.trips.iter().zip(idle).map(grew).collect()
    }
}

fn compared(links: u8) -> RouterProbes {
    RouterProbes { links, rounds: IDLE_ROUNDS, wait: WAIT, steady: None }
}

/// A shorter queue does not stand out from what routers take to answer.
const LEAST_QUEUE: Nanos = Nanos::from_millis(4);
const MOST_LINKS: u8 = 32;
/// Linux's routers answer six probes at once, and then one per second.
const ROUNDS: u32 = 4;
const IDLE_ROUNDS: u32 = 2;
const WAIT: Nanos = Nanos::from_millis(40);
/// A full queue is as long all the time, but for so much …
const STEADY: Nanos = Nanos::from_millis(4);
/// … and for some packets.
const STEADY_PACKETS: f64 = 3.0;
/// Times the rate of the limit: a queue of a faster hop drains, which the load before has filled.
const FULL: f64 = 1.1;
const FILL: Nanos = Nanos::from_millis(80);
const FILL_PACKETS: f64 = 15.0;
/// Below this rate a load that ends at each router takes too long.
const SLOW: f64 = 8e6;
