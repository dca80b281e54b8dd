//! The limit of a direction's rate: the decision table of `docs/methods/limit.md`, one row for each kind, over one type of
//! evidence. The first row that holds names the limit.

mod evidence;
pub mod facts;
mod observed;
mod path;
mod routers;
mod rows;
mod signs;
mod sweep;
mod words;

pub use evidence::{evidence_of, evidence_of_load, evidence_of_rows, is_queue_filled};
pub use observed::sentences as observed_sentences;
pub use words::{brief, place, sentence, where_and_what};

use model::limit::{Confidence, Evidence, Limit, LimitKind};
use model::plan::Direction;
use model::run::{Run, Subject};
use model::units::BitRate;
use rows::ROWS;
use signs::{LITTLE_LOST, Signs};

/// Which end of a direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The sending end.
    Sender,
    /// The receiving end.
    Receiver,
    /// Both.
    Either,
}

/// A limit without figures.
fn limit(kind: LimitKind, confidence: Confidence) -> Limit {
    Limit { kind, confidence, ..Limit::default() }
}

/// The limit that this evidence shows.
#[must_use]
pub fn limit_of(evidence: &Evidence) -> Limit {
    let signs = Signs::new(evidence);
    let named = ROWS.iter().find_map(|row| row(&signs));
    let mut limit = named.map_or_else(|| rows::not_known(&signs), unless_hardly_sure);
    if evidence.host.busy {
        limit.confidence = signs.lowered(limit.confidence);
    }
    observed::explained(facts::explained(facts::wifi(limit, &signs), &signs), &signs)
}

/// A limit of the path that the load hardly shows is not named: most of those are another one. Random loss rests on TCP's own losses.
fn unless_hardly_sure(limit: Limit) -> Limit {
    let is_shown = limit.confidence > Confidence::Low || limit.kind == LimitKind::Loss;
    if is_shown || !limit.kind.is_of_the_path() {
        return limit;
    }
    let looks = brief(&limit).unwrap_or_else(|| limit.kind.to_string());
    Limit {
        ruled_out: vec![format!("a load met what looks like {looks}, which its steps hardly show")],
        ..Limit::default()
    }
}

/// The highest rate, in frames, that a load after the test passed without loss; absent: there was no load, or none passed.
#[must_use]
pub fn lossless_rate(run: &Run, direction: Direction) -> Option<BitRate> {
    lossless(&Signs::new(&evidence_of(run, direction)?))
}

fn lossless(signs: &Signs<'_>) -> Option<BitRate> {
    let rate = signs.hot.map_or_else(|| signs.passed_with(LITTLE_LOST), |hot| hot.rate * BELOW_LIMIT);
    (rate > 0.0).then_some(BitRate(rate as u64))
}

/// The limit of the path that a load met, whatever the tests before it were held back by; `not-known`: it met none.
#[must_use]
pub fn limit_of_path(evidence: &Evidence) -> Limit {
    let signs = Signs::new(evidence);
    let rows = [rows::host_drop, path::others::standing, path::others::competing, path::any];
    let mut limit = rows.into_iter().find_map(|row| row(&signs)).unwrap_or_default();
    if evidence.host.busy {
        limit.confidence = signs.lowered(limit.confidence);
    }
    limit
}

/// Fills in the limits of a run: of its directions, of the phases of a load, of the rows of a sweep. What stood there is replaced.
pub(crate) fn fill(run: &mut Run) {
    for direction in [Direction::Up, Direction::Down] {
        // The rows of a sweep set those of its tests.
        let limit = evidence_of(run, direction).filter(has_figures).map(|evidence| limit_of(&evidence));
        let limit = limit.filter(|limit| limit.kind != LimitKind::NotKnown || !limit.ruled_out.is_empty());
        set(run, direction, limit);
        fill_phase(run, direction);
    }
    if run.subject() == Subject::Frames {
        sweep::fill(run);
    }
}

fn set(run: &mut Run, direction: Direction, limit: Option<Limit>) {
    let figures = direction.choose(run.summary.up.as_mut(), run.summary.down.as_mut());
    if let Some(figures) = figures {
        figures.limit = limit.map(Box::new);
    }
}

/// Only the path's limit is known of a load beside round trips, where its signs agree: what its hosts did is not.
fn fill_phase(run: &mut Run, direction: Direction) {
    let evidence = evidence_of_load(run, direction).filter(|evidence| evidence.load.is_some());
    let is_named = |limit: &Limit| limit.kind.is_of_the_path() && limit.confidence > Confidence::Low;
    let limit = evidence.map(|evidence| limit_of(&evidence)).filter(is_named);
    let phases = run.summary.loaded.iter_mut().flat_map(|loaded| &mut loaded.phases);
    for phase in phases.filter(|phase| phase.direction() == Some(direction)) {
        phase.limit = limit.clone().map(Box::new);
    }
}

/// Datagrams show nothing without a load after them.
fn has_figures(evidence: &Evidence) -> bool {
    evidence.tcp.is_some() || evidence.load.as_ref().is_some_and(|load| !load.steps.is_empty())
}

/// A path that takes no more than a rate loses nothing at this share of it.
const BELOW_LIMIT: f64 = 0.97;

#[cfg(test)]
mod tests;
