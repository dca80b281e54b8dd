//! The present step, and the remaining time.

use super::plan::{Step, minutes};
use model::event::{self, Event};
use model::units::Nanos;
use std::time::Instant;

/// Progress of a plan.
pub(super) struct Progress {
    /// Planned time of the steps before each one, and at the end of all of them.
    until: Vec<Nanos>,
    begun: Instant,
}

impl Progress {
    /// Progress of these steps.
    pub(super) fn new(schedule: &[(u32, usize, &Step)], time: Nanos) -> Progress {
        let mut until = vec![Nanos::ZERO];
        for (_, _, step) in schedule {
            until.push(until[until.len() - 1].saturating_add(step.duration(time)));
        }
        Progress { until, begun: Instant::now() }
    }

    /// Step `number`, from 0, begins.
    pub(super) fn step(&self, number: usize, topology: &str, step: &Step) -> Event {
        let all = self.until.len() - 1;
        let (done, whole) = (self.until[number], self.until[all]);
        let left = whole.saturating_sub(done).0 as f64;
        // The time of the earlier steps shows how slow this host is; a short time shows little, hence the bounds.
        let slower = match done.0 {
            0 => 1.0,
            planned => (self.begun.elapsed().as_nanos() as f64 / planned as f64).clamp(0.5, 20.0),
        };
        let left = minutes(Nanos((left * slower) as u64));
        let part = u32::try_from(number + 1).ok().zip(u32::try_from(all).ok()).map(|(step, all)| [step, all]);
        Event::Progress(event::Progress { part, doing: format!("{left} left  {topology}: {step}") })
    }

    /// Nothing more is to be done.
    pub(super) fn end(&self) -> Event {
        Event::progress(format!("measured for {}", minutes(Nanos::from_duration(self.begun.elapsed()))))
    }
}
