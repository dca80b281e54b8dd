//! The work between two round trips, and never during one: reports, keep-alives, timeouts, the end.

use super::control::Control;
use super::flow::EgressFlow;
use super::tally::Tally;
use crate::error::sentence;
use crate::host::interrupt::Interrupt;
use model::event::{Event, Warning};
use model::latency::{LatencyPlan, LatencySample};
use model::plan::End;
use model::time::MonoTime;
use model::units::Nanos;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::echo::Exchange;

/// The chores of a run.
pub(crate) struct Housekeeping<'a> {
    pub(crate) plan: &'a LatencyPlan,
    pub(crate) started: MonoTime,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) sessions: &'a mut [Option<Box<dyn Control>>],
    pub(crate) sink: &'a mut dyn FnMut(&Event),
    /// When messages at a rate begin to be due.
    pub(crate) paced_from: MonoTime,
    /// Decides when the run is over, instead of the plan.
    pub(crate) over: Option<Arc<AtomicBool>>,
    /// When the next chore is due.
    due: MonoTime,
    next_sample: MonoTime,
    sampled: MonoTime,
    /// The phase of a run beside a load in which the interval began.
    phase: Option<usize>,
    /// How long ping-pong waits for a reply before its next message goes, for each path. A reply that comes later counts as any
    /// other.
    pub(crate) pace: Vec<Nanos>,
    /// When sending ended, and rates are counted until then: what follows is the wait for replies in flight.
    pub(crate) sent_until: Option<MonoTime>,
}

impl<'a> Housekeeping<'a> {
    pub(crate) fn new(
        plan: &'a LatencyPlan,
        started: MonoTime,
        interrupt: &'a Interrupt,
        sessions: &'a mut [Option<Box<dyn Control>>],
        sink: &'a mut dyn FnMut(&Event),
    ) -> Housekeeping<'a> {
        let pace = FIRST_PACE.min(plan.timeout.unwrap_or(FIRST_PACE));
        let next_sample =
            if plan.interval > Nanos::ZERO { started + plan.interval } else { MonoTime(u64::MAX) };
        Housekeeping {
            plan,
            started,
            interrupt,
            sessions,
            sink,
            paced_from: started,
            over: None,
            due: started + STEP,
            next_sample,
            sampled: started,
            phase: Some(0),
            pace: vec![pace; plan.egress_paths.len()],
            sent_until: None,
        }
    }

    /// After this a message of this path counts as lost, until its reply comes.
    pub(crate) fn timeout<E: Exchange>(&self, flow: &EgressFlow<E>) -> Nanos {
        self.plan.timeout.unwrap_or_else(|| timeout(flow.tally.round_trips().0))
    }

    /// Gives up what waits for too long.
    pub(crate) fn expire<E: Exchange>(&self, now: MonoTime, flows: &mut [EgressFlow<E>]) {
        for flow in flows {
            let timeout = self.timeout(flow);
            flow.tally.expire(now - timeout);
        }
    }

    /// Until when replies in flight are waited for, sending having ended. A user who interrupts a run waits no longer than
    /// replies take.
    pub(crate) fn last_wait<E: Exchange>(&self, flows: &[EgressFlow<E>], ended: MonoTime) -> MonoTime {
        let longest = flows.iter().map(|flow| flow.tally.round_trips().0).max().unwrap_or_default();
        match self.interrupt.is_raised() {
            true => ended + longest.saturating_mul(2).clamp(LEAST_LAST_WAIT, MOST_LAST_WAIT),
            false => MonoTime(u64::MAX),
        }
    }

    /// When a chore is due.
    pub(crate) fn due(&self) -> MonoTime {
        self.due.min(self.next_sample)
    }

    /// The run is over, its messages all sent or its time up.
    pub(crate) fn is_over(&self, now: MonoTime, sent: u64) -> bool {
        let planned = || match self.plan.end {
            End::Time(time) => now >= self.started + time,
            End::Blocks(count) => sent >= count,
            End::Bytes(bytes) => sent.saturating_mul(u64::from(self.plan.size)) >= bytes.0,
        };
        let done = self.over.as_ref().map_or_else(planned, |over| over.load(Ordering::Acquire));
        done || self.interrupt.is_raised()
    }

    /// Does what is due.
    pub(crate) fn keep<E: Exchange>(&mut self, now: MonoTime, flows: &mut [EgressFlow<E>]) {
        self.turn(now, flows);
        if now < self.due() {
            return;
        }
        self.due = now + STEP;
        for (index, flow) in flows.iter_mut().enumerate() {
            if let Some(pace) = pace(&flow.tally, self.plan.timeout) {
                self.pace[index] = pace;
            }
            let timeout = self.timeout(flow);
            flow.tally.expire(now - timeout);
            if !flow.tally.heard() && flow.dead.is_none() && now >= self.started + SILENCE.max(timeout) {
                flow.dead = Some(format!("no reply came within {}", now.saturating_since(self.started)));
            }
            let session = self.sessions.get_mut(index).and_then(Option::as_mut);
            if let Some(Err(e)) = session.map(|session| session.keep_alive())
                && flow.dead.is_none()
            {
                flow.dead = Some(sentence(&e));
            }
        }
        if now >= self.next_sample {
            self.sample(now, flows);
            self.next_sample = now.max(self.next_sample + self.plan.interval);
        }
    }

    /// Closes the interval where the load begins or ends, so that no interval is of two phases.
    fn turn<E: Exchange>(&mut self, now: MonoTime, flows: &mut [EgressFlow<E>]) {
        let Some(phase) = flows.first().map(|flow| flow.tally.phase()) else { return };
        if phase == self.phase {
            return;
        }
        self.last_sample(now, flows);
        self.phase = phase;
        if self.plan.interval > Nanos::ZERO {
            self.next_sample = now + self.plan.interval;
        }
    }

    /// Closes the last interval, unless it is a mere moment.
    pub(crate) fn last_sample<E: Exchange>(&mut self, now: MonoTime, flows: &mut [EgressFlow<E>]) {
        if self.plan.interval > Nanos::ZERO
            && now.saturating_since(self.sampled).0 > self.plan.interval.0 / 20
        {
            self.sample(now, flows);
        }
    }

    /// Reports paths that ended early.
    pub(crate) fn warn_of_dead<E>(&mut self, flows: &[EgressFlow<E>]) {
        for (flow, egress) in flows.iter().zip(&self.plan.egress_paths) {
            if let Some(reason) = &flow.dead {
                let text = format!("{}: {reason}", egress.label);
                (self.sink)(&Event::Warning(Warning::new("way-ended", text)));
            }
        }
    }

    fn sample<E: Exchange>(&mut self, now: MonoTime, flows: &mut [EgressFlow<E>]) {
        let (start, end) = (self.sampled - self.started, now - self.started);
        let middle = Nanos(start.0.midpoint(end.0));
        let phase = flows.first().and_then(|flow| flow.tally.loaded(middle));
        let load =
            self.plan.load.as_ref().zip(phase).and_then(|(load, phase)| load.phases.get(phase - 1).copied());
        let sample = LatencySample {
            start,
            end,
            load,
            egress_paths: flows.iter_mut().map(|flow| flow.tally.sample()).collect(),
        };
        self.sampled = now;
        (self.sink)(&Event::LatencySample(sample));
    }
}

/// Time between two chores.
const STEP: Nanos = Nanos::from_millis(250);
/// Ping-pong's wait for a reply before any round trip is known.
const FIRST_PACE: Nanos = Nanos::from_secs(1);
const LEAST_PACE: Nanos = Nanos::from_millis(10);
/// A path on which nothing has ever come back is given up after this, which is longer than any path takes.
const SILENCE: Nanos = MOST_TIMEOUT;
/// A message is lost after this, or after four times the longest round trip so far …
const LEAST_TIMEOUT: Nanos = Nanos::from_secs(3);
/// … but no later than this.
pub(crate) const MOST_TIMEOUT: Nanos = Nanos::from_secs(10);
/// An interrupted run waits for replies in flight so long.
const LEAST_LAST_WAIT: Nanos = Nanos::from_millis(50);
const MOST_LAST_WAIT: Nanos = Nanos::from_secs(3);

/// How long ping-pong waits for a reply, by those of the last interval; `asked`: the most that the user allows.
pub(super) fn pace(tally: &Tally, asked: Option<Nanos>) -> Option<Nanos> {
    let most = asked.unwrap_or(MOST_TIMEOUT);
    Some(tally.pace()?.clamp(LEAST_PACE, most.max(LEAST_PACE)))
}

/// When a message counts as lost, by the longest round trip so far.
pub(super) fn timeout(longest: Nanos) -> Nanos {
    longest.saturating_mul(4).clamp(LEAST_TIMEOUT, MOST_TIMEOUT)
}
