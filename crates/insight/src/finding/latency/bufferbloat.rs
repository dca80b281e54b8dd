//! `bufferbloat`: queues under load hold packets far longer than the idle path does.

use super::super::text::{capital, significant};
use super::super::{Finding, Severity, limit};
use model::latency::LoadPhase;
use model::plan::{Direction, Directions};
use model::run::Run;
use model::stats::distribution::Distribution;
use model::units::Nanos;

/// Each direction under load against the idle path; both at once only where neither alone shows it.
pub(in super::super) fn bufferbloat(run: &Run) -> Vec<Finding> {
    let Some(loaded) = &run.summary.loaded else { return Vec::new() };
    let idle = loaded.phases.iter().find(|phase| phase.load.is_none()).and_then(|phase| phase.rtt);
    let Some(idle) = idle.filter(|rtt| rtt.count > 0) else { return Vec::new() };
    let findings_of = |both: bool| {
        let phases = loaded
            .phases
            .iter()
            .filter(move |phase| phase.load.is_some_and(|load| (load == Directions::Both) == both));
        phases.filter_map(|phase| bloat(&idle, phase)).collect::<Vec<_>>()
    };
    let single = findings_of(false);
    if single.is_empty() { findings_of(true) } else { single }
}

fn bloat(idle: &Distribution, phase: &LoadPhase) -> Option<Finding> {
    let rtt = phase.rtt.filter(|rtt| rtt.count > 0)?;
    let more = rtt.p50.saturating_sub(idle.p50);
    let spread = idle.p90.saturating_sub(idle.p50).saturating_mul(SPREADS);
    if more < QUEUE.max(spread).max(Nanos(idle.p50.0 / TENTH)) {
        return None;
    }
    let severity = if more >= FELT { Severity::Warning } else { Severity::Info };
    let direction = phase.direction();
    let name = direction.map_or("load in both directions", |one| one.choose("load up", "load down"));
    let rates = [("up", phase.up), ("down", phase.down)];
    let rates: Vec<String> =
        rates.iter().filter_map(|(one_way, rate)| rate.map(|rate| format!("{rate} {one_way}"))).collect();
    let carried = if rates.is_empty() { String::new() } else { format!(" ({})", rates.join(", ")) };
    let rpm = phase
        .responsiveness
        .map(|figure| format!("; responsiveness {} round trips per minute", significant(figure.rpm)));
    let rpm = rpm.unwrap_or_default();
    let at = phase
        .limit
        .as_deref()
        .and_then(limit::where_and_what)
        .map(|text| format!(" at {text}"))
        .unwrap_or_default();
    let title = capital(&format!(
        "{name}{carried} raises the median round trip from {} to {}, {} times: {more} of queue{at}{rpm}",
        idle.p50,
        rtt.p50,
        significant(rtt.p50.0 as f64 / idle.p50.0.max(1) as f64)
    ));
    let finding = Finding::new("bufferbloat", severity, direction, title);
    Some(evidence(finding, idle, &rtt, phase).advise(advice(direction)))
}

fn evidence(finding: Finding, idle: &Distribution, rtt: &Distribution, phase: &LoadPhase) -> Finding {
    finding
        .with("idle_rtt_p50_ns", idle.p50.0)
        .with("idle_rtt_p99_ns", idle.p99.0)
        .with("loaded_rtt_p50_ns", rtt.p50.0)
        .with("loaded_rtt_p99_ns", rtt.p99.0)
        .with("added_ns", rtt.p50.saturating_sub(idle.p50).0)
        .with("lost_count", phase.lost)
        .with_known("up_bps", phase.up.map(|rate| rate.0))
        .with_known("down_bps", phase.down.map(|rate| rate.0))
        .with_known("responsiveness_per_minute", phase.responsiveness.map(|figure| figure.rpm))
}

fn advice(direction: Option<Direction>) -> &'static str {
    match direction {
        Some(Direction::Up) => {
            "The queue before the slowest link up is too long: let that router manage its queue (`tc qdisc replace dev INTERFACE root cake bandwidth RATE`, or fq_codel), a little below the link's rate where the queue is in a modem behind it."
        }
        Some(Direction::Down) => {
            "The queue before the slowest link down is too long; it is mostly the provider's: shape what comes in to a little below the link's rate (`cake` on an IFB device), or ask for a managed queue there."
        }
        None => {
            "The queues before the slowest link are too long: let the routers there manage them (cake or fq_codel), a little below the link's rate."
        }
    }
}

/// Less queue harms nothing that a person does.
const QUEUE: Nanos = Nanos::from_millis(5);
/// From here on calls and games suffer (ITU-T G.114 gives a whole path 150 ms one way).
const FELT: Nanos = Nanos::from_millis(30);
/// More than the idle path itself varies, in distances of its p90 from its median …
const SPREADS: u64 = 3;
/// A rise must also exceed a tenth of its median: a change of routes does as much.
const TENTH: u64 = 10;
