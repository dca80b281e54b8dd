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
use wire::native::Limits;
use wire::native::probe::{ProbeClient, ProbeReply};
use wire::work::load::StepReport;

/// A session of load.
pub(crate) struct LoadSession {
    dialogue: Dialogue,
    load: Load,
    target: Target,
    local: LocalOptions,
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
        let deadline = mono_now() + OPEN_LIMIT;
        while !dialogue.machine.is_ready() {
            let until = dialogue.advance()?;
            if !dialogue.machine.is_ready() {
                dialogue.wait(until, deadline, None)?;
            }
        }
        if dialogue.flows.is_empty() {
            return Err(fault("the session of load has no flows"));
        }
        prepare_control(dialogue.pump.link.socket());
        let load = Load::start(dialogue.flows.clone(), class)?;
        let mut session = LoadSession { dialogue, load, target: target.clone(), local: local.clone() };
        // The server begins to receive.
        session.dialogue.machine.send_load(mono_now(), Vec::new())?;
        session.pause(Nanos::ZERO)?;
        Ok(session)
    }

    /// The limits of the server.
    pub(crate) fn limits(&self) -> &Limits {
        self.dialogue.machine.limits()
    }

    /// One of its directions.
    pub(crate) fn toward(&mut self, direction: Direction) -> LoadDirection<'_> {
        let far_dropped = self.far_reports(&[0]).ok().and_then(|all| Some(all.first()?.dropped));
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

    /// The far end's figures about these steps.
    fn far_reports(&mut self, steps: &[u32]) -> Result<Vec<StepReport>> {
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
    /// The report of the receiver of this direction about a step so far.
    fn arrived(&mut self, step: u32) -> Result<StepReport> {
        match self.direction {
            Direction::Up => {
                let report = self.session.far_reports(&[step])?.into_iter().next().unwrap_or_default();
                self.far_dropped = report.dropped;
                Ok(report)
            }
            Direction::Down => Ok(self.session.load.report(step)),
        }
    }
}

impl LoadPath for LoadDirection<'_> {
    fn now(&self) -> MonoTime {
        mono_now()
    }

    fn run(&mut self, steps: &[StepRequest]) -> Result<Vec<StepOutcome>> {
        let Some(last) = steps.last() else { return Ok(Vec::new()) };
        let time = steps.iter().map(|step| step.time).fold(Nanos::ZERO, |sum, time| sum + time);
        self.session.send(self.direction, steps.to_vec())?;
        self.session.pause(time + Nanos(self.session.round_trip().0 / 2))?;
        // The step behind the last has come: none of them is in flight any more.
        let deadline = mono_now() + LONGEST_QUEUE + self.session.round_trip();
        while mono_now() < deadline && self.arrived(0)?.newest <= last.step {
            self.session.pause(LOOK)?;
        }
        let numbers: Vec<u32> = steps.iter().map(|step| step.step).collect();
        let far = self.session.far_reports(&numbers)?;
        if let Some(last) = far.last() {
            self.far_dropped = last.dropped;
        }
        let load = &self.session.load;
        let outcome = |far: &StepReport| {
            let near = load.report(far.step);
            match self.direction {
                Direction::Up => StepOutcome { sent: near.sent, received: far.received, ttl: far.ttl },
                Direction::Down => StepOutcome { sent: far.sent, received: near.received, ttl: near.ttl },
            }
        };
        Ok(far.iter().map(outcome).collect())
    }

    fn saturate(&mut self, step: StepRequest, most: f64) -> Result<Saturation> {
        let deadline = mono_now() + step.time;
        self.session.send(self.direction, vec![step])?;
        let mut before = self.arrived(0)?;
        let mut slow = 0;
        let piece = Nanos(PIECE.0.max((PACKETS / most.max(1.0) * 1e9) as u64));
        while mono_now() < deadline && slow < 2 {
            self.session.pause(piece)?;
            // A report of the step sorts all that came of it: it is wanted of the last alone.
            let now = self.arrived(if slow == 1 { step.step } else { 0 })?;
            let time = now.at.saturating_since(before.at).as_secs_f64();
            let rate = now.total.saturating_sub(before.total) as f64 / time.max(1e-6);
            // Nothing at all is a step that has not begun to arrive.
            let is_slow = rate <= most && now.total > before.total && now.newest >= step.step;
            slow = if is_slow { slow + 1 } else { 0 };
            before = now;
        }
        let is_reached = slow == 2;
        Ok(Saturation { is_reached, longest: is_reached.then_some(before.received.transit_max) })
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
const LOOK: Nanos = Nanos::from_millis(15);
const SLACK: Nanos = Nanos::from_secs(1);
/// A piece of a saturating step.
const PIECE: Nanos = Nanos::from_millis(60);
/// Datagrams that make a rate.
const PACKETS: f64 = 20.0;
