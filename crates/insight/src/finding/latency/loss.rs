//! Messages that never came back, and messages that this host did not send in time.

use super::super::text::{count, grouped, percent};
use super::super::{Finding, Severity};
use super::outage::lost_in_outages;
use super::{directed, name, one_way, share, silence};
use model::latency::EgressResult;
use model::plan::Direction;
use model::run::Run;
use model::units::{Nanos, PacketRate};

/// Round trips lost on the path, or one-way messages that the far end did not receive.
pub(in super::super) fn loss(run: &Run, egress: &EgressResult) -> Option<Finding> {
    if one_way(run) { messages(run, egress) } else { round_trips(run, egress) }
}

/// This host did not reach the requested rate.
pub(in super::super) fn behind(run: &Run, egress: &EgressResult) -> Option<Finding> {
    waits(run, egress).or_else(|| missed(run, egress))
}

fn round_trips(run: &Run, egress: &EgressResult) -> Option<Finding> {
    let counted = &egress.counted;
    // Those lost in an outage are counted there.
    let elsewhere = lost_in_outages(egress);
    let (lost, asked) = (counted.lost - elsewhere, counted.asked.saturating_sub(elsewhere));
    let part = share(lost, asked);
    if !is_worth_reporting(lost, part) || silence::silent(run, egress) {
        return None;
    }
    let place = match (counted.lost_up, counted.lost_down) {
        (Some(up), Some(down)) if elsewhere == 0 => format!(": {up} up, {down} down"),
        (Some(up), Some(down)) => format!("; with those of outages {up} up, {down} down"),
        _ => String::new(),
    };
    let place = match silence::icmp_errors(run) {
        Some(reported) => format!("{place}; {reported}"),
        None => place,
    };
    let title = format!(
        "{} {} never came back ({} of {}){place}",
        count(lost, "round trip"),
        name(run, egress),
        percent(part),
        grouped(asked)
    );
    let finding = Finding::new("path-loss", Severity::Warning, Direction::Up, title);
    let finding = directed(finding, counted.lost_up, counted.lost_down)
        .with("lost_count", lost)
        .with("lost_share", part)
        .with("asked_count", asked);
    Some(finding.advise(
        "Round trips send little, so that this is no limit of rate: look for errors on the line (`ip -s link`), a device that limits or drops such packets, or a far end without time to answer.",
    ))
}

fn messages(run: &Run, egress: &EgressResult) -> Option<Finding> {
    let (sent, arrived) = (egress.counted.sent, egress.counted.far_received?);
    let lost = sent.saturating_sub(arrived);
    let part = share(lost, sent);
    if !is_worth_reporting(lost, part) || silence::silent(run, egress) {
        return None;
    }
    let paced = run.latency().is_some_and(|plan| plan.rate.is_some());
    let severity = if paced { Severity::Warning } else { Severity::Info };
    let title = format!(
        "{} {} did not arrive ({} of {}) at {}",
        count(lost, "message"),
        name(run, egress),
        percent(part),
        grouped(sent),
        egress.sent_rate
    );
    let finding = Finding::new("path-loss", severity, Direction::Up, title)
        .with("lost_count", lost)
        .with("lost_share", part)
        .with("sent_count", sent)
        .with("sent_per_second", egress.sent_rate.0);
    Some(finding.advise(match paced {
        true => "Measure at half the rate (`--rate`): loss that stays has its cause on the line, loss that goes is a limit of rate.",
        false => "Expected above the capacity of the path or of the far end. Send less than arrived: `--rate`.",
    }))
}

/// Ping-pong cannot keep a rate at which a message is due before the reply to the last has come.
fn waits(run: &Run, egress: &EgressResult) -> Option<Finding> {
    let counted = &egress.counted;
    let due = counted.sent.saturating_add(counted.unsent);
    let part = share(counted.unsent, due);
    let rate = run.latency()?.rate?;
    if part < BEHIND {
        return None;
    }
    let title = format!(
        "Ping-pong {} sent {} of {} that were due at {rate}: each waits for the reply to the last",
        name(run, egress),
        grouped(counted.sent),
        count(due, "message")
    );
    let finding = Finding::new("sender-limited", Severity::Info, Direction::Up, title)
        .with("unsent_count", counted.unsent)
        .with("unsent_share", part)
        .with("sent_per_second", egress.sent_rate.0);
    Some(finding.advise(
        "Round trips count from the send call where the rate is more than the path allows. To keep the rate whatever comes back: `--mode under-load`.",
    ))
}

/// The requested rate, where the sender fell short of it by more than a pause at the end of the run accounts for.
fn missed_rate(run: &Run, egress: &EgressResult) -> Option<PacketRate> {
    let rate = run.latency()?.rate?;
    let is_late = share(egress.counted.behind, egress.counted.sent) >= BEHIND;
    let kept = egress.sent_rate.0 as f64 / rate.0.max(1) as f64;
    let unsent = (1.0 - kept) * egress.elapsed.as_secs_f64();
    (is_late && kept < KEPT && unsent > PAUSE.as_secs_f64()).then_some(rate)
}

fn missed(run: &Run, egress: &EgressResult) -> Option<Finding> {
    let rate = missed_rate(run, egress)?;
    let finding = late(
        run,
        egress,
        "sender-limited",
        Severity::Warning,
        &format!(", and reached {} of {rate}", egress.sent_rate),
    );
    Some(finding.advise(
        "Ask for a lower rate (--rate), or let the thread spin: `pathmeter latency HOST --wait spin`.",
    ))
}

/// Messages went later than they were due, at the requested rate. They are no fault of the path: a note, where a figure is this
/// sender's because of them.
pub(in super::super) fn sent_late(run: &Run, egress: &EgressResult) -> Option<Finding> {
    let is_late = share(egress.counted.behind, egress.counted.sent) >= BEHIND;
    if !is_late || missed_rate(run, egress).is_some() {
        return None;
    }
    let (due, sent, from) = (egress.rtt?, egress.service?, egress.late_from_percent()?);
    let (name, due, sent) = match from {
        50.0 => ("median".to_owned(), due.p50, sent.p50),
        90.0 => (format!("p{from}"), due.p90, sent.p90),
        _ => (format!("p{from}"), due.p99, sent.p99),
    };
    let effect = format!(
        ": the {name} is {due} from when they were due and {sent} from the send call, so that it and all above are this host's and not the path's"
    );
    let finding = late(run, egress, "sent-late", Severity::Info, &effect);
    Some(finding.advise(
        "Stop other work on this host, or let the thread spin: `pathmeter latency HOST --wait spin`.",
    ))
}

fn late(run: &Run, egress: &EgressResult, id: &str, severity: Severity, effect: &str) -> Finding {
    let (behind, part) = (egress.counted.behind, share(egress.counted.behind, egress.counted.sent));
    let title = format!(
        "This host sent {} {} later than they were due ({}){effect}",
        count(behind, "message"),
        name(run, egress),
        percent(part)
    );
    Finding::new(id, severity, Direction::Up, title)
        .with("behind_count", behind)
        .with("behind_share", part)
        .with("sent_per_second", egress.sent_rate.0)
}

/// One or two lost of thousands are an accident; of a few, they are not.
fn is_worth_reporting(lost: u64, part: f64) -> bool {
    part >= LOST && (lost >= A_FEW || part >= OF_A_FEW)
}

/// Limit as for datagrams: one in a thousand.
const LOST: f64 = 0.001;
const A_FEW: u64 = 3;
const OF_A_FEW: f64 = 0.05;
/// The round trip counts from when a message was due: with one in a hundred late, p99 may be this host's.
const BEHIND: f64 = 0.01;
/// The share of the requested rate.
const KEPT: f64 = 0.98;
/// A scheduler that holds a sender for as long at the end of a run keeps these messages from being sent.
const PAUSE: Nanos = Nanos::from_millis(100);
