//! The rows about a policer, alone and beside the queue of another link.

use super::super::signs::{Hot, MILLI, STALLED, Signs};
use super::LATE;
use super::figures::with_queue;
use super::others::{drained, waits_below};
use super::packets::sure;
use model::limit::{Confidence, Limit, LimitKind, LoadStep, Purpose};

/// The queue is empty at little above the rate, while what is more is lost: it is a faster link's, and a policer drops. Any
/// management of a queue lets some wait.
pub(in crate::finding::limit) fn policer_beside_a_queue(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot.filter(Hot::is_queued)?;
    let is_dropped = |step: &LoadStep| {
        let is_little_above = (step.sent.0 as f64) < 2.0 * hot.rate && step.stalled < STALLED;
        let is_capped = (step.delivered.0 as f64 / hot.rate - 1.0).abs() < SAME && step.loss > EDGE_LOSS;
        is_little_above && is_capped && (step.growth_p98.0 as f64) < hot.visible.min(hot.queue / 4.0)
    };
    let edge = signs.step(Purpose::Edge).filter(|step| step.loss > EDGE_LOSS);
    let is_drained = edge.is_some_and(|edge| (edge.growth.0 as f64) < hot.visible.min(hot.queue / 4.0));
    let is_never_met = signs.load()?.for_purpose(Purpose::Ladder).any(is_dropped);
    (is_drained || is_never_met).then(|| beside_a_queue(signs, &hot))
}

/// A queue that is shorter at little above the rate, while packets are lost, or that is as long without the load: it is another
/// hop's, and a policer drops.
pub(in crate::finding::limit) fn queue_of_another(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot.filter(Hot::is_queued)?;
    let is_shorter = |purpose: Purpose, least_loss: f64, part: f64| {
        let step = signs.step(purpose).filter(|step| step.loss > least_loss);
        // Management of a queue goes on to drop for what waited before, and so takes far more of a load than a cap does.
        let is_of_a_cap = |step: &LoadStep| {
            step.loss < 1.0 - step.delivered.0 as f64 / (step.sent.0 as f64).max(1.0) + MANAGED
        };
        step.is_some_and(|step| (step.growth.0 as f64) < part * hot.queue - hot.packet && is_of_a_cap(step))
    };
    // A delay that is the same to a packet is a full queue: that of the limit, before which another is full at a higher load.
    let is_full = signs.step(Purpose::Lower).is_some_and(|step| {
        let [least, most] = [step.growth_p10, step.growth_p98].map(|growth| growth.0 as f64);
        most - least < 1.5 * hot.packet && least > 5.0 * hot.packet
    });
    if is_shorter(Purpose::Edge, EDGE_LOSS, 0.6) {
        return Some(beside_a_queue(signs, &hot));
    }
    if hot.loss > 0.05 && is_all_of_others(signs, &hot) {
        return Some(policed(signs, &hot, Confidence::Medium));
    }
    if !is_full && is_shorter(Purpose::Lower, 0.1, 0.85) {
        // A queue that others keep may be shorter by chance.
        let confidence = if waits_below(signs, &hot) { Confidence::Low } else { Confidence::Medium };
        return Some(Limit { confidence, ..beside_a_queue(signs, &hot) });
    }
    let small = drained(signs, &hot, 1.0 - LATE);
    let before = small.map_or(0.0, |small| small.growth.0 as f64).max(hot.standing);
    let is_mostly_there = hot.queue - before < STANDING * hot.queue;
    (hot.loss > 0.05 && (is_mostly_there || waits_below(signs, &hot) && is_beyond_the_limit(signs, &hot)))
        .then(|| policed(signs, &hot, Confidence::Medium))
}

/// A load that is not capped waits, where a queue of the limit is empty: out of a bucket, or as small frames at a part of the rate. The
/// queue of others before the limit is as long as the load makes it, and where that explains how long capped loads wait, the limit
/// has no queue.
fn is_all_of_others(signs: &Signs<'_>, hot: &Hot) -> bool {
    let steps =
        || signs.load().into_iter().flat_map(|load| &load.steps).filter(|step| step.stalled < STALLED);
    let point = |step: &LoadStep| (step.sent.0 as f64, step.growth.0 as f64);
    let is_capped = |step: &&LoadStep| {
        use Purpose::{Cold, Higher, Hot, Ladder, Lower};
        matches!(step.purpose, Ladder | Lower | Hot | Higher | Cold) && step.sparse == 0 && step.loss > 0.1
    };
    let capped: Vec<(f64, f64)> = steps().filter(is_capped).map(point).collect();
    let Some(line) = line(&capped) else { return false };
    let is_passed = |step: &&LoadStep| {
        let is_above = step.purpose == Purpose::Ladder && step.delivered.0 as f64 > PASSED * hot.rate;
        is_above && step.loss < OUT_OF_A_BUCKET && step.growth_p10.0 as f64 > hot.visible
    };
    let small = drained(signs, hot, ALMOST)
        .filter(|small| small.loss < 0.01 && small.growth_p10.0 as f64 > OF_OTHERS)
        // Those that come while the queue drains are more than a tenth.
        .map(|small| (small.sent.0 as f64, small.growth_p10.0 as f64));
    // The median of the first ten, most of which come out of a bucket.
    let is_ahead = |step: &&LoadStep| {
        let most_of_ten = 6.0 * f64::from(signs.evidence.frame);
        let waits = step.growth_first.0 as f64 > OF_OTHERS.max(3.0 * hot.idle_spread);
        step.purpose == Purpose::Ladder && step.ahead.0 as f64 >= most_of_ten && waits
    };
    let first = steps().filter(is_ahead).map(|step| (step.sent.0 as f64, step.growth_first.0 as f64));
    let error = hot.packet.max(LITTLE * hot.queue).min(hot.queue / 2.0);
    let mut free = steps().filter(is_passed).map(point).chain(small).chain(first);
    free.any(|(sent, waited)| line(sent) - waited < error)
}

/// The straight line that is nearest to some points (least squares), level where it would fall.
fn line(points: &[(f64, f64)]) -> Option<impl Fn(f64) -> f64> {
    let count = points.len() as f64;
    let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
    let (x, y) = (mean(|point| point.0), mean(|point| point.1));
    let spread: f64 = points.iter().map(|point| (point.0 - x).powi(2)).sum();
    let common: f64 = points.iter().map(|point| (point.0 - x) * (point.1 - y)).sum();
    let slope = if spread > 0.0 { (common / spread).max(0.0) } else { 0.0 };
    (count > 0.0).then_some(move |at: f64| y + slope * (at - x))
}

/// Little above the rate the delay varies by less than the time of a packet. In a full queue of the limit it varies by that: a packet
/// that is let in comes somewhere between two that leave. What a policer lets pass comes to the queue of others at an even rate.
fn is_beyond_the_limit(signs: &Signs<'_>, hot: &Hot) -> bool {
    let edge = signs.step(Purpose::Edge).filter(|edge| edge.loss > EDGE_LOSS && hot.packet > COARSE);
    edge.is_some_and(|edge| {
        let varies = edge.growth_p98.0.saturating_sub(edge.growth_p10.0) as f64;
        edge.growth_p10.0 as f64 > hot.visible && varies < EVEN * hot.packet
    })
}

/// A policer, whose place the load does not show: at twice the rate it is lost at the other queue already.
fn beside_a_queue(signs: &Signs<'_>, hot: &Hot) -> Limit {
    Limit { place: None, ..policed(signs, hot, Confidence::Medium) }
}

/// Packets are dropped at any delay.
pub(in crate::finding::limit) fn policer(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot.filter(|hot| !hot.is_queued() && hot.loss > 0.05)?;
    Some(policed(signs, &hot, sure(signs, &hot)))
}

fn policed(signs: &Signs<'_>, hot: &Hot, confidence: Confidence) -> Limit {
    Limit {
        queue: None,
        queue_bytes: None,
        queue_at_least: false,
        ..with_queue(LimitKind::Policer, signs, hot, confidence)
    }
}

/// A load adds at least this share to a queue that is its own.
const STANDING: f64 = 0.5;
/// The part of a step behind which more than a tenth of its late datagrams come.
const ALMOST: f64 = 0.85;
/// More than the rate arrives, by more than chance.
const PASSED: f64 = 1.1;
/// The most that a load loses which arrives out of a bucket and empties it at its end.
const OUT_OF_A_BUCKET: f64 = 0.1;
/// Small frames that all wait longer than this, wait for others, nanoseconds.
const OF_OTHERS: f64 = 1.5 * MILLI;
/// A part of the queue that is within the error of a line through a few loads.
const LITTLE: f64 = 0.2;
/// Lost beyond what a cap takes of a load.
const MANAGED: f64 = 0.25;
/// The time of a packet from which on the delays of hosts do not hide it, nanoseconds.
const COARSE: f64 = 1.5 * MILLI;
/// The part of it that delays vary by in a full queue: 0.8 and more.
const EVEN: f64 = 0.7;
/// A step delivers what the path gives: within this share.
const SAME: f64 = 0.05;
/// Half of what a load at 1.06 times the rate of a policer loses.
const EDGE_LOSS: f64 = 0.03;
