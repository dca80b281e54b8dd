//! What is asked of the tables.

use model::history::{Entry, Headline, Origin};
use model::time::WallTime;
use rusqlite::types::ToSql;
use rusqlite::{Connection, Row, params};

/// Which runs are wanted; empty fields let every run through.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// The command: `measure`.
    pub kind: Option<String>,
    /// The far end.
    pub target: Option<String>,
    /// The label.
    pub label: Option<String>,
    /// The word of the verdict: `ok`, `problem`.
    pub status: Option<String>,
    /// Began then or later.
    pub since: Option<WallTime>,
    /// Began before.
    pub before: Option<WallTime>,
    /// At most so many, the latest.
    pub limit: Option<u64>,
}

const COLUMNS: &str = "id, kind, target, label, origin, started, finished, status, verdict";

pub(crate) fn list(db: &Connection, filter: &Filter) -> rusqlite::Result<Vec<Entry>> {
    let mut conditions: Vec<&str> = Vec::new();
    let mut values: Vec<&dyn ToSql> = Vec::new();
    let texts = [
        ("kind = ?", &filter.kind),
        ("target = ?", &filter.target),
        ("label = ?", &filter.label),
        ("status = ?", &filter.status),
    ];
    for (condition, value) in &texts {
        if let Some(value) = value {
            conditions.push(condition);
            values.push(value);
        }
    }
    let (since, before) = (filter.since.map(to_sql), filter.before.map(to_sql));
    for (condition, value) in [("started >= ?", &since), ("started < ?", &before)] {
        if let Some(value) = value {
            conditions.push(condition);
            values.push(value);
        }
    }
    let wanted =
        if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) };
    let limit = filter.limit.map_or(-1, |limit| i64::try_from(limit).unwrap_or(i64::MAX));
    values.push(&limit);
    let sql = format!("SELECT {COLUMNS} FROM runs {wanted} ORDER BY started DESC, id LIMIT ?");
    let mut select = db.prepare(&sql)?;
    let rows = select.query_map(values.as_slice(), read)?;
    let mut entries = rows.collect::<rusqlite::Result<Vec<Entry>>>()?;
    for entry in &mut entries {
        entry.figures = figures(db, &entry.id)?;
    }
    Ok(entries)
}

pub(crate) fn entry(db: &Connection, id: &str) -> rusqlite::Result<Entry> {
    let sql = format!("SELECT {COLUMNS} FROM runs WHERE id = ?1");
    let mut entry = db.query_row(&sql, params![id], read)?;
    entry.figures = figures(db, id)?;
    Ok(entry)
}

/// The names that begin so: two are enough to know that it is not one, and some more for the message. They stand together
/// in the index, up to what begins with the last of all characters.
pub(crate) fn ids(db: &Connection, beginning: &str) -> rusqlite::Result<Vec<String>> {
    if beginning.is_empty() {
        return Ok(Vec::new());
    }
    let mut select =
        db.prepare_cached("SELECT id FROM runs WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 100")?;
    let rows = select.query_map(params![beginning, format!("{beginning}{}", char::MAX)], |row| row.get(0))?;
    let found: Vec<String> = rows.collect::<rusqlite::Result<_>>()?;
    // A whole name is meant, even where others begin with it.
    Ok(if found.iter().any(|id| id == beginning) { vec![beginning.to_owned()] } else { found })
}

pub(crate) fn events(db: &Connection, id: &str) -> rusqlite::Result<Vec<String>> {
    let mut select = db.prepare_cached("SELECT event FROM events WHERE run = ?1 ORDER BY number")?;
    let rows = select.query_map(params![id], |row| row.get(0))?;
    rows.collect()
}

fn figures(db: &Connection, id: &str) -> rusqlite::Result<Vec<Headline>> {
    let sql = "SELECT name, value, text FROM figures WHERE run = ?1 ORDER BY number";
    let mut select = db.prepare_cached(sql)?;
    let read = |row: &Row<'_>| Ok(Headline { name: row.get(0)?, value: row.get(1)?, text: row.get(2)? });
    let rows = select.query_map(params![id], read)?;
    rows.collect()
}

fn read(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let origin: String = row.get(4)?;
    Ok(Entry {
        id: row.get(0)?,
        kind: row.get(1)?,
        target: row.get(2)?,
        label: row.get(3)?,
        origin: Origin::named(&origin),
        started: from_sql(row.get(5)?),
        finished: row.get::<_, Option<i64>>(6)?.map(from_sql),
        status: row.get(7)?,
        verdict: row.get(8)?,
        figures: Vec::new(),
    })
}

/// SQLite's integers have a sign: enough until the year 2262.
pub(crate) fn to_sql(time: WallTime) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
}

fn from_sql(time: i64) -> WallTime {
    WallTime(u64::try_from(time).unwrap_or_default())
}
