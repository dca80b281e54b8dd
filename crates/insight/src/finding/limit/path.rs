//! The rows about a path that takes no more: what kind of limit a load above it met.

use super::signs::{BINDING, Hot, MILLI, STALLED, Signs, variation};
use super::{limit, routers};
use model::limit::{Confidence, FLOOD, Limit, LimitKind, LimitPlace, LoadStep, Purpose, TcpSigns};
use model::units::{BitRate, Bytes, Nanos, PacketRate};

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

/// Others send over the same queue: it is not empty without the load.
pub(super) fn standing(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot?;
    let waits = is_kept_by_others(&hot);
    // A large part of the queue that a load fills is there without it: others come near to filling it.
    let part = if hot.standing > 0.3 * hot.queue { MOST_OF_PATH } else { 0.8 };
    (waits && signs.rate < part * hot.rate).then(|| shared(signs, &hot))
}

/// The path waits without the load.
fn is_kept_by_others(hot: &Hot) -> bool {
    hot.standing > (2.0 * MILLI).max(hot.packet).max(hot.visible / 2.0)
}

/// Others send over the same queue: it gives more to who asks for more, or TCP fills it and gets a part of it.
pub(super) fn competing(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot?;
    let fills = is_filled(signs);
    let rates = saturated_rates(signs, &hot);
    let scatter = variation(&rates);
    // A limit that is alone on its link gives the same rate to every load above it, to a tenth of a percent; and TCP that goes by
    // losses does not fill a path whose queue is short against its round trip.
    let is_alone = rates.len() >= 3 && scatter < 0.002;
    let could_fill = signs.tcp().is_some_and(|tcp| {
        !tcp.is_loss_based || tcp.idle_rtt.is_none_or(|idle| hot.queue > idle.0 as f64 / 2.0)
    });
    let part = fills && signs.rate < 0.85 * hot.rate && signs.lost() < 0.02 && could_fill && !is_alone;
    let least = least_of_less(signs, &hot);
    let is_most = signs.step(Purpose::Higher).is_none_or(|step| step.delivered.0 as f64 >= 0.97 * hot.rate);
    let more = least.is_some_and(|least| hot.rate >= 1.12 * least && !is_less_for_more_flows(signs, least))
        && hot.variation < 0.08
        && is_most
        && !is_link_changing(signs);
    let most = rates.iter().copied().fold(0.0, f64::max);
    let shakes = fills
        && is_full_queue(signs, &hot)
        && rates.len() >= 3
        && scatter > 0.012
        && signs.rate < 0.95 * hot.rate
        && least.is_some_and(|least| least < SCATTER * most);
    let is_less = least.is_some_and(|least| least < RECEDED * most);
    let recedes = rates.len() >= 3
        && (scatter > 0.012 || is_less)
        && is_full_queue(signs, &hot)
        && is_kept_by_others(&hot);
    let takes_turns = variation(&rates) > VARIES
        && rates.len() >= 4
        && !is_alike_but_one(&rates)
        && is_link_steady(signs, &hot);
    (part || more || shakes || recedes || takes_turns || is_shared_out(signs, &hot))
        .then(|| shared(signs, &hot))
}

/// A full queue is as long in every load, whatever part of the load arrives: the link drains it at the same rate, and others get the
/// rest. Where the rate of the link changes, so does the time that its queue takes.
fn is_link_steady(signs: &Signs<'_>, hot: &Hot) -> bool {
    let Some(load) = signs.load().filter(|_| hot.is_queued()) else { return false };
    let is_full = |step: &&LoadStep| {
        matches!(step.purpose, Purpose::Hot | Purpose::Lower | Purpose::Higher)
            && step.stalled < STALLED
            && step.delivered.0 > 0
    };
    let full = || load.steps.iter().filter(is_full);
    let longest = || full().map(|step| step.growth_p98.0 as f64);
    let (least, most) = (longest().fold(f64::INFINITY, f64::min), longest().fold(0.0, f64::max));
    full().count() >= 4
        && full().all(|step| step.loss > 0.1)
        && most - least < (0.05 * most).max(0.5 * hot.packet)
}

/// The full queue takes much longer in one load than in another: the rate of the link itself changes.
fn is_link_changing(signs: &Signs<'_>) -> bool {
    let steps = signs.load().into_iter().flat_map(|load| &load.steps).filter(|step| {
        matches!(step.purpose, Purpose::Hot | Purpose::Higher) && step.stalled < STALLED && step.loss > 0.3
    });
    let growths: Vec<f64> = steps.map(|step| step.growth.0 as f64).collect();
    let all = || growths.iter().copied();
    let (least, most) = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    growths.len() >= 3 && most > CHANGED * least && most - least > 5.0 * MILLI
}

/// TCP's round trip grew by a good part of the queue that the load fills: it has met the limit.
pub(super) fn is_filled(signs: &Signs<'_>) -> bool {
    let hot = signs.hot.filter(Hot::is_queued);
    hot.zip(signs.rtt_growth()).is_some_and(|(hot, growth)| growth >= hot.queue / 4.0)
}

/// The queue is as long in every hot step: a link whose own rate changes has one that is longer and shorter.
fn is_full_queue(signs: &Signs<'_>, hot: &Hot) -> bool {
    let steps = signs.load().into_iter().flat_map(|load| load.for_purpose(Purpose::Hot));
    let growths: Vec<f64> =
        steps.filter(|step| step.stalled < STALLED).map(|step| step.growth.0 as f64).collect();
    growths.iter().all(|growth| (growth - hot.queue).abs() < 0.1 * hot.queue)
}

/// The least that arrived of loads that were lower than the hot one, and capped all the same.
fn least_of_less(signs: &Signs<'_>, hot: &Hot) -> Option<f64> {
    let load = signs.load()?;
    // Nothing need be lost where every packet waits in a part of the queue, and the load arrives at less than its rate.
    let waits = |step: &LoadStep| {
        let is_slowed = (step.delivered.0 as f64) < 0.9 * step.sent.0 as f64;
        is_slowed && step.growth_p10.0 as f64 > hot.visible.max(0.25 * hot.queue)
    };
    let is_capped = |step: &&LoadStep| {
        let less = (step.sent.0 as f64) < 0.85 * FLOOD * hot.rate && (step.loss > 0.05 || waits(step));
        less && step.datagrams >= 60 && step.stalled < 0.025
    };
    let lower = load.for_purpose(Purpose::Lower).chain(load.for_purpose(Purpose::Ladder)).filter(is_capped);
    lower.map(|step| step.delivered.0 as f64).reduce(f64::min)
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

/// What TCP lost was lost in slow start. Behind it TCP got less than the path gives, and filled no queue.
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

/// The rate of the path itself changes.
pub(super) fn variable(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot?;
    let rates = saturated_rates(signs, &hot);
    let steady = signs.tcp().and_then(|tcp| tcp.variation).is_some_and(|variation| variation <= 0.04);
    let varies = variation(&rates) > VARIES
        && rates.len() >= 4
        && !is_alike_but_one(&rates)
        && !is_shared_out(signs, &hot)
        && !is_link_steady(signs, &hot);
    if !varies || steady {
        return None;
    }
    let named = with_queue(LimitKind::VariableRate, signs, &hot, Confidence::Medium);
    // CPUs of busy hosts forward now more and now less, and TCP far below such rates has not met them.
    let why = if signs.evidence.host.busy {
        "the path took now more and now less of a load, while other work kept the hosts busy"
    } else if signs.passed >= FAR_ABOVE * signs.rate {
        "the path takes now more and now less of a load, but far more than the test got"
    } else if loses_small_frames(signs, &hot) {
        "the path takes now more and now less of a load, and loses small frames at a lower rate, as CPUs do"
    } else {
        return Some(named);
    };
    Some(Limit { also: Some(Box::new(named)), ruled_out: vec![why.into()], ..Limit::default() })
}

/// Small frames are lost at a rate of bits that full ones pass, and many packets pass for each second: CPUs forward them.
fn loses_small_frames(signs: &Signs<'_>, hot: &Hot) -> bool {
    signs.step(Purpose::Small).is_some_and(|small| {
        let frames = SmallFrames::new(signs, hot, small);
        let is_capped = small.loss > 0.2 && (small.sent.0 as f64) < 0.6 * hot.rate;
        frames.full >= OF_A_CPU && is_capped && frames.delivered < MOST_OF_SMALL * frames.full
    })
}

/// All rates but one are the same to a hundredth: a rate that changes is no two times the same.
fn is_alike_but_one(rates: &[f64]) -> bool {
    let mut rates = rates.to_vec();
    rates.sort_by(f64::total_cmp);
    let most = rates.len().saturating_sub(1);
    rates
        .windows(most)
        .any(|part| part.last().zip(part.first()).is_some_and(|(last, first)| *last < 1.01 * first))
}

/// The lowest load above the rate gets the least, and the highest the most: others get what it does not.
fn is_shared_out(signs: &Signs<'_>, hot: &Hot) -> bool {
    let (Some(lower), Some(higher)) = (signs.step(Purpose::Lower), signs.step(Purpose::Higher)) else {
        return false;
    };
    // A load of which nothing is lost has not met others at a full queue.
    if lower.loss < 0.03 {
        return false;
    }
    let (least, most) = (lower.delivered.0 as f64, higher.delivered.0 as f64);
    let rates = saturated_rates(signs, hot);
    let is_ordered = rates.iter().all(|rate| (SCATTER * least..=most / SCATTER).contains(rate));
    let is_shared =
        is_ordered && most >= 1.12 * least && signs.rate < BINDING * hot.rate && !is_link_changing(signs);
    is_shared && !is_less_for_more_flows(signs, least)
}

/// The same load over four flows gets less than the lowest one: others give it as much, or more.
fn is_less_for_more_flows(signs: &Signs<'_>, least: f64) -> bool {
    signs.step(Purpose::FourFlows).is_some_and(|four| (four.delivered.0 as f64) < 0.9 * least)
}

/// The rates that arrived of each load above the path's capacity.
fn saturated_rates(signs: &Signs<'_>, hot: &Hot) -> Vec<f64> {
    let steps = signs.load().into_iter().flat_map(|load| &load.steps).filter(|step| {
        matches!(step.purpose, Purpose::Hot | Purpose::Lower | Purpose::Higher)
            && step.delivered.0 > 0
            // Sparse datagrams over another flow may overtake: the time from the first to the last is not this flow's then.
            && (step.sparse == 0 || step.other_growth.is_some_and(|other| other.0 >= step.growth.0 / 2))
            && step.stalled < STALLED
            && (step.loss > 0.03 || step.growth.0 as f64 > hot.visible)
    });
    steps.map(|step| step.delivered.0 as f64).collect()
}

/// Small frames are capped at the same number per second.
pub(super) fn packet_rate(signs: &Signs<'_>) -> Option<Limit> {
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
pub(super) fn forwarder(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot?;
    let small = signs.step(Purpose::Small)?;
    let frames = SmallFrames::new(signs, &hot, small);
    let is_alike = frames.delivered >= 0.7 * frames.full;
    let confidence = signs.confidence().min(Confidence::Medium);
    (is_alike && loses_small_frames(signs, &hot)).then(|| of_packets(signs, &hot, frames.full, confidence))
}

/// CPUs that forward no more at several times TCP's rate have not held it back: that is the next limit.
pub(super) fn cpus_far_above(signs: &Signs<'_>) -> Option<Limit> {
    let is_far_above = signs.tcp().is_some() && signs.passed >= FAR_ABOVE * signs.rate;
    let named = forwarder(signs).or_else(|| packet_rate(signs)).filter(|_| is_far_above)?;
    let is_of_cpus = named.packets.is_some_and(|packets| packets.0 as f64 >= OF_A_CPU);
    let why = "the path forwards no more packets at a load that is several times what the test got";
    is_of_cpus.then(|| Limit { also: Some(Box::new(named)), ruled_out: vec![why.into()], ..Limit::default() })
}

/// Frames per second of the step with small ones, and of full ones on the saturated path.
struct SmallFrames {
    full: f64,
    sent: f64,
    delivered: f64,
}

impl SmallFrames {
    fn new(signs: &Signs<'_>, hot: &Hot, small: &LoadStep) -> SmallFrames {
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

/// A queue that is kept short by marks, or for other flows.
pub(super) fn short_queue(signs: &Signs<'_>) -> Option<Limit> {
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
pub(super) fn controlled(signs: &Signs<'_>) -> Option<Limit> {
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

/// The queue is empty at little above the rate, while what is more is lost: it is a faster link's, and a policer drops. Any
/// management of a queue lets some wait.
pub(super) fn policer_beside_a_queue(signs: &Signs<'_>) -> Option<Limit> {
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
pub(super) fn queue_of_another(signs: &Signs<'_>) -> Option<Limit> {
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

/// The step with small frames, at a third of the rate, in whose first part a queue of the limit's own drains: what waits then waits
/// for others.
fn drained<'a>(signs: &Signs<'a>, hot: &Hot, part: f64) -> Option<&'a LoadStep> {
    let small = signs.step(Purpose::Small)?;
    let frames = SmallFrames::new(signs, hot, small);
    let within = small.datagrams as f64 / frames.sent.max(1.0) * part * 1e9;
    let is_drained = hot.queue < within * (1.0 - small.sent.0 as f64 / hot.rate).max(0.0);
    is_drained.then_some(small)
}

/// Every packet of a load waits, which is lower than the rate and of which nothing is lost: others keep a queue on the path.
fn waits_below(signs: &Signs<'_>, hot: &Hot) -> bool {
    let ladder = signs.load().into_iter().flat_map(|load| load.for_purpose(Purpose::Ladder));
    let lower = ladder.filter(|step| (step.sent.0 as f64) < BELOW * hot.rate && step.stalled < STALLED);
    lower
        .chain(drained(signs, hot, 1.0 - LATE))
        .any(|step| step.loss < 0.01 && step.growth_p10.0 as f64 > hot.visible)
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

/// A queue that is full: a shaper, or a slow link.
pub(super) fn shaper(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot.filter(Hot::is_queued)?;
    // Where others keep a queue as well, a policer before it would look alike.
    let is_sure = hot.loss < 0.05 || !waits_below(signs, &hot) || signs.step(Purpose::Edge).is_some();
    let confidence = if is_sure { sure(signs, &hot) } else { Confidence::Low };
    Some(with_queue(LimitKind::Shaper, signs, &hot, confidence))
}

/// Packets are dropped at any delay.
pub(super) fn policer(signs: &Signs<'_>) -> Option<Limit> {
    let hot = signs.hot.filter(|hot| !hot.is_queued() && hot.loss > 0.05)?;
    Some(policed(signs, &hot, sure(signs, &hot)))
}

/// Where small frames were not observed to pass, it may be a limit of packets as well.
fn sure(signs: &Signs<'_>, hot: &Hot) -> Confidence {
    let passed = signs.load().into_iter().flat_map(|load| load.for_purpose(Purpose::Small)).any(|small| {
        let frames = SmallFrames::new(signs, hot, small);
        frames.delivered > 1.4 * frames.full
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

/// The parts that every limit of the path has: rate, queue, flows, place.
fn with_queue(kind: LimitKind, signs: &Signs<'_>, hot: &Hot, confidence: Confidence) -> Limit {
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
fn per_flow(signs: &Signs<'_>, rate: f64) -> Option<bool> {
    let four = signs.step(Purpose::FourFlows)?;
    // More than the load itself cannot arrive.
    let possible = four.sent.0 as f64 >= 1.5 * rate;
    // Packets of the first flow that still wait stretch the time in which the step arrives; the other flows do not wait at all.
    let queue = signs.hot.filter(Hot::is_queued).map_or(0.0, |hot| hot.queue);
    let is_free = four.loss < 0.05 && (four.growth.0 as f64) < 0.1 * queue;
    possible.then_some(is_free || four.delivered.0 as f64 >= 1.4 * rate)
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
/// Where a load at this many times TCP's rate passes without a loss, a cap above that has not capped TCP.
pub(super) const FAR_ABOVE: f64 = 3.0;
/// TCP that gets less of what the path gives, and shows no sign of the path, is held back by something else.
const NOT_MET: f64 = 0.7;
/// The same for TCP that lost packets in slow start.
const LEFT: f64 = 0.8;
/// Above this share of the path TCP has it for itself, whatever waits there.
const MOST_OF_PATH: f64 = 0.9;
/// A load adds at least this share to a queue that is its own.
const STANDING: f64 = 0.5;
/// The rates of loads above the limit vary by more than the shares of chance.
const VARIES: f64 = 0.08;
/// The longest queue that management keeps, nanoseconds.
const KEPT: f64 = 50.0 * MILLI;
/// The share lost at which TCP repairs by its timers.
const TIMERS: f64 = 0.15;
/// The last part of a step, in which its late datagrams come.
const LATE: f64 = 0.6;
/// The part of a step behind which more than a tenth of its late datagrams come.
const ALMOST: f64 = 0.85;
/// More than the rate arrives, by more than chance.
const PASSED: f64 = 1.1;
/// The most that a load loses which arrives out of a bucket and empties it at its end.
const OUT_OF_A_BUCKET: f64 = 0.1;
/// Small frames that all wait longer than this, wait for others, nanoseconds.
const OF_OTHERS: f64 = 1.5 * MILLI;
/// A full queue takes so many times longer on a link whose rate changes.
const CHANGED: f64 = 1.3;
/// A part of the queue that is within the error of a line through a few loads.
const LITTLE: f64 = 0.2;
/// Lost beyond what a cap takes of a load.
const MANAGED: f64 = 0.25;
/// A load below this share of the rate fills no queue of the limit.
const BELOW: f64 = 0.85;
/// The time of a packet from which on the delays of hosts do not hide it, nanoseconds.
const COARSE: f64 = 1.5 * MILLI;
/// The part of it that delays vary by in a full queue: 0.8 and more.
const EVEN: f64 = 0.7;
/// A step delivers what the path gives: within this share.
const SAME: f64 = 0.05;
/// Shares of others shake a little from step to step.
const SCATTER: f64 = 0.97;
/// The first load meets others that recede from it, where the path waits without a load.
const RECEDED: f64 = 0.98;
/// Half of what a load at 1.06 times the rate of a policer loses.
const EDGE_LOSS: f64 = 0.03;
/// Seconds without load before the cold step, at least.
const PAUSE: f64 = 0.25;
/// Frames that come at once by chance.
const FEW_FRAMES: f64 = 4.0;
