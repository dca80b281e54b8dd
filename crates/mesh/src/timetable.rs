//! A mesh that is measured again and again. Every time that it is due is expected, and one at which it was not measured is a
//! missed run with its reason.

use engine::error::{Failure, Result};
use fleet::clock::Clock;
use fleet::coordinator::Sink;
use fleet::ledger::{LedgerRow, RunState};
use fleet::mesh::MeshPlan;
use fleet::name::run_name;
use fleet::schedule::Schedule;
use model::time::WallTime;
use model::units::Nanos;

/// When a mesh is measured.
#[derive(Clone, Debug)]
pub struct Timetable {
    schedule: Schedule,
    name: String,
}

/// A mesh at one of its times.
#[derive(Clone, Debug, Default)]
pub struct Occasion {
    /// Its runs.
    pub plan: MeshPlan,
    /// Titles of runs that cannot be, and why.
    pub missing: Vec<(String, String)>,
}

/// Carries out meshes on a schedule. The coordinator computes the schedule itself: the same times on every host and after every
/// restart, whatever the server can do.
pub struct Series<'a> {
    /// When.
    pub timetable: &'a Timetable,
    /// The clock of this host.
    pub clock: &'a dyn Clock,
    /// Waits until a time, or less; false: it was stopped.
    pub wait: &'a mut dyn FnMut(WallTime) -> bool,
    /// The runs of the mesh of this name, as agents are there now; or why there are none.
    pub plan: &'a mut dyn FnMut(&str) -> Result<std::result::Result<Occasion, String>>,
    /// Measures them; false: it was stopped.
    pub measure: &'a mut dyn FnMut(MeshPlan, &mut dyn Sink) -> Result<bool>,
}

impl Timetable {
    /// Reads a schedule: `@every 15m`, or five cron fields in a time zone. `name` identifies the mesh; its jitter is derived
    /// from it and is at most `splay`.
    ///
    /// # Errors
    /// The errors are those of [`Schedule::parse`].
    pub fn parse(
        text: &str,
        zone: Option<&str>,
        name: &str,
        splay: Option<Nanos>,
    ) -> fleet::Result<Timetable> {
        Ok(Timetable { schedule: Schedule::parse(text, zone, name, splay)?, name: name.to_owned() })
    }

    /// The name of the mesh that is due then.
    #[must_use]
    pub fn occasion(&self, due: WallTime) -> String {
        format!("{}@{due}", self.name)
    }

    /// The first time after this one.
    #[must_use]
    pub fn next(&self, after: WallTime) -> Option<WallTime> {
        self.schedule.next(after)
    }

    /// The first times after this one.
    #[must_use]
    pub fn upcoming(&self, after: WallTime, count: usize) -> Vec<WallTime> {
        std::iter::successors(self.next(after), |last| self.next(*last)).take(count).collect()
    }

    /// The times that have passed since `last`: the latest of them, and how many there were in all.
    fn passed(&self, last: WallTime, now: WallTime) -> (Vec<WallTime>, usize) {
        let mut all: Vec<WallTime> = Vec::new();
        let mut count = 0;
        let mut after = last;
        while let Some(due) = self.next(after).filter(|due| *due + LATE < now) {
            if all.len() == MOST_ROWS {
                let _ = all.remove(0);
            }
            all.push(due);
            (after, count) = (due, count + 1);
        }
        (all, count)
    }
}

impl Series<'_> {
    /// Measures at every time, until it is stopped. `last`: the last time at which a mesh began, as the results have it.
    ///
    /// # Errors
    /// The results cannot be written, or the server refuses for good.
    pub fn run(&mut self, sink: &mut dyn Sink, last: Option<WallTime>) -> Result<()> {
        let mut why = "no coordinator was at work then";
        let mut after = last.unwrap_or_else(|| self.clock.wall());
        if let Some(due) = last
            && !self.go_on(due, sink)?
        {
            return Ok(());
        }
        loop {
            let (passed, count) = self.timetable.passed(after, self.clock.wall());
            for due in &passed {
                let more = count - passed.len();
                let more = if more > 0 { format!("; so were {more} before") } else { String::new() };
                self.missed(sink, *due, "every pair", &format!("{why}{more}"))?;
            }
            after = passed.last().copied().unwrap_or(after);
            let Some(due) = self.timetable.next(after) else { return Ok(()) };
            while self.clock.wall() < due {
                if !(self.wait)(due) {
                    return Ok(());
                }
            }
            sink.begins(due).map_err(unwritten)?;
            if !self.measure(due, sink)? {
                return Ok(());
            }
            (after, why) = (due, "the one before it had not ended");
        }
    }

    /// Resumes an occurrence that a crash interrupted, as its runs have the same names, unless the next one is due.
    fn go_on(&mut self, due: WallTime, sink: &mut dyn Sink) -> Result<bool> {
        if self.timetable.next(due).is_some_and(|next| self.clock.wall() < next) {
            return self.measure(due, sink);
        }
        if let Ok(Occasion { plan, .. }) = (self.plan)(&self.timetable.occasion(due))? {
            for run in plan.all() {
                if sink.has(&run.job.run) {
                    continue;
                }
                let row = LedgerRow::missed(run, due, "the coordinator stopped before it ended");
                sink.missed(&run.job.run, &row).map_err(unwritten)?;
            }
        }
        Ok(true)
    }

    fn measure(&mut self, due: WallTime, sink: &mut dyn Sink) -> Result<bool> {
        match (self.plan)(&self.timetable.occasion(due))? {
            Err(why) => self.missed(sink, due, "every pair", &why).map(|()| true),
            Ok(Occasion { plan, missing }) => {
                for (title, why) in missing {
                    self.missed(sink, due, &title, &why)?;
                }
                (self.measure)(plan, sink)
            }
        }
    }

    fn missed(&self, sink: &mut dyn Sink, due: WallTime, title: &str, why: &str) -> Result<()> {
        let run = run_name(&[&self.timetable.occasion(due), title, "missed"]);
        let state = RunState::Missed { reason: why.to_owned() };
        let row = LedgerRow { title: title.to_owned(), due, deadline: due, state, ..LedgerRow::default() };
        Ok(sink.missed(&run, &row).map_err(unwritten)?)
    }
}

fn unwritten(why: String) -> Failure {
    Failure::usage(format!("write the results: {why}"), "name a folder that this user may write")
}

/// One that is a little late is carried out all the same.
const LATE: Nanos = Nanos::from_secs(1);
/// Rows of missed times of one gap; what is before them is counted.
const MOST_ROWS: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;
    use fleet::results::InMemory;
    use model::time::MonoTime;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Hands(AtomicU64);

    impl Clock for Hands {
        fn mono(&self) -> MonoTime {
            MonoTime(self.0.load(Ordering::SeqCst))
        }
        fn wall(&self) -> WallTime {
            WallTime(self.0.load(Ordering::SeqCst))
        }
    }

    const MINUTE: u64 = 60_000_000_000;

    /// Runs `count` meshes that take this long each, from minute 100 on; the names of those that began, and the missed rows.
    fn run(last: Option<u64>, takes: u64, count: usize) -> (Vec<String>, Vec<(String, String)>) {
        let clock = Hands(AtomicU64::new(100 * MINUTE + 1));
        let timetable = Timetable::parse("@every 10m", None, "m", Some(Nanos::ZERO)).expect("a schedule");
        let results = InMemory::default();
        let mut sink = results.clone();
        let mut begun = Vec::new();
        let mut left = count;
        let mut series = Series {
            timetable: &timetable,
            clock: &clock,
            wait: &mut |due| {
                clock.0.store(due.0, Ordering::SeqCst);
                true
            },
            plan: &mut |name| {
                begun.push(name.to_owned());
                Ok(match begun.len() {
                    2 => Err("no agent is there".to_owned()),
                    _ => Ok(Occasion { plan: MeshPlan::default(), missing: Vec::new() }),
                })
            },
            measure: &mut |_, _| {
                clock.0.fetch_add(takes, Ordering::SeqCst);
                left -= 1;
                Ok(left > 0)
            },
        };
        series.run(&mut sink, last.map(|minute| WallTime(minute * MINUTE))).expect("it was stopped");
        let row = |row: &LedgerRow| {
            ((row.due.0 / MINUTE).to_string(), row.state.reason().unwrap_or_default().to_owned())
        };
        let mut missed: Vec<(String, String)> = results.all().missed.values().map(row).collect();
        missed.sort();
        (begun, missed)
    }

    fn name(minute: u64) -> String {
        format!("m@{}", WallTime(minute * MINUTE))
    }

    fn row(minute: u64, why: &str) -> (String, String) {
        (minute.to_string(), why.to_owned())
    }

    #[test]
    fn a_first_coordinator_misses_nothing_and_one_without_agents_is_reported() {
        let (begun, missed) = run(None, MINUTE, 2);
        assert_eq!(begun, [name(110), name(120), name(130)]);
        assert_eq!(missed, [row(120, "no agent is there")]);
    }

    #[test]
    fn times_without_a_coordinator_are_missed_and_what_was_cut_off_goes_on() {
        let (begun, missed) = run(Some(70), MINUTE, 2);
        assert_eq!(begun, [name(70), name(100), name(110), name(120)]);
        let none = "no coordinator was at work then";
        assert_eq!(missed, [row(100, "no agent is there"), row(80, none), row(90, none)]);
        let (begun, missed) = run(Some(100), MINUTE, 2);
        assert_eq!(begun, [name(100), name(110), name(120)]);
        assert_eq!(missed, [row(110, "no agent is there")]);
    }

    #[test]
    fn times_that_the_one_before_takes_are_missed() {
        let (begun, missed) = run(None, 25 * MINUTE, 2);
        assert_eq!(begun, [name(110), name(140), name(150)]);
        let took = "the one before it had not ended";
        assert_eq!(missed, [row(120, took), row(130, took), row(140, "no agent is there")]);
    }
}
