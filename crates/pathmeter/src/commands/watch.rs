//! `pathmeter watch`: a path measured again and again, kept and judged, without any server.

mod round;

use super::alerts::Alerts;
use super::store::{failed, open};
use super::{progress, trend};
use crate::exit::Exit;
use crate::signals;
use alert::metrics::PathState;
use alert::reach::{Attempt, Reach, change};
use alert::{Alert, Word};
use cli::{Common, WatchArgs};
use engine::error::Result;
use engine::host::interrupt::Interrupt;
use linux::clock::wall_now;
use linux::privilege::Uname;
use model::time::WallTime;
use report::format::Live;
use report::format::ranges::Ranges;
use report::format::trend::Trends;
use report::harmless;
use round::{Round, Task};
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use store::{Filter, Schedule, ScheduleKey, Store};

/// Runs the command.
pub(crate) fn run(args: &WatchArgs, global: &Common) -> Result<Exit> {
    let task = Task::from_args(args)?;
    // Before anything is sent.
    let store = open(&args.store)?;
    let stop = signals::interrupt()?;
    let is_json = global.format().live == Live::Events;
    let (alerts, ranges) = (Alerts::from_args(&args.alerts, open(&args.store)?)?, Ranges::default());
    let mut watch = Watch {
        args,
        store,
        task,
        alerts,
        ranges,
        asked: signals::report_requested()?,
        is_json,
        last: Exit::Done,
    };
    let ended = watch.rounds(&stop);
    // One that is killed leaves its schedule, and the page shows it as overdue.
    let _ = watch.store.unschedule(&watch.key());
    ended?;
    watch.sums();
    watch.alerts.finish();
    Ok(watch.last)
}

struct Watch<'a> {
    args: &'a WatchArgs,
    store: Store,
    task: Task,
    alerts: Alerts<'a>,
    ranges: Ranges,
    /// Somebody wants to know the sums so far.
    asked: Arc<AtomicBool>,
    /// Rounds are lines of JSON.
    is_json: bool,
    /// The exit code if the program ended now.
    last: Exit,
}

impl Watch<'_> {
    /// Round after round, until it is to stop.
    fn rounds(&mut self, stop: &Interrupt) -> Result<()> {
        let mut round = 0;
        loop {
            round += 1;
            let is_last = self.args.rounds.is_some_and(|rounds| round >= rounds);
            let begun = Instant::now();
            let wait = if is_last { None } else { Some(self.schedule()?) };
            self.round(stop)?;
            match wait {
                Some(wait) if self.rest(begun + wait, stop) => {}
                _ => return Ok(()),
            }
        }
    }

    /// Keeps when the next round is due, and returns how long after this one that is.
    fn schedule(&self) -> Result<Duration> {
        let (every, now) = (self.args.every, wall_now());
        // A number that no other host has.
        let random = RandomState::new().hash_one(now.0) % 1000;
        let wait = every.0.saturating_add(every.0 / 10_000 * random);
        let due = WallTime(now.0.saturating_add(wait));
        self.store.schedule(&Schedule { key: self.key(), every, latest: now, due }).map_err(failed)?;
        Ok(Duration::from_nanos(wait))
    }

    fn key(&self) -> ScheduleKey {
        ScheduleKey {
            host: Uname::get().host,
            target: self.args.kept.clone(),
            kind: self.task.kind().to_owned(),
            label: self.args.label.clone(),
        }
    }

    /// Measures, keeps and judges; what is suspicious is measured again at once.
    fn round(&mut self, stop: &Interrupt) -> Result<()> {
        for attempt in 0..=AGAIN {
            let round = self.task.measure()?;
            if stop.is_raised() {
                return Ok(());
            }
            let trends = self.keep(&round)?;
            self.last = match round.exit {
                Exit::Unreachable => Exit::Unreachable,
                _ if trends.is_worse() => Exit::Regression,
                _ => Exit::Done,
            };
            self.ranges.add(round.exit != Exit::Unreachable, round.figures());
            match self.is_json {
                true => say(harmless::json(&round.json()).trim_end()),
                false => say(&round.line()),
            }
            let is_new = self.reach(&round, attempt)?;
            for change in Alert::of_trends(&trends, |run| run == round.begun.id) {
                self.report(&change)?;
            }
            self.alerts.note(&states(&round, &trends), &round.begun.target);
            if !is_new && !trends.series.iter().any(|series| series.is_suspicious) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Reports when the far end cannot be reached any more, and when it can again. True: the first attempt failed, and another
    /// one is to confirm it.
    fn reach(&self, round: &Round, attempt: usize) -> Result<bool> {
        let label = &self.args.label;
        let reported =
            self.store.last_alert(&round.begun.target, self.task.kind(), label, "").map_err(failed)?;
        let reach = match round.failure() {
            None => Reach::Measured,
            Some(_) if attempt == 0 && reported.as_deref() != Some(Word::Unreachable.name()) => {
                return Ok(true);
            }
            Some(why) => Reach::Failed(why.to_owned()),
        };
        let attempt = Attempt { target: &round.begun.target, kind: self.task.kind(), run: &round.begun.id };
        change(reported.as_deref(), attempt, &reach).map_or(Ok(()), |alert| self.report(&alert))?;
        Ok(false)
    }

    /// Reports a change once, also by a watch that was killed after the run was kept.
    fn report(&self, alert: &Alert) -> Result<()> {
        if !self.alerts.notify(alert)? {
            return Ok(());
        }
        let line = format!("ALERT {}", alert.text);
        match self.is_json {
            // Standard output has JSON, and is no place for lines.
            true => progress::say(&line),
            false => say(&line),
        }
        Ok(())
    }

    /// Waits until the next round is due. False: it is to stop.
    fn rest(&self, due: Instant, stop: &Interrupt) -> bool {
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
        self.ranges.lines().iter().for_each(|line| progress::say(line));
    }

    fn keep(&self, round: &Round) -> Result<Trends> {
        round.keep(&self.store)?;
        let filter = Filter {
            kind: Some(self.task.kind().to_owned()),
            label: Some(self.args.label.clone()).filter(|label| !label.is_empty()),
            limit: Some(LOOKED_BACK),
            ..Filter::default()
        };
        trend::trends_of_store(&self.store, &self.args.kept, &filter, self.args.level)
    }
}

/// How the path stands after a round.
fn states(round: &Round, trends: &Trends) -> Vec<PathState> {
    let state = |kind: &str, figure: &str, alert, is_active| PathState {
        target: trends.target.clone(),
        kind: kind.to_owned(),
        figure: figure.to_owned(),
        alert,
        is_active,
    };
    let path = state(&round.begun.kind, "", Word::Unreachable.name(), round.failure().is_some());
    let figures = trends.series.iter().map(|one| state(&one.kind, &one.figure, "worse", one.is_worse));
    std::iter::once(path).chain(figures).collect()
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
/// A signal is noticed within this time.
const STEP: Duration = Duration::from_millis(100);
