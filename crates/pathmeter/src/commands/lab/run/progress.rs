//! What is being done, and how long the rest takes, on standard error.

use super::plan::{Step, minutes};
use model::units::Nanos;
use std::io::{IsTerminal, Write};
use std::time::Instant;

/// Tells how far a plan has come.
pub(super) struct Progress {
    /// What the steps before each one take, and at the end all of them, as planned.
    until: Vec<Nanos>,
    begun: Instant,
}

impl Progress {
    /// Of these steps.
    pub(super) fn new(schedule: &[(u32, usize, &Step)], time: Nanos) -> Progress {
        let mut until = vec![Nanos::ZERO];
        for (_, _, step) in schedule {
            until.push(until[until.len() - 1].saturating_add(step.duration(time)));
        }
        Progress { until, begun: Instant::now() }
    }

    /// Step `number`, from 0, begins.
    pub(super) fn step(&self, number: usize, topology: &str, step: &Step) {
        let all = self.until.len() - 1;
        let (done, whole) = (self.until[number], self.until[all]);
        let left = whole.saturating_sub(done).0 as f64;
        // What the steps before took tells how slow this host is; the first ones tell little.
        let slower = match done.0 {
            0 => 1.0,
            planned => (self.begun.elapsed().as_nanos() as f64 / planned as f64).clamp(0.5, 20.0),
        };
        let left = minutes(Nanos((left * slower) as u64));
        let line = format!("{:>4}/{all}  {left} left  {topology}: {step}", number + 1);
        let terminal = std::io::stderr().is_terminal();
        let (before, after) = if terminal { (CLEAR, "") } else { ("", "\n") };
        // Progress is a courtesy: a closed standard error stops nothing.
        let _ = write!(std::io::stderr(), "{before}{line}{after}");
    }

    /// Nothing more is to be done.
    pub(super) fn end(&self) {
        let time = Nanos::from_duration(self.begun.elapsed());
        say(&format!("measured for {}", minutes(time)));
    }
}

/// A line that stays.
pub(super) fn say(line: &str) {
    let clear = if std::io::stderr().is_terminal() { CLEAR } else { "" };
    let _ = writeln!(std::io::stderr(), "{clear}{line}");
}

/// To the begin of the line, and away with what stands there.
const CLEAR: &str = "\r\x1b[K";
