//! The rows about a path that takes no more: what kind of limit a load above it met.

mod figures;
pub(super) mod others;
pub(super) mod packets;
pub(super) mod policer;
pub(super) mod queue;

use super::signs::{BINDING, Hot, Signs};
use figures::{per_flow, with_queue};
use model::limit::{Confidence, Limit, LimitKind, TcpSigns};
use model::units::BitRate;
use others::variable;
use packets::{forwarder, packet_rate};
use policer::{policer, policer_beside_a_queue, queue_of_another};
use queue::{controlled, shaper, short_queue};

/// The limit of the path whether TCP met it or not.
pub(super) fn any(signs: &Signs<'_>) -> Option<Limit> {
    [
        short_queue,
        forwarder,
        variable,
        packet_rate,
        policer_beside_a_queue,
        controlled,
        queue_of_another,
        shaper,
        policer,
    ]
    .into_iter()
    .find_map(|row| row(signs))
}

/// TCP's round trip grew by a good part of the queue that the load fills: it has met the limit.
pub(super) fn is_filled(signs: &Signs<'_>) -> bool {
    let hot = signs.hot.filter(Hot::is_queued);
    hot.zip(signs.rtt_growth()).is_some_and(|(hot, growth)| growth >= hot.queue / 4.0)
}

/// The load is capped far below what TCP got without losses: another rule holds for it.
pub(super) fn treated_differently(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot?;
    // A limit for each flow gives more to several streams than to the one flow of a hot step.
    let has_more_flows = signs.tcp()?.streams > 1 && per_flow(signs, hot.rate) == Some(true);
    (hot.rate < BINDING * signs.rate && signs.lost() < 0.02 && !has_more_flows).then(|| Limit {
        also: Some(Box::new(with_queue(LimitKind::Treatment, signs, &hot, Confidence::Medium))),
        ruled_out: vec![format!(
            "UDP is held to {}, and TCP got {}: they are treated differently",
            BitRate(hot.rate as u64),
            BitRate(signs.rate as u64)
        )],
        ..Limit::default()
    })
}

/// TCP got far less than the path gives, and neither lost packets nor filled a queue, or less than a third of what passed: it did not
/// meet this limit.
pub(super) fn not_met(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot?;
    let is_untouched = signs.rate < NOT_MET * hot.rate && !is_touched(signs, &hot);
    // A queue that TCP's window fills after a loss, too, keeps TCP near its rate; a policer or a shorter queue may hold it far below.
    let is_long =
        signs.tcp().is_some_and(|tcp| tcp.idle_rtt.is_some_and(|idle| hot.queue > idle.0 as f64 / 2.0));
    let met = any(signs);
    let is_policer = met.as_ref().is_some_and(|met| met.kind == LimitKind::Policer);
    let is_shaper = met.as_ref().is_some_and(|met| met.kind == LimitKind::Shaper);
    let is_no_more = is_shaper && is_touched_no_more(signs, &hot);
    let is_far_above = is_long && signs.passed >= FAR_ABOVE * signs.rate && hot.is_queued() && !is_policer;
    let (gives, got) = (BitRate(hot.rate as u64), BitRate(signs.rate as u64));
    let why = if is_untouched {
        format!("not the path: it gives {gives}, and TCP got {got} without a loss or a queue")
    } else if is_no_more {
        format!(
            "the path gives {gives}, and TCP got {got} without a queue, and without a loss behind slow start"
        )
    } else {
        format!("the path gives {gives}, several times the {got} that TCP got")
    };
    (is_untouched || is_no_more || is_far_above).then(|| Limit {
        also: met.map(Box::new),
        ruled_out: vec![why],
        ..Limit::default()
    })
}

/// TCP lost packets in slow start alone. Behind it TCP got less than the path gives, and filled no queue.
fn is_touched_no_more(signs: &Signs<'_>, hot: &Hot) -> bool {
    let kept =
        |tcp: &TcpSigns| tcp.is_loss_based && tcp.late_segments > 0 && tcp.late_lost < 2 && tcp.marked == 0;
    let is_unfilled = signs.rtt_growth().is_some_and(|growth| growth < hot.queue / 4.0);
    hot.is_queued() && is_unfilled && signs.rate < LEFT * hot.rate && signs.tcp().is_some_and(kept)
}

/// TCP lost packets, saw marks or filled a queue.
pub(super) fn is_touched(signs: &Signs<'_>, hot: &Hot) -> bool {
    signs.lost() >= 0.001
        || signs.tcp().is_some_and(|tcp| tcp.marked > 0)
        || signs.rtt_growth().is_some_and(|growth| growth > hot.visible)
}

/// Where a load at this many times TCP's rate passes without a loss, a cap above that has not capped TCP.
pub(super) const FAR_ABOVE: f64 = 3.0;
/// TCP that gets less of what the path gives, and shows no sign of the path, is held back by something else.
const NOT_MET: f64 = 0.7;
/// The same for TCP that lost packets in slow start.
const LEFT: f64 = 0.8;
/// The last part of a step, in which its late datagrams come.
const LATE: f64 = 0.6;
