//! Several sessions at once: each has a control connection, data threads and a server's part of its own, and none
//! opens its streams before all are connected.

use crate::error::{Error, fault};
use crate::host::interrupt::Interrupt;
use crate::session::connect::Security;
use crate::work::client;
use model::event::Event;
use model::plan::Plan;
use model::units::Nanos;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};
use wire::iperf3::Extras;

/// The outcome of one session.
pub(crate) struct Outcome {
    /// Everything that happened in it.
    pub(crate) events: Vec<Event>,
    /// Why it failed.
    pub(crate) error: Option<Error>,
}

/// Runs all of them; the outcomes are in the order of the plans.
pub(crate) fn run(plans: &[Plan], security: &Security, interrupt: &Interrupt) -> Vec<Outcome> {
    let gate = Gate::new(plans.len());
    std::thread::scope(|scope| {
        let session = |plan| {
            let gate = &gate;
            scope.spawn(move || run_pair(plan, security, interrupt, gate))
        };
        let running: Vec<_> = plans.iter().map(session).collect();
        let ended = |thread: std::thread::ScopedJoinHandle<'_, Outcome>| {
            thread.join().unwrap_or_else(|_| Outcome {
                events: Vec::new(),
                error: Some(fault("a session's thread broke")),
            })
        };
        running.into_iter().map(ended).collect()
    })
}

fn run_pair(plan: &Plan, security: &Security, interrupt: &Interrupt, gate: &Gate) -> Outcome {
    let mut events = Vec::new();
    let mut waited = false;
    let outcome = client::run(plan, security, &Extras::default(), interrupt, &mut |event| {
        events.push(event.clone());
        // The session stands still here: nothing has been opened beyond its control connection.
        if matches!(event, Event::Connected(_)) && !std::mem::replace(&mut waited, true) {
            gate.wait(interrupt);
        }
    });
    if !waited {
        gate.pass();
    }
    Outcome { events, error: outcome.err() }
}

/// Opens when every session is connected or has failed.
struct Gate {
    missing: Mutex<usize>,
    bell: Condvar,
}

impl Gate {
    fn new(sessions: usize) -> Gate {
        Gate { missing: Mutex::new(sessions), bell: Condvar::new() }
    }

    /// One more has come, or will not.
    fn pass(&self) {
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        *missing = missing.saturating_sub(1);
        if *missing == 0 {
            self.bell.notify_all();
        }
    }

    /// Until all have come; no longer than servers wait for the next message, and not after an interrupt.
    fn wait(&self, interrupt: &Interrupt) {
        self.pass();
        let deadline = Instant::now() + LONGEST.to_duration();
        let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        while *missing > 0 && !interrupt.is_raised() && Instant::now() < deadline {
            let woken = self.bell.wait_timeout(missing, STEP).unwrap_or_else(PoisonError::into_inner);
            missing = woken.0;
        }
    }
}

const LONGEST: Nanos = Nanos::from_secs(6);
const STEP: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn a_gate_opens_when_all_have_come_or_failed() {
        let (gate, interrupt, through) = (Gate::new(3), Interrupt::default(), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    gate.wait(&interrupt);
                    through.fetch_add(1, Ordering::SeqCst);
                });
            }
            while *gate.missing.lock().expect("no panic") > 1 {
                std::thread::yield_now();
            }
            assert_eq!(through.load(Ordering::SeqCst), 0);
            gate.pass();
        });
        assert_eq!(through.load(Ordering::SeqCst), 2);
    }
}
