//! The tester: two ports, and trials between them.

use super::super::port::{Port, Traffic};
use super::super::reset::Reset;
use super::alone::alone;
use super::observe::{Ran, summed};
use super::options::BenchOptions;
use super::pauses::{Pauses, check, wait};
use super::sides::{Sides, ends};
use super::tools::{Chosen, Pair, least};
use super::void::{is_near, judge};
use crate::error::Result;
use frames::{Burst, FrameSpec, Pace, Stop, Watch};
use linux::clock::mono_now;
use model::dut::{Action, BenchRequest, DeviceReport, Observation, PortFacts, SourceKind, Stream, Test};
use model::plan::Direction;
use model::search::{Load, Trial};
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::HashMap;

/// Two ports, and what is known of them.
pub(super) struct Tester {
    ports: [Box<dyn Port>; 2],
    sides: Sides,
    chosen: Chosen,
    /// The rate of each generator in the flood of each row.
    ceilings: HashMap<(String, Direction), Load>,
    pauses: Pauses,
    stop: Stop,
    /// Trials thrown away so far.
    pub(super) voided: u64,
    kept: u64,
    notes: Vec<String>,
}

/// One direction of a trial that is to be run.
struct TrialDirection {
    direction: Direction,
    traffic: Traffic,
    pair: Pair,
}

impl Tester {
    pub(super) fn new(ports: [Box<dyn Port>; 2], options: &BenchOptions, stop: &Stop) -> Tester {
        Tester {
            ports,
            sides: Sides::new(options),
            chosen: Chosen::default(),
            ceilings: HashMap::new(),
            pauses: Pauses::lasting(options.pause),
            stop: stop.clone(),
            voided: 0,
            kept: 0,
            notes: Vec::new(),
        }
    }

    /// Carries out an order.
    ///
    /// # Errors
    /// Those of [`super::Bench::execute`].
    pub(super) fn execute(&mut self, order: &BenchRequest, reset: &Reset) -> Result<Observation> {
        match &order.action {
            Action::Flood(time) => self.flood(order, *time),
            Action::Trial(trial) => self.repeated(order, trial, None, None),
            Action::Overload { overload, relief } => self.repeated(order, overload, Some(relief), None),
            Action::Reset(trial) => self.repeated(order, trial, None, Some(reset)),
        }
    }

    /// Learns what an order that was carried out before has shown of the generators.
    pub(super) fn recall(&mut self, order: &BenchRequest, observation: &Observation, voided: u64) {
        self.voided += voided;
        if !matches!(order.action, Action::Flood(_)) {
            self.kept += 1;
            return;
        }
        for one_way in &observation.directions {
            self.learn_ceiling(&order.stream, one_way.direction, one_way.result.sent, one_way.time);
        }
    }

    /// Adds what is known of the ports and the tools.
    pub(super) fn describe(&self, report: &mut DeviceReport) {
        let ports = self.ports.iter().zip(self.sides.tunnels());
        report.ports = ports.map(|(port, tunnel)| PortFacts { tunnel, ..port.facts() }).collect();
        report.tools = self.chosen.tools.clone();
        (report.voided, report.kept) = (self.voided, self.kept);
        report.notes.extend(self.notes.iter().cloned());
    }

    /// Measures what the generator that was chosen for a stream reaches over a cable of its own.
    pub(super) fn measure_alone(&mut self, options: &BenchOptions, stream: &Stream) {
        let first = stream.directions.each().next();
        if let Some(tools) = first.and_then(|direction| self.chosen.first_of(direction)) {
            tools.alone = alone(options, tools.source, stream, &self.stop).ok();
        }
    }

    /// Sends at the largest rate, one direction after the other.
    fn flood(&mut self, order: &BenchRequest, time: Nanos) -> Result<Observation> {
        let stream = &order.stream;
        let frames = Load(MOST).frames_in(time);
        let burst = Burst { frames, interval_ps: 0, then: None, time };
        let mut all = Vec::new();
        for direction in stream.directions.each() {
            let ran = self.run(order, &[direction], &burst, time, None)?;
            for one in &ran {
                self.learn_ceiling(stream, direction, one.sent.frames, one.sent.time);
            }
            all.extend(ran);
        }
        self.note_irregular(stream, &all);
        Ok(summed(&all))
    }

    fn trial(
        &mut self,
        order: &BenchRequest,
        trial: &Trial,
        then: Option<&Trial>,
        reset: Option<&Reset>,
    ) -> Result<Vec<Ran>> {
        let stream = &order.stream;
        let duration = trial.duration + then.map_or(Nanos::ZERO, |then| then.duration);
        // A generator at its limit leaves frames unsent; one that the host delayed takes longer.
        let is_near = |direction: &Direction| is_near(trial.load, self.ceiling(stream, *direction));
        let directions: Vec<Direction> = stream.directions.each().collect();
        let (share, least) = if directions.iter().any(is_near) { TIGHT } else { AMPLE };
        let margin = Nanos(duration.0 / share) + least;
        let burst = Burst { then: then.map(Pace::from_trial), ..Burst::from_trial(trial, margin) };
        let burst = Burst { time: duration + margin, ..burst };
        self.run(order, &directions, &burst, duration, reset)
    }

    /// Again until the host has not spoilt it, a few times. After that, and after many spoilt trials in all, a trial is one at the
    /// load that was offered: what its generator did not send is no load that the device has carried.
    fn repeated(
        &mut self,
        order: &BenchRequest,
        trial: &Trial,
        then: Option<&Trial>,
        reset: Option<&Reset>,
    ) -> Result<Observation> {
        let mut repeats = 0;
        loop {
            let mut ran = self.trial(order, trial, then, reset)?;
            let why = |one: &Ran| judge(order, trial.load, one, self.ceiling(&order.stream, one.direction));
            let whys: Vec<Option<String>> = ran.iter().map(why).collect();
            if let Some(why) = whys.iter().flatten().next() {
                if repeats < REPEATS && self.voided < MOST_SPOILT {
                    repeats += 1;
                    self.voided += 1;
                    continue;
                }
                self.note(format!(
                    "{}: the host interrupted the generator, at times {why}: such a trial counts at the load that was offered",
                    order.stream
                ));
            }
            for (one, why) in ran.iter_mut().zip(&whys) {
                one.lowered = why.is_some();
            }
            self.kept += 1;
            self.note_irregular(&order.stream, &ran);
            return Ok(summed(&ran));
        }
    }

    /// Frames of a stream were sent as fast as possible for this time.
    fn learn_ceiling(&mut self, stream: &Stream, direction: Direction, frames: u64, time: Nanos) {
        let took = time.as_secs_f64();
        if frames > 1 && took > 0.0 {
            self.ceilings.insert((stream.to_string(), direction), Load(frames as f64 / took));
        }
    }

    /// The highest rate that a generator reached in a row.
    fn ceiling(&self, stream: &Stream, direction: Direction) -> Option<Load> {
        self.ceilings.get(&(stream.to_string(), direction)).copied()
    }

    fn note_irregular(&mut self, stream: &Stream, ran: &[Ran]) {
        for one in ran {
            if let Some(what) = one.impossible() {
                self.note(format!("{stream} {}: {what}", one.direction));
            }
            if one.is_cut() {
                self.note(format!("{stream} {}: {CUT}", one.direction));
            }
        }
    }

    /// One trial in all directions at once, with its pauses.
    fn run(
        &mut self,
        order: &BenchRequest,
        directions: &[Direction],
        burst: &Burst,
        duration: Nanos,
        reset: Option<&Reset>,
    ) -> Result<Vec<Ran>> {
        check(&self.stop)?;
        let stream = &order.stream;
        let mut ready = Vec::new();
        for direction in directions {
            let sizes = &stream.frames.sizes;
            let mut traffic = self.sides.frames(&mut self.ports, *direction, stream.network, sizes)?;
            let pair = self.chosen.pair(&mut self.ports, *direction, &traffic)?;
            // Frames that were sent to choose the tool do not count in the trial.
            traffic.sent.tag = self.sides.tag()?;
            ready.push(TrialDirection { direction: *direction, traffic, pair });
        }
        wait(self.pauses.before, &self.stop)?;
        for direction in &ready {
            self.learn(direction)?;
        }
        wait(self.pauses.learned, &self.stop)?;
        let ran = self.send_and_count(&ready, burst, duration, watch(order.test), reset)?;
        wait(self.pauses.settle, &self.stop)?;
        Ok(ran)
    }

    /// A few frames back out of the port that will count, so that switches know where it is (RFC 2544 section 23 b).
    fn learn(&mut self, one_way: &TrialDirection) -> Result<()> {
        let (from, to) = ends(one_way.direction);
        let sent = &one_way.traffic.sent;
        let spec = FrameSpec {
            source_mac: self.ports[to].mac(),
            destination_mac: self.ports[from].mac(),
            source: sent.destination,
            destination: sent.source,
            outer: None,
            sizes: vec![least(sent)],
            tag: self.sides.tag()?,
            ..sent.clone()
        };
        let port = &mut self.ports[to];
        // Not the fastest: the one that any driver has.
        let mut kinds = port.sources();
        kinds.sort_by_key(|kind| *kind != SourceKind::Packet);
        let tried =
            kinds.into_iter().map(|kind| port.send(kind, &spec, &LEARNING).and_then(|()| port.sent()));
        let mut refused = None;
        for sent in tried {
            match sent {
                Ok(_) => return Ok(()),
                Err(error) => refused = Some(error),
            }
        }
        let name = self.ports[to].facts().name;
        let why = refused.map_or("it has nothing to send with".to_owned(), |error| error.to_string());
        self.note(format!("{name}: no learning frames were sent: {why}"));
        Ok(())
    }

    /// Sinks first, then all generators, then the frames still in flight.
    fn send_and_count(
        &mut self,
        ready: &[TrialDirection],
        burst: &Burst,
        duration: Nanos,
        watch: Watch,
        reset: Option<&Reset>,
    ) -> Result<Vec<Ran>> {
        for one_way in ready {
            let to = ends(one_way.direction).1;
            let arriving = one_way.traffic.arriving();
            self.ports[to].count(one_way.pair.sink, &arriving, burst.all_frames(), watch)?;
        }
        let mut failed = None;
        let mut sending = Vec::new();
        for one_way in ready {
            let from = ends(one_way.direction).0;
            match self.ports[from].send(one_way.pair.source, &one_way.traffic.sent, burst) {
                Ok(()) => sending.push(one_way),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        let mut acted = None;
        if let (Some(reset), None) = (reset, &failed) {
            match self.reset_halfway(reset, duration) {
                Ok(when) => acted = Some(when),
                Err(error) => failed = Some(error),
            }
        }
        // Whatever failed, what was begun is ended: the ports are to be used again.
        let sent: Vec<_> =
            sending.iter().map(|one_way| self.ports[ends(one_way.direction).0].sent()).collect();
        let waited = wait(self.pauses.residual, &self.stop);
        let counted: Vec<_> =
            ready.iter().map(|one_way| self.ports[ends(one_way.direction).1].counted()).collect();
        if let Some(error) = failed {
            return Err(error);
        }
        waited?;
        let timed = self.ports.iter().all(|port| port.is_here());
        let mut ran = Vec::new();
        for ((one_way, sent), counted) in ready.iter().zip(sent).zip(counted) {
            ran.push(Ran {
                direction: one_way.direction,
                burst: *burst,
                duration,
                sizes: one_way.traffic.arriving().whole_sizes().collect(),
                sent: sent?,
                counted: counted?,
                timed: timed && one_way.traffic.sent.is_timed(),
                reset: acted,
                lowered: false,
            });
        }
        check(&self.stop)?;
        Ok(ran)
    }

    fn reset_halfway(&self, reset: &Reset, duration: Nanos) -> Result<MonoTime> {
        wait(Nanos(duration.0 / 2), &self.stop)?;
        let when = mono_now();
        reset.act()?;
        Ok(when)
    }

    /// Each is reported once.
    fn note(&mut self, note: String) {
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
}

/// Selects the observation of a test: times cost every frame something where it arrives, and so the rate.
fn watch(test: Test) -> Watch {
    match test {
        Test::Latency | Test::DelayVariation | Test::Service | Test::Reset => Watch::Times,
        Test::Throughput | Test::FrameLoss | Test::BackToBack | Test::Recovery | Test::Mrr => Watch::Counts,
    }
}

/// More frames per second than any generator here reaches.
const MOST: f64 = 50e6;
const REPEATS: u32 = 2;
/// Trials of a device that are thrown away at most: more of them would make a run take a multiple of its time.
const MOST_SPOILT: u64 = 30;
const CUT: &str = "frames came shorter than they were sent: the device takes their tag off, or cuts them into fragments, of \
                   which the first is counted, although those of IPv4 forbid it";
/// How much longer than planned a trial may take: a share of it, and a constant. A short trial that was delayed for longer than
/// it lasts is still sent in full, so that no frame of it counts as beyond the generator.
const TIGHT: (u64, Nanos) = (100, Nanos::from_micros(100));
const AMPLE: (u64, Nanos) = (10, Nanos::from_secs(3));
const LEARNING: Burst =
    Burst { frames: 3, interval_ps: 1_000_000_000, then: None, time: Nanos::from_secs(1) };
