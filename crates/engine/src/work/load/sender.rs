//! Sends load: steps one after another without a pause between them, each on a schedule that is never caught up with. A burst after
//! a stall would be dropped by a policer at a third of its rate.

use super::reports::USUAL_TTL;
use linux::clock::{mono_now, sleep_until};
use linux::options;
use model::limit::{StepRequest, StepSent};
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use wire::native::load::{HEADER, LoadHeader};

/// The datagrams to send, and those that were sent.
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

    /// The datagrams of a step that were sent.
    pub(super) fn sent(&self, step: u32) -> StepSent {
        self.sent.lock().unwrap_or_else(PoisonError::into_inner).get(&step).copied().unwrap_or_default()
    }

    /// Sends until it is to stop.
    pub(super) fn run(&self, flows: &[Arc<UdpSocket>]) {
        // Refused, it is delayed more often, and reports it.
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
    /// Datagrams of one send call. At high rates single calls take so long that no path can be filled.
    together: u32,
    late_began: Option<MonoTime>,
}

impl<'a> Step<'a> {
    fn new(request: StepRequest, flows: &'a [Arc<UdpSocket>], random: &'a mut u64) -> Step<'a> {
        let size = (request.size as usize).max(HEADER);
        let planned = u32::try_from(request.time.0 / request.gap.0.max(1)).unwrap_or(u32::MAX).max(1);
        let mut together = together(&request).min((MOST_BYTES / size) as u32).max(1);
        if together > 1 {
            let segment = u16::try_from(size).unwrap_or(u16::MAX);
            let refused = flows.iter().any(|flow| options::set_udp_segment(flow, segment).is_err());
            together = if refused { 1 } else { together };
        }
        let bytes = vec![0; size * together as usize];
        let sent = StepSent::default();
        Step { request, flows, random, bytes, sent, index: 0, planned, together, late_began: None }
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
            let count = self.together.min(self.planned - self.index).max(1);
            if count > 1 {
                self.several(now, count)
            } else {
                self.send_one(now)
            }
            due += self.request.gap.saturating_mul(count.into());
        }
        self.sent.ended = true;
        goes_on(self.sent);
        self.one_by_one();
        if self.request.ttl.is_some() {
            self.set_ttl(Some(USUAL_TTL));
        }
    }

    /// Sends several in one call, over the flow whose turn it is.
    fn several(&mut self, now: MonoTime, count: u32) {
        let size = self.bytes.len() / self.together as usize;
        for (index, bytes) in (self.index..).zip(self.bytes.chunks_exact_mut(size).take(count as usize)) {
            let late = index >= self.planned / 5 * 2;
            LoadHeader { step: self.request.step, index, late, sparse: false, sent: now }.write(bytes);
        }
        let turn = usize::from(self.request.flows.max(1));
        let flow = (self.index / self.together) as usize % turn % self.flows.len();
        match self.flows[flow].send(&self.bytes[..size * count as usize]) {
            Ok(_) => (0..count).for_each(|_| self.count(now, false)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            // The device or the kernel does not cut them.
            Err(_) => self.one_by_one(),
        }
    }

    fn one_by_one(&mut self) {
        if self.together > 1 {
            let size = self.bytes.len() / self.together as usize;
            self.bytes.truncate(size);
            self.together = 1;
            for flow in self.flows {
                options::set_udp_segment(flow, 0).ok();
            }
        }
    }

    fn send_one(&mut self, now: MonoTime) {
        let late = self.index >= self.planned / 5 * 2;
        let size = self.bytes.len() / self.together as usize;
        let sparse = self.request.sparse > 0 && self.draw().is_multiple_of(u64::from(self.request.sparse));
        LoadHeader { step: self.request.step, index: self.index, late, sparse, sent: now }
            .write(&mut self.bytes[..size]);
        let turn = usize::from(self.request.flows.max(1));
        let over_another = sparse && self.request.ttl.is_none();
        let flow = (self.index as usize % turn + usize::from(over_another)) % self.flows.len();
        let goes_far = sparse && self.request.ttl.is_some();
        if goes_far {
            options::set_hops(self.flows[flow].as_ref(), USUAL_TTL).ok();
        }
        let taken = self.flows[flow].send(&self.bytes[..size]).is_ok();
        if goes_far {
            options::set_hops(self.flows[flow].as_ref(), self.request.ttl.unwrap_or(USUAL_TTL)).ok();
        }
        if !taken {
            // No room at this host: it never left, and is tried again when the next is due.
            return;
        }
        self.count(now, sparse);
    }

    /// The next datagram has been sent.
    fn count(&mut self, now: MonoTime, sparse: bool) {
        let late = self.index >= self.planned / 5 * 2;
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

/// How many datagrams of a step one send call takes: single ones where some of them take another flow, and below some 200 Mbit/s.
fn together(request: &StepRequest) -> u32 {
    let is_alike = request.ttl.is_none() && request.sparse == 0;
    if is_alike { (TOGETHER.0 / request.gap.0.max(1)).clamp(1, MOST_TOGETHER) as u32 } else { 1 }
}

/// Datagrams that are due within this time are sent together: at most so many of them, and so many bytes.
const TOGETHER: Nanos = Nanos::from_micros(200);
const MOST_TOGETHER: u64 = 16;
const MOST_BYTES: usize = 60_000;
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
