//! Attribution of loss: missing answers of a router indicate loss on the path only as far as they are missing behind it too.
//!
//! A probe that ends at a hop crossed all the hops before it. The share of the probes to a hop that survive the path is therefore
//! at most the share of those to a nearer one; where more is answered further on, the hop's own answers are missing.

use super::{Counted, Hop, HopsResult, Missing};
use serde::{Deserialize, Serialize};

/// Where loss begins that reaches the far end.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LossStart {
    /// Share of packets to the far end that are lost, there or on the return path.
    pub share: f64,
    /// Probes and answers that this rests on.
    #[serde(flatten)]
    pub counted: Counted,
    /// The last hop that more probes reach than the far end; absent: no hop is known to.
    pub clean: Option<u8>,
    /// The first hop behind it at which as many are missing; absent: only at the far end.
    #[serde(rename = "seen")]
    pub observed: Option<u8>,
}

/// Why answers are missing at each hop, and where loss begins that reaches the far end, if any does that cannot be the far
/// end's limit.
#[must_use]
pub fn judge(found: &HopsResult) -> (Vec<Missing>, Option<LossStart>) {
    let far = found.evidence().filter(|(counted, limited)| counted.missing() > 0 && !limited);
    let clean = far.and_then(|(far, _)| last_clean(found, far));
    let why: Vec<Missing> = (0..found.hops.len())
        .map(|at| {
            let lossy = far.is_some_and(|(far, _)| is_lossy(&found.hops[at], far, clean));
            missing(found, at, lossy)
        })
        .collect();
    let lossy = |(hop, why): &(&Hop, &Missing)| !hop.far_end && **why == Missing::Loss;
    let observed = found.hops.iter().zip(&why).find(lossy).map(|(hop, _)| hop.ttl);
    let start =
        far.and_then(|(far, _)| Some(LossStart { share: far.loss()?, counted: far, clean, observed }));
    (why, start)
}

/// `is_lossy`: it lies behind the beginning of loss and shows no less of it than the far end.
fn missing(found: &HopsResult, at: usize, is_lossy: bool) -> Missing {
    let hop = &found.hops[at];
    match hop.counted.answered {
        _ if hop.counted.missing() == 0 => Missing::None,
        0 => Missing::Silent,
        _ if limits_its_own(found, at) => Missing::OwnAnswers,
        _ if is_lossy => Missing::Loss,
        _ => Missing::Unclear,
    }
}

/// More is answered behind it.
fn limits_its_own(found: &HopsResult, at: usize) -> bool {
    let own = found.hops[at].counted;
    if found.evidence().is_some_and(|(far, _)| better(far, own, LEVEL)) {
        return true;
    }
    let behind: Vec<Counted> = found.hops[at + 1..].iter().map(|hop| hop.counted).collect();
    // Without this correction one of many comparisons would find a difference by chance.
    let level = LEVEL / (2.0 * behind.len().max(1) as f64);
    // All hops from one on are stronger evidence together than each alone.
    let together = (0..behind.len()).filter_map(|from| behind[from..].iter().copied().reduce(Counted::plus));
    behind.iter().copied().chain(together).any(|other| better(other, own, level))
}

/// The far end shows the loss itself; other hops only where it is known that those before them have none of it, since they
/// may just as well limit their answers.
fn is_lossy(hop: &Hop, far: Counted, clean: Option<u8>) -> bool {
    let behind = clean.is_some_and(|clean| hop.ttl > clean);
    (hop.far_end || behind) && !better(hop.counted, far, LEVEL)
}

/// The last hop that more probes reach than the far end.
fn last_clean(found: &HopsResult, far: Counted) -> Option<u8> {
    let middle: Vec<&Hop> = found.hops.iter().filter(|hop| !hop.far_end).collect();
    let level = 2.0 * LEVEL / middle.len().max(1) as f64;
    middle.iter().rev().find(|hop| better(hop.counted, far, level)).map(|hop| hop.ttl)
}

/// Whether more of `one` is answered than of `other`, and not by chance: Fisher's exact test, one-sided, at this level.
#[must_use]
pub fn better(one: Counted, other: Counted, level: f64) -> bool {
    let share = |counted: Counted| f64::from(counted.answered) / f64::from(counted.sent.max(1));
    one.sent > 0 && other.sent > 0 && share(one) > share(other) && chance(one, other) < level
}

/// The chance that at least as many of all answers fall to `one`, if both were answered equally often.
fn chance(one: Counted, other: Counted) -> f64 {
    let (sent, answered) = (one.sent + other.sent, one.answered + other.answered);
    let most = one.sent.min(answered);
    let combinations =
        |hits: u32| choose(one.sent, hits) + choose(other.sent, answered - hits) - choose(sent, answered);
    let possible = |hits: &u32| answered - hits <= other.sent;
    (one.answered..=most).filter(possible).map(|hits| combinations(hits).exp()).sum()
}

/// The logarithm of the number of combinations of `some` of `all`.
fn choose(all: u32, some: u32) -> f64 {
    let some = some.min(all - some);
    (1..=some).map(|k| f64::from(all - some + k).ln() - f64::from(k).ln()).sum()
}

/// The error level of a test: the chance that a random difference counts as one.
pub const LEVEL: f64 = 0.01;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hops::{HopFlow, HopProtocol};

    fn counted(answered: u32, sent: u32) -> Counted {
        Counted { sent, answered }
    }

    #[test]
    fn chances_are_those_of_fisher() {
        // The lady tasting tea: all four of four against none of four is 1 in 70, three or more 17 in 70.
        assert!((chance(counted(4, 4), counted(0, 4)) - 1.0 / 70.0).abs() < 1e-12);
        assert!((chance(counted(3, 4), counted(1, 4)) - 17.0 / 70.0).abs() < 1e-12);
        assert!((chance(counted(5, 5), counted(5, 5)) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_hop_that_may_limit_is_not_called_lossy() {
        let of_hops = |answered: [u32; 3]| {
            let hop = |(at, answered)| Hop {
                ttl: at,
                far_end: at == 3,
                counted: counted(answered, 20),
                flows: vec![counted(answered, 20)],
                ..Hop::default()
            };
            let flow = HopFlow { flow: None, reached_at: Some(3), far_end: None, again: None };
            let hops = (1..).zip(answered).map(hop).collect();
            let protocol = HopProtocol::Icmp;
            judge(&HopsResult { protocol, hops, flows: vec![flow], ..HopsResult::default() })
        };
        let (why, start) = of_hops([10, 9, 8]);
        assert_eq!(why, [Missing::Unclear, Missing::Unclear, Missing::Loss]);
        assert_eq!(start.map(|start| (start.clean, start.observed)), Some((None, None)));
        let (why, start) = of_hops([20, 9, 8]);
        assert_eq!(why, [Missing::None, Missing::Loss, Missing::Loss]);
        assert_eq!(start.map(|start| (start.clean, start.observed)), Some((Some(1), Some(2))));
    }

    #[test]
    fn few_probes_decide_little() {
        assert!(!better(counted(10, 10), counted(9, 10), LEVEL), "one missing may be chance");
        assert!(!better(counted(10, 10), counted(6, 10), LEVEL));
        assert!(better(counted(10, 10), counted(4, 10), LEVEL));
        assert!(better(counted(100, 100), counted(90, 100), LEVEL));
        assert!(
            !better(counted(4, 10), counted(10, 10), LEVEL)
                && !better(counted(0, 0), counted(0, 10), LEVEL)
                && !better(counted(3, 3), counted(0, 0), LEVEL)
        );
    }
}
