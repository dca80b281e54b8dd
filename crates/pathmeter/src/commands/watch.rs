//! `pathmeter watch`: a path measured again and again, kept and judged, without any server.

mod alert;
mod round;
mod tally;

use super::store::{failed, open};
use super::{progress, trend};
use crate::exit::Exit;
use crate::signals;
use alert::{Alert, Alerts};
use cli::{Common, WatchArgs};
use engine::error::Result;
use engine::host::interrupt::Interrupt;
use linux::clock::wall_now;
use report::format::Live;
use report::format::trend::Trends;
use report::harmless;
use round::{Round, Task};
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use store::{Filter, Store};
use tally::Tally;

/// Runs the command.
pub(crate) fn run(args: &WatchArgs, global: &Common) -> Result<Exit> {
    let task = Task::of(args)?;
    // Before anything is sent.
    let store = open(&args.store)?;
    let stop = signals::interrupt()?;
    let is_json = global.format().live == Live::Events;
    let (alerts, tally) = (Alerts::new(args, is_json), Tally::default());
    let mut watch =
        Watch { args, store, task, alerts, tally, asked: signals::asked()?, is_json, last: Exit::Done };
    let mut round = 0;
    loop {
        round += 1;
        let begun = Instant::now();
        watch.round(&stop)?;
        if args.rounds.is_some_and(|rounds| round >= rounds) || !watch.rest(begun, &stop) {
            watch.sums();
            return Ok(watch.last);
        }
    }
}

struct Watch<'a> {
    args: &'a WatchArgs,
    store: Store,
    task: Task,
    alerts: Alerts<'a>,
    tally: Tally,
    /// Somebody wants to know the sums so far.
    asked: Arc<AtomicBool>,
    /// Rounds are lines of JSON.
    is_json: bool,
    /// What the program would end with now.
    last: Exit,
}

impl Watch<'_> {
    /// Measures, keeps and judges; what is suspicious is measured again at once.
    fn round(&mut self, stop: &Interrupt) -> Result<()> {
        for _ in 0..=AGAIN {
            let round = self.task.measure()?;
            if stop.is_raised() {
                return Ok(());
            }
            let trends = self.keep(&round)?;
            self.last = match round.exit() {
                Exit::Unreachable => Exit::Unreachable,
                _ if trends.is_worse() => Exit::Regression,
                _ => Exit::Done,
            };
            self.tally.add(&round);
            match self.is_json {
                true => say(harmless::json(&round.json()).trim_end()),
                false => say(&round.line()),
            }
            self.alerts.reach(&round);
            for change in newest(&trends, round.id()) {
                // Told once, also by a watch that was killed after the run was kept.
                if self.store.alert(round.id(), &change.figure, &change.word).map_err(failed)? {
                    self.alerts.tell(&change);
                }
            }
            if !trends.series.iter().any(|series| series.is_suspicious) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Waits until the next round is due. False: it is to stop.
    fn rest(&self, begun: Instant, stop: &Interrupt) -> bool {
        let every = self.args.every;
        // A number that no other host has.
        let random = RandomState::new().hash_one(wall_now().0) % 1000;
        let due = begun + Duration::from_nanos(every.0.saturating_add(every.0 / 10_000 * random));
        while !stop.is_raised() {
            let left = due.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            if self.asked.swap(false, Ordering::Relaxed) {
                self.sums();
            }
            std::thread::sleep(left.min(STEP));
        }
        false
    }

    /// All rounds so far, on standard error: standard output has the rounds alone.
    fn sums(&self) {
        self.tally.lines().iter().for_each(|line| progress::say(line));
    }

    fn keep(&self, round: &Round) -> Result<Trends> {
        round.keep(&self.store)?;
        let filter = Filter {
            target: Some(self.args.target.clone()),
            kind: Some(self.task.kind().to_owned()),
            label: Some(self.args.label.clone()).filter(|label| !label.is_empty()),
            limit: Some(LOOKED_BACK),
            ..Filter::default()
        };
        trend::of(&self.store, &self.args.target, &filter, self.args.level)
    }
}

/// The changes that this run confirmed.
fn newest(trends: &Trends, run: &str) -> Vec<Alert> {
    let of = |series: &report::format::trend::Series| {
        let turn = series.changes.last().filter(|turn| turn.confirmed_by == run)?;
        Some(Alert::of(&trends.target, series, turn))
    };
    trends.series.iter().filter_map(of).collect()
}

fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    // A reader that has gone does not end the watch.
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
}

/// A run that is worse than the level is repeated so often at once: two more confirm a change.
const AGAIN: usize = 2;
/// Runs that a trend is made of.
const LOOKED_BACK: u64 = 500;
/// A signal is seen within this.
const STEP: Duration = Duration::from_millis(100);
