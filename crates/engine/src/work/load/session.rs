//! A session of load with a pathmeter server: steps in either direction.

use super::routers::{RouterProbes, shortest};
use super::schedule::{LoadPath, Saturation};
use super::{Load, StepOutcome, prepare_control};
use crate::error::{Context, Result, fault};
use crate::host::interrupt::Interrupt;
use crate::session::connect::Security;
use crate::work::dialogue::{Dialogue, Messages};
use linux::clock::mono_now;
use linux::tcp_info::tcp_info;
use model::limit::StepRequest;
use model::plan::{Direction, LocalOptions, Target};
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::BTreeMap;
use wire::native::Limits;
use wire::native::load::REPORT;
use wire::native::probe::{ProbeClient, ProbeReply};
use wire::work::load::StepReport;

/// A session of load.
pub(crate) struct LoadSession {
    dialogue: Dialogue,
    load: Load,
    target: Target,
    local: LocalOptions,
    /// The far end reports over the flows, which older ones do not.
    over_flows: bool,
}

/// Reports that are wanted of the far end: the first of each step that is complete, or else the last before the deadline.
struct Wanted<'a> {
    steps: &'a [u32],
    /// Missing ones are requested once more after this time.
    again: Nanos,
    deadline: MonoTime,
    complete: &'a dyn Fn(&StepReport) -> bool,
}

/// One direction of a session.
pub(crate) struct LoadDirection<'a> {
    session: &'a mut LoadSession,
    direction: Direction,
    /// The far host's drops up to its last report.
    far_dropped: u64,
}

impl LoadSession {
    /// Opens a session, with its flows. `class`: the traffic class of the test.
    pub(crate) fn open(
        target: &Target,
        local: &LocalOptions,
        security: &Security,
        interrupt: &Interrupt,
        class: u8,
    ) -> Result<LoadSession> {
        let mut dialogue = Dialogue::open(target, local, security, interrupt, MESSAGES, ProbeClient::load)?;
        dialogue.run_until(mono_now() + OPEN_LIMIT, |machine| machine.is_ready())?;
        if dialogue.flows.is_empty() {
            return Err(fault("the session of load has no flows"));
        }
        prepare_control(dialogue.pump.link.socket());
        let load = Load::start(dialogue.flows.clone(), class)?;
        let (target, local) = (target.clone(), local.clone());
        let mut session = LoadSession { dialogue, load, target, local, over_flows: true };
        // The server begins to receive.
        session.dialogue.machine.send_load(mono_now(), Vec::new())?;
        session.pause(Nanos::ZERO)?;
        let deadline = mono_now() + session.round_trip().saturating_mul(4) + FIRST_ANSWER;
        let whole = Wanted { steps: &[0], again: AGAIN, deadline, complete: &|_| true };
        session.over_flows = !session.flow_reports(&whole)?.is_empty();
        Ok(session)
    }

    /// The limits of the server.
    pub(crate) fn limits(&self) -> &Limits {
        self.dialogue.machine.limits()
    }

    /// One of its directions.
    pub(crate) fn toward(&mut self, direction: Direction) -> LoadDirection<'_> {
        let deadline = mono_now() + FIRST_ANSWER + self.round_trip();
        let reports = self.far_reports(&Wanted { steps: &[0], again: AGAIN, deadline, complete: &|_| true });
        let far_dropped = reports.ok().and_then(|all| Some(all.get(&0)?.dropped));
        LoadDirection { session: self, direction, far_dropped: far_dropped.unwrap_or(0) }
    }

    /// Sends goodbye.
    pub(crate) fn close(mut self) {
        self.dialogue.machine.finish(mono_now());
        let deadline = mono_now() + Nanos::from_millis(200);
        self.dialogue.run_until(deadline, |_| false).ok();
    }

    /// Lets time pass, at least as much as it takes to say what has to be sent.
    fn pause(&mut self, time: Nanos) -> Result<()> {
        let deadline = mono_now() + time;
        loop {
            let until = self.dialogue.advance()?;
            if mono_now() >= deadline {
                return Ok(());
            }
            let until = until.map_or(deadline, |until| until.min(deadline));
            self.dialogue.wait(Some(until), deadline + SLACK, None)?;
        }
    }

    fn send(&mut self, direction: Direction, steps: Vec<StepRequest>) -> Result<()> {
        match direction {
            Direction::Up => {
                self.load.send(steps);
                Ok(())
            }
            Direction::Down => {
                self.dialogue.machine.send_load(mono_now(), steps)?;
                self.pause(Nanos::ZERO)
            }
        }
    }

    /// The far end's figures of the wanted steps.
    fn far_reports(&mut self, wanted: &Wanted<'_>) -> Result<BTreeMap<u32, StepReport>> {
        let mut reports = match self.over_flows {
            true => self.flow_reports(wanted)?,
            false => BTreeMap::new(),
        };
        loop {
            let missing: Vec<u32> =
                wanted.steps.iter().copied().filter(|step| !reports.contains_key(step)).collect();
            if !missing.is_empty() {
                let came = self.control_reports(&missing)?;
                reports.extend(came.into_iter().map(|report| (report.step, report)));
            }
            if self.over_flows || mono_now() >= wanted.deadline || reports.values().all(wanted.complete) {
                return Ok(reports);
            }
            reports.retain(|_, report| (wanted.complete)(report));
            self.pause(LOOK)?;
        }
    }

    /// The same over the flows.
    fn flow_reports(&mut self, wanted: &Wanted<'_>) -> Result<BTreeMap<u32, StepReport>> {
        let mut reports = BTreeMap::<u32, StepReport>::new();
        let mut due = mono_now();
        self.load.answers();
        loop {
            let now = mono_now();
            let is_missing = |step: &&u32| !reports.get(step).is_some_and(wanted.complete);
            let missing: Vec<u32> = wanted.steps.iter().filter(is_missing).copied().collect();
            if missing.is_empty() || now >= wanted.deadline {
                return Ok(reports);
            }
            if now >= due {
                self.load.request(&missing);
                due = now + wanted.again;
            }
            self.pause(TICK)?;
            reports.extend(self.load.answers().into_iter().filter(|(step, _)| missing.contains(step)));
        }
    }

    /// The same over the control connection, as they are now.
    fn control_reports(&mut self, steps: &[u32]) -> Result<Vec<StepReport>> {
        for step in steps {
            self.dialogue.machine.report_load(mono_now(), *step)?;
        }
        let mut reports = Vec::new();
        let wanted = steps.len();
        self.dialogue.run_until(mono_now() + ANSWER_LIMIT, |machine| {
            while let Some(reply) = machine.take_reply() {
                if let ProbeReply::Load(report) = reply {
                    reports.push(*report);
                }
            }
            reports.len() >= wanted
        })?;
        Ok(reports)
    }

    fn round_trip(&self) -> Nanos {
        let tcp = tcp_info(self.dialogue.pump.link.socket()).ok();
        tcp.map_or(Nanos::from_millis(10), |tcp| tcp.min_rtt.unwrap_or(tcp.rtt))
    }
}

impl LoadDirection<'_> {
    /// How far the load has come by now at the receiver of this direction; `None`: nothing new is known. The far end is asked
    /// once in `ASK`, and not waited for.
    fn progress(&mut self, asked: &mut MonoTime) -> Result<Option<StepReport>> {
        let session = &mut *self.session;
        let report = match (self.direction, session.over_flows) {
            (Direction::Down, _) => return Ok(Some(session.load.report(0))),
            (Direction::Up, false) => session.control_reports(&[0])?.pop(),
            (Direction::Up, true) => {
                if mono_now() >= *asked + ASK {
                    *asked = mono_now();
                    session.load.request(&[0]);
                }
                session.load.answers().remove(&0)
            }
        };
        self.far_dropped = report.as_ref().map_or(self.far_dropped, |report| report.dropped);
        Ok(report)
    }
}

impl LoadPath for LoadDirection<'_> {
    fn now(&self) -> MonoTime {
        mono_now()
    }

    fn run(&mut self, steps: &[StepRequest]) -> Result<Vec<StepOutcome>> {
        let Some(last) = steps.last() else { return Ok(Vec::new()) };
        let time: Nanos = steps.iter().map(|step| step.time).sum();
        let session = &mut *self.session;
        session.send(self.direction, steps.to_vec())?;
        // A request that is sent now follows the load to the far end, or gets there when it has been sent.
        session.pause(time + BEHIND)?;
        let deadline = mono_now() + LONGEST_QUEUE + session.round_trip();
        // The step behind the last has come: none of them is in flight any more.
        let complete = |report: &StepReport| match self.direction {
            Direction::Up => report.newest > last.step,
            Direction::Down => report.sent.ended,
        };
        let numbers: Vec<u32> = steps.iter().map(|step| step.step).collect();
        // Repeated answers are to take a small part of the path.
        let answers = (REPORT + HEADERS) as u64 * numbers.len() as u64;
        let again = Nanos(last.gap.0.saturating_mul(ANSWERS_SPACED * answers) / u64::from(last.size.max(1)));
        let again = again.max(AGAIN);
        let far = session.far_reports(&Wanted { steps: &numbers, again, deadline, complete: &complete })?;
        while self.direction == Direction::Down
            && session.load.report(0).newest <= last.step
            && mono_now() < deadline
        {
            session.pause(TICK)?;
        }
        self.far_dropped = far.values().map(|report| report.dropped).max().unwrap_or(self.far_dropped);
        let load = &session.load;
        let outcome = |step: &StepRequest| {
            let (near, far) = (load.report(step.step), far.get(&step.step).cloned().unwrap_or_default());
            match self.direction {
                Direction::Up => StepOutcome { sent: near.sent, received: far.received, ttl: far.ttl },
                Direction::Down => StepOutcome { sent: far.sent, received: near.received, ttl: near.ttl },
            }
        };
        Ok(steps.iter().map(outcome).collect())
    }

    fn saturate(&mut self, step: StepRequest, most: f64) -> Result<Saturation> {
        self.session.load.answers();
        let (mut asked, mut before, mut slow) = (MonoTime::default(), None::<StepReport>, 0);
        let piece = Nanos(PIECE.0.max((PACKETS / most.max(1.0) * 1e9) as u64));
        let deadline = mono_now() + step.time;
        self.session.send(self.direction, vec![step])?;
        while mono_now() < deadline && slow < 2 {
            self.session.pause(TICK)?;
            let Some(now) = self.progress(&mut asked)? else { continue };
            let Some(earlier) = &before else {
                before = Some(now);
                continue;
            };
            let time = now.at.saturating_since(earlier.at);
            if time < piece {
                continue;
            }
            let rate = now.total.saturating_sub(earlier.total) as f64 / time.as_secs_f64().max(1e-6);
            // Nothing at all is a step that has not begun to arrive.
            let is_slow = rate <= most && now.total > earlier.total && now.newest >= step.step;
            slow = if is_slow { slow + 1 } else { 0 };
            before = Some(now);
        }
        let is_reached = slow == 2;
        Ok(Saturation {
            is_reached,
            longest: before.filter(|_| is_reached).map(|now| now.received.transit_max),
        })
    }

    fn rest(&mut self, time: Nanos) -> Result<()> {
        self.session.send(self.direction, Vec::new())?;
        self.session.pause(time)
    }

    fn router_trips(&mut self, probes: RouterProbes) -> Result<Vec<Option<Nanos>>> {
        let probes = RouterProbes { wait: probes.wait + self.session.round_trip(), ..probes };
        let (to, local) = (self.session.target.address.ip(), self.session.local.clone());
        let thread = std::thread::Builder::new().name("load-routers".into());
        let probing =
            thread.spawn(move || shortest(to, &local, probes)).context("start a thread of probes")?;
        // The dialogue with the far end goes on beside them.
        let paused = self.session.pause(probes.time());
        let trips = probing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        paused?;
        // A host that does not let such probes out knows the rest all the same.
        Ok(trips.unwrap_or_default())
    }

    fn host_drops(&self) -> u64 {
        self.far_dropped + self.session.load.report(0).dropped
    }
}

const MESSAGES: Messages = Messages { closed: "during the load", late: "while the path was loaded" };
const OPEN_LIMIT: Nanos = Nanos::from_secs(5);
const ANSWER_LIMIT: Nanos = Nanos::from_secs(4);
/// A packet that waits in a queue arrives within this time.
const LONGEST_QUEUE: Nanos = Nanos::from_millis(1300);
/// Time between two looks over the control connection, and between two looks for what came over the flows.
const LOOK: Nanos = Nanos::from_millis(15);
const TICK: Nanos = Nanos::from_millis(2);
/// A report over the flows is requested again after so long, on an idle path at the latest after so many round trips and this time.
const AGAIN: Nanos = Nanos::from_millis(15);
const FIRST_ANSWER: Nanos = Nanos::from_millis(150);
/// Time between two requests for how far the load has come.
const ASK: Nanos = Nanos::from_millis(20);
/// The step behind the last has begun.
const BEHIND: Nanos = Nanos::from_millis(8);
/// Bytes of a report's headers.
const HEADERS: usize = 42;
/// Times the duration of answers at the rate of the load, until they are requested again.
const ANSWERS_SPACED: u64 = 6;
const SLACK: Nanos = Nanos::from_secs(1);
/// A piece of a saturating step.
const PIECE: Nanos = Nanos::from_millis(60);
/// Datagrams that make a rate.
const PACKETS: f64 = 20.0;
