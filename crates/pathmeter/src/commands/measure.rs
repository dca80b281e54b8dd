//! `pathmeter measure`: the main job. Reach, idle RTT, datagram sizes, TCP and UDP each way, reasons, verdict.

use super::session::{Live, blame, conclude, expectations, link, print_plan, run_id, security, too_early};
use super::without_copy;
use crate::cli::{Common, MeasureArgs};
use crate::exit::Exit;
use crate::planner;
use crate::signals;
use engine::capture::{self, Capture, CaptureOptions};
use engine::client;
use engine::connect::Security;
use engine::error::sentence;
use engine::interrupt::Interrupt;
use engine::path;
use engine::preflight;
use engine::probe::Prober;
use engine::reach::{self, Others};
use insight::run_of_tests;
use linux::clock::wall_now;
use model::event::{Event, Probe, Warning};
use model::host::Host;
use model::plan::{
    Direction, Directions, End, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport,
};
use model::reach::{AddressSource, Contact, FamilyReach, Reach};
use model::run::Run;
use model::units::{BitRate, Nanos};
use report::expect::Expectation;
use std::io::Write;
use wire::ProtocolError;
use wire::native::Limits;

/// Runs the command.
pub(crate) fn run(args: &MeasureArgs, global: &Common) -> anyhow::Result<Exit> {
    let expected = expectations(&args.session)?;
    let job = Job {
        target: planner::measure_target(args)?,
        local: planner::measure_local(args),
        security: security(&args.session)?,
        quick: args.quick,
        one_family: args.target.origin.ipv4 || args.target.origin.ipv6,
        capture: args.capture.options(args.target.origin.device.as_deref()),
    };
    preflight::way(&job.target, &job.local)?;
    if args.session.dry_run {
        let _ = writeln!(
            std::io::stderr(),
            "note: of the UDP tests, length and bitrate are known only then: the largest payload found to cross whole, \
             {UDP_PERCENT} % of what TCP carried"
        );
        return print_plan(&job.plans(), global);
    }
    let measured = job.measure(&signals::interrupt()?, &mut |line| {
        // Progress is a courtesy: a closed standard error stops nothing.
        let _ = writeln!(std::io::stderr(), "{line}");
    })?;
    measured.conclude(&expected, global)
}

/// What a measurement found, and why it ended early, if it did.
pub(crate) struct Measured {
    run: Run,
    broke: Option<anyhow::Error>,
}

impl Measured {
    /// Writes the result; the error that ended the measurement comes after it.
    pub(crate) fn conclude(self, expected: &[Expectation], global: &Common) -> anyhow::Result<Exit> {
        let exit = conclude(&self.run, false, expected, global)?;
        self.broke.map_or(Ok(exit), Err)
    }
}

/// What to measure.
pub(crate) struct Job {
    /// The far end.
    pub(crate) target: Target,
    /// This end's choices.
    pub(crate) local: LocalOptions,
    /// How the ends know each other.
    pub(crate) security: Security,
    /// A look, not a measurement.
    pub(crate) quick: bool,
    /// The other IP family is not tried.
    pub(crate) one_family: bool,
    /// What is captured of the packets.
    pub(crate) capture: CaptureOptions,
}

impl Job {
    /// Measures the path. `progress` is told what is being done.
    ///
    /// # Errors
    /// Nothing was measured. What ends a measurement later comes with what was measured until then.
    pub(crate) fn measure(
        &self,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(&str),
    ) -> anyhow::Result<Measured> {
        let mut probes: Vec<Event> = link(&self.target, &self.local).into_iter().collect();
        let known = probes.len();
        let started = wall_now();
        let watch = reach::watch(self.target.address.ip());
        let mut met = Met::default();
        let capture = capture::start(&self.capture, self.target.address.ip())?;
        if let Some(reason) = capture.as_ref().and_then(Capture::refusal) {
            progress(reason);
        }
        progress("1/5  idle round trips and datagram sizes");
        let mut limits = Limits::default();
        match self.probe(interrupt, &mut probes, &mut limits, &mut met) {
            Err(e) if !interrupt.is_raised() => {
                probes.push(without_probes(e, progress).map_err(|e| self.blame(e))?);
            }
            _ => {}
        }
        let seen = Reach { families: self.families(&met), ..Reach::default() };
        let mut tests: Vec<Run> = Vec::new();
        let mut broke = None;
        for (index, mut plan) in self.plans().into_iter().enumerate() {
            if interrupt.is_raised() {
                break;
            }
            let test = &mut plan.test;
            if test.transport == Transport::Udp && !self.prepare_udp(test, &probes, &tests) {
                continue;
            }
            heed(test, &limits);
            let way = if test.directions == Directions::Up { "up" } else { "down" };
            progress(&format!("{}/5  {} {way}", index + 2, test.transport));
            match self.test(&plan, &probes, interrupt) {
                Ok(test) => tests.push(test),
                Err(_) if interrupt.is_raised() => break,
                Err(e) => {
                    broke = Some(e);
                    break;
                }
            }
        }
        if tests.is_empty() && probes.len() == known {
            return Err(broke.map_or_else(|| too_early().into(), |e| self.blame(e)));
        }
        if let (Some(_), Some(watch)) = (&broke, &watch) {
            watch.settle(interrupt);
        }
        probes.extend(watch.and_then(|watch| watch.finish(seen)));
        probes.extend(capture.map(Capture::finish));
        let mut run = run_of_tests(&run_id()?, "measure", &probes, tests);
        run.started = Some(started);
        run.finished = Some(wall_now());
        Ok(Measured { run, broke: broke.map(|e| self.blame(e)) })
    }

    /// The throughput tests, in order. UDP's payload and rate follow from what the tests before it find.
    fn plans(&self) -> Vec<Plan> {
        let time = if self.quick { Nanos::from_millis(1200) } else { Nanos::from_secs(6) };
        let order = [Transport::Tcp, Transport::Udp]
            .into_iter()
            .flat_map(|t| [(t, Directions::Up), (t, Directions::Down)]);
        let plan = |(transport, directions)| Plan {
            target: self.target.clone(),
            protocol: ProtocolName::Native,
            test: TestSpec { directions, end: End::Time(time), ..TestSpec::new(transport) },
            local: self.local.clone(),
        };
        order.map(plan).collect()
    }

    fn probe(
        &self,
        interrupt: &Interrupt,
        events: &mut Vec<Event>,
        limits: &mut Limits,
        met: &mut Met,
    ) -> anyhow::Result<()> {
        let mut prober = Prober::open(&self.target, &self.local, &self.security, interrupt)?;
        *met = Met { opened: Some(prober.opened()), peer: prober.peer().cloned() };
        limits.clone_from(prober.limits());
        events.extend(limits.max_rate.map(limited));
        events.push(Event::Probe(prober.idle_rtt(if self.quick { 60 } else { 300 })?));
        let found = path::ways(&mut prober, &[Direction::Up, Direction::Down])?;
        events.push(Event::Path(Box::new(found)));
        prober.close();
        Ok(())
    }

    /// The far host over the family in use, and over the other.
    fn families(&self, met: &Met) -> Vec<FamilyReach> {
        let used = FamilyReach {
            address: self.target.address,
            source: AddressSource::Used,
            contact: Contact::Open,
            first: met.opened,
            again: None,
        };
        let others = Others { target: &self.target, local: &self.local, peer: met.peer.as_ref() };
        let others = if self.one_family { Vec::new() } else { others.contact() };
        [used].into_iter().chain(others).collect()
    }

    fn blame(&self, error: anyhow::Error) -> anyhow::Error {
        blame(&self.target, ProtocolName::Native, false, error)
    }

    /// UDP fits its payload to the path and its rate to what TCP carried; false: nothing crosses this way.
    fn prepare_udp(&self, test: &mut TestSpec, probes: &[Event], tests: &[Run]) -> bool {
        let summary = model::summary::Summary::of(probes);
        let way = if test.directions == Directions::Up { Direction::Up } else { Direction::Down };
        let Some(payload) = summary.max_udp_payload(way) else { return false };
        test.length = payload;
        let carried = tests.iter().filter_map(|t| t.summary.direction(way)).map(|d| d.goodput).max();
        let carried = carried.unwrap_or_default().max(LEAST_UDP_RATE);
        test.bitrate = Some(BitRate(carried.0 / 100 * UDP_PERCENT));
        true
    }

    fn test(&self, plan: &Plan, probes: &[Event], interrupt: &Interrupt) -> anyhow::Result<Run> {
        let quiet = Common { format: crate::cli::Format::Json, ..Common::default() };
        let mut live = Live::new(&quiet);
        let known = |e: &&Event| matches!(e, Event::Probe(Probe::Link { .. }) | Event::Path(_));
        live.events.extend(probes.iter().filter(known).cloned());
        let mut keep = |event: &Event| live.events.push(event.clone());
        let outcome =
            client::run(plan, &self.security, &wire::iperf3::Extras::default(), interrupt, &mut keep);
        let started = live.events.iter().any(|e| matches!(e, Event::Started(_)));
        match outcome {
            // A test that broke half-way stands in the result with what it measured.
            Err(e) if !started => Err(e),
            Err(_) => live.run("throughput"),
            Ok(()) => {
                let repeated = without_copy::repeat(&live.events, &self.security, interrupt);
                live.events.extend(repeated);
                live.run("throughput")
            }
        }
    }
}

/// The far end, as the first session met it.
#[derive(Debug, Default)]
struct Met {
    /// How long the connection to it took to open.
    opened: Option<Nanos>,
    /// What it tells of itself.
    peer: Option<Host>,
}

/// No more is asked for than the server allows.
fn heed(test: &mut TestSpec, limits: &Limits) {
    if let Some(most) = limits.max_rate {
        test.bitrate = Some(test.bitrate.map_or(most, |rate| rate.min(most)));
    }
    if let (Some(most), End::Time(time)) = (limits.max_time, test.end) {
        test.end = End::Time(time.min(most));
    }
}

fn limited(rate: BitRate) -> Event {
    let text =
        format!("The server allows {rate} each way, so no more was asked for: the path may carry more.");
    Event::Warning(Warning::new("limited-by-server", text))
}

/// A path without UDP is measured with TCP alone, and so is one whose probes broke off. Anything else is an error.
fn without_probes(error: anyhow::Error, progress: &mut dyn FnMut(&str)) -> anyhow::Result<Event> {
    let id = match error.downcast_ref::<ProtocolError>() {
        Some(ProtocolError::Flows(_)) => "udp-unreachable",
        Some(ProtocolError::Timeout(_) | ProtocolError::Closed(_)) => "probe-failed",
        _ => return Err(error),
    };
    let text = sentence(&error);
    progress(&format!("     {text}\n     going on with TCP alone"));
    Ok(Event::Warning(Warning::new(id, text)))
}

/// UDP is sent a little slower than what TCP carried: loss at that rate says something, loss above it nothing.
const UDP_PERCENT: u64 = 95;
const LEAST_UDP_RATE: BitRate = BitRate(1_000_000);
