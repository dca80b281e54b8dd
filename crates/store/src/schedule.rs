//! The time of a path's next measurement: a `watch` stores it here, so that a page can show when the next run is due, and whether
//! it is overdue.

use crate::database::{ResultRow, Value, to_sql};
use crate::{Result, Store};
use model::time::WallTime;
use model::units::Nanos;
use serde::Deserialize;

/// The key of a schedule: one host measures one path.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScheduleKey {
    /// The host that measures.
    pub host: String,
    /// The far end, as runs name it.
    pub target: String,
    /// The command: `measure`.
    pub kind: String,
    /// The label of its runs; empty: none.
    #[serde(default)]
    pub label: String,
}

/// A path that is measured repeatedly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Its key.
    pub key: ScheduleKey,
    /// Time from the start of one round to that of the next.
    pub every: Nanos,
    /// Start of the latest round, by the clock of its host.
    pub latest: WallTime,
    /// Planned start of the next one, likewise.
    pub due: WallTime,
}

impl Schedule {
    /// True: the next round should have begun, and neither a short wait nor a busy host explains the delay.
    #[must_use]
    pub fn is_overdue(&self, now: WallTime) -> bool {
        let late = now.0.saturating_sub(self.due.0);
        late > (self.every.0 / 2).max(LEAST_LATE.0)
    }
}

impl Store {
    /// Stores the time of a path's next measurement, in place of the previous one.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn schedule(&self, schedule: &Schedule) -> Result<()> {
        let insert = "INSERT INTO schedules (host, target, kind, label, every, latest, due) \
                      VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (host, target, kind, label) \
                      DO UPDATE SET every = excluded.every, latest = excluded.latest, due = excluded.due";
        let Schedule { key, every, latest, due } = schedule;
        let [host, target, kind, label] = key.values();
        let every = i64::try_from(every.0).unwrap_or(i64::MAX);
        let values = [host, target, kind, label, every.into(), to_sql(*latest).into(), to_sql(*due).into()];
        self.database.execute(insert, &values).map(drop)
    }

    /// Removes the schedule of a path. True: there was one.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn unschedule(&self, key: &ScheduleKey) -> Result<bool> {
        let delete = "DELETE FROM schedules WHERE host = $1 AND target = $2 AND kind = $3 AND label = $4";
        Ok(self.database.execute(delete, &key.values())? > 0)
    }

    /// Every schedule, of one far end or of all, the one due first in front.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn schedules(&self, target: Option<&str>) -> Result<Vec<Schedule>> {
        let select = "SELECT host, target, kind, label, every, latest, due FROM schedules";
        let (condition, values): (&str, Vec<Value>) = match target {
            Some(target) => (" WHERE target = $1", vec![target.into()]),
            None => ("", Vec::new()),
        };
        let sql = format!("{select}{condition} ORDER BY due, host, target, kind, label");
        Ok(self.database.rows(&sql, &values)?.into_iter().map(schedule_of).collect())
    }
}

impl ScheduleKey {
    fn values(&self) -> [Value; 4] {
        [&self.host, &self.target, &self.kind, &self.label].map(Value::from)
    }
}

fn schedule_of(mut row: ResultRow) -> Schedule {
    let key = ScheduleKey { host: row.text(0), target: row.text(1), kind: row.text(2), label: row.text(3) };
    let [every, latest, due] = [4, 5, 6].map(|column| row.time(column));
    Schedule { key, every: Nanos(every.0), latest, due }
}

/// Least delay of a round that counts as missed: the round before may take that long.
const LEAST_LATE: Nanos = Nanos::from_secs(60);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_is_overdue_after_half_its_time_and_a_minute_at_least() {
        let seconds = |seconds: u64| WallTime(seconds * 1_000_000_000);
        let schedule = |every: u64| Schedule {
            key: ScheduleKey::default(),
            every: Nanos::from_secs(every),
            latest: seconds(0),
            due: seconds(every),
        };
        let overdue = |every: u64, now: u64| schedule(every).is_overdue(seconds(now));
        assert_eq!([overdue(900, 0), overdue(900, 1_350), overdue(900, 1_351)], [false, false, true]);
        assert_eq!([overdue(10, 70), overdue(10, 71)], [false, true]);
    }
}
