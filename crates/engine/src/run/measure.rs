//! The main job. Reach, idle RTT, datagram sizes, TCP and UDP in each direction, reasons, verdict.

mod rate;

use super::begun::Watched;
use super::explain::Subject;
use super::{Measured, Options, explain, is_start, limit, link, run_id, test, without_copy};
use crate::error::{Error, Result, sentence, too_early};
use crate::host::reach::Others;
use crate::session::protocol::attribute;
use crate::work::path;
use crate::work::probe::Prober;
use crate::work::throughput::flows;
use insight::{run_of_events, run_of_tests};
use linux::clock::wall_now;
use model::event::{Event, Finished, Outcome, Probe, Progress, Warning};
use model::host::Host;
use model::plan::{
    Direction, Directions, End, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport,
};
use model::reach::{AddressSource, Contact, FamilyReach, Reach};
use model::run::Run;
use model::time::WallTime;
use model::units::Nanos;
use wire::ProtocolError;
use wire::native::Limits;

/// A measurement of a path.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasurePlan {
    /// The far end.
    pub target: Target,
    /// This end's choices.
    pub local: LocalOptions,
    /// The tests of throughput, in order. The payload and the rate of UDP follow from what the tests before it find.
    pub tests: Vec<Plan>,
    /// A quick check, not a measurement.
    pub quick: bool,
    /// The other IP family is not tried.
    pub one_family: bool,
}

impl MeasurePlan {
    /// TCP and UDP in each direction, or a look at them.
    #[must_use]
    pub fn new(target: Target, local: LocalOptions, quick: bool, one_family: bool) -> MeasurePlan {
        let time = |transport| match (quick, transport) {
            (true, _) => Nanos::from_millis(1200),
            (false, Transport::Tcp) => Nanos::from_secs(6),
            (false, Transport::Udp) => Nanos::from_secs(4),
        };
        let steps = [Transport::Tcp, Transport::Udp]
            .into_iter()
            .flat_map(|t| [(t, Directions::Up), (t, Directions::Down)]);
        let plan = |(transport, directions)| Plan {
            target: target.clone(),
            protocol: ProtocolName::Native,
            test: TestSpec { directions, end: End::Time(time(transport)), ..TestSpec::new(transport) },
            local: local.clone(),
        };
        MeasurePlan { tests: steps.map(plan).collect(), target, local, quick, one_family }
    }
}

pub(super) fn run(plan: &MeasurePlan, options: &Options, sink: &mut dyn FnMut(&Event)) -> Result<Measured> {
    MeasureJob { plan, options, sink }.measure()
}

struct MeasureJob<'a> {
    plan: &'a MeasurePlan,
    options: &'a Options,
    sink: &'a mut dyn FnMut(&Event),
}

impl MeasureJob<'_> {
    /// Measures the path.
    ///
    /// # Errors
    /// Nothing was measured. A later error comes with the measurement until then.
    fn measure(&mut self) -> Result<Measured> {
        let (plan, stop) = (self.plan, &self.options.stop);
        let mut probes: Vec<Event> = link(&plan.target, &plan.local).into_iter().collect();
        let known = probes.len();
        let started = wall_now();
        let mut met = Met::default();
        let watched = Watched::start(plan.target.address.ip(), &self.options.capture)?;
        if let Some(reason) = watched.refusal() {
            (self.sink)(&Event::progress(reason));
        }
        self.part(1, "idle round trips and datagram sizes");
        let mut limits = Limits::default();
        match self.probe(&mut probes, &mut limits, &mut met) {
            Err(e) if !stop.is_raised() => {
                probes.push(without_probes(e, self.sink).map_err(|e| self.attribute(e))?);
            }
            _ => {}
        }
        let observed = Reach { families: self.families(&met), ..Reach::default() };
        let mut tests: Vec<Run> = Vec::new();
        let (mut broke, mut is_cut) = (None, false);
        for (index, mut test) in plan.tests.iter().cloned().enumerate() {
            if stop.is_raised() {
                is_cut = true;
                break;
            }
            let is_udp = test.test.transport == Transport::Udp;
            if is_udp && !prepare_udp(&mut test, &probes, &tests) {
                continue;
            }
            follow_rtt(&mut test.test, &probes, plan.quick);
            apply_limits(&mut test.test, &limits);
            self.part(index + 2, &format!("{} {}", test.test.transport, direction(&test.test)));
            if is_udp {
                test.local.own_rate = true;
                test.test.bitrate = Some(rate::lossless(&test, self.options, plan.quick));
            }
            match self.test(&test, &probes) {
                Ok(test) => {
                    is_cut = test.summary.outcome == Some(Outcome::Interrupted);
                    tests.push(test);
                }
                Err(_) if stop.is_raised() => {
                    is_cut = true;
                    break;
                }
                Err(e) => {
                    broke = Some(e);
                    break;
                }
            }
        }
        if tests.is_empty() && probes.len() == known {
            return Err(broke.map_or_else(|| too_early().into(), |e| self.attribute(e)));
        }
        probes.extend(watched.finish(broke.as_ref(), stop, observed));
        probes.extend(is_cut.then(|| interrupted(started)));
        let mut run = run_of_tests(&run_id()?, "measure", &probes, tests);
        run.started = Some(started);
        run.finished = Some(wall_now());
        Ok(Measured { run, error: broke.map(|e| self.attribute(e)) })
    }

    /// Reports which part begins.
    fn part(&mut self, number: usize, doing: &str) {
        let part = Some([number as u32, self.plan.tests.len() as u32 + 1]);
        (self.sink)(&Event::Progress(Progress { part, doing: doing.to_owned() }));
    }

    fn probe(&mut self, events: &mut Vec<Event>, limits: &mut Limits, met: &mut Met) -> Result<()> {
        let (plan, options) = (self.plan, self.options);
        let mut prober = Prober::open(&plan.target, &plan.local, &options.security, &options.stop)?;
        *met = Met { opened: Some(prober.opened()), peer: prober.peer().cloned() };
        limits.clone_from(prober.limits());
        events.extend(limits.max_rate.map(Limits::warning));
        events.push(Event::Probe(prober.idle_rtt(if plan.quick { 60 } else { 300 })?));
        let mut found = path::measure_directions(&mut prober, &Direction::BOTH, &[])?;
        let mut dead = prober.dead_ports();
        prober.close();
        let open = || Prober::open(&plan.target, &plan.local, &options.security, &options.stop);
        dead += path::look_from_other_ports(&open, &mut found)?;
        events.extend(flows::unanswered_ports(dead).map(Event::Warning));
        events.push(Event::Path(Box::new(found)));
        Ok(())
    }

    /// The far host over the family in use, and over the other.
    fn families(&self, met: &Met) -> Vec<FamilyReach> {
        let plan = self.plan;
        let used = FamilyReach {
            address: plan.target.address,
            source: AddressSource::Used,
            contact: Contact::Open,
            first: met.opened,
            again: None,
        };
        let others = Others { target: &plan.target, local: &plan.local, peer: met.peer.as_ref() };
        let others = if plan.one_family { Vec::new() } else { others.contact() };
        [used].into_iter().chain(others).collect()
    }

    fn attribute(&self, error: Error) -> Error {
        attribute(&self.plan.target, ProtocolName::Native, false, error)
    }

    fn test(&mut self, plan: &Plan, probes: &[Event]) -> Result<Run> {
        let known = |event: &&Event| matches!(event, Event::Probe(Probe::Link { .. }) | Event::Path(_));
        let mut events: Vec<Event> = probes.iter().filter(known).cloned().collect();
        match test(plan, self.options, self.sink, &mut events) {
            // A test that broke half-way stands in the result with what it measured.
            Err(error) if !events.iter().any(is_start) => return Err(error),
            Err(_) => {}
            Ok(()) => {
                // UDP is sent below the limit that TCP's load met.
                if plan.test.transport == Transport::Tcp {
                    let found = limit::decide(plan, self.options, &events, self.sink);
                    found.iter().for_each(|event| (self.sink)(event));
                    events.extend(found);
                }
                let known = run_of_events("", "throughput", &events);
                explain::explain(&Subject::of_test(plan), self.options, known, &mut |event| {
                    (self.sink)(event);
                    events.push(event.clone());
                });
                let repeated = without_copy::repeat(&events, self.options);
                events.extend(repeated);
            }
        }
        Ok(run_of_events(&run_id()?, "throughput", &events))
    }
}

/// The end of a measurement that the user ended before all of it was done.
fn interrupted(started: WallTime) -> Event {
    let wall = wall_now();
    let elapsed = wall - started;
    Event::Finished(Finished { wall, elapsed, outcome: Outcome::Interrupted })
}

/// The one direction of a test.
fn direction(test: &TestSpec) -> Direction {
    if test.directions == Directions::Up { Direction::Up } else { Direction::Down }
}

/// UDP fits its payload to the path, and its rate to what a load or TCP found; false: nothing crosses in this direction.
fn prepare_udp(plan: &mut Plan, probes: &[Event], tests: &[Run]) -> bool {
    let summary = model::summary::Summary::from_events(probes);
    let one_way = direction(&plan.test);
    let Some(payload) = summary.max_udp_payload(one_way) else { return false };
    plan.test.length = Some(payload);
    plan.test.bitrate = Some(rate::first(plan, one_way, tests));
    true
}

/// The far end, as the first session met it.
#[derive(Debug, Default)]
struct Met {
    /// How long the connection to it took to open.
    opened: Option<Nanos>,
    /// The far end's description of itself.
    peer: Option<Host>,
}

/// TCP grows by round trips: over a long path its test lasts for as many of them as that takes, up to a limit. A quick look
/// stays short, and `ramp-up` reports what it could not reach.
fn follow_rtt(test: &mut TestSpec, probes: &[Event], quick: bool) {
    let rtt = model::summary::Summary::from_events(probes).rtt.map(|rtt| rtt.p50).unwrap_or_default();
    if let (Transport::Tcp, false, End::Time(time)) = (test.transport, quick, test.end) {
        let wanted = rtt.saturating_mul(GROWTH_ROUND_TRIPS).min(LONGEST_TEST);
        test.end = End::Time(time.max(wanted));
    }
}

/// Limits the request to what the server allows.
fn apply_limits(test: &mut TestSpec, limits: &Limits) {
    if let Some(most) = limits.max_rate {
        test.bitrate = Some(test.bitrate.map_or(most, |rate| rate.min(most)));
    }
    if let (Some(most), End::Time(time)) = (limits.max_time, test.end) {
        test.end = End::Time(time.min(most));
    }
}

/// A path without UDP is measured with TCP alone, and so is one whose probes broke off or were ended by the far end. Anything else is an error.
fn without_probes(error: Error, sink: &mut dyn FnMut(&Event)) -> Result<Event> {
    let id = match error.protocol() {
        Some(ProtocolError::Flows(_)) => "udp-unreachable",
        Some(ProtocolError::Timeout(_) | ProtocolError::Closed(_) | ProtocolError::PeerStopped(_)) => {
            "probe-failed"
        }
        _ => return Err(error),
    };
    let text = sentence(&error);
    sink(&Event::progress(format!("{text}: going on with TCP alone")));
    Ok(Event::Warning(Warning::new(id, text)))
}

/// Round trips in which TCP reaches most rates, and stays there for as many.
const GROWTH_ROUND_TRIPS: u64 = 40;
const LONGEST_TEST: Nanos = Nanos::from_secs(30);
