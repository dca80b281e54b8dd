//! `pathmeter measure`: the main job. Reach, idle RTT, datagram sizes, TCP and UDP each way, reasons, verdict.

use super::session::{Live, conclude, expectations, link, print_plan, run_id, security};
use crate::cli::{Common, MeasureArgs};
use crate::engine::client::{self, Security};
use crate::engine::interrupt::Interrupt;
use crate::engine::probe::Prober;
use crate::exit::Exit;
use crate::planner;
use linux::clock::wall_now;
use model::event::{Event, Probe, Warning};
use model::plan::{
    Direction, Directions, End, LocalOptions, Plan, ProtocolName, Target, TestSpec, Transport,
};
use model::run::Run;
use model::units::{BitRate, Nanos};
use std::io::Write;

/// Runs the command.
pub(crate) fn run(args: &MeasureArgs, global: &Common) -> anyhow::Result<Exit> {
    let expected = expectations(&args.session)?;
    let job = Job {
        target: planner::measure_target(args)?,
        local: planner::measure_local(args),
        security: security(&args.session)?,
        quick: args.quick,
    };
    if args.session.dry_run {
        return print_plan(&job.plans(), global);
    }
    let run = job.measure(&Interrupt::on_signals()?, &mut |line| {
        // Progress is a courtesy: a closed standard error stops nothing.
        let _ = writeln!(std::io::stderr(), "{line}");
    })?;
    conclude(&run, false, &expected, global)
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
}

impl Job {
    /// Measures the path. `progress` is told what is being done.
    pub(crate) fn measure(
        &self,
        interrupt: &Interrupt,
        progress: &mut dyn FnMut(&str),
    ) -> anyhow::Result<Run> {
        let mut probes: Vec<Event> = link(&self.target, &self.local).into_iter().collect();
        let started = wall_now();
        progress("1/5  idle round trips and datagram sizes");
        if let Err(e) = self.probe(interrupt, &mut probes) {
            let reached = e.downcast_ref::<wire::ProtocolError>().is_some();
            if !reached || interrupt.is_raised() {
                return Err(e);
            }
            probes.push(Event::Warning(Warning::new("udp-unreachable", format!("{e:#}"))));
        }
        let mut tests: Vec<Run> = Vec::new();
        for (index, mut plan) in self.plans().into_iter().enumerate() {
            if interrupt.is_raised() {
                break;
            }
            let test = &mut plan.test;
            if test.transport == Transport::Udp && !self.prepare_udp(test, &probes, &tests) {
                continue;
            }
            let way = if test.directions == Directions::Up { "up" } else { "down" };
            progress(&format!("{}/5  {} {way}", index + 2, test.transport));
            tests.push(self.test(&plan, &probes, interrupt)?);
        }
        let mut run = Run::of_tests(&run_id()?, "measure", &probes, tests);
        run.started = Some(started);
        run.finished = Some(wall_now());
        Ok(run)
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

    fn probe(&self, interrupt: &Interrupt, events: &mut Vec<Event>) -> anyhow::Result<()> {
        let mut prober = Prober::open(&self.target, &self.local, &self.security, interrupt)?;
        events.push(Event::Probe(prober.idle_rtt(if self.quick { 60 } else { 300 })?));
        for direction in [Direction::Up, Direction::Down] {
            probe_sizes(&mut prober, direction, events)?;
        }
        prober.close();
        Ok(())
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
        let known = |e: &&Event| matches!(e, Event::Probe(Probe::Link { .. } | Probe::LargestPayload { .. }));
        live.events.extend(probes.iter().filter(known).cloned());
        let mut keep = |event: &Event| live.events.push(event.clone());
        let outcome =
            client::run(plan, &self.security, &wire::iperf3::Extras::default(), interrupt, &mut keep);
        let started = live.events.iter().any(|e| matches!(e, Event::Started(_)));
        match outcome {
            // A test that broke half-way stands in the result with what it measured.
            Err(e) if !started && !interrupt.is_raised() => Err(e),
            _ => live.run("throughput"),
        }
    }
}

/// What crosses one way: the largest whole datagram, and whether larger ones arrive in fragments.
fn probe_sizes(prober: &mut Prober, direction: Direction, events: &mut Vec<Event>) -> anyhow::Result<()> {
    let payload = prober.largest_payload(direction)?;
    events.push(Event::Probe(Probe::LargestPayload { direction, payload }));
    let Some(payload) = payload else { return Ok(()) };
    let fragmented = (payload.saturating_mul(2)).clamp(FRAGMENTED_PAYLOAD, LARGEST_PAYLOAD);
    for (size, is_fragmented) in [(payload, false), (fragmented, true)] {
        if is_fragmented && size <= payload {
            continue;
        }
        let arrived = prober.cross(direction, &[size], SIZE_COPIES, !is_fragmented)?;
        events.push(Event::Probe(Probe::UdpSize {
            direction,
            payload: size,
            fragmented: is_fragmented,
            sent: SIZE_COPIES,
            received: arrived.get(&size).copied().unwrap_or(0),
        }));
    }
    Ok(())
}

/// UDP is sent a little slower than what TCP carried: loss at that rate says something, loss above it nothing.
const UDP_PERCENT: u64 = 95;
const LEAST_UDP_RATE: BitRate = BitRate(1_000_000);
/// The payload that iPerf3's old default used and that needs fragments on most paths.
const FRAGMENTED_PAYLOAD: u32 = 8192;
const LARGEST_PAYLOAD: u32 = 65_507;
const SIZE_COPIES: u32 = 10;
