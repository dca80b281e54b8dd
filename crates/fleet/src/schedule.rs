//! When something repeats: `@every 15m`, or five cron fields in a time zone, each moved by a jitter of its own.
//!
//! Times do not depend on when a coordinator was started: `@every` counts from 1970 in UTC, and the jitter is made of the
//! job's name. So two coordinators, or one before and after a restart, expect the same runs at the same times.

use crate::error::{FleetError, Result};
use chrono::{DateTime, Utc};
use chrono_tz::Tz;
use croner::Cron;
use croner::parser::{CronParser, Seconds};
use model::time::WallTime;
use model::units::Nanos;
use std::iter::successors;
use std::str::FromStr;
use uuid::Uuid;

/// When a job repeats.
#[derive(Clone, Debug)]
pub struct Schedule {
    repeat: Repeat,
    jitter: Nanos,
}

#[derive(Clone, Debug)]
enum Repeat {
    Every(Nanos),
    Cron(Box<Cron>, Tz),
}

impl Schedule {
    /// Reads `@every SPAN`, `@hourly`, `@daily` and their like, or five cron fields (POSIX, with names, `L`, `W` and `#`), in the
    /// time zone (`Europe/Berlin`; UTC when none is given). Where clocks go forward, a time that does not exist is the next
    /// that does; where they go back, a time of day comes once.
    ///
    /// The jitter of a job is at most `splay`, by default a tenth of the time between two runs and at most five minutes:
    /// jobs that are all due on the hour do not start together. `job` is the name that it is made of.
    ///
    /// # Errors
    /// [`FleetError::Schedule`]: it cannot be read, names an unknown zone, repeats in less than a second, or never.
    pub fn parse(text: &str, zone: Option<&str>, job: &str, splay: Option<Nanos>) -> Result<Schedule> {
        let fault = |why: String| FleetError::Schedule { text: text.to_owned(), why };
        let repeat = match text.trim().strip_prefix("@every") {
            Some(_) if zone.is_some() => return Err(fault("@every has no time zone".to_owned())),
            Some(span) => {
                Repeat::Every(Nanos::from_str(span.trim()).map_err(|error| fault(error.to_string()))?)
            }
            None => {
                let parser = CronParser::builder().seconds(Seconds::Disallowed).build();
                let cron = parser.parse(text.trim()).map_err(|error| fault(error.to_string()))?;
                let zone = zone.unwrap_or("UTC");
                let zone =
                    Tz::from_str(zone).map_err(|_| fault(format!("no time zone is called `{zone}`")))?;
                Repeat::Cron(Box::new(cron), zone)
            }
        };
        let mut schedule = Schedule { repeat, jitter: Nanos::ZERO };
        let period = schedule.period().ok_or_else(|| fault("it never comes due".to_owned()))?;
        if period < Nanos::from_secs(1) {
            return Err(fault("it repeats in less than a second".to_owned()));
        }
        let splay = splay.unwrap_or(Nanos(period.0 / 10).min(Nanos::from_secs(300))).min(period);
        schedule.jitter = jitter(job, splay);
        Ok(schedule)
    }

    /// The first time after `after` that a run is due, jitter included; `None` when there is none.
    #[must_use]
    pub fn next(&self, after: WallTime) -> Option<WallTime> {
        let before_jitter = WallTime(after.0.saturating_sub(self.jitter.0));
        Some(self.nominal(before_jitter)? + self.jitter)
    }

    fn nominal(&self, after: WallTime) -> Option<WallTime> {
        match &self.repeat {
            Repeat::Every(span) => {
                let passed = after.0.checked_div(span.0)?;
                passed.checked_add(1)?.checked_mul(span.0).map(WallTime)
            }
            Repeat::Cron(cron, zone) => {
                let after = DateTime::<Utc>::from_timestamp_nanos(i64::try_from(after.0).ok()?);
                let next = cron.find_next_occurrence(&after.with_timezone(zone), false).ok()?;
                u64::try_from(next.timestamp_nanos_opt()?).ok().map(WallTime)
            }
        }
    }

    /// The shortest of a few times between two runs.
    fn period(&self) -> Option<Nanos> {
        if let Repeat::Every(span) = &self.repeat {
            return Some(*span).filter(|span| *span > Nanos::ZERO);
        }
        let first = self.nominal(WallTime(SOME_TIME))?;
        let times: Vec<WallTime> = successors(Some(first), |last| self.nominal(*last)).take(9).collect();
        let periods = times.windows(2).map(|pair| pair[1] - pair[0]);
        // A schedule that comes only once more has no period.
        Some(periods.min().unwrap_or(Nanos::from_secs(86_400)))
    }
}

/// A part of `splay` that is made of the job's name alone.
fn jitter(job: &str, splay: Nanos) -> Nanos {
    let number = Uuid::new_v5(&Uuid::NAMESPACE_OID, job.as_bytes()).as_u128();
    Nanos((number % (u128::from(splay.0) + 1)) as u64)
}

/// 2026-01-01T00:00:00Z: where a schedule's period is looked at.
const SOME_TIME: u64 = 1_767_225_600_000_000_000;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(text: &str) -> WallTime {
        text.parse().expect("a time")
    }

    fn exact(text: &str, zone: Option<&str>) -> Schedule {
        Schedule::parse(text, zone, "job", Some(Nanos::ZERO)).expect("a schedule")
    }

    fn due(schedule: &Schedule, after: &str, count: usize) -> Vec<String> {
        let mut last = at(after);
        let mut times = Vec::new();
        for _ in 0..count {
            last = schedule.next(last).expect("a next time");
            times.push(last.to_string());
        }
        times
    }

    #[test]
    fn every_counts_from_the_epoch() {
        let schedule = exact("@every 15m", None);
        assert_eq!(
            due(&schedule, "2026-11-23T09:50:00Z", 2),
            ["2026-11-23T10:00:00.000Z", "2026-11-23T10:15:00.000Z"]
        );
        assert_eq!(due(&schedule, "2026-11-23T10:00:00Z", 1), ["2026-11-23T10:15:00.000Z"]);
    }

    /// POSIX: day 1 of the week is Monday, and a day of the month or a day of the week is enough.
    #[test]
    fn cron_has_the_days_of_posix() {
        let monday = exact("0 3 * * 1", None);
        assert_eq!(due(&monday, "2026-11-23T09:50:00Z", 1), ["2026-11-30T03:00:00.000Z"]);
        let either = exact("0 0 1 * 5", None);
        let expected = ["2026-11-27T00:00:00.000Z", "2026-12-01T00:00:00.000Z", "2026-12-04T00:00:00.000Z"];
        assert_eq!(due(&either, "2026-11-23T09:50:00Z", 3), expected);
    }

    #[test]
    fn cron_follows_the_zone_through_summer_time() {
        let night = exact("0 3 * * *", Some("Europe/Berlin"));
        let expected = ["2026-10-24T01:00:00.000Z", "2026-10-25T02:00:00.000Z", "2026-10-26T02:00:00.000Z"];
        assert_eq!(due(&night, "2026-10-23T12:00:00Z", 3), expected);
        // 02:30 does not exist on that day, and is due once all the same.
        let gap = exact("30 2 * * *", Some("Europe/Berlin"));
        let days: Vec<String> =
            due(&gap, "2027-03-27T12:00:00Z", 2).iter().map(|time| time[..10].to_owned()).collect();
        assert_eq!(days, ["2027-03-28", "2027-03-29"]);
        // 02:30 exists twice on that day, and is due once.
        let fold = due(&gap, "2026-10-24T12:00:00Z", 2);
        assert!(fold[0].starts_with("2026-10-25") && fold[1].starts_with("2026-10-26"), "{fold:?}");
    }

    #[test]
    fn faults_are_named() {
        for (text, zone, part) in [
            ("@every 0s", None, "never"),
            ("@every 10ms", None, "less than a second"),
            ("@every soon", None, "soon"),
            ("@every 1h", Some("UTC"), "no time zone"),
            ("0 3 * *", None, ""),
            ("61 3 * * *", None, ""),
            ("0 3 * * *", Some("Mars/Olympus"), "Mars/Olympus"),
            ("0 0 31 2 *", None, "never"),
            ("* * * * * *", None, ""),
            ("", None, ""),
        ] {
            let error = Schedule::parse(text, zone, "job", None).expect_err(text).to_string();
            assert!(error.contains(part) && error.contains("schedule"), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn jitter_is_the_jobs_own_and_within_the_splay(job in "[a-z]{1,12}", after in 0_u64..4_000_000_000) {
            let first = Schedule::parse("@every 1h", None, &job, None).expect("a schedule");
            let other = Schedule::parse("@every 1h", None, &job, None).expect("a schedule");
            let after = WallTime(after * 1_000_000_000);
            prop_assert_eq!(first.next(after), other.next(after));
            prop_assert!(first.jitter <= Nanos::from_secs(300));
            let next = first.next(after).expect("a next time");
            prop_assert!(next > after && next - after <= Nanos::from_secs(3600));
        }
    }

    #[test]
    fn jobs_of_one_time_are_spread() {
        let starts: std::collections::BTreeSet<u64> = (0..50)
            .map(|job| Schedule::parse("0 3 * * *", None, &format!("job{job}"), None).expect("a schedule"))
            .map(|schedule| schedule.jitter.0 / 1_000_000_000)
            .collect();
        assert!(starts.len() > 30, "{starts:?}");
    }
}
