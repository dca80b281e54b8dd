//! The rows about a queue: full, short, or kept short by its management.

use super::super::signs::{BINDING, Hot, MILLI, STALLED, Signs};
use super::figures::{per_flow, with_queue};
use super::others::waits_below;
use super::packets::sure;
use super::{NOT_MET, is_touched};
use model::limit::{Confidence, Limit, LimitKind, Purpose};
use model::units::Nanos;

/// A queue that is kept short by marks, or for other flows.
pub(in crate::finding::limit) fn short_queue(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot.filter(Hot::is_queued)?;
    let load = signs.load()?;
    let hot_steps = || load.for_purpose(Purpose::Hot).filter(|step| step.stalled < STALLED);
    // A timer marks few packets of a fast load, and some in every step; a queue behind the limit marks none of a lower load.
    let is_everywhere = || {
        signs.step(Purpose::Lower).is_some_and(|lower| lower.marked > 0.0)
            && hot_steps().all(|step| step.marked > 0.0)
    };
    let is_marked = hot_steps().any(|step| step.marked >= 0.02) || is_everywhere();
    let others = hot_steps().filter_map(|step| Some((step.other_growth?.0 as f64, step.growth.0 as f64)));
    let is_fair = others.into_iter().any(|(other, own)| own > 5.0 * MILLI && other < 0.3 * own);
    // Where each flow has a queue of its own, that of the first goes on beside the next, and takes a part of the rate.
    let most = hot_steps().map(|step| step.delivered.0 as f64).fold(hot.rate, f64::max);
    let is_fair = is_fair && per_flow(signs, most) != Some(true);
    let rate = if is_fair { most } else { hot.rate };
    // One queue for all flows that marks: the load fills it, and how long it is then is known.
    if is_marked && !is_fair && hot.loss > 0.1 {
        return Some(with_queue(LimitKind::Aqm, signs, &hot, signs.confidence().min(Confidence::Medium)));
    }
    // Without a mark, a loss or a queue of its own TCP has not met it.
    let is_met = is_marked || signs.rate >= NOT_MET * hot.rate || is_touched(signs, &hot);
    let named = aqm(signs, &Hot { rate, ..hot });
    // The rates of steps beside another flow's queue vary for that reason.
    let confidence = if is_fair { Confidence::Medium } else { named.confidence };
    ((is_marked || is_fair) && is_met).then_some(Limit { confidence, ..named })
}

/// A queue that is kept short by drops: before it is full, or whenever TCP grows.
pub(in crate::finding::limit) fn controlled(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot.filter(Hot::is_queued)?;
    let load = signs.load()?;
    let early = load.for_purpose(Purpose::Hot).filter(|step| step.loss > 0.05).any(|step| {
        // Single packets that a host delays are no queue.
        let (at, most) = (step.growth_at_loss, step.growth_p98);
        at.is_some_and(|at| (at.0 as f64) < 0.6 * most.0 as f64) && most.0 as f64 > 20.0 * MILLI
    });
    // Drops that keep it short go on behind slow start.
    let is_loss_based = signs.tcp().is_some_and(|tcp| {
        tcp.is_loss_based && tcp.lost >= 2 && (tcp.late_segments == 0 || tcp.late_lost > 0)
    });
    let kept_short = is_loss_based
        && signs.rate >= BINDING * hot.rate
        && hot.queue > 30.0 * MILLI
        // Such a queue waits for 5 to 20 ms (CoDel, PIE), or for a few packets of a slow link; TCP that loses packets at random may fill
        // a part of a plain one.
        && signs
            .rtt_growth()
            .is_some_and(|growth| growth < (0.3 * hot.queue).min(KEPT.max(10.0 * hot.packet)))
        // Flows that lose this much wait for their timers: few of them have met the queue.
        && signs.lost() < TIMERS
        && !may_be_random(signs, &hot);
    // Steps that a busy host disturbed show such signs at a plain queue, too.
    let is_sure = signs.confidence() >= Confidence::Medium;
    (is_sure && (early || kept_short)).then(|| aqm(signs, &hot))
}

/// Whether TCP's losses may happen at any rate: so they do in a load below the limit, or too little was sent below it to know.
fn may_be_random(signs: &Signs<'_>, hot: &Hot) -> bool {
    let steps = signs.load().into_iter().flat_map(|load| &load.steps);
    let below = steps.filter(|step| {
        step.purpose != Purpose::Scoped && (step.growth_max.0 as f64) < 0.8 * hot.queue
            || step.purpose == Purpose::Small && step.growth.0 as f64 <= hot.visible
    });
    let (sent, lost) = below.fold((0.0, 0.0), |(sent, lost), step| {
        (sent + step.datagrams as f64, lost + step.loss * step.datagrams as f64)
    });
    let expected = sent * signs.lost();
    expected < 2.0 || lost >= expected / 4.0
}

fn aqm(signs: &Signs<'_>, hot: &Hot) -> Limit {
    Limit {
        queue: signs.rtt_growth().filter(|growth| *growth > 0.0).map(|growth| Nanos(growth as u64)),
        queue_bytes: None,
        queue_at_least: false,
        ..with_queue(LimitKind::Aqm, signs, hot, signs.confidence().min(Confidence::Medium))
    }
}

/// A queue that is full: a shaper, or a slow link.
pub(in crate::finding::limit) fn shaper(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot.filter(Hot::is_queued)?;
    // Where others keep a queue as well, a policer before it would look alike.
    let is_sure = hot.loss < 0.05 || !waits_below(signs, &hot) || signs.step(Purpose::Edge).is_some();
    let confidence = if is_sure { sure(signs, &hot) } else { Confidence::Low };
    Some(with_queue(LimitKind::Shaper, signs, &hot, confidence))
}

/// The longest queue that management keeps, nanoseconds.
const KEPT: f64 = 50.0 * MILLI;
/// The share lost at which TCP repairs by its timers.
const TIMERS: f64 = 0.15;
