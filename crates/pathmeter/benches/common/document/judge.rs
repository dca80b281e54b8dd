//! Was a goal reached? Decided turn by turn, by ranks: a goal is reached when the median of the turns surely is on its
//! better side (95 %, by order statistics: the sign test turned round), missed when it surely is not, and open between.

use super::{Case, Contender, Goal, Measure, Record};
use model::stats::compare::Group;

/// The outcome of a goal.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Judged {
    /// The peer's strongest setting; empty where ours stands alone.
    pub(crate) peer: String,
    /// The median of the turns, the bounds of the true one, and how many turns there were.
    pub(crate) group: Group,
    pub(crate) reached: Reached,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reached {
    Yes,
    No,
    /// The bounds hold what was wanted, or there are too few turns for any.
    CannotTell,
}

impl Reached {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Reached::Yes => "yes",
            Reached::No => "no",
            Reached::CannotTell => "cannot tell",
        }
    }
}

/// Judges a goal; none where ours or every peer is missing.
pub(crate) fn judge(record: &Record, case: &Case, goal: &Goal) -> Option<Judged> {
    let higher_is_better = record.figure(&goal.figure)?.higher_is_better;
    let ours = case.contender(&goal.ours)?;
    let (peer, values) = if goal.peers.is_empty() {
        (String::new(), ours.values(&goal.figure))
    } else {
        let peers = goal.peers.iter().filter_map(|label| case.contender(label));
        let peer = strongest(peers, &goal.figure, higher_is_better)?;
        (peer.label.clone(), turn_by_turn(ours, peer, &goal.figure, goal.measure))
    };
    let group = Group::from_values(&values);
    let reached = match group.median_bounds {
        None => Reached::CannotTell,
        Some(bounds) => {
            let holds =
                |value: f64| if higher_is_better { value >= goal.wanted } else { value <= goal.wanted };
            match bounds.map(holds) {
                [true, true] => Reached::Yes,
                [false, false] => Reached::No,
                _ => Reached::CannotTell,
            }
        }
    };
    group.median.map(|_| Judged { peer, group, reached })
}

/// The one with the best median.
pub(crate) fn strongest<'a>(
    contenders: impl Iterator<Item = &'a Contender>,
    figure: &str,
    higher_is_better: bool,
) -> Option<&'a Contender> {
    let sign = if higher_is_better { 1.0 } else { -1.0 };
    let measured = contenders.filter_map(|contender| Some((contender.median(figure)? * sign, contender)));
    measured.max_by(|one, other| one.0.total_cmp(&other.0)).map(|(_, contender)| contender)
}

/// Ours against the peer in each turn that both made undisturbed.
pub(crate) fn turn_by_turn(ours: &Contender, peer: &Contender, figure: &str, measure: Measure) -> Vec<f64> {
    let pairs = ours.quiet().filter_map(|turn| {
        let beside = peer.quiet().find(|other| other.turn == turn.turn)?;
        Some((*turn.figures.get(figure)?, *beside.figures.get(figure)?))
    });
    let held = pairs.map(|(ours, peer)| match measure {
        Measure::Ratio => ours / peer,
        Measure::Difference => ours - peer,
        Measure::Value => ours,
    });
    held.filter(|value| value.is_finite()).collect()
}
