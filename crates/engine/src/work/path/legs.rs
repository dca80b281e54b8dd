//! Further flows between the same two hosts: routers that share packets out over equal paths send each flow one way.

use super::Job;
use super::native::WayFinder;
use crate::error::Result;
use crate::work::probe::{Prober, Probes};
use model::path::{FlowSize, PathResult, Unknown};
use model::plan::Direction;

/// Looks at some more flows, all at once, each with ports of its own, and adds the path MTU of each direction to the result.
pub(super) fn look(job: &Job<'_>, result: &mut PathResult) {
    let known = &*result;
    let found: Vec<Result<Leg>> = std::thread::scope(|scope| {
        let begun: Vec<_> = (0..FLOWS).map(|_| scope.spawn(|| leg(job, known))).collect();
        begun.into_iter().filter_map(|flow| flow.join().ok()).collect()
    });
    let (legs, errors): (Vec<_>, Vec<_>) = found.into_iter().partition(Result::is_ok);
    for leg in legs.into_iter().flatten() {
        result.packets += leg.packets;
        for (direction, size) in leg.sizes {
            if let Some(one_way) = result.direction_mut(direction) {
                one_way.other_flows.push(size);
            }
        }
    }
    if let Some(Err(error)) = errors.into_iter().next() {
        result.unknown.push(Unknown {
            direction: None,
            what: "whether all flows take the same path".into(),
            why: format!(
                "not all further sessions with the far end could be opened: {}",
                crate::error::sentence(&error)
            ),
        });
    }
}

/// What one flow was found to carry.
struct Leg {
    sizes: Vec<(Direction, FlowSize)>,
    packets: u64,
}

fn leg(job: &Job<'_>, known: &PathResult) -> Result<Leg> {
    let mut prober = Prober::open(&job.plan.target, &job.plan.local, job.security, job.interrupt)?;
    let mut sizes = Vec::new();
    for direction in [Direction::Up, Direction::Down] {
        let Some(one_way) = known.in_direction(direction) else { continue };
        let size = WayFinder::size(&mut prober as &mut dyn Probes, direction, one_way)?;
        sizes.extend(size.map(|size| (direction, size)));
    }
    let packets = prober.datagrams();
    prober.close();
    Ok(Leg { sizes, packets })
}

/// With the first one five: of two equal paths one is missed by all in one of 16 looks.
const FLOWS: usize = 4;
