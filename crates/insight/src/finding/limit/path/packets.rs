//! The rows about a limit of packets per second: CPUs that forward.

use super::super::signs::{Hot, Signs};
use super::FAR_ABOVE;
use super::figures::with_queue;
use model::limit::{Confidence, Limit, LimitKind, LoadStep, Purpose};
use model::units::PacketRate;

/// Small frames are lost at a rate of bits that full ones pass, and many packets pass for each second: CPUs forward them.
pub(super) fn loses_small_frames(signs: &Signs<'_>, hot: &Hot) -> bool {
    signs.step(Purpose::Small).is_some_and(|small| {
        let frames = SmallFrames::new(signs, hot, small);
        let is_capped = small.loss > 0.2 && (small.sent.0 as f64) < 0.6 * hot.rate;
        frames.full >= OF_A_CPU && is_capped && frames.delivered < MOST_OF_SMALL * frames.full
    })
}

/// Small frames are capped at the same number per second.
pub(in crate::finding::limit) fn packet_rate(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot?;
    let small = signs.step(Purpose::Small)?;
    let frames = SmallFrames::new(signs, &hot, small);
    let is_capped = small.loss > 0.2 || frames.delivered < 0.85 * frames.sent;
    let is_alike = (0.7..=1.4).contains(&(frames.delivered / frames.full));
    (is_alike && is_capped && frames.sent > 1.3 * frames.full)
        .then(|| of_packets(signs, &hot, frames.full, signs.confidence()))
}

/// A CPU that forwards no more: full frames vary with the load, and small ones, sent at a rate of bits that the path takes, are
/// lost at a like number per second. Before a variable rate, which full frames alone would show.
pub(in crate::finding::limit) fn forwarder(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot?;
    let small = signs.step(Purpose::Small)?;
    let frames = SmallFrames::new(signs, &hot, small);
    let is_alike = frames.delivered >= 0.7 * frames.full;
    let confidence = signs.confidence().min(Confidence::Medium);
    (is_alike && loses_small_frames(signs, &hot)).then(|| of_packets(signs, &hot, frames.full, confidence))
}

/// CPUs that forward no more at several times TCP's rate have not held it back: that is the next limit.
pub(in crate::finding::limit) fn cpus_far_above(signs: &Signs<'_>) -> Option<Limit> {
    let is_far_above = signs.tcp().is_some() && signs.passed >= FAR_ABOVE * signs.rate;
    let named = forwarder(signs).or_else(|| packet_rate(signs)).filter(|_| is_far_above)?;
    let is_of_cpus = named.packets.is_some_and(|packets| packets.0 as f64 >= OF_A_CPU);
    let why = "the path forwards no more packets at a load that is several times what the test got";
    is_of_cpus.then(|| Limit { also: Some(Box::new(named)), ruled_out: vec![why.into()], ..Limit::default() })
}

/// Frames per second of the step with small ones, and of full ones on the saturated path.
pub(super) struct SmallFrames {
    pub(super) full: f64,
    pub(super) sent: f64,
    pub(super) delivered: f64,
}

impl SmallFrames {
    pub(super) fn new(signs: &Signs<'_>, hot: &Hot, small: &LoadStep) -> SmallFrames {
        let bits = f64::from(signs.evidence.frame.saturating_sub(frame_payload(signs)) + small.size) * 8.0;
        SmallFrames {
            full: hot.rate / (f64::from(signs.evidence.frame) * 8.0),
            sent: small.sent.0 as f64 / bits,
            delivered: small.delivered.0 as f64 / bits,
        }
    }
}

fn of_packets(signs: &Signs<'_>, hot: &Hot, packets: f64, confidence: Confidence) -> Limit {
    Limit {
        packets: Some(PacketRate(packets.round() as u64)),
        ..with_queue(LimitKind::PacketRate, signs, hot, confidence)
    }
}

/// Where small frames were not observed to pass, it may be a limit of packets as well.
pub(super) fn sure(signs: &Signs<'_>, hot: &Hot) -> Confidence {
    let passed = signs.load().into_iter().flat_map(|load| load.for_purpose(Purpose::Small)).any(|small| {
        let frames = SmallFrames::new(signs, hot, small);
        frames.delivered > 1.4 * frames.full
    });
    if passed { signs.confidence() } else { Confidence::Low }
}

/// UDP payload of a full frame of the load.
fn frame_payload(signs: &Signs<'_>) -> u32 {
    let full = signs.load().and_then(|load| load.for_purpose(Purpose::Hot).next());
    full.map_or(0, |step| step.size).min(signs.evidence.frame)
}

/// Packets per second from which on a CPU that forwards is what gives up first.
const OF_A_CPU: f64 = 40_000.0;
/// Small frames cost such a CPU somewhat less than full ones.
const MOST_OF_SMALL: f64 = 1.7;
