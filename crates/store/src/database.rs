//! One SQL for two databases. Parameters are `$1`, `$2` … in the order of their first appearance, which both understand.

#[cfg(feature = "postgres")]
mod server;
mod sqlite;

use crate::{Location, Result, StoreError};
use model::time::WallTime;
use std::cell::Cell;
use std::time::Duration;

/// A value of a column or a parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Null,
    Int(i64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
}

/// A row of a result.
#[derive(Debug)]
pub(crate) struct ResultRow(Vec<Value>);

/// An open database.
#[derive(Debug)]
pub(crate) struct Database {
    location: Location,
    handle: Handle,
    /// A transaction is open: nested calls become part of it.
    in_transaction: Cell<bool>,
}

#[derive(Debug)]
enum Handle {
    File(rusqlite::Connection),
    #[cfg(feature = "postgres")]
    Server(Box<server::Server>),
}

/// Access to a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// The database is created where there is none.
    Write,
    /// Nothing is changed.
    Read,
}

impl Database {
    pub(crate) fn open(location: Location, access: Access) -> Result<Database> {
        let handle = match &location {
            Location::File(file) => Handle::File(sqlite::open(file, access)?),
            #[cfg(feature = "postgres")]
            Location::Server(url) => Handle::Server(Box::new(server::Server::connect(url)?)),
            #[cfg(not(feature = "postgres"))]
            Location::Server(_) => return Err(StoreError::NotBuilt(location)),
        };
        Ok(Database { location, handle, in_transaction: Cell::new(false) })
    }

    pub(crate) fn location(&self) -> &Location {
        &self.location
    }

    /// The version of the tables; 0 where there are none.
    pub(crate) fn version(&self) -> Result<i64> {
        match &self.handle {
            Handle::File(db) => sqlite::version(db).map_err(|error| self.of_file(&error)),
            #[cfg(feature = "postgres")]
            Handle::Server(server) => server.version(),
        }
    }

    pub(crate) fn set_version(&self, version: i64) -> Result<()> {
        match &self.handle {
            Handle::File(db) => sqlite::set_version(db, version).map_err(|error| self.of_file(&error)),
            #[cfg(feature = "postgres")]
            Handle::Server(server) => server.set_version(version),
        }
    }

    /// Runs several statements without parameters, in SQLite's dialect.
    pub(crate) fn script(&self, sql: &str) -> Result<()> {
        match &self.handle {
            Handle::File(db) => db.execute_batch(sql).map_err(|error| self.of_file(&error)),
            #[cfg(feature = "postgres")]
            Handle::Server(server) => server.script(&server::translated(sql)),
        }
    }

    /// Runs a statement without a result; returns the number of rows it changed.
    pub(crate) fn execute(&self, sql: &str, values: &[Value]) -> Result<u64> {
        match &self.handle {
            Handle::File(db) => sqlite::execute(db, sql, values).map_err(|error| self.of_file(&error)),
            #[cfg(feature = "postgres")]
            Handle::Server(server) => server.execute(sql, values),
        }
    }

    /// The current time in nanoseconds since 1970, as an expression: by the clock that all programs on this store share.
    pub(crate) fn now(&self) -> &'static str {
        match &self.handle {
            Handle::File(_) => "CAST(strftime('%s', 'now') AS INTEGER) * 1000000000",
            #[cfg(feature = "postgres")]
            Handle::Server(_) => "CAST(extract(epoch FROM clock_timestamp()) AS BIGINT) * 1000000000",
        }
    }

    /// Every row of a result.
    pub(crate) fn rows(&self, sql: &str, values: &[Value]) -> Result<Vec<ResultRow>> {
        let mut rows = Vec::new();
        self.each(sql, values, |row| rows.push(row))?;
        Ok(rows)
    }

    /// The texts of the first column.
    ///
    /// # Errors
    /// The statement failed.
    pub(crate) fn texts(&self, sql: &str, values: &[Value]) -> Result<Vec<String>> {
        let mut texts = Vec::new();
        self.each(sql, values, |mut row| texts.push(row.text(0)))?;
        Ok(texts)
    }

    /// Passes on every row of a result, up to one that cannot be read.
    pub(crate) fn each(&self, sql: &str, values: &[Value], take: impl FnMut(ResultRow)) -> Result<()> {
        match &self.handle {
            Handle::File(db) => sqlite::each(db, sql, values, take).map_err(|error| self.of_file(&error)),
            #[cfg(feature = "postgres")]
            Handle::Server(server) => server.each(sql, values, take),
        }
    }

    /// Prepares a database of a known version for programs that read and write at once.
    pub(crate) fn share(&self) -> Result<()> {
        match &self.handle {
            Handle::File(db) => sqlite::share(db).map_err(|error| self.of_file(&error)),
            #[cfg(feature = "postgres")]
            Handle::Server(_) => Ok(()),
        }
    }

    /// Within a transaction: no other program changes the tables until it ends.
    pub(crate) fn claim(&self) -> Result<()> {
        match &self.handle {
            Handle::File(_) => Ok(()),
            #[cfg(feature = "postgres")]
            Handle::Server(server) => server.claim(),
        }
    }

    /// Runs `act` as a transaction. Within another such call it is part of that one.
    pub(crate) fn at_once<T>(&self, act: impl FnOnce() -> Result<T>) -> Result<T> {
        if self.in_transaction.get() {
            return act();
        }
        match &self.handle {
            // Otherwise two programs that read first and write then would refuse each other.
            Handle::File(_) => self.script("BEGIN IMMEDIATE")?,
            #[cfg(feature = "postgres")]
            Handle::Server(_) => self.script("BEGIN")?,
        }
        self.in_transaction.set(true);
        let ended = act().and_then(|done| self.script("COMMIT").map(|()| done));
        self.in_transaction.set(false);
        if ended.is_err() {
            // A statement that found the disk full has ended the transaction already.
            let _ = self.script("ROLLBACK");
        }
        ended
    }

    fn of_file(&self, error: &rusqlite::Error) -> StoreError {
        sqlite::store_error(&self.location, error)
    }
}

impl ResultRow {
    pub(crate) fn text(&mut self, column: usize) -> String {
        self.optional_text(column).unwrap_or_default()
    }

    pub(crate) fn optional_text(&mut self, column: usize) -> Option<String> {
        let Value::Text(text) = self.take(column) else { return None };
        Some(text)
    }

    pub(crate) fn int(&mut self, column: usize) -> Option<i64> {
        let Value::Int(value) = self.take(column) else { return None };
        Some(value)
    }

    /// A time; that of 1970 where there is none.
    pub(crate) fn time(&mut self, column: usize) -> WallTime {
        from_sql(self.int(column).unwrap_or_default())
    }

    pub(crate) fn real(&mut self, column: usize) -> Option<f64> {
        match self.take(column) {
            Value::Real(value) => Some(value),
            Value::Int(value) => Some(value as f64),
            _ => None,
        }
    }

    pub(crate) fn bytes(&mut self, column: usize) -> Vec<u8> {
        let Value::Bytes(bytes) = self.take(column) else { return Vec::new() };
        bytes
    }

    fn take(&mut self, column: usize) -> Value {
        self.0.get_mut(column).map_or(Value::Null, |value| std::mem::replace(value, Value::Null))
    }
}

/// PostgreSQL's text has no NUL, and both databases are to store the same.
impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.replace('\0', "\u{fffd}"))
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Value {
        Value::from(text.as_str())
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value::Int(value)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

/// Databases' integers are signed: enough until the year 2262.
pub(crate) fn to_sql(time: WallTime) -> i64 {
    i64::try_from(time.0).unwrap_or(i64::MAX)
}

pub(crate) fn from_sql(time: i64) -> WallTime {
    WallTime(u64::try_from(time).unwrap_or_default())
}

/// Time for which another program may lock the store, and a server may take to answer.
const TIMEOUT: Duration = Duration::from_secs(5);
