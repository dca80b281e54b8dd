//! Further flows between the same two hosts: routers that share packets out over equal paths send each flow one way.

use super::PathJob;
use super::early::{FLOWS, OpeningProber, prober};
use super::native::DirectionSearch;
use crate::error::Result;
use crate::work::probe::Probes;
use model::path::{FlowSize, PathResult, Unknown};
use model::plan::Direction;

/// The results of further flows.
#[derive(Debug, Default)]
pub(super) struct Legs {
    sizes: Vec<(Direction, FlowSize)>,
    packets: u64,
    /// Flows of which nothing arrives in one direction.
    pub(super) dead: u32,
    unknown: Option<Unknown>,
}

/// Looks at some more flows, all at once, each with ports of its own. `known`: what the first one carries; `early`: sessions
/// that have been opened.
pub(super) fn look(job: &PathJob<'_>, early: Vec<OpeningProber<'_>>, known: &PathResult) -> Legs {
    let mut early = early.into_iter();
    let found: Vec<Result<Leg>> = std::thread::scope(|scope| {
        let begin = |opening| scope.spawn(move || leg(job, opening, known));
        let begun: Vec<_> = (0..FLOWS).map(|_| begin(early.next())).collect();
        begun.into_iter().filter_map(|flow| flow.join().ok()).collect()
    });
    let (found, errors): (Vec<_>, Vec<_>) = found.into_iter().partition(Result::is_ok);
    let mut legs = Legs::default();
    for leg in found.into_iter().flatten() {
        legs.packets += leg.packets;
        legs.dead += u32::from(leg.is_dead);
        legs.sizes.extend(leg.sizes);
    }
    if let Some(Err(error)) = errors.into_iter().next() {
        legs.unknown = Some(Unknown {
            direction: None,
            what: "whether all flows take the same path".into(),
            why: format!(
                "not all further sessions with the far end could be opened: {}",
                crate::error::sentence(&error)
            ),
        });
    }
    legs
}

impl Legs {
    /// Adds the path MTU of each direction to the result.
    pub(super) fn add_to(self, result: &mut PathResult) {
        result.packets += self.packets;
        for (direction, size) in self.sizes {
            if let Some(one_way) = result.direction_mut(direction) {
                one_way.other_flows.push(size);
            }
        }
        result.unknown.extend(self.unknown);
    }
}

/// The result of one flow.
struct Leg {
    sizes: Vec<(Direction, FlowSize)>,
    packets: u64,
    is_dead: bool,
}

fn leg(job: &PathJob<'_>, early: Option<OpeningProber<'_>>, known: &PathResult) -> Result<Leg> {
    let mut prober = prober(early, job)?;
    let (mut sizes, mut is_dead) = (Vec::new(), false);
    for direction in [Direction::Up, Direction::Down] {
        let Some(one_way) = known.in_direction(direction) else { continue };
        let size = DirectionSearch::size(&mut prober as &mut dyn Probes, direction, one_way)?;
        is_dead |= size.is_none() && one_way.path_mtu.is_some() && one_way.bound.is_lower();
        sizes.extend(size.map(|size| (direction, size)));
    }
    let packets = prober.datagrams();
    prober.close();
    Ok(Leg { sizes, packets, is_dead })
}
