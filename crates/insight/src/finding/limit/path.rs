//! The rows about a path that takes no more: what kind of limit a load above it met.

use super::rows::{BINDING, limit};
use super::signs::{Hot, MILLI, Signs, variation};
use model::limit::{Confidence, Limit, LimitKind, Purpose};
use model::units::{BitRate, Bytes, Nanos, PacketRate};

/// The limit of the path whether TCP met it or not.
pub(super) fn any(signs: &Signs<'_>) -> Option<Limit> {
    [variable, packet_rate, aqm, queue_of_another, shaper, policer].into_iter().find_map(|row| row(signs))
}

/// Others send over the same queue: it is not empty without the load.
pub(super) fn standing(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot?;
    let waits = hot.standing > (2.0 * MILLI).max(hot.packet).max(hot.visible / 2.0);
    (waits && signs.rate < 0.8 * hot.rate).then(|| shared(signs, &hot))
}

/// Others send over the same queue: it gives more to who asks for more, or TCP fills it and gets a part of it.
pub(super) fn competing(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot?;
    let fills = signs.rtt_growth().is_some_and(|growth| hot.is_queued() && growth >= hot.queue / 4.0);
    let part = fills && signs.rate < 0.85 * hot.rate && signs.lost() < 0.02;
    let rates = (signs.step(Purpose::Lower), signs.step(Purpose::Higher));
    let more = match rates {
        (Some(lower), Some(higher)) => {
            let lower_rate = lower.delivered.0 as f64;
            higher.delivered.0 as f64 >= 1.12 * lower_rate && lower.loss > 0.03 && hot.variation < 0.08
        }
        _ => false,
    };
    (part || more).then(|| shared(signs, &hot))
}

fn shared(signs: &Signs<'_>, hot: &Hot) -> Limit {
    Limit {
        share: Some((1.0 - signs.rate / hot.rate.max(1.0)).clamp(0.0, 1.0)),
        ..with_queue(LimitKind::Competing, signs, hot, Confidence::Medium)
    }
}

/// The load is capped far below what TCP got without losses: another rule holds for it.
pub(super) fn treated_differently(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot?;
    (hot.rate < BINDING * signs.rate && signs.lost() < 0.02).then(|| Limit {
        ruled_out: vec![format!(
            "UDP is held to {}, and TCP got {}: they are treated differently",
            BitRate(hot.rate as u64),
            BitRate(signs.rate as u64)
        )],
        ..Limit::default()
    })
}

/// TCP got far less than the path gives, and neither lost packets nor filled a queue: it did not meet this limit.
pub(super) fn not_met(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot?;
    let is_touched = signs.lost() >= 0.001 || signs.rtt_growth().is_some_and(|growth| growth > hot.visible);
    (signs.rate < NOT_MET * hot.rate && !is_touched).then(|| Limit {
        also: any(signs).map(Box::new),
        ruled_out: vec![format!(
            "not the path: it gives {}, and TCP got {} without a loss or a queue",
            BitRate(hot.rate as u64),
            BitRate(signs.rate as u64)
        )],
        ..Limit::default()
    })
}

/// The rate of the path itself changes.
pub(super) fn variable(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot?;
    let steps = signs.load()?.steps.iter().filter(|step| {
        matches!(step.purpose, Purpose::Hot | Purpose::Lower | Purpose::Higher)
            && step.delivered.0 > 0
            && step.stalled < super::signs::STALLED
            && (step.loss > 0.03 || step.growth.0 as f64 > hot.visible)
    });
    let rates: Vec<f64> = steps.map(|step| step.delivered.0 as f64).collect();
    let tcp_varies = signs.tcp()?.variation.is_none_or(|variation| variation > 0.04);
    let varies = variation(&rates) > 0.08 && rates.len() >= 4;
    (varies && tcp_varies).then(|| with_queue(LimitKind::VariableRate, signs, &hot, Confidence::Medium))
}

/// Small frames are capped at the same number per second.
pub(super) fn packet_rate(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot?;
    let small = signs.step(Purpose::Small)?;
    let bits = |size: u32| f64::from(signs.evidence.frame.saturating_sub(frame_payload(signs)) + size) * 8.0;
    let packets = hot.rate / (f64::from(signs.evidence.frame) * 8.0);
    let sent = small.sent.0 as f64 / bits(small.size);
    let delivered = small.delivered.0 as f64 / bits(small.size);
    let is_capped = small.loss > 0.2 || delivered < 0.85 * sent;
    ((0.7..=1.4).contains(&(delivered / packets)) && is_capped && sent > 1.3 * packets).then(|| Limit {
        packets: Some(PacketRate(packets.round() as u64)),
        ..with_queue(LimitKind::PacketRate, signs, &hot, signs.confidence())
    })
}

/// A queue that is kept short: by marks, by early drops, or for other flows.
pub(super) fn aqm(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot.filter(Hot::is_queued)?;
    let load = signs.load()?;
    let marked = load.of(Purpose::Hot).map(|step| step.marked).fold(0.0, f64::max);
    let other = load.of(Purpose::Hot).filter_map(|step| step.other_growth).map(|growth| growth.0 as f64);
    let other = other.reduce(f64::min);
    let deep = hot.queue > 5.0 * MILLI;
    let fair = other.is_some_and(|other| other < 0.3 * hot.queue) && deep && per_flow(signs) != Some(true);
    let steps: Vec<_> = load.of(Purpose::Hot).collect();
    let early = steps.iter().filter(|step| step.loss > 0.05).any(|step| {
        let (at, most) = (step.growth_at_loss, step.growth_max);
        at.is_some_and(|at| (at.0 as f64) < 0.6 * most.0 as f64) && most.0 as f64 > 20.0 * MILLI
    });
    let own = signs.rtt_growth();
    let is_loss_based = signs.tcp().is_some_and(|tcp| tcp.is_loss_based && tcp.lost >= 2);
    let kept_short = deep
        && is_loss_based
        && signs.rate >= BINDING * hot.rate
        && hot.queue > 30.0 * MILLI
        && own.is_some_and(|growth| growth < 0.3 * hot.queue);
    // Steps that a busy host disturbed show such signs at a plain queue, too.
    let is_sure = signs.confidence() >= Confidence::Medium;
    (marked >= 0.02 || is_sure && (fair || early || kept_short)).then(|| Limit {
        queue: own.filter(|growth| *growth > 0.0).map(|growth| Nanos(growth as u64)),
        queue_bytes: None,
        queue_at_least: false,
        ..with_queue(LimitKind::Aqm, signs, &hot, signs.confidence().min(Confidence::Medium))
    })
}

/// A queue that is shorter at little above the rate, while packets are lost: it is another hop's, and a policer drops.
pub(super) fn queue_of_another(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot.filter(Hot::is_queued)?;
    let lower = signs.step(Purpose::Lower)?;
    let shorter = (lower.growth.0 as f64) < 0.85 * hot.queue - hot.packet;
    (shorter && lower.loss > 0.1).then(|| policed(signs, &hot, Confidence::Medium))
}

/// A queue that is full: a shaper, or a slow link.
pub(super) fn shaper(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot.filter(Hot::is_queued)?;
    Some(with_queue(LimitKind::Shaper, signs, &hot, sure(signs, &hot)))
}

/// Packets are dropped at any delay.
pub(super) fn policer(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot.filter(|hot| !hot.is_queued() && hot.loss > 0.05)?;
    Some(policed(signs, &hot, sure(signs, &hot)))
}

/// Where small frames were not seen to pass, it may be a limit of packets as well.
fn sure(signs: &Signs<'_>, hot: &Hot) -> Confidence {
    let packets = hot.rate / (f64::from(signs.evidence.frame) * 8.0);
    let passed = signs.load().into_iter().flat_map(|load| load.of(Purpose::Small)).any(|small| {
        let bits = f64::from(signs.evidence.frame.saturating_sub(frame_payload(signs)) + small.size) * 8.0;
        small.delivered.0 as f64 / bits > 1.4 * packets
    });
    if passed { signs.confidence() } else { Confidence::Low }
}

fn policed(signs: &Signs<'_>, hot: &Hot, confidence: Confidence) -> Limit {
    Limit {
        queue: None,
        queue_bytes: None,
        queue_at_least: false,
        ..with_queue(LimitKind::Policer, signs, hot, confidence)
    }
}

/// What every kind of the path has: rate, queue, flows, place.
fn with_queue(kind: LimitKind, signs: &Signs<'_>, hot: &Hot, confidence: Confidence) -> Limit {
    let queue = hot.full_queue();
    let bytes = Bytes((hot.rate * queue.as_secs_f64() / 8.0).round() as u64);
    let shown = hot.is_queued();
    Limit {
        rate: Some(BitRate(hot.rate.round() as u64)),
        queue: shown.then_some(queue),
        queue_bytes: shown.then_some(bytes),
        queue_at_least: shown && hot.loss < 0.02,
        place: signs.load().and_then(|load| load.place),
        per_flow: per_flow(signs),
        ..limit(kind, confidence)
    }
}

/// Four flows get clearly more than one.
fn per_flow(signs: &Signs<'_>) -> Option<bool> {
    let (four, hot) = (signs.step(Purpose::FourFlows)?, signs.hot?);
    // More than the load itself cannot arrive.
    let possible = four.sent.0 as f64 >= 1.5 * hot.rate;
    possible.then_some(four.delivered.0 as f64 >= 1.4 * hot.rate)
}

/// UDP payload of a full frame of the load.
fn frame_payload(signs: &Signs<'_>) -> u32 {
    let full = signs.load().and_then(|load| load.of(Purpose::Hot).next());
    full.map_or(0, |step| step.size).min(signs.evidence.frame)
}

/// TCP that gets less of what the path gives, and shows no sign of the path, is held back by something else.
const NOT_MET: f64 = 0.7;
