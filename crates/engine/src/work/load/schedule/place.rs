//! Where the limit is: load whose TTL ends at a hop, and among it sparse datagrams that go to the end. Those meet a full queue, or
//! are dropped, as long as the load reaches the limit. From the far end backwards: the limit stays saturated until the load does
//! not reach it any more.

use super::{LONGEST_STEP, Phase};
use crate::error::Result;
use model::limit::{FLOOD, LimitPlace, Purpose, StepRequest};
use model::plan::Direction;
use model::units::Nanos;
use std::iter;
use std::ops::RangeInclusive;

/// Did the load of a step reach the limit?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reach {
    Yes,
    No,
    Unclear,
}

/// Looks for the link, with load of about twice the rate of the limit.
pub(super) fn look(phase: &mut Phase<'_>, rate: f64) -> Result<()> {
    let Some(links) = phase.reading.links().filter(|links| (1..=MOST_LINKS).contains(links)) else {
        return Ok(());
    };
    let sparse: u8 = if rate < SLOW { 5 } else { 10 };
    let per_sparse = f64::from(sparse);
    let time = phase.time_of(SPARSE / LATE * per_sparse / FLOOD, rate).clamp(STEP, LONGEST_STEP);
    let most = rate * super::SATURATED / phase.bits(phase.quest.payload);
    let mut answers: Vec<(u8, Reach)> = Vec::new();
    loop {
        let mut together = next_to_cross(&answers, links);
        // The first shows nothing without a second.
        let least = if answers.is_empty() { 2 } else { 1 };
        let in_time = phase.left_for_load().saturating_sub(phase.answer).0 / time.0.max(1);
        if together.is_empty() || in_time < least {
            break;
        }
        // After the small frames, and after a load that ended before the limit, everything goes to the end until it is saturated.
        let first = together[0];
        if answers.last().is_none_or(|(before, reach)| *reach == Reach::No && *before < first) {
            let flood = phase.step(phase.allowed(rate * FLOOD), phase.quest.payload, time);
            let following = time.saturating_mul((together.len() as u64).clamp(least, in_time)) + phase.answer;
            let longest = phase.saturation_time(following);
            phase.path.saturate(StepRequest { time: longest, ..flood }, most)?;
        }
        together.truncate((phase.left_for_load().saturating_sub(phase.answer).0 / time.0.max(1)) as usize);
        let steps: Vec<StepRequest> = together
            .iter()
            .map(|crossed| {
                let step = phase.step(phase.allowed(rate * FLOOD), phase.quest.payload, time);
                StepRequest { sparse, ttl: Some((*crossed).min(64)), ..step }
            })
            .collect();
        if steps.is_empty() {
            break;
        }
        let outcome = phase.run(&steps)?;
        for (index, (crossed, step)) in together.into_iter().zip(steps).enumerate() {
            phase.reading.take_scoped(Purpose::Scoped, step, outcome.get(index), Some(crossed));
            answers.push((crossed, reach(phase, (rate, per_sparse), time)));
        }
    }
    phase.reading.place = place(&answers, links, phase.quest.direction);
    Ok(())
}

/// The numbers of links that the next loads cross, one after another without a pause: to the end first, for comparison, and each hop in
/// turn from the far end; on a long path half of the links that are left, one load at a time. Empty: the place is known.
fn next_to_cross(answers: &[(u8, Reach)], links: u8) -> Vec<u8> {
    let Some((last, rest)) = answers.split_last() else {
        let hops = if links <= IN_TURN { links } else { 0 };
        return iter::once(WHOLE).chain((1..hops).rev()).collect();
    };
    if links <= IN_TURN || rest.is_empty() && last.1 != Reach::Yes {
        return Vec::new();
    }
    let (not, reached) = bounds(answers, links);
    if last.1 != Reach::Unclear && reached > not + 1 { vec![not.midpoint(reached)] } else { Vec::new() }
}

/// The most links that were crossed without the limit, and the fewest with it.
fn bounds(answers: &[(u8, Reach)], links: u8) -> (u8, u8) {
    let clear = |wanted| {
        answers.iter().filter(move |(crossed, reach)| *reach == wanted && *crossed != WHOLE).map(|one| one.0)
    };
    (clear(Reach::No).max().unwrap_or(0), clear(Reach::Yes).min().unwrap_or(links))
}

/// By the last step: what the sparse datagrams saw.
fn reach(phase: &Phase<'_>, (rate, per_sparse): (f64, f64), time: Nanos) -> Reach {
    let steps = phase.reading.steps();
    let Some(last) = steps.last() else { return Reach::Unclear };
    // A sender that was held back, by this host or by a queue of it, never loaded the limit.
    if (last.sent.0 as f64) < LOADED * rate {
        return Reach::Unclear;
    }
    // The hot steps may have lost more: a policer's bucket for each flow, or a sender that was faster then.
    let whole = steps.iter().rev().find(|step| step.links == Some(WHOLE)).map_or(0.0, |step| step.loss);
    let share = last
        .sparse_loss
        .filter(|_| whole > SURE_LOSS && last.sparse >= SPARSE as u64 / 2)
        .map(|loss| loss / whole);
    let by_loss = share.map_or(Reach::Unclear, reach_of_share);
    // A queue that is not filled any more drains while a part of its rate still comes.
    let comes = FLOOD / per_sparse;
    let first = last.growth_first.0.max(phase.reading.queue().0 / 2) as f64;
    let drains = (time.0 as f64 * (1.0 - LATE / 2.0) * (1.0 - comes)).min(first * 0.9);
    let by_drift = match last.drift {
        Some(drift) if drains > SURE_DRAIN => reach_of_share(1.0 + drift as f64 / drains),
        _ => Reach::Unclear,
    };
    match (by_loss, by_drift) {
        (Reach::Unclear, one) | (one, Reach::Unclear) => one,
        (one, other) if one == other => one,
        // A queue that was empty already does not drain. A rate that varies changes the losses, but does not end them.
        (one, _) if share.is_some_and(|share| !UNSURE.contains(&share)) => one,
        _ => Reach::Unclear,
    }
}

fn reach_of_share(of_hot: f64) -> Reach {
    match of_hot {
        REACHED.. => Reach::Yes,
        ..=NOT_REACHED => Reach::No,
        _ => Reach::Unclear,
    }
}

/// The place by loads that crossed so many links, from the most to the fewest: the link behind the last that did not reach the limit.
/// Anything but reached … reached, not … not is a range, or nothing.
fn place(answers: &[(u8, Reach)], links: u8, direction: Direction) -> Option<LimitPlace> {
    // To the end it must have been reached, or nothing is comparable.
    if answers.first().is_none_or(|(_, reach)| *reach != Reach::Yes) {
        return None;
    }
    let (not, reached) = bounds(answers, links);
    if not >= reached {
        return None;
    }
    let (first, last) = (not + 1, reached);
    Some(match direction {
        Direction::Up => LimitPlace { first, last },
        // The far end sends: its first link is the last from here.
        Direction::Down => LimitPlace { first: links + 1 - last, last: links + 1 - first },
    })
}

/// More links are no path of today.
const MOST_LINKS: u8 = 40;
/// Each of so few links is tried.
const IN_TURN: u8 = 5;
/// A load that goes to the end.
const WHOLE: u8 = u8::MAX;
/// Sparse datagrams in the late part of a step.
const SPARSE: f64 = 40.0;
/// Share of a step that is late.
const LATE: f64 = 0.6;
/// Below this more of the datagrams are sparse.
const SLOW: f64 = 20e6;
const STEP: Nanos = Nanos::from_millis(160);
/// Loss of a hot load from which its absence shows.
const SURE_LOSS: f64 = 0.15;
/// A queue that could drain by less shows nothing, nanoseconds.
const SURE_DRAIN: f64 = 3e6;
/// Times the rate of the limit that a load must have, of about twice that were wanted.
const LOADED: f64 = 1.3;
const REACHED: f64 = 0.6;
const NOT_REACHED: f64 = 0.4;
/// Parts of the losses that decide nothing where the delays show something else.
const UNSURE: RangeInclusive<f64> = 0.15..=0.85;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_is_behind_the_last_hop_that_was_not_reached() {
        let (yes, no, unclear) = (Reach::Yes, Reach::No, Reach::Unclear);
        let up =
            |answers: &[(u8, Reach)]| place(answers, 4, Direction::Up).map(|place| (place.first, place.last));
        assert_eq!(up(&[(255, yes), (3, yes), (2, no), (1, no)]), Some((3, 3)));
        assert_eq!(up(&[(255, yes), (3, no), (2, no)]), Some((4, 4)));
        assert_eq!(up(&[(255, yes), (3, yes), (2, yes), (1, yes)]), Some((1, 1)));
        assert_eq!(up(&[(255, yes), (3, yes), (2, unclear), (1, no)]), Some((2, 3)));
        assert_eq!(up(&[(255, yes), (3, no), (2, yes), (1, no)]), None, "a contradiction");
        assert_eq!(up(&[(255, unclear), (3, yes)]), None);
        let down = place(&[(255, yes), (3, yes), (2, no), (1, no)], 4, Direction::Down);
        assert_eq!(down.and_then(LimitPlace::link), Some(2));
    }

    #[test]
    fn a_long_path_is_halved() {
        for limit in 1..=20_u8 {
            let mut answers = Vec::new();
            while let [crossed] = next_to_cross(&answers, 20)[..] {
                answers.push((crossed, if crossed >= limit { Reach::Yes } else { Reach::No }));
            }
            assert!(answers.len() <= 6, "{limit}: {answers:?}");
            assert_eq!(place(&answers, 20, Direction::Up).and_then(LimitPlace::link), Some(limit));
        }
        assert!(next_to_cross(&[(WHOLE, Reach::Unclear)], 20).is_empty());
        assert!(next_to_cross(&[(WHOLE, Reach::Yes), (10, Reach::Unclear)], 20).is_empty(), "links 1 to 20");
        assert_eq!(next_to_cross(&[], 4), [WHOLE, 3, 2, 1]);
    }
}
