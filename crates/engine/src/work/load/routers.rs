//! Round trips to the routers of a path, while load is sent or not: a few small datagrams whose TTL ends at each of them.

use crate::error::Result;
use crate::work::hops::{CLOSED_PORT, Channel, Datagrams, Heard, Probe};
use linux::clock::mono_now;
use model::hops::AnswerKind;
use model::plan::LocalOptions;
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// The probes of the routers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RouterProbes {
    /// Links of the path: its routers, and the far end.
    pub(crate) links: u8,
    /// Datagrams to each of them.
    pub(crate) rounds: u32,
    /// An answer to the last of them takes no longer.
    pub(crate) wait: Nanos,
    /// Two answers or more are needed, at most so far apart: a queue that drains is not the limit's. Absent: one is enough.
    pub(crate) steady: Option<Nanos>,
}

impl RouterProbes {
    /// The shortest of these round trips to one host, where they are enough and alike.
    pub(super) fn shortest(&self, trips: &[Nanos]) -> Option<Nanos> {
        let (least, most) = (trips.iter().min()?, trips.iter().max()?);
        let is_steady = |apart| trips.len() >= 2 && most.saturating_sub(*least) <= apart;
        self.steady.is_none_or(is_steady).then_some(*least)
    }

    /// Their duration.
    pub(super) fn time(&self) -> Nanos {
        SPACING.saturating_mul(u64::from(self.rounds.saturating_sub(1))) + self.wait
    }
}

/// The shortest round trip to each router, from the first on, and to the far end; `None`: it answered none of its probes.
pub(super) fn shortest(to: IpAddr, local: &LocalOptions, probes: RouterProbes) -> Result<Vec<Option<Nanos>>> {
    let mut datagrams = Datagrams::toward(SocketAddr::new(to, CLOSED_PORT), local, 1, probes.time())?;
    let mut trips = Trips { sent: BTreeMap::new(), all: vec![Vec::new(); usize::from(probes.links)] };
    for round in 0..probes.rounds {
        for ttl in 1..=probes.links {
            let number = round * u32::from(u8::MAX) + u32::from(ttl);
            datagrams.send(Probe { number, ttl, flow: 0 })?;
        }
        let is_last = round + 1 == probes.rounds;
        let until = mono_now() + if is_last { probes.wait } else { SPACING };
        trips.listen(&mut datagrams, until)?;
    }
    Ok(trips.all.iter().map(|trips| probes.shortest(trips)).collect())
}

struct Trips {
    sent: BTreeMap<u32, MonoTime>,
    all: Vec<Vec<Nanos>>,
}

impl Trips {
    fn listen(&mut self, datagrams: &mut Datagrams, until: MonoTime) -> Result<()> {
        while mono_now() < until {
            let mut heard = Vec::new();
            datagrams.take(&mut heard)?;
            heard.into_iter().for_each(|heard| self.take(&heard));
            datagrams.wait(until)?;
        }
        Ok(())
    }

    fn take(&mut self, heard: &Heard) {
        match heard {
            Heard::Sent(number, at) => {
                self.sent.insert(*number, *at);
            }
            Heard::Answer(number, answer) => {
                let ttl = (number % u32::from(u8::MAX)) as usize;
                // The far end has nothing at this port, and reports it.
                let is_far = ttl == self.all.len();
                let expected = if is_far { AnswerKind::Arrived } else { AnswerKind::Expired };
                if answer.kind != expected {
                    return;
                }
                let place = ttl.checked_sub(1).and_then(|router| self.all.get_mut(router));
                if let (Some(trips), Some(sent)) = (place, self.sent.get(number)) {
                    trips.push(answer.at.saturating_since(*sent));
                }
            }
            Heard::Refused(_) => {}
        }
    }
}

/// Time between two probes of a router: routers limit their answers.
const SPACING: Nanos = Nanos::from_millis(70);
