//! Receives load: when each datagram of each step came.

use super::reports::Reports;
use linux::clock::{mono_now, wall_now};
use linux::message;
use linux::poll::{Interest, wait};
use model::limit::Arrival;
use model::units::Nanos;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use wire::native::load::LoadHeader;

/// The datagrams that have arrived.
#[derive(Debug, Default)]
pub(super) struct Received {
    arrivals: Mutex<Arrivals>,
    total: AtomicU64,
    newest: AtomicU32,
    ttl: AtomicU32,
    /// Transit of the first datagram: what is reported of others is from there on, for the two clocks have nothing in common.
    origin: OnceLock<i64>,
    stop: AtomicBool,
}

#[derive(Debug, Default)]
struct Arrivals {
    steps: BTreeMap<u32, Vec<Arrival>>,
    kept: usize,
    /// The newest step, and its longest transit.
    longest: Option<(u32, i64)>,
}

impl Received {
    /// Takes what comes until it is to stop.
    pub(super) fn run(&self, flows: &[Arc<UdpSocket>], reports: &Reports) {
        linux::cpu::set_nice(NICE).ok();
        let mut buffer = vec![0; 1 << 16];
        while !self.stop.load(Ordering::Relaxed) {
            let mut interests: Vec<Interest<'_>> =
                flows.iter().map(|flow| Interest::readable(flow.as_ref())).collect();
            wait(&mut interests, Some(mono_now() + LOOK)).ok();
            drop(interests);
            for flow in flows {
                self.drain(flow, &mut buffer, reports);
            }
        }
    }

    pub(super) fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// The arrivals of a step, in order.
    pub(super) fn of_step(&self, step: u32) -> Vec<Arrival> {
        let arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals.steps.get(&step).cloned().unwrap_or_default()
    }

    /// Longest transit of the newest step; 0 before the first.
    pub(super) fn longest(&self) -> i64 {
        let arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        arrivals.longest.map_or(0, |(_, longest)| longest)
    }

    /// Datagrams of all steps.
    pub(super) fn total(&self) -> u64 {
        self.total.load(Ordering::Relaxed)
    }

    /// The highest step of which something came.
    pub(super) fn newest(&self) -> u32 {
        self.newest.load(Ordering::Relaxed)
    }

    /// TTL of the last datagram.
    pub(super) fn ttl(&self) -> Option<u8> {
        u8::try_from(self.ttl.load(Ordering::Relaxed)).ok().filter(|ttl| *ttl > 0)
    }

    fn drain(&self, flow: &UdpSocket, buffer: &mut [u8], reports: &Reports) {
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..AT_ONCE {
            let received = match message::receive(&flow, buffer) {
                Ok(received) => received,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // A router reported an error of a datagram of ours; the flow goes on.
                Err(_) => continue,
            };
            let Some(header) = LoadHeader::read(&buffer[..received.len]) else {
                reports.take(&buffer[..received.len]);
                continue;
            };
            let came: i64 = received.times.kernel.unwrap_or_else(wall_now).0.cast_signed();
            let transit = came.wrapping_sub(header.sent.0.cast_signed());
            self.total.fetch_add(1, Ordering::Relaxed);
            self.newest.fetch_max(header.step, Ordering::Relaxed);
            self.ttl.store(u32::from(received.ttl.unwrap_or(0)), Ordering::Relaxed);
            let arrival = Arrival {
                index: header.index,
                late: header.late,
                sparse: header.sparse,
                marked: received.class.is_some_and(|class| class & 3 == 3),
                came,
                transit: transit.wrapping_sub(*self.origin.get_or_init(|| transit)),
            };
            arrivals.keep(header.step, arrival);
        }
    }
}

impl Arrivals {
    fn keep(&mut self, step: u32, arrival: Arrival) {
        while self.kept >= MOST_KEPT {
            let Some((_, oldest)) = self.steps.pop_first() else { break };
            self.kept -= oldest.len();
        }
        // Steps first: a transit counts for the newest step alone.
        self.longest = self.longest.max(Some((step, arrival.transit)));
        self.steps.entry(step).or_default().push(arrival);
        self.kept += 1;
    }
}

/// Time between two looks whether it is to stop.
const LOOK: Nanos = Nanos::from_millis(50);
/// The receiver goes before other work, where that is allowed.
const NICE: i32 = -10;
/// Datagrams of one flow taken before the next is looked at.
const AT_ONCE: usize = 256;
/// Arrivals that are kept: the oldest steps go first.
const MOST_KEPT: usize = 400_000;
