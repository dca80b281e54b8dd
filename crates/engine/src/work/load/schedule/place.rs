//! Where the limit is: load whose TTL ends at a hop, and among it sparse datagrams that go to the end. Those meet a full queue, or
//! are dropped, as long as the load reaches the limit. From the far end backwards: the limit stays saturated until the load does
//! not reach it any more.

use super::{LONGEST_STEP, Phase};
use crate::error::Result;
use crate::work::load::StepOutcome;
use model::limit::{FLOOD, LimitPlace, LoadStep, Purpose, StepRequest};
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
    let Some(links) = phase.reading.links.filter(|links| (1..=MOST_LINKS).contains(links)) else {
        return Ok(());
    };
    let pace = Pace::at(phase, rate);
    let mut answers: Vec<(u8, Reach)> = Vec::new();
    loop {
        let mut together = next_to_cross(&answers, links);
        // The first shows nothing without a second.
        let least = if answers.is_empty() { 2 } else { 1 };
        let in_time = |phase: &Phase<'_>| phase.left_for_load().saturating_sub(phase.answer).0 / pace.time.0;
        if together.is_empty() || in_time(phase) < least {
            break;
        }
        // After the small frames, and after a load that ended before the limit, everything goes to the end until it is saturated.
        if answers.last().is_none_or(|(before, reach)| *reach == Reach::No && *before < together[0]) {
            let loads = (together.len() as u64).clamp(least, in_time(phase));
            let longest = phase.saturation_time(pace.time.saturating_mul(loads) + phase.answer);
            phase.saturate(rate, longest)?;
        }
        together.truncate(in_time(phase) as usize);
        if together.is_empty() {
            break;
        }
        let steps: Vec<StepRequest> = together.iter().map(|crossed| pace.step(phase, *crossed)).collect();
        let outcome = phase.run(&steps)?;
        answers.extend(pace.take(phase, together.into_iter().zip(steps), &outcome));
    }
    phase.reading.place = place(&answers, links, phase.quest.direction);
    Ok(())
}

/// Loads that cross each number of links of a short path, right behind the hot steps: no answer is waited for between them.
pub(super) struct Behind {
    pace: Pace,
    links: u8,
    /// After small frames everything goes to the end once more.
    refill: StepRequest,
    loads: Vec<(u8, StepRequest)>,
}

impl Behind {
    /// The loads, where at least two fit into what the hot steps and their queue leave.
    pub(super) fn new(phase: &mut Phase<'_>, rate: f64, hot: Nanos, queue: Nanos) -> Option<Behind> {
        let is_wanted = phase.quest.place && !phase.quest.short;
        let links = phase.reading.links.filter(|links| is_wanted && (1..=IN_TURN).contains(links))?;
        let pace = Pace::at(phase, rate);
        // The queue delays the answer, and drains before the path is idle.
        let before = hot + REFILL + queue + queue + phase.answer;
        let in_time = phase.left_for_load().saturating_sub(before).0 / pace.time.0;
        let mut crossed = next_to_cross(&[], links);
        crossed.truncate(in_time as usize);
        let refill = phase.flood(rate, REFILL);
        let loads: Vec<(u8, StepRequest)> =
            crossed.into_iter().map(|crossed| (crossed, pace.step(phase, crossed))).collect();
        (loads.len() >= 2).then_some(Behind { pace, links, refill, loads })
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = StepRequest> {
        iter::once(self.refill).chain(self.loads.iter().map(|(_, step)| *step))
    }

    /// Takes what came of [`Behind::steps`]; whether it shows anything. Where the hot steps had another rate than the ladder, as behind a
    /// large bucket, the sparse datagrams alone may come near to it.
    pub(super) fn take(self, phase: &mut Phase<'_>, outcome: &[StepOutcome]) -> bool {
        let rate = phase.reading.rate().unwrap_or(0.0);
        if !NEAR.contains(&(rate / self.pace.rate)) {
            return false;
        }
        let pace = Pace { rate, ..self.pace };
        let loads = outcome.get(1..).unwrap_or_default();
        let answers: Vec<(u8, Reach)> = pace.take(phase, self.loads.into_iter(), loads);
        phase.reading.place = place(&answers, self.links, phase.quest.direction);
        true
    }
}

/// How such loads are sent at a rate of the limit.
#[derive(Clone, Copy, Debug)]
struct Pace {
    rate: f64,
    /// One in so many goes to the end.
    sparse: u8,
    time: Nanos,
}

impl Pace {
    fn at(phase: &Phase<'_>, rate: f64) -> Pace {
        let sparse = if rate < SLOW { 5 } else { 10 };
        let datagrams = SPARSE / LATE * f64::from(sparse) / FLOOD;
        Pace { rate, sparse, time: phase.time_of(datagrams, rate).clamp(STEP, LONGEST_STEP) }
    }

    /// A load that crosses so many links.
    fn step(self, phase: &mut Phase<'_>, crossed: u8) -> StepRequest {
        let step = phase.flood(self.rate, self.time);
        StepRequest { sparse: self.sparse, ttl: Some(crossed.min(64)), ..step }
    }

    /// Takes what came of these loads: which of them reached the limit.
    fn take(
        self,
        phase: &mut Phase<'_>,
        loads: impl Iterator<Item = (u8, StepRequest)>,
        outcome: &[StepOutcome],
    ) -> Vec<(u8, Reach)> {
        let mut answers = Vec::new();
        for ((crossed, step), outcome) in loads.zip(outcome) {
            phase.reading.take_scoped(Purpose::Scoped, step, Some(outcome), Some(crossed));
            answers.push((crossed, self.reach(phase)));
        }
        answers
    }

    /// By the last step: what the sparse datagrams saw.
    fn reach(self, phase: &Phase<'_>) -> Reach {
        let steps = phase.reading.steps();
        // The hot steps may have lost more: a policer's bucket for each flow, or a sender that was faster then.
        let whole = steps.iter().rev().find(|step| step.links == Some(WHOLE)).map_or(0.0, |step| step.loss);
        let Some(last) = steps.last() else { return Reach::Unclear };
        let in_turn = phase.reading.links.is_some_and(|links| links <= IN_TURN);
        match self.reach_of(last, whole, phase.reading.queue()) {
            // On a longer path nothing would compare with it.
            Reach::Yes if in_turn && takes_less(last, whole) => Reach::Unclear,
            reach => reach,
        }
    }

    /// By one step, where a load that goes to the end loses such a share, and waits in such a queue.
    fn reach_of(self, last: &LoadStep, whole: f64, queue: Nanos) -> Reach {
        let (rate, time) = (self.rate, self.time);
        // A sender that was held back, by this host or by a queue of it, never loaded the limit.
        if (last.sent.0 as f64) < LOADED * rate {
            return Reach::Unclear;
        }
        // The limit's queue, or a faster link's before it, is not full yet: nothing compares with what is lost until then.
        let fills = |drift: i64| drift as f64 > SURE_DRAIN.max(FILLS * last.growth.0 as f64);
        if last.links == Some(WHOLE) && last.drift.is_some_and(fills) {
            return Reach::Unclear;
        }
        let share = last
            .sparse_loss
            .filter(|_| whole > SURE_LOSS && last.sparse >= SPARSE as u64 / 2)
            .map(|loss| loss / whole);
        let by_loss = share.map_or(Reach::Unclear, reach_of_share);
        // A queue that is not filled any more drains while a part of its rate still comes.
        let comes = FLOOD / f64::from(self.sparse);
        let first = last.growth_first.0.max(queue.0 / 2) as f64;
        let drains = (time.0 as f64 * (1.0 - LATE / 2.0) * (1.0 - comes)).min(first * 0.9);
        let by_drift = match last.drift {
            Some(drift) if drains > SURE_DRAIN => reach_of_share(1.0 + drift as f64 / drains),
            _ => Reach::Unclear,
        };
        let grows = by_loss == Reach::No && last.drift.is_some_and(|drift| drift as f64 > SURE_DRAIN);
        match (by_loss, by_drift) {
            (Reach::Unclear, one) | (one, Reach::Unclear) => one,
            (one, other) if one == other => one,
            // A queue that was empty already does not drain; one that grows is the limit's, as AQM keeps it for each flow. Losses while the
            // queue drains are those of another link, or of a rate that varies.
            (Reach::No, _) if share.is_some_and(|share| share < SURE_SHARE) && !grows => Reach::No,
            _ => Reach::Unclear,
        }
    }
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

/// Less of the load is lost than of one that goes to the end: a faster limit before it may have taken it.
fn takes_less(scoped: &LoadStep, whole: f64) -> bool {
    let deviation = (whole * (1.0 - whole) / (scoped.sparse as f64).max(1.0)).sqrt();
    let is_less = scoped.sparse_loss.is_some_and(|loss| whole - loss > LESS * deviation);
    is_less && scoped.links != Some(WHOLE)
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
/// The rate of the hot steps, of that of the ladder.
const NEAR: RangeInclusive<f64> = 0.85..=1.2;
/// A bucket that small frames have filled, and a queue that they let drain.
const REFILL: Nanos = Nanos::from_millis(120);
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
/// A queue that grows by this part of itself in a step is not full.
const FILLS: f64 = 0.2;
/// Times the rate of the limit that a load must have, of about twice that were wanted.
const LOADED: f64 = 1.3;
const REACHED: f64 = 0.6;
/// Standard deviations by which a loss is less than another beyond chance, in fourteen of fifteen cases.
const LESS: f64 = 1.5;
const NOT_REACHED: f64 = 0.4;
/// A part of the losses that shows by itself that the load has not reached the limit.
const SURE_SHARE: f64 = 0.15;

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::{BitRate, Bytes};

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
    fn sparse_datagrams_show_by_losses_and_by_delays_whether_the_load_reached_the_limit() {
        let pace = Pace { rate: 10e6, sparse: 5, time: Nanos::from_millis(200) };
        let queue = Nanos::from_millis(60);
        let reach = |sparse_loss, drift: Option<i64>| {
            let drift = drift.map(|milliseconds| milliseconds * 1_000_000);
            pace.reach_of(&LoadStep { sparse_loss, drift, ..scoped(21_000_000) }, 0.5, queue)
        };
        assert_eq!(reach(Some(0.5), Some(0)), Reach::Yes);
        let loses = |loss| LoadStep { sparse_loss: Some(loss), ..scoped(21_000_000) };
        assert_eq!(
            [0.4, 0.35].map(|loss| takes_less(&loses(loss), 0.5)),
            [false, true],
            "a faster link before it"
        );
        assert_eq!(reach(Some(0.0), Some(-50)), Reach::No);
        assert_eq!(reach(None, Some(-50)), Reach::No, "a queue that drains");
        assert_eq!(reach(Some(0.0), Some(-2)), Reach::No, "a queue that was empty already");
        assert_eq!(reach(Some(0.15), Some(-2)), Reach::Unclear, "the delays of a full queue");
        assert_eq!(reach(Some(0.5), Some(-50)), Reach::Unclear, "the losses of a faster link before it");
        let whole = |drift: i64| LoadStep {
            links: Some(WHOLE),
            drift: Some(drift * 1_000_000),
            ..scoped(21_000_000)
        };
        assert_eq!(pace.reach_of(&whole(2), 0.5, queue), Reach::Yes);
        assert_eq!(pace.reach_of(&whole(20), 0.5, queue), Reach::Unclear, "a queue that fills");
        // The sparse ones have a queue of their own, which fills beside that of the load.
        assert_eq!(reach(Some(0.0), Some(20)), Reach::Unclear);
        assert_eq!(
            pace.reach_of(&scoped(12_000_000), 0.5, queue),
            Reach::Unclear,
            "a sender that was held back"
        );
    }

    /// A step with 40 sparse datagrams.
    fn scoped(sent: u64) -> LoadStep {
        let queue = Nanos::from_millis(60);
        LoadStep {
            purpose: Purpose::Scoped,
            size: 1472,
            sent: BitRate(sent),
            delivered: BitRate(sent / 2),
            datagrams: 200,
            loss: 0.5,
            growth: queue,
            growth_p10: queue,
            growth_first: queue,
            spread: Nanos::ZERO,
            growth_p98: queue,
            growth_max: queue,
            growth_at_loss: None,
            other_growth: None,
            drift: None,
            sparse_loss: Some(0.5),
            sparse: 40,
            ahead: Bytes(0),
            marked: 0.0,
            reordered: 0.0,
            stalled: 0.0,
            links: Some(2),
        }
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
