//! Where a full queue is, by the round trips to the routers of the path and to its far end: they grow from the first behind it on.

use model::limit::LimitPlace;
use model::units::Nanos;

/// The links among which the queue is; absent: the round trips do not agree, or say nothing. `growth`: by how much each of them grew,
/// the far end's last. `queue`: the queue as the load met it.
pub(super) fn place(growth: &[Option<Nanos>], queue: f64) -> Option<LimitPlace> {
    let links = u8::try_from(growth.len()).ok()?;
    let known = || {
        let each = (1_u8..=links).zip(growth);
        each.filter_map(|(link, growth)| Some((link, growth.map(|growth| growth.0 as f64)?)))
    };
    // Probes of a flow of their own may have met no queue.
    let longest = known().map(|(_, growth)| growth).fold(0.0, f64::max);
    let far = known().find(|(link, _)| *link == links).map(|(_, growth)| growth);
    let full = far.unwrap_or(longest);
    if full < LEAST || full < GROWN * queue {
        return None;
    }
    let behind = known().find(|(_, growth)| *growth >= GROWN * full).map(|(link, _)| link)?;
    let still = known().filter(|(_, growth)| *growth <= STILL * full).map(|(link, _)| link);
    let before = still.max().unwrap_or(0);
    let agree = known().all(|(link, growth)| link < behind || growth >= GROWN * full);
    let is_part = before > 0 || behind < links;
    (agree && before < behind && is_part).then_some(LimitPlace { first: before + 1, last: behind })
}

/// Shorter queues do not stand out from what routers take to answer, nanoseconds.
const LEAST: f64 = 3e6;
/// Those behind the queue grew by so much of the longest.
const GROWN: f64 = 0.5;
/// Those before it grew by no more.
const STILL: f64 = 0.25;

#[cfg(test)]
mod tests {
    use super::*;

    fn found(growth: &[Option<u64>]) -> Option<(u8, u8)> {
        let growth: Vec<Option<Nanos>> = growth.iter().map(|one| one.map(Nanos::from_millis)).collect();
        place(&growth, 100e6).map(|place| (place.first, place.last))
    }

    #[test]
    fn the_queue_is_before_the_first_router_whose_round_trip_grew() {
        assert_eq!(found(&[Some(1), Some(0), Some(98), Some(103)]), Some((3, 3)));
        assert_eq!(found(&[Some(99), Some(97), Some(101)]), Some((1, 1)));
        assert_eq!(found(&[Some(2), Some(0), Some(95)]), Some((3, 3)));
        assert_eq!(found(&[Some(1), None, Some(98), None]), Some((2, 3)), "a silent router widens it");
    }

    #[test]
    fn a_queue_that_the_probes_did_not_meet_has_no_place() {
        assert_eq!(found(&[Some(2), Some(0), Some(1)]), None, "each flow has a queue of its own");
        assert_eq!(found(&[Some(2), Some(1), None]), None, "the far end answers none");
        assert_eq!(found(&[None, None, Some(98)]), None, "nothing is ruled out");
        assert_eq!(found(&[]), None);
    }

    #[test]
    fn round_trips_that_contradict_each_other_name_no_place() {
        assert_eq!(found(&[Some(90), Some(2), Some(95)]), None);
        assert_eq!(found(&[Some(2), Some(80), Some(35), Some(90)]), None);
    }
}
