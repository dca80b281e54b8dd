//! What is done between two round trips and never during one: reports, keep-alives, patience, the end.

use super::lane::Lane;
use super::session::LatencySession;
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
    pub(crate) sessions: &'a mut [Option<LatencySession>],
    pub(crate) sink: &'a mut dyn FnMut(&Event),
    /// When messages at a rate begin to be due.
    pub(crate) paced_from: MonoTime,
    /// Says when the run is over, instead of the plan.
    pub(crate) over: Option<Arc<AtomicBool>>,
    /// When the next chore is due.
    due: MonoTime,
    next_sample: MonoTime,
    sampled: MonoTime,
    /// Longest wait for a reply, for each path.
    patience: Vec<Nanos>,
}

impl<'a> Housekeeping<'a> {
    pub(crate) fn new(
        plan: &'a LatencyPlan,
        started: MonoTime,
        interrupt: &'a Interrupt,
        sessions: &'a mut [Option<LatencySession>],
        sink: &'a mut dyn FnMut(&Event),
    ) -> Housekeeping<'a> {
        let patience = vec![plan.timeout.unwrap_or(FIRST_PATIENCE); plan.ways.len()];
        let next_sample =
            if plan.interval > Nanos::ZERO { started + plan.interval } else { MonoTime(u64::MAX) };
        let due = started + STEP;
        Housekeeping {
            plan,
            started,
            interrupt,
            sessions,
            sink,
            paced_from: started,
            over: None,
            due,
            next_sample,
            sampled: started,
            patience,
        }
    }

    /// Longest wait for a reply on this way.
    pub(crate) fn patience(&self, way: usize) -> Nanos {
        self.patience[way]
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
    pub(crate) fn keep<E: Exchange>(&mut self, now: MonoTime, lanes: &mut [Lane<E>]) {
        if now < self.due() {
            return;
        }
        self.due = now + STEP;
        for (index, lane) in lanes.iter_mut().enumerate() {
            if self.plan.timeout.is_none()
                && let Some(patience) = lane.tally.patience()
            {
                self.patience[index] = patience.max(LEAST_PATIENCE);
            }
            if !lane.tally.heard()
                && lane.dead.is_none()
                && now >= self.started + SILENCE.max(self.patience[index])
            {
                lane.dead = Some(format!("no reply came within {}", now.saturating_since(self.started)));
            }
            let session = self.sessions.get_mut(index).and_then(Option::as_mut);
            if let Some(Err(e)) = session.map(LatencySession::keep_alive)
                && lane.dead.is_none()
            {
                lane.dead = Some(sentence(&e));
            }
        }
        if now >= self.next_sample {
            self.sample(now, lanes);
            self.next_sample = now.max(self.next_sample + self.plan.interval);
        }
    }

    /// Closes the last interval, unless it is a mere moment.
    pub(crate) fn last_sample<E: Exchange>(&mut self, now: MonoTime, lanes: &mut [Lane<E>]) {
        if self.plan.interval > Nanos::ZERO
            && now.saturating_since(self.sampled).0 > self.plan.interval.0 / 20
        {
            self.sample(now, lanes);
        }
    }

    /// Tells of ways that ended early.
    pub(crate) fn warn_of_dead<E>(&mut self, lanes: &[Lane<E>]) {
        for (lane, way) in lanes.iter().zip(&self.plan.ways) {
            if let Some(reason) = &lane.dead {
                (self.sink)(&Event::Warning(Warning::new("way-ended", format!("{}: {reason}", way.label))));
            }
        }
    }

    fn sample<E: Exchange>(&mut self, now: MonoTime, lanes: &mut [Lane<E>]) {
        let (start, end) = (self.sampled - self.started, now - self.started);
        let middle = Nanos(start.0.midpoint(end.0));
        let phase = lanes.first().and_then(|lane| lane.tally.loaded(middle));
        let load =
            self.plan.load.as_ref().zip(phase).and_then(|(load, phase)| load.phases.get(phase - 1).copied());
        let sample = LatencySample {
            start,
            end,
            load,
            ways: lanes.iter_mut().map(|lane| lane.tally.sample()).collect(),
        };
        self.sampled = now;
        (self.sink)(&Event::LatencySample(sample));
    }
}

/// Time between two chores.
const STEP: Nanos = Nanos(250_000_000);
/// Wait for a reply before any round trip is known.
const FIRST_PATIENCE: Nanos = Nanos(1_000_000_000);
const LEAST_PATIENCE: Nanos = Nanos(10_000_000);
/// A way on which nothing has ever come back is given up after this.
const SILENCE: Nanos = Nanos(5_000_000_000);
