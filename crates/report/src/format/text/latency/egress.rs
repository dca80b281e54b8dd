//! The figures of a single path beside its percentiles, in words.

use super::super::phrases;
use super::counted;
use model::latency::{ClockNote, EgressResult, HostNoise, OneWayDelays, WaitMode, WireTimes};
use model::stats::distribution::Distribution;
use model::stats::steady::Level;
use model::summary::Summary;
use model::units::{Nanos, count, percent};

/// The figures beside the percentiles, by name.
pub(in crate::format) fn facts(summary: &Summary, egress: &EgressResult) -> Vec<(&'static str, String)> {
    let mut facts = vec![(
        "messages",
        format!("{}; in {}, {}", counted(&egress.counted), egress.elapsed, egress.sent_rate),
    )];
    if egress.warm_up_count > 0 {
        let text = format!(
            "the first {} ({}) left out of all times below, until these were steady",
            egress.warm_up,
            count(egress.warm_up_count, "round trip")
        );
        facts.push(("warm-up", text));
    }
    if egress.level == Some(Level::Unsteady) {
        let text = "not found: the round trips drift, and the figures with them; measure for a longer time";
        facts.push(("steady level", text.into()));
    }
    if let Some(rtt) = egress.rtt.filter(|rtt| rtt.count > 0) {
        facts.extend(rtt.least().zip(rtt.longest()).map(|(least, longest)| {
            ("range", format!("{least} to {longest} of {}", count(rtt.count, "round trip")))
        }));
        facts.push(("mean", mean(egress, &rtt)));
        facts.extend(spread(egress).map(|text| ("spread", text)));
    }
    facts.extend(egress.service.map(|rtt| {
        ("from the send", format!("{}; the rest waited in this sender", phrases::distribution(&rtt)))
    }));
    facts.extend(floor(summary, egress).map(|text| ("tool floor", text)));
    facts.extend(egress.wire.map(|wire| ("on the wire", on_the_wire(&wire))));
    if let Some(delays) = &egress.one_way {
        facts.extend(one_way(delays));
    }
    facts.extend(this_host(summary).map(|text| ("this host", text)));
    facts.extend(egress.ends.far_wait.map(|wait| ("far end", far_end(wait).into())));
    facts.extend(seen_as(egress).map(|text| ("seen as", text)));
    facts
}

fn mean(egress: &EgressResult, rtt: &Distribution) -> String {
    let sure = egress.mean.filter(|mean| mean.half_width.is_finite()).map(|mean| {
        let width = Nanos(mean.half_width.max(0.0).round() as u64);
        let level = percent(mean.level);
        let more = if mean.correlated {
            "; slower variations than the test can show: less certain than stated"
        } else {
            ""
        };
        let worth = count(mean.effective_count.max(0.0).round() as u64, "independent round trip");
        format!(" ± {width} ({level} sure, worth {worth}{more})")
    });
    let deviation = rtt.deviation().map(|deviation| format!(", standard deviation {deviation}"));
    format!("{}{}{}", rtt.mean, sure.unwrap_or_default(), deviation.unwrap_or_default())
}

fn spread(egress: &EgressResult) -> Option<String> {
    let parts = [
        egress.mad.map(|mad| format!("median deviation from the median {mad}")),
        egress.iqr.map(|iqr| format!("quartiles {iqr} apart")),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// The part of the result that is the tool's own.
fn floor(summary: &Summary, egress: &EgressResult) -> Option<String> {
    let (floor, rtt) = (summary.tool_floor?, egress.rtt?);
    let above = match rtt.p50.0.checked_sub(floor.p50.0) {
        Some(above) => format!("{} of the median are above it", Nanos(above)),
        None => "the median is within it: this result shows the tool, not the path".into(),
    };
    Some(format!("{} (median, this tool against itself over loopback, waiting likewise); {above}", floor.p50))
}

fn on_the_wire(wire: &WireTimes) -> String {
    let by = if wire.hardware { "the NIC's" } else { "the kernel's" };
    let added = wire.application.p50.saturating_sub(wire.rtt.p50);
    format!(
        "{} by {by} times of {}; this host above that adds {added}",
        phrases::distribution(&wire.rtt),
        count(wire.rtt.count, "round trip")
    )
}

fn one_way(delays: &OneWayDelays) -> Vec<(&'static str, String)> {
    let error = delays.error;
    if delays.up.is_some() || delays.down.is_some() {
        let line = |delay: &Option<Distribution>| match delay {
            Some(delay) => format!("{} (median), {} to {}, each ± {error}", delay.p50, delay.min, delay.max),
            None => format!("withheld: not above the clocks' error, ± {error}"),
        };
        return vec![("one way up", line(&delays.up)), ("one way down", line(&delays.down))];
    }
    let why = match delays.note {
        ClockNote::Trusted => "nothing was measured".into(),
        ClockNote::ErrorTooLarge => {
            format!("the clocks' error, ± {error}, is as large as the delays themselves")
        }
        ClockNote::Stepped => "one of the clocks stepped during the test".into(),
        ClockNote::TooFew => "too few replies carried the far end's times".into(),
    };
    vec![("one way", format!("withheld: {why}"))]
}

/// The effect of this host on the measuring thread; nothing where none is known.
pub(super) fn this_host(summary: &Summary) -> Option<String> {
    let noise = summary.noise?;
    let is_busy = noise.is_busy();
    if !is_busy && (HostNoise { others_share: 0.0, runnable_per_cpu: 0.0, ..noise }) == HostNoise::default() {
        return None;
    }
    let busy = match is_busy && noise.others_share > 0.0 {
        true => format!("; other work used {} of the CPUs", percent(noise.others_share)),
        false => String::new(),
    };
    let switched = count(noise.involuntary_switches, "time");
    let stolen = percent(noise.steal_share);
    // A thread that sleeps does not see when it is held, so its stalls are not reported.
    let held = match noise.hiccups {
        0 => String::new(),
        times => format!(
            "held the measuring thread {} for over 50 µs, {} in all, at worst {}; ",
            count(times, "time"),
            noise.hiccup_total,
            noise.hiccup_worst
        ),
    };
    Some(format!(
        "{held}other work interrupted the measuring thread {switched}; {stolen} stolen by the hypervisor{busy}"
    ))
}

fn far_end(wait: WaitMode) -> &'static str {
    match wait {
        WaitMode::Spin => "waits by spinning",
        WaitMode::Hybrid => "spins for 50 µs, then sleeps",
        WaitMode::Block => "waits in the kernel: each round trip includes its wake-up",
    }
}

fn seen_as(egress: &EgressResult) -> Option<String> {
    let observed = egress.ends.seen_as?;
    let (there, here) = (observed.ip().to_canonical(), egress.ends.local.ip().to_canonical());
    (there != here || observed.port() != egress.ends.local.port()).then(|| {
        format!(
            "the far end sees {observed} where this end sends from {}: something in between translates",
            egress.ends.local
        )
    })
}
