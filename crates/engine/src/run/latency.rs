//! A run of round trips.

use super::begun::{Begun, Watched};
use super::explain::tcp::mark_dropped;
use super::explain::{self, Subject};
use super::observe::Observing;
use super::throughput::is_refused;
use super::{Measured, Options, limit};
use crate::error::{Error, Failure, Result};
use crate::session::protocol::UNACKNOWLEDGED;
use crate::work::latency::raw::RawFile;
use crate::work::latency::{self, LatencyJob};
use insight::run_of_events;
use model::event::Event;
use model::latency::{EgressPath, LatencyPlan, LatencyProtocol};
use model::plan::{Direction, End, LocalOptions, Plan, Target, TestSpec};
use model::playback::Item;
use model::reach::Reach;
use model::units::Nanos;
use serde::Serialize;
use std::path::PathBuf;
use wire::ProtocolError;
use wire::stamp::Key;

/// The plan of a run of round trips, and what it reads and writes. Its serialized form is printed before anything is done.
#[derive(Clone, Debug, Serialize)]
pub struct LatencyWork {
    /// The plan of the measurement.
    #[serde(flatten)]
    pub plan: LatencyPlan,
    /// Key of STAMP's authenticated mode.
    #[serde(skip)]
    pub key: Option<Key>,
    /// The messages of a playback.
    #[serde(skip)]
    pub playback: Vec<Item>,
    /// The file in which every round trip is a line.
    #[serde(skip)]
    pub raw: Option<PathBuf>,
    /// Hosts between the ends that are observed beside the load.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub observe: Vec<Target>,
}

pub(super) fn run(work: &LatencyWork, options: &Options, sink: &mut dyn FnMut(&Event)) -> Result<Measured> {
    let [egress, more @ ..] = work.plan.egress_paths.as_slice() else {
        return Err(Failure::usage("there is no host to measure", "give one").into());
    };
    if !more.is_empty() && options.capture.is_wanted() {
        let message =
            "--capture and --pcap with several paths: a capture sees one far end through one interface";
        return Err(Failure::usage(message, "measure one host at a time, without --via").into());
    }
    let raw = work.raw.as_deref().map(RawFile::create).transpose()?;
    let mut begun = Begun::new(options, sink);
    let watched = Watched::start(egress.target.address.ip(), &options.capture)?;
    let job = LatencyJob { raw, ..job(work, &work.plan, options) };
    let outcome = measure(&job, work, options, &mut begun);
    begun.take(watched.finish(None, &options.stop, Reach::default()));
    if more.is_empty() {
        let known = run_of_events("", "latency", begun.events());
        if outcome.is_ok() {
            let found = limit::decide_loaded(&work.plan, options, &known, &mut |event| begun.event(event));
            begun.take(found);
        }
        // A run without any reply has failed, and may have a reason that probes show.
        explain::explain(&subject(&work.plan, egress), options, known, &mut |event| begun.event(event));
    }
    let known = run_of_events("", "latency", begun.events());
    let reason = known.findings.into_iter().find(|finding| explain::is_cause(&finding.id));
    let outcome = match outcome {
        Err(error)
            if reason.is_none()
                && more.is_empty()
                && !has_replies(begun.events())
                && !is_refused(&error)
                && replies_unmarked(work, options) =>
        {
            Err(mark_dropped(error, work.plan.tos))
        }
        other => other,
    };
    let attribute = |measured, error: Error| match reason {
        Some(reason) => error.advised("latency", format!("{}. {}", reason.title, reason.advice)),
        None => attribute(measured, error),
    };
    begun.end("latency", outcome, options, |event| matches!(event, Event::Latency(_)), attribute)
}

/// The round trips of this plan with the key and the messages of the work, without a file of its lines.
fn job<'a>(work: &'a LatencyWork, plan: &'a LatencyPlan, options: &'a Options) -> LatencyJob<'a> {
    LatencyJob {
        plan,
        security: &options.security,
        tls: None,
        key: work.key.as_ref(),
        playback: &work.playback,
        raw: None,
        interrupt: &options.stop,
    }
}

/// Measures the round trips, and observes hosts beside their load.
fn measure(job: &LatencyJob<'_>, work: &LatencyWork, options: &Options, begun: &mut Begun<'_>) -> Result<()> {
    let observed = plan_of_observed(work);
    // Without intervals nothing shows when the load begins.
    let is_early = work.plan.interval.is_zero();
    let mut observing = observed.as_ref().filter(|_| is_early).map(|plan| Observing::begin(plan, options));
    let outcome = latency::run(job, &mut |event| {
        if observing.is_none() && is_beside_load(event) {
            observing = observed.as_ref().map(|plan| Observing::begin(plan, options));
        }
        begun.event(event);
    });
    begun.take(observing.into_iter().flat_map(Observing::finish));
    outcome
}

/// The load of all phases as a test, whose time and far end the observation has; absent: nothing is observed.
fn plan_of_observed(work: &LatencyWork) -> Option<Plan> {
    let (load, plan) = (work.plan.load.as_ref()?, limit::plan_of_load(&work.plan)?);
    let time = load.time.saturating_mul(load.phases.len() as u64 + 1) + BETWEEN;
    let local = LocalOptions { observe: work.observe.clone(), ..plan.local };
    let observed = Plan { test: TestSpec { end: End::Time(time), ..plan.test }, local, ..plan };
    (!work.observe.is_empty()).then_some(observed)
}

/// An interval in which a load ran.
fn is_beside_load(event: &Event) -> bool {
    matches!(event, Event::LatencySample(sample) if sample.load.is_some())
}

fn has_replies(events: &[Event]) -> bool {
    let of_result = |event: &Event| match event {
        Event::Latency(result) => result.egress_paths.iter().any(|egress| egress.counted.received > 0),
        _ => false,
    };
    events.iter().any(of_result)
}

/// No reply came to marked messages: whether some come without the mark, so that the mark is the reason.
fn replies_unmarked(work: &LatencyWork, options: &Options) -> bool {
    if work.plan.tos == 0 || work.plan.explain.is_zero() || options.stop.is_raised() {
        return false;
    }
    let plan = LatencyPlan { tos: 0, end: End::Time(SHORT), load: None, ..work.plan.clone() };
    let mut events = Vec::new();
    // How it ends is of no matter.
    latency::run(&job(work, &plan, options), &mut |event| events.push(event.clone())).ok();
    has_replies(&events)
}

/// The far end of the only path.
fn subject(plan: &LatencyPlan, egress: &EgressPath) -> Subject {
    Subject {
        target: egress.target.clone(),
        local: plan.local_options(egress),
        is_native: plan.protocol == LatencyProtocol::Native,
        plan: None,
        directions: vec![Direction::Up, Direction::Down],
    }
}

/// Adds advice to an error of the dialogue with a server.
fn attribute(measured: bool, error: Error) -> Error {
    match error.protocol() {
        Some(ProtocolError::Unacknowledged(_)) if !measured => {
            error.advised("latency session", UNACKNOWLEDGED)
        }
        Some(ProtocolError::Violation { .. } | ProtocolError::Timeout(_) | ProtocolError::Closed(_))
            if !measured =>
        {
            let advice = "check that `pathmeter serve` listens there, and not another service (`sockperf sr` is reached with \
                          --protocol sockperf); its log may say more";
            error.advised("latency session", advice)
        }
        _ => error,
    }
}

/// Connecting between phases takes no longer in all.
const BETWEEN: Nanos = Nanos::from_secs(10);
/// Time of a test that only shows whether replies come.
const SHORT: Nanos = Nanos::from_millis(300);
