//! Queries of the tables.

use crate::database::{Database, ResultRow, Value, from_sql, to_sql};
use crate::{Result, Store};
use model::history::{Entry, Fact, Headline, Origin, Sample};
use model::stats::histogram::Histogram;
use model::time::WallTime;
use std::collections::HashMap;
use std::time::Duration;

/// Conditions on runs; empty fields select every run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// The whole name of the run.
    pub id: Option<String>,
    /// The command: `measure`.
    pub kind: Option<String>,
    /// The far end.
    pub target: Option<String>,
    /// The label.
    pub label: Option<String>,
    /// Any of these labels; empty: all runs.
    pub labels: Vec<String>,
    /// A part of the far end, of the label or of the note, in upper or lower case.
    pub find: Option<String>,
    /// The word of the verdict: `ok`, `problem`.
    pub status: Option<String>,
    /// Only runs that have not ended, or were cut off.
    pub unended: bool,
    /// Runs that began then or later.
    pub since: Option<WallTime>,
    /// Runs that began before.
    pub before: Option<WallTime>,
    /// The order of the list.
    pub order: ListOrder,
    /// Runs behind the run of this name in the order of the list: the next page. Runs may have begun at the same time.
    pub after: Option<String>,
    /// Number of runs to skip, from the front of the order: the pages before this one.
    pub skip: u64,
    /// Largest number of runs, from the front of the order.
    pub limit: Option<u64>,
}

/// The order of a list. Runs that are equal in it are listed latest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ListOrder {
    /// The latest first.
    #[default]
    Latest,
    /// The earliest first.
    Earliest,
    /// By far end.
    Target,
    /// By label.
    Label,
    /// The worst verdict first; runs that have not ended precede good ones.
    Verdict,
}

impl ListOrder {
    /// The expression by which it orders, where there is one before the time.
    fn key(self) -> Option<&'static str> {
        match self {
            ListOrder::Latest | ListOrder::Earliest => None,
            ListOrder::Target => Some("target"),
            ListOrder::Label => Some("label"),
            ListOrder::Verdict => Some(
                "CASE status WHEN 'problem' THEN 0 WHEN 'void' THEN 1 WHEN 'broken' THEN 2 WHEN 'degraded' THEN 3 \
                 WHEN 'ok' THEN 5 ELSE 4 END",
            ),
        }
    }

    fn sql(self) -> String {
        match (self, self.key()) {
            (ListOrder::Earliest, _) => "started, id".into(),
            (_, None) => "started DESC, id".into(),
            (_, Some(key)) => format!("{key}, started DESC, id"),
        }
    }

    /// The condition for runs behind the run whose name is the parameter of this place.
    fn behind(self, place: usize) -> String {
        let of_run = |what: &str| format!("(SELECT {what} FROM runs WHERE id = ${place})");
        let begin = of_run("started");
        let earlier = if self == ListOrder::Earliest { ">" } else { "<" };
        let in_time = format!("(started {earlier} {begin} OR (started = {begin} AND id > ${place}))");
        match self.key() {
            None => in_time,
            Some(key) => {
                let own = of_run(key);
                format!("(({key}) > {own} OR (({key}) = {own} AND {in_time}))")
            }
        }
    }
}

/// The conditions of a filter, and their values.
struct Chosen {
    conditions: String,
    values: Vec<Value>,
}

impl Filter {
    fn conditions(&self) -> Chosen {
        let wanted: [(&str, Value); 7] = [
            ("id =", self.id.as_deref().into()),
            ("kind =", self.kind.as_deref().into()),
            ("target =", self.target.as_deref().into()),
            ("label =", self.label.as_deref().into()),
            ("status =", self.status.as_deref().into()),
            ("started >=", self.since.map(to_sql).into()),
            ("started <", self.before.map(to_sql).into()),
        ];
        let (mut conditions, mut values) = (Vec::new(), Vec::new());
        for (condition, value) in wanted.into_iter().filter(|(_, value)| *value != Value::Null) {
            values.push(value);
            conditions.push(format!("{condition} ${}", values.len()));
        }
        if !self.labels.is_empty() {
            let first = values.len() + 1;
            values.extend(self.labels.iter().map(Value::from));
            let places: Vec<String> = (first..=values.len()).map(|place| format!("${place}")).collect();
            conditions.push(format!("label IN ({})", places.join(", ")));
        }
        if let Some(find) = &self.find {
            // Databases convert only ASCII letters to lower case: other letters match in their own case.
            values
                .extend([find.to_lowercase(), find.clone()].map(|part| Value::from(pattern(&part).as_str())));
            let like = |place: usize| format!("LIKE ${place} ESCAPE '!'");
            let (small, own) = (like(values.len() - 1), like(values.len()));
            let noted = format!("SELECT run FROM notes WHERE lower(note) {small} OR note {own}");
            conditions.push(format!(
                "(lower(target) {small} OR lower(label) {small} OR target {own} OR label {own} OR id IN ({noted}))"
            ));
        }
        if self.unended {
            conditions.push("status IS NULL".into());
        }
        if let Some(after) = &self.after {
            values.push(after.as_str().into());
            conditions.push(self.order.behind(values.len()));
        }
        let conditions = if conditions.is_empty() {
            String::new()
        } else {
            format!(" WHERE {}", conditions.join(" AND "))
        };
        Chosen { conditions, values }
    }

    /// The runs of the filter in the order of lists: `columns` of them.
    fn select(&self, columns: &str) -> Chosen {
        let Chosen { conditions, mut values } = self.conditions();
        let at_most = self.limit.map_or(i64::MAX, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
        values.push(at_most.into());
        values.push(i64::try_from(self.skip).unwrap_or(i64::MAX).into());
        let (limit, offset) = (values.len() - 1, values.len());
        let sorting = format!("ORDER BY {} LIMIT ${limit} OFFSET ${offset}", self.order.sql());
        Chosen { conditions: format!("SELECT {columns} FROM runs{conditions} {sorting}"), values }
    }
}

/// A pattern for any text with this part, with special characters escaped.
fn pattern(part: &str) -> String {
    format!("%{}%", part.replace('!', "!!").replace('%', "!%").replace('_', "!_"))
}

/// The columns of an entry. A run counts as being measured as long as its program updates `alive`.
fn columns(database: &Database) -> String {
    let since = format!("{} - {}", database.now(), ALIVE.as_nanos());
    format!(
        "id, kind, target, label, origin, started, finished, status, verdict, \
         CAST(CASE WHEN status IS NULL AND alive > {since} THEN 1 ELSE 0 END AS BIGINT), \
         (SELECT note FROM notes WHERE notes.run = runs.id)"
    )
}

impl Store {
    /// The runs that a filter selects, the latest first, with their figures: two queries, however many they are.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Entry>> {
        entries(&self.database, &filter.select(&columns(&self.database)), &filter.select("id"))
    }

    /// The latest ended run of each far end, command and label, with their figures; of the latest `looked_at` runs.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn latest(&self, looked_at: u64) -> Result<Vec<Entry>> {
        let ids = "SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY target, kind, label ORDER BY started DESC, id) AS place \
                   FROM (SELECT id, target, kind, label, started FROM runs WHERE status IS NOT NULL \
                   ORDER BY started DESC, id LIMIT $1) AS recent) AS ranked WHERE place = 1";
        let columns = columns(&self.database);
        let rows = format!("SELECT {columns} FROM runs WHERE id IN ({ids}) ORDER BY started DESC, id");
        let values: Vec<Value> = vec![i64::try_from(looked_at).unwrap_or(i64::MAX).into()];
        let ids = Chosen { conditions: ids.into(), values: values.clone() };
        entries(&self.database, &Chosen { conditions: rows, values }, &ids)
    }

    /// Number of runs that a filter selects, whatever its `skip` and `limit`.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn count(&self, filter: &Filter) -> Result<u64> {
        let Chosen { conditions, values } = filter.conditions();
        let mut rows = self.database.rows(&format!("SELECT count(*) FROM runs{conditions}"), &values)?;
        Ok(rows.first_mut().and_then(|row| row.int(0)).unwrap_or_default() as u64)
    }

    /// The names of the runs that a filter selects, the latest first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn ids(&self, filter: &Filter) -> Result<Vec<String>> {
        let Chosen { conditions: sql, values } = filter.select("id");
        self.database.texts(&sql, &values)
    }

    /// The distinct values of a column but the empty one, that of the latest run first.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn names(&self, column: Names, limit: u64) -> Result<Vec<String>> {
        let column = match column {
            Names::Targets => "target",
            Names::Labels => "label",
            Names::Kinds => "kind",
        };
        let sql = format!(
            "SELECT {column} FROM runs WHERE {column} <> '' GROUP BY {column} ORDER BY max(started) DESC, {column} LIMIT $1"
        );
        self.database.texts(&sql, &[i64::try_from(limit).unwrap_or(i64::MAX).into()])
    }

    /// Data for a trend of the runs that a filter selects, the latest first: figures without histograms, in three queries, however many
    /// they are.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn series(&self, filter: &Filter) -> Result<Vec<Sample>> {
        let Chosen { conditions: sql, values } =
            filter.select("id, kind, target, label, started, status, fingerprint");
        let (mut samples, mut fingerprints) = (Vec::new(), Vec::new());
        self.database.each(&sql, &values, |mut row| {
            fingerprints.push(row.optional_text(6));
            samples.push(Sample {
                id: row.text(0),
                kind: row.text(1),
                target: row.text(2),
                label: row.text(3),
                started: row.time(4),
                status: row.optional_text(5),
                ..Sample::default()
            });
        })?;
        let places = places(samples.iter().map(|sample: &Sample| &sample.id));
        let Chosen { conditions: inner, values } = filter.select("id");
        let sql = format!("SELECT run, name, value FROM figures WHERE run IN ({inner}) ORDER BY run, number");
        self.database.each(&sql, &values, |mut row| {
            if let Some(&place) = places.get(&row.text(0)) {
                samples[place].figures.push((row.text(1), row.real(2).unwrap_or_default()));
            }
        })?;
        let known = facts(&self.database, &filter.select("fingerprint"))?;
        for (sample, fingerprint) in samples.iter_mut().zip(fingerprints) {
            sample.facts = fingerprint.and_then(|name| known.get(&name).cloned()).unwrap_or_default();
        }
        Ok(samples)
    }
}

/// The runs of these rows, with the figures of the runs that have these names.
fn entries(database: &Database, rows: &Chosen, chosen: &Chosen) -> Result<Vec<Entry>> {
    let found = database.rows(&rows.conditions, &rows.values)?;
    let mut entries: Vec<Entry> = found.into_iter().map(entry_of).collect();
    let places = places(entries.iter().map(|entry| &entry.id));
    let sql = format!(
        "SELECT run, name, value, text FROM figures WHERE run IN ({}) ORDER BY run, number",
        chosen.conditions
    );
    database.each(&sql, &chosen.values, |mut row| {
        // Another program may have inserted a run between the two queries.
        if let Some(&place) = places.get(&row.text(0)) {
            entries[place].figures.push(headline(&mut row));
        }
    })?;
    Ok(entries)
}

pub(crate) fn entry(database: &Database, id: &str) -> Result<Option<Entry>> {
    let sql = format!("SELECT {} FROM runs WHERE id = $1", columns(database));
    let Some(row) = database.rows(&sql, &[id.into()])?.pop() else { return Ok(None) };
    let mut entry = entry_of(row);
    let sql = "SELECT run, name, value, text FROM figures WHERE run = $1 ORDER BY number";
    database.each(sql, &[id.into()], |mut row| entry.figures.push(headline(&mut row)))?;
    Ok(Some(entry))
}

/// A column by whose values runs are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Names {
    /// Far ends.
    Targets,
    /// Labels.
    Labels,
    /// Commands.
    Kinds,
}

/// The names that begin with this text: two are enough to know that it is ambiguous, and some more for the message. They are
/// adjacent in the index, up to the text followed by the last of all characters.
pub(crate) fn beginning(database: &Database, beginning: &str) -> Result<Vec<String>> {
    if beginning.is_empty() {
        return Ok(Vec::new());
    }
    let sql = "SELECT id FROM runs WHERE id >= $1 AND id < $2 ORDER BY id LIMIT 100";
    let last = format!("{beginning}{}", char::MAX);
    let found = database.texts(sql, &[beginning.into(), (&last).into()])?;
    // A complete name is meant, even where others begin with it.
    Ok(if found.iter().any(|id| id == beginning) { vec![beginning.to_owned()] } else { found })
}

pub(crate) fn events(database: &Database, id: &str) -> Result<Vec<String>> {
    database.texts("SELECT event FROM events WHERE run = $1 ORDER BY number", &[id.into()])
}

/// Further data for a comparison: the round trips of these samples of the filter.
pub(crate) fn add_histograms(database: &Database, filter: &Filter, samples: &mut [Sample]) -> Result<()> {
    let places = places(samples.iter().map(|sample: &Sample| &sample.id));
    let Chosen { conditions: inner, values } = filter.select("id");
    let sql = format!("SELECT run, name, counts FROM histograms WHERE run IN ({inner}) ORDER BY run, name");
    database.each(&sql, &values, |mut row| {
        let counted = Histogram::from_v2(&row.bytes(2)).ok().zip(places.get(&row.text(0)));
        if let Some((histogram, &place)) = counted {
            samples[place].histograms.push((row.text(1), histogram));
        }
    })
}

/// The facts of these fingerprints. Damaged ones are skipped.
fn facts(database: &Database, chosen: &Chosen) -> Result<HashMap<String, Vec<Fact>>> {
    let sql = format!(
        "SELECT id, facts FROM fingerprints WHERE id IN (SELECT fingerprint FROM ({}) AS chosen)",
        chosen.conditions
    );
    let mut known = HashMap::new();
    database.each(&sql, &chosen.values, |mut row| {
        known.insert(row.text(0), serde_json::from_str(&row.text(1)).unwrap_or_default());
    })?;
    Ok(known)
}

/// The position of each run in a list.
fn places<'a>(ids: impl Iterator<Item = &'a String>) -> HashMap<String, usize> {
    ids.cloned().zip(0..).collect()
}

/// The last three columns of run, name, value and text.
fn headline(row: &mut ResultRow) -> Headline {
    Headline { name: row.text(1), value: row.real(2).unwrap_or_default(), text: row.text(3) }
}

fn entry_of(mut row: ResultRow) -> Entry {
    Entry {
        id: row.text(0),
        kind: row.text(1),
        target: row.text(2),
        label: row.text(3),
        origin: Origin::named(&row.text(4)),
        started: row.time(5),
        finished: row.int(6).map(from_sql),
        status: row.optional_text(7),
        verdict: row.optional_text(8),
        running: row.int(9) == Some(1),
        note: row.optional_text(10).unwrap_or_default(),
        figures: Vec::new(),
    }
}

/// A program that has not updated `alive` for this long has ended.
const ALIVE: Duration = Duration::from_secs(20);
