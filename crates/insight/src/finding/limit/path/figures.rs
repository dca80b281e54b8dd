//! The figures that every limit of the path has: rate, queue, burst, flows, place.

use super::super::signs::{Hot, Signs};
use super::super::{limit, routers};
use model::limit::{Confidence, Limit, LimitKind, LimitPlace, Purpose};
use model::units::{BitRate, Bytes};

/// The parts that every limit of the path has: rate, queue, flows, place.
pub(super) fn with_queue(kind: LimitKind, signs: &Signs<'_>, hot: &Hot, confidence: Confidence) -> Limit {
    let queue = hot.full_queue();
    let bytes = Bytes((hot.rate * queue.as_secs_f64() / 8.0).round() as u64);
    let shown = hot.is_queued();
    let burst = matches!(kind, LimitKind::Shaper | LimitKind::Policer).then(|| burst(signs, hot)).flatten();
    Limit {
        rate: Some(BitRate(hot.rate.round() as u64)),
        queue: shown.then_some(queue),
        queue_bytes: shown.then_some(bytes),
        queue_at_least: shown && hot.loss < 0.02,
        burst: burst.map(|(bytes, _)| bytes),
        burst_at_least: burst.is_some_and(|(_, at_least)| at_least),
        place: place(kind, signs, hot),
        per_flow: per_flow(signs, hot.rate),
        ..limit(kind, confidence)
    }
}

/// Where the load ended before the limit, or else where the round trips say that the queue is: a policer's is another's.
fn place(kind: LimitKind, signs: &Signs<'_>, hot: &Hot) -> Option<LimitPlace> {
    let load = signs.load()?;
    let queue = signs.step(Purpose::Lower).map_or(hot.queue, |lower| lower.growth.0 as f64);
    let is_queue = hot.is_queued() && kind != LimitKind::Policer;
    load.place.or_else(|| routers::place(&load.router_growth, queue).filter(|_| is_queue))
}

/// The bytes that passed at once after a pause, and whether it may be more: the pause was no longer than that.
fn burst(signs: &Signs<'_>, hot: &Hot) -> Option<(Bytes, bool)> {
    let cold = signs.step(Purpose::Cold).filter(|step| step.stalled == 0.0)?;
    let frame = f64::from(signs.evidence.frame);
    let (ahead, in_pause) = (cold.ahead.0 as f64, hot.rate * PAUSE / 8.0);
    // Still not down to the rate of the path: the bucket is not empty.
    if cold.delivered.0 as f64 > 1.05 * hot.rate {
        return Some((Bytes(in_pause.round() as u64), true));
    }
    (ahead >= FEW_FRAMES * frame).then_some((cold.ahead, ahead > 0.85 * in_pause))
}

/// Four flows get clearly more than the rate of one.
pub(super) fn per_flow(signs: &Signs<'_>, rate: f64) -> Option<bool> {
    let four = signs.step(Purpose::FourFlows)?;
    // More than the load itself cannot arrive.
    let possible = four.sent.0 as f64 >= 1.5 * rate;
    // Packets of the first flow that still wait stretch the time in which the step arrives; the other flows do not wait at all.
    let queue = signs.hot.filter(Hot::is_queued).map_or(0.0, |hot| hot.queue);
    let is_free = four.loss < 0.05 && (four.growth.0 as f64) < 0.1 * queue;
    possible.then_some(is_free || four.delivered.0 as f64 >= 1.4 * rate)
}

/// Seconds without load before the cold step, at least.
const PAUSE: f64 = 0.25;
/// Frames that come at once by chance.
const FEW_FRAMES: f64 = 4.0;
