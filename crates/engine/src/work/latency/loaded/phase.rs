//! The phases of the load, one after the other: its sessions in threads of their own, connections added until the path is full, and
//! probes beside them.

use super::current_phase::Now;
use super::flowing::{Flowing, goodput};
use super::foreign::{Asker, pause};
use super::load_plan::{LoadPlan, Played};
use super::rpm::Rpm;
use crate::error::{Result, sentence};
use crate::host::interrupt::Interrupt;
use crate::work::client;
use linux::clock::mono_now;
use model::event::{Event, Warning};
use model::plan::Directions;
use model::sample::IntervalSample;
use model::stats::responsiveness::{ForeignProbe, Next};
use model::time::MonoTime;
use model::units::{BitRate, Nanos};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, Scope};

/// Runs the phases. A failure is reported with what was measured.
pub(super) fn play(load_plan: &LoadPlan<'_>) -> (Vec<Played>, Vec<Warning>) {
    let (mut played, mut warnings) = (Vec::new(), Vec::<Warning>::new());
    for (number, load) in load_plan.load.phases.iter().enumerate() {
        if load_plan.is_over() {
            break;
        }
        let (done, broke) = std::thread::scope(|scope| {
            let mut phase = Phase::new(scope, load_plan, *load, number + 1);
            phase.run();
            phase.conclude()
        });
        played.extend(done);
        for warning in broke {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    (played, warnings)
}

/// A phase at work.
struct Phase<'scope, 'env> {
    /// Where its threads run.
    scope: &'scope Scope<'scope, 'env>,
    load_plan: &'env LoadPlan<'env>,
    load: Directions,
    index: usize,
    /// Ends its sessions.
    interrupt: Interrupt,
    sessions: Vec<Flowing>,
    /// From the first session's first data until all of them are to end.
    span: Option<(MonoTime, MonoTime)>,
    /// From when until when round trips count.
    counted: Option<(MonoTime, MonoTime)>,
    rpm: Option<Rpm>,
    /// Why the last probe over a connection of its own failed.
    refused: Option<String>,
    warnings: Vec<Warning>,
    line: Arc<Line>,
    emit: Sender<Arrived>,
    reported: Receiver<Arrived>,
}

/// The inputs of the thread of foreign probes.
struct Line {
    goodput: AtomicU64,
    over: AtomicBool,
}

/// The reports of the threads of a phase.
enum PhaseUpdate {
    Started,
    Sample(IntervalSample),
    Warning(Warning),
    Ended(Result<(), String>),
    Foreign(Result<ForeignProbe, String>),
}

/// Updates of a session, by its number, and when they came.
type Arrived = (usize, MonoTime, PhaseUpdate);

impl<'scope, 'env: 'scope> Phase<'scope, 'env> {
    fn new(
        scope: &'scope Scope<'scope, 'env>,
        load_plan: &'env LoadPlan<'env>,
        load: Directions,
        index: usize,
    ) -> Self {
        let (emit, reported) = channel();
        Phase {
            scope,
            load_plan,
            load,
            index,
            interrupt: Interrupt::default(),
            sessions: Vec::new(),
            span: None,
            counted: None,
            rpm: None,
            refused: None,
            warnings: Vec::new(),
            line: Arc::new(Line { goodput: AtomicU64::new(FIRST_GOODPUT.0), over: AtomicBool::new(false) }),
            emit,
            reported,
        }
    }

    /// Runs it to its end, that of its sessions included.
    fn run(&mut self) {
        self.open(self.load_plan.load.streams, self.load_plan.load.time);
        while !self.is_over() {
            self.hear();
            let now = mono_now();
            match (self.span, self.sessions.first().and_then(|first| first.started)) {
                (None, Some(at)) => self.begin(at),
                (Some((began, until)), _) => self.follow(now, began, until),
                (None, None) => {}
            }
        }
        self.end();
    }

    /// The result of the phase, if it began, and its warnings.
    fn conclude(mut self) -> (Option<Played>, Vec<Warning>) {
        let responsiveness = self.rpm.as_ref().and_then(Rpm::result);
        if let (None, Some(reason)) = (responsiveness, self.refused.take()) {
            let text =
                format!("load {}: probes over connections of their own failed: {reason}", name(self.load));
            self.warnings.push(Warning::new("responsiveness-unknown", text));
        }
        self.warnings.dedup();
        let played = Played {
            load: self.load,
            index: self.index,
            counted: self.counted,
            sessions: self.sessions,
            responsiveness,
        };
        (self.span.map(|_| played), self.warnings)
    }

    fn is_over(&self) -> bool {
        self.load_plan.is_over()
            || self.sessions.iter().all(|session| session.ended.is_some())
            || self.span.is_some_and(|(_, until)| mono_now() >= until)
    }

    fn begin(&mut self, at: MonoTime) {
        self.span = Some((at, at + self.load_plan.load.time));
        self.rpm = Some(Rpm::new(at, self.load_plan.load.time));
        self.load_plan.current_phase.set(Now::Phase { index: self.index, counted: false });
        self.probe();
    }

    fn follow(&mut self, now: MonoTime, began: MonoTime, until: MonoTime) {
        if self.counted.is_none() && now >= began + settling(self.load_plan.load.time) {
            self.counted = Some((now, until));
            self.load_plan.current_phase.set(Now::Phase { index: self.index, counted: true });
        }
        while let Some((from, to)) = self.rpm.as_ref().and_then(|rpm| rpm.over(now.min(until))) {
            let carried = self.goodput(from, to);
            self.line.goodput.store(carried.0, Ordering::Relaxed);
            let next = self.rpm.as_mut().map(|rpm| rpm.close(carried));
            let room = self.sessions.iter().map(|s| s.streams).sum::<u32>() < MOST_CONNECTIONS;
            // The limit is the load's rate: more sessions would go beyond it.
            let room = room && !self.warnings.iter().any(|warning| warning.id == LIMITED);
            if next == Some(Next::AddLoad) && room && until - now >= LEAST_TIME {
                self.open(1, until - now);
            }
        }
    }

    /// All directions together. The reports of the last moment are still to come: it is counted in the next interval.
    fn goodput(&self, from: MonoTime, until: MonoTime) -> BitRate {
        let earlier = |at: MonoTime| MonoTime(at.0.saturating_sub(self.load_plan.step().0));
        let rate = |direction| goodput(&self.sessions, direction, earlier(from), earlier(until));
        self.load.each().map(rate).sum()
    }

    /// Ends the phase for the round trips, and then its sessions.
    fn end(&mut self) {
        let now = mono_now();
        self.load_plan.current_phase.set(Now::Between);
        self.counted = self.counted.map(|(from, until)| (from, until.min(now)));
        self.line.over.store(true, Ordering::Release);
        while self.sessions.iter().any(|session| session.ended.is_none()) && mono_now() < now + LAST {
            if mono_now() >= now + GRACE || self.load_plan.is_over() {
                self.interrupt.raise();
            }
            self.hear();
        }
        self.interrupt.raise();
    }

    fn open(&mut self, streams: u32, time: Nanos) {
        let number = self.sessions.len();
        self.sessions.push(Flowing::new(streams));
        let plan = self.load_plan.session(self.load, streams, time);
        let (security, interrupt, emit) =
            (self.load_plan.security, self.interrupt.clone(), self.emit.clone());
        let work = move || {
            // The phase waits until its sessions have ended: it hears everything.
            let say = |update| drop(emit.send((number, mono_now(), update)));
            let mut sink = |event: &Event| match event {
                Event::Started(_) => say(PhaseUpdate::Started),
                Event::Sample(sample) => say(PhaseUpdate::Sample(sample.clone())),
                Event::Warning(warning) => say(PhaseUpdate::Warning(warning.clone())),
                _ => {}
            };
            let extras = wire::iperf3::Extras::default();
            let outcome = client::run(&plan, security, &extras, &interrupt, &mut sink);
            say(PhaseUpdate::Ended(outcome.map_err(|e| sentence(&e))));
        };
        if let Err(e) = Builder::new().name("load".into()).spawn_scoped(self.scope, work) {
            self.ended(number, Err(format!("start a thread: {e}")));
        }
    }

    /// Starts the probes over connections of their own.
    fn probe(&mut self) {
        let (load_plan, line, emit) = (self.load_plan, self.line.clone(), self.emit.clone());
        let work = move || {
            let emit = |outcome: Result<ForeignProbe>| {
                drop(emit.send((0, mono_now(), PhaseUpdate::Foreign(outcome.map_err(|e| sentence(&e))))));
            };
            let asker = match Asker::new(load_plan.egress, load_plan.security) {
                Ok(asker) => asker,
                Err(e) => return emit(Err(e)),
            };
            while !line.over.load(Ordering::Acquire) {
                let begun = mono_now();
                emit(asker.ask());
                let next = begun + pause(BitRate(line.goodput.load(Ordering::Relaxed)));
                while mono_now() < next && !line.over.load(Ordering::Acquire) {
                    std::thread::sleep(STEP.min(next - mono_now()).to_duration());
                }
            }
        };
        if let Err(e) = Builder::new().name("probes".into()).spawn_scoped(self.scope, work) {
            self.refused = Some(format!("start a thread: {e}"));
        }
    }

    /// Waits a moment for updates, and takes all there are.
    fn hear(&mut self) {
        let mut reported = self.reported.recv_timeout(STEP.to_duration()).ok();
        while let Some((number, at, update)) = reported {
            match update {
                PhaseUpdate::Started => self.sessions[number].started = Some(at),
                PhaseUpdate::Sample(sample) => {
                    let rtts = self.sessions[number].take(at, &sample);
                    if let Some(rpm) = &mut self.rpm {
                        rpm.loaded.extend(rtts);
                    }
                }
                PhaseUpdate::Warning(warning) => self.warnings.push(warning),
                PhaseUpdate::Ended(outcome) => self.ended(number, outcome),
                PhaseUpdate::Foreign(Ok(probe)) => {
                    if let Some(rpm) = &mut self.rpm {
                        rpm.foreign.push(probe);
                    }
                }
                PhaseUpdate::Foreign(Err(reason)) => self.refused = Some(reason),
            }
            reported = self.reported.try_recv().ok();
        }
    }

    fn ended(&mut self, number: usize, outcome: Result<(), String>) {
        if let Err(reason) = &outcome
            && !self.interrupt.is_raised()
            && !self.load_plan.is_over()
        {
            let name = name(self.load);
            let text = match self.sessions[number].started {
                Some(_) => format!("load {name}: {reason}; measured until then"),
                None if number == 0 => format!("load {name}: {reason}; measured without this phase"),
                None => format!("load {name}: a further connection: {reason}; measured without it"),
            };
            self.warnings.push(Warning::new("load-failed", text));
        }
        self.sessions[number].ended = Some(outcome);
    }
}

fn name(load: Directions) -> &'static str {
    match load {
        Directions::Up => "up",
        Directions::Down => "down",
        Directions::Both => "in both directions",
    }
}

/// The first moments of a phase, in which the load is not full yet: slow start, and queues that fill.
fn settling(time: Nanos) -> Nanos {
    Nanos(time.0 / 4).min(LONGEST_SETTLING)
}

/// The id of the warning about the server's limit on rates.
const LIMITED: &str = "limited-by-server";
/// Time between two looks around.
const STEP: Nanos = Nanos::from_millis(10);
const LONGEST_SETTLING: Nanos = Nanos::from_secs(1);
/// MNP of the draft, in each direction.
const MOST_CONNECTIONS: u32 = 16;
/// A connection that would carry data for less is not opened.
const LEAST_TIME: Nanos = Nanos::from_millis(200);
/// Taken for the goodput before any is known.
const FIRST_GOODPUT: BitRate = BitRate(2_000_000);
/// Time for sessions to end in order, their queues emptied …
const GRACE: Nanos = Nanos::from_secs(6);
/// … and at all.
const LAST: Nanos = Nanos::from_secs(30);
