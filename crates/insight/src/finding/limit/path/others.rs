//! The rows about others on the path, and about a path whose own rate changes.

use super::super::signs::{BINDING, Hot, MILLI, STALLED, Signs, variation};
use super::figures::with_queue;
use super::packets::{SmallFrames, loses_small_frames};
use super::{FAR_ABOVE, LATE, is_filled};
use model::limit::{Confidence, FLOOD, Limit, LimitKind, LoadStep, Purpose};

/// Others send over the same queue: it is not empty without the load.
pub(in crate::finding::limit) fn standing(signs: &Signs<'_>) -> Option<Limit> {
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
pub(in crate::finding::limit) fn competing(signs: &Signs<'_>) -> Option<Limit> {
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

/// The rate of the path itself changes.
pub(in crate::finding::limit) fn variable(signs: &Signs<'_>) -> Option<Limit> {
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

/// The step with small frames, at a third of the rate, in whose first part a queue of the limit's own drains: what waits then waits
/// for others.
pub(super) fn drained<'a>(signs: &Signs<'a>, hot: &Hot, part: f64) -> Option<&'a LoadStep> {
    let small = signs.step(Purpose::Small)?;
    let frames = SmallFrames::new(signs, hot, small);
    let within = small.datagrams as f64 / frames.sent.max(1.0) * part * 1e9;
    let is_drained = hot.queue < within * (1.0 - small.sent.0 as f64 / hot.rate).max(0.0);
    is_drained.then_some(small)
}

/// Every packet of a load waits, which is lower than the rate and of which nothing is lost: others keep a queue on the path.
pub(super) fn waits_below(signs: &Signs<'_>, hot: &Hot) -> bool {
    let ladder = signs.load().into_iter().flat_map(|load| load.for_purpose(Purpose::Ladder));
    let lower = ladder.filter(|step| (step.sent.0 as f64) < BELOW * hot.rate && step.stalled < STALLED);
    lower
        .chain(drained(signs, hot, 1.0 - LATE))
        .any(|step| step.loss < 0.01 && step.growth_p10.0 as f64 > hot.visible)
}

/// Above this share of the path TCP has it for itself, whatever waits there.
const MOST_OF_PATH: f64 = 0.9;
/// The rates of loads above the limit vary by more than the shares of chance.
const VARIES: f64 = 0.08;
/// A full queue takes so many times longer on a link whose rate changes.
const CHANGED: f64 = 1.3;
/// A load below this share of the rate fills no queue of the limit.
const BELOW: f64 = 0.85;
/// Shares of others shake a little from step to step.
const SCATTER: f64 = 0.97;
/// The first load meets others that recede from it, where the path waits without a load.
const RECEDED: f64 = 0.98;
