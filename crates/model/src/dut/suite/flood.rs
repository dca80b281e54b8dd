//! The results of a flood: whether the device forwards at all, and the most load that trials may offer.

use super::super::setup::MOST_LOAD;
use super::super::{DirectionObservation, LoadLimit, Observation, Setup, StreamReport};
use crate::search::{Load, TrialResult};
use crate::units::Nanos;

/// Reads a flood into the report of its stream.
///
/// # Errors
/// Why no test can be done with this stream.
pub(super) fn read(setup: &Setup, row: &mut StreamReport, observation: &Observation) -> Result<(), String> {
    row.flood.clone_from(&observation.directions);
    let ceiling = ceiling(setup, observation);
    if ceiling.0 <= 0.0 {
        return Err("the generator sent no frame".to_owned());
    }
    row.ceiling = Some(ceiling);
    if observation.result.received == 0 {
        return Err("no frame came through".to_owned());
    }
    if let Some(dead) = observation.directions.iter().find(|direction| direction.result.received == 0) {
        let direction =
            dead.direction.choose("from the first port to the second", "from the second port to the first");
        return Err(format!("no frame came through {direction}"));
    }
    let (most, limit) = most(row.line_rate, setup.max.map(Load::from), ceiling);
    (row.most, row.limit) = (Some(most), Some(limit));
    Ok(())
}

/// The rate that the device forwarded of a flood in the direction in which it forwarded less; zero where that is not known.
pub(super) fn forwarded(directions: &[DirectionObservation]) -> Load {
    let rate = |direction: &DirectionObservation| {
        direction.result.distinct() as f64 / direction.time.max(Nanos::from_nanos(1)).as_secs_f64()
    };
    Load(directions.iter().map(rate).reduce(f64::min).unwrap_or(0.0))
}

/// The generator's rate in the slower direction.
fn ceiling(setup: &Setup, observation: &Observation) -> Load {
    let rate = |result: &TrialResult, time: Nanos| {
        let time = if time == Nanos::ZERO { setup.times.flood } else { time };
        (result.sent as f64 / time.as_secs_f64()).min(MOST_LOAD.0)
    };
    let of_direction = |direction: &DirectionObservation| rate(&direction.result, direction.time);
    let slowest = observation.directions.iter().map(of_direction).reduce(f64::min);
    Load(slowest.unwrap_or_else(|| rate(&observation.result, setup.times.flood)))
}

/// The most load of all trials, and what it is bounded by.
fn most(line: Option<Load>, requested: Option<Load>, ceiling: Load) -> (Load, LoadLimit) {
    let fills = |line: &Load| ceiling.0 >= line.0 * FULL;
    let reach = line.filter(fills).unwrap_or(Load(ceiling.0 * MARGIN));
    let bounds =
        [(line, LoadLimit::LineRate), (requested, LoadLimit::Asked), (Some(reach), LoadLimit::Generator)];
    let mut least = (reach, LoadLimit::Generator);
    for (load, limit) in bounds.into_iter().rev() {
        if let Some(load) = load.filter(|load| *load <= least.0) {
            least = (load, limit);
        }
    }
    least
}

/// A flood this near to the line rate fills the link: the rest is its beginning and its end.
const FULL: f64 = 0.98;
/// The share of its ceiling that is required of a generator at a paced load: it needs some to catch up after delays of the host, or
/// else no trial at the most load would be on time.
const MARGIN: f64 = 0.95;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_load_is_the_least_of_the_bounds() {
        let most_load = |line: Option<f64>, requested: Option<f64>, ceiling| {
            most(line.map(Load), requested.map(Load), Load(ceiling))
        };
        assert_eq!(most_load(None, None, 1000.0), (Load(950.0), LoadLimit::Generator));
        assert_eq!(most_load(Some(800.0), None, 1000.0), (Load(800.0), LoadLimit::LineRate));
        assert_eq!(most_load(Some(1010.0), None, 1000.0), (Load(1010.0), LoadLimit::LineRate));
        assert_eq!(most_load(Some(1100.0), None, 1000.0), (Load(950.0), LoadLimit::Generator));
        assert_eq!(most_load(Some(800.0), Some(700.0), 1000.0), (Load(700.0), LoadLimit::Asked));
        assert_eq!(most_load(None, Some(990.0), 1000.0), (Load(950.0), LoadLimit::Generator));
        assert_eq!(most_load(Some(800.0), Some(800.0), 1000.0), (Load(800.0), LoadLimit::LineRate));
    }
}
