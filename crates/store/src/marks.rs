//! Stored facts about trends: known changes, reported changes, and alerts that are still to be delivered.

use crate::database::{Value, to_sql};
use crate::{Filter, Result, Store};
use model::history::{Mark, Sample};
use model::time::WallTime;
use serde::{Serialize, Serializer};

/// Time of a path's change, and its note.
pub type KnownChange = (WallTime, String);

/// A change that is reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// The run that confirmed it.
    pub run: &'a str,
    /// The figure; empty: the path itself.
    pub figure: &'a str,
    /// The change, in a word.
    pub change: &'a str,
}

/// An alert that was not delivered yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undelivered {
    /// Time of the report.
    pub since: WallTime,
    /// The alert, as it was given.
    pub alert: String,
}

/// A change that was reported.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Alerted {
    /// The run that confirmed it.
    pub run: String,
    /// The far end.
    pub target: String,
    /// The command.
    pub kind: String,
    /// The figure; empty: the path itself.
    pub figure: String,
    /// The change, in a word.
    pub change: String,
    /// Start of the run; RFC 3339 in JSON.
    #[serde(serialize_with = "as_text")]
    pub at: WallTime,
    /// Number of receivers that did not get it yet.
    pub waiting: u64,
}

impl Store {
    /// The changes that were reported, of one far end or of all, the latest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn alerts(&self, target: Option<&str>, limit: u64) -> Result<Vec<Alerted>> {
        let select = "SELECT alerts.run, target, kind, alerts.figure, alerts.change, started, \
                      (SELECT count(*) FROM outbox WHERE outbox.run = alerts.run AND outbox.figure = alerts.figure \
                      AND outbox.change = alerts.change) FROM alerts JOIN runs ON alerts.run = id";
        let (condition, mut values): (&str, Vec<Value>) = match target {
            Some(target) => (" WHERE target = $1", vec![target.into()]),
            None => ("", Vec::new()),
        };
        values.push(i64::try_from(limit).unwrap_or(i64::MAX).into());
        let place = values.len();
        let sorting = "ORDER BY started DESC, alerts.run, alerts.figure, alerts.change";
        let sql = format!("{select}{condition} {sorting} LIMIT ${place}");
        let alerted = |mut row: crate::database::ResultRow| Alerted {
            run: row.text(0),
            target: row.text(1),
            kind: row.text(2),
            figure: row.text(3),
            change: row.text(4),
            at: row.time(5),
            waiting: row.int(6).and_then(|count| count.try_into().ok()).unwrap_or_default(),
        };
        Ok(self.database.rows(&sql, &values)?.into_iter().map(alerted).collect())
    }

    /// Stores a mark; an existing mark of the same target and time gets the new note.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn mark(&self, mark: &Mark) -> Result<()> {
        let insert = "INSERT INTO marks (target, at, note) VALUES ($1, $2, $3) \
                      ON CONFLICT (target, at) DO UPDATE SET note = excluded.note";
        let values = [(&mark.target).into(), to_sql(mark.at).into(), (&mark.note).into()];
        self.database.execute(insert, &values).map(drop)
    }

    /// Data for the trends of a target: its runs by this filter, and the known times of change.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn marked_series(&self, target: &str, filter: &Filter) -> Result<(Vec<Sample>, Vec<KnownChange>)> {
        let filter = Filter { target: Some(target.to_owned()), ..filter.clone() };
        let marks = self.marks(target)?.into_iter().map(|mark| (mark.at, mark.note)).collect();
        Ok((self.series(&filter)?, marks))
    }

    /// The marks of a target, the earliest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn marks(&self, target: &str) -> Result<Vec<Mark>> {
        let select = "SELECT target, at, note FROM marks WHERE target = $1 ORDER BY at";
        let rows = self.database.rows(select, &[target.into()])?;
        Ok(rows.into_iter().map(mark).collect())
    }

    /// The marks of every target, or of one, between two times, the earliest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn marks_of(&self, filter: &Filter) -> Result<Vec<Mark>> {
        let rows = self.database.rows("SELECT target, at, note FROM marks ORDER BY at, target", &[])?;
        let is_asked = |mark: &Mark| {
            filter.target.as_ref().is_none_or(|target| *target == mark.target)
                && filter.since.is_none_or(|since| since <= mark.at)
                && filter.before.is_none_or(|before| mark.at < before)
        };
        Ok(rows.into_iter().map(mark).filter(is_asked).collect())
    }

    /// The last reported change of a path itself, or of one of its figures.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn last_alert(&self, target: &str, kind: &str, label: &str, figure: &str) -> Result<Option<String>> {
        let select = "SELECT change FROM alerts JOIN runs ON run = id \
                      WHERE target = $1 AND kind = $2 AND label = $3 AND figure = $4 ORDER BY started DESC LIMIT 1";
        let values = [target.into(), kind.into(), label.into(), figure.into()];
        Ok(self.database.rows(select, &values)?.pop().map(|mut row| row.text(0)))
    }

    /// Records that a change is reported now, and stores the alert for each of these receivers until [`Store::delivered`], both
    /// or neither. False: the change was reported before.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn alert(
        &self,
        reported: Change<'_>,
        alert: &str,
        since: WallTime,
        receivers: &[String],
    ) -> Result<bool> {
        let insert = "INSERT INTO alerts (run, figure, change) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        let keep = "INSERT INTO outbox (run, figure, change, receiver, since, alert) \
                    VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING";
        self.database.at_once(|| {
            let is_new = self.database.execute(insert, &reported.values())? > 0;
            for receiver in receivers.iter().filter(|_| is_new) {
                let [run, figure, change] = reported.values();
                let values = [run, figure, change, receiver.into(), to_sql(since).into(), alert.into()];
                self.database.execute(keep, &values)?;
            }
            Ok(is_new)
        })
    }

    /// The alerts that a receiver did not get yet, the oldest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn undelivered(&self, receiver: &str) -> Result<Vec<Undelivered>> {
        let select = "SELECT since, alert FROM outbox WHERE receiver = $1 ORDER BY since, run, figure";
        let rows = self.database.rows(select, &[receiver.into()])?;
        let undelivered =
            |mut row: crate::database::ResultRow| Undelivered { since: row.time(0), alert: row.text(1) };
        Ok(rows.into_iter().map(undelivered).collect())
    }

    /// Removes an alert that a receiver has got, or never accepts.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn delivered(&self, reported: Change<'_>, receiver: &str) -> Result<()> {
        let delete = "DELETE FROM outbox WHERE run = $1 AND figure = $2 AND change = $3 AND receiver = $4";
        let [run, figure, change] = reported.values();
        self.database.execute(delete, &[run, figure, change, receiver.into()]).map(drop)
    }
}

fn as_text<S: Serializer>(time: &WallTime, to: S) -> std::result::Result<S::Ok, S::Error> {
    to.collect_str(time)
}

fn mark(mut row: crate::database::ResultRow) -> Mark {
    Mark { target: row.text(0), at: row.time(1), note: row.text(2) }
}

impl Change<'_> {
    fn values(self) -> [Value; 3] {
        [self.run.into(), self.figure.into(), self.change.into()]
    }
}
