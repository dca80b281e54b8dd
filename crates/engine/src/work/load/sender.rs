//! Sends load: steps one after another without a pause between them, each on a schedule that is never caught up with. A burst after
//! a stall would be dropped by a policer at a third of its rate.

use super::packet::{HEADER, LoadHeader};
use linux::clock::{mono_now, sleep_until};
use linux::options;
use model::limit::{StepRequest, StepSent};
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::BTreeMap;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// What is sent, and what was sent.
#[derive(Debug, Default)]
pub(super) struct Sending {
    steps: Mutex<Option<Vec<StepRequest>>>,
    bell: Condvar,
    /// Grows when something else is to be sent.
    generation: AtomicU64,
    sent: Mutex<BTreeMap<u32, StepSent>>,
    stop: AtomicBool,
}

impl Sending {
    /// Sends these steps from now on.
    pub(super) fn take(&self, steps: Vec<StepRequest>) {
        *self.steps.lock().unwrap_or_else(PoisonError::into_inner) = Some(steps);
        self.generation.fetch_add(1, Ordering::Relaxed);
        self.bell.notify_all();
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
        self.take(Vec::new());
    }

    /// What was sent of a step.
    pub(super) fn sent(&self, step: u32) -> StepSent {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).get(&step).copied().unwrap_or_default()
    }

    /// Sends until it is to stop.
    pub(super) fn run(&self, flows: &[Arc<UdpSocket>]) {
        // Refused, it is delayed more often, and says so.
        linux::cpu::set_nice(NICE).ok();
        let mut random = mono_now().0 | 1;
        while !self.stop.load(Ordering::Relaxed) {
            let (steps, generation) = self.next();
            let last = steps.last().map(|last| StepRequest { step: last.step + 1, time: HOLD, ..*last });
            for step in steps.into_iter().chain(last) {
                if !self.is_current(generation) {
                    break;
                }
                let mut running = Step::new(step, flows, &mut random);
                running.send(|so_far| {
                    self.note(step.step, so_far);
                    self.is_current(generation)
                });
            }
        }
    }

    fn is_current(&self, generation: u64) -> bool {
        self.generation.load(Ordering::Relaxed) == generation
    }

    fn next(&self) -> (Vec<StepRequest>, u64) {
        let mut steps = self.steps.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(taken) = steps.take() {
                return (taken, self.generation.load(Ordering::Relaxed));
            }
            steps = self.bell.wait(steps).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn note(&self, step: u32, sent: StepSent) {
        let mut all = self.sent.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(step, sent);
        while all.len() > MOST_STEPS {
            all.pop_first();
        }
    }
}

/// One step that runs.
struct Step<'a> {
    request: StepRequest,
    flows: &'a [Arc<UdpSocket>],
    random: &'a mut u64,
    bytes: Vec<u8>,
    sent: StepSent,
    index: u32,
    /// Datagrams that the step is to have.
    planned: u32,
    late_began: Option<MonoTime>,
}

impl<'a> Step<'a> {
    fn new(request: StepRequest, flows: &'a [Arc<UdpSocket>], random: &'a mut u64) -> Step<'a> {
        let bytes = vec![0; (request.size as usize).max(HEADER)];
        let planned = u32::try_from(request.time.0 / request.gap.0.max(1)).unwrap_or(u32::MAX).max(1);
        Step { request, flows, random, bytes, sent: StepSent::default(), index: 0, planned, late_began: None }
    }

    /// Sends; `goes_on` gets what was sent from time to time, and at the end.
    fn send(&mut self, mut goes_on: impl FnMut(StepSent) -> bool) {
        self.set_ttl(self.request.ttl);
        // A sender that is delayed sends what is planned later, but not without end.
        let end = mono_now() + self.request.time.saturating_mul(LONGEST);
        let mut due = mono_now();
        let mut reported = due;
        loop {
            let now = mono_now();
            if now >= reported {
                reported = now + REPORT;
                if !goes_on(self.sent) {
                    break;
                }
            }
            if now >= end || self.index >= self.planned {
                break;
            }
            if due > now {
                // A short wait is spun through: sleeping takes longer than it.
                if (due - now) > SHORTEST_SLEEP {
                    sleep_until(due.min(end).min(reported));
                } else {
                    std::hint::spin_loop();
                }
                continue;
            }
            let behind = now - due;
            if behind > LAG.max(self.request.gap) {
                self.sent.stalled += behind;
                due = now;
            }
            self.one(now);
            due += self.request.gap;
        }
        self.sent.ended = true;
        goes_on(self.sent);
        if self.request.ttl.is_some() {
            self.set_ttl(Some(USUAL_TTL));
        }
    }

    fn one(&mut self, now: MonoTime) {
        let late = self.index >= self.planned / 5 * 2;
        let sparse = self.request.sparse > 0 && self.draw().is_multiple_of(u64::from(self.request.sparse));
        LoadHeader { step: self.request.step, index: self.index, late, sparse, sent: now }
            .write(&mut self.bytes);
        let turn = usize::from(self.request.flows.max(1));
        let over_another = sparse && self.request.ttl.is_none();
        let flow = (self.index as usize % turn + usize::from(over_another)) % self.flows.len();
        let goes_far = sparse && self.request.ttl.is_some();
        if goes_far {
            options::set_hops(self.flows[flow].as_ref(), USUAL_TTL).ok();
        }
        let taken = self.flows[flow].send(&self.bytes).is_ok();
        if goes_far {
            options::set_hops(self.flows[flow].as_ref(), self.request.ttl.unwrap_or(USUAL_TTL)).ok();
        }
        if !taken {
            // No room at this host: it never left, and is tried again when the next is due.
            return;
        }
        self.index += 1;
        self.sent.datagrams += 1;
        if late {
            self.sent.late += 1;
            self.sent.late_sparse += u64::from(sparse);
            let began = *self.late_began.get_or_insert(now);
            self.sent.late_time = now - began;
        }
    }

    fn set_ttl(&self, ttl: Option<u8>) {
        let Some(ttl) = ttl else { return };
        for flow in self.flows {
            options::set_hops(flow.as_ref(), ttl).ok();
        }
    }

    /// Xorshift: which datagrams are sparse follows no rhythm.
    fn draw(&mut self) -> u64 {
        *self.random ^= *self.random << 13;
        *self.random ^= *self.random >> 7;
        *self.random ^= *self.random << 17;
        *self.random >> 11
    }
}

/// A step takes at most so many times as long as planned.
const LONGEST: u64 = 2;
/// The last step goes on for so long, until something else is asked for.
const HOLD: Nanos = Nanos::from_millis(1800);
/// A sender that is so late shifts its schedule.
const LAG: Nanos = Nanos::from_millis(2);
const SHORTEST_SLEEP: Nanos = Nanos::from_micros(60);
/// Time between two looks whether something else is to be sent.
const REPORT: Nanos = Nanos::from_millis(4);
const MOST_STEPS: usize = 128;
/// The sender goes before other work, where that is allowed.
const NICE: i32 = -15;
const USUAL_TTL: u8 = 64;
