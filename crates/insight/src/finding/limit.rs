//! What sets the rate of a direction: the decision table of `docs/methods/limit.md`, one row for each kind, over one type of
//! evidence. The first row that holds names the limit.

mod evidence;
mod path;
mod rows;
mod signs;
mod words;

pub use evidence::evidence_of;
pub use words::{brief, place, sentence};

use model::limit::{Evidence, Limit, LimitKind};
use model::plan::Direction;
use model::run::Run;
use model::units::BitRate;
use rows::ROWS;
use signs::Signs;

/// The limit that this evidence shows.
#[must_use]
pub fn limit_of(evidence: &Evidence) -> Limit {
    let signs = Signs::new(evidence);
    let named = ROWS.iter().find_map(|row| (row.holds)(&signs));
    let mut limit = named.unwrap_or_else(|| rows::not_known(&signs));
    if evidence.host.busy {
        limit.confidence = signs.lowered(limit.confidence);
    }
    limit
}

/// The highest rate, in frames, that a load after the test passed without loss; absent: there was no load, or none passed.
#[must_use]
pub fn lossless_rate(run: &Run, direction: Direction) -> Option<BitRate> {
    lossless(&Signs::new(&evidence_of(run, direction)?))
}

fn lossless(signs: &Signs<'_>) -> Option<BitRate> {
    let rate = signs.hot.map_or(signs.passed, |hot| hot.rate * BELOW_LIMIT);
    (rate > 0.0).then_some(BitRate(rate as u64))
}

/// Fills in the limits of the directions of a run. What stood there is replaced.
pub(crate) fn fill(run: &mut Run) {
    for direction in [Direction::Up, Direction::Down] {
        let limit = evidence_of(run, direction).filter(says_something).map(|evidence| limit_of(&evidence));
        let figures = match direction {
            Direction::Up => run.summary.up.as_mut(),
            Direction::Down => run.summary.down.as_mut(),
        };
        let limit = limit.filter(|limit| limit.kind != LimitKind::NotKnown || !limit.ruled_out.is_empty());
        if let Some(figures) = figures {
            figures.limit = limit.map(Box::new);
        }
    }
}

/// Datagrams alone, without a rate and a decision phase, show nothing.
fn says_something(evidence: &Evidence) -> bool {
    evidence.tcp.is_some()
}

/// A path that takes no more than a rate loses nothing at this share of it.
const BELOW_LIMIT: f64 = 0.97;

#[cfg(test)]
mod tests;
