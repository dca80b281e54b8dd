//! A store in a file.

use super::{Access, ResultRow, TIMEOUT, Value};
use crate::{Location, Result, StoreError};
use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, Error, ErrorCode, OpenFlags, params_from_iter};
use std::fs::{DirBuilder, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

pub(super) fn open(file: &Path, access: Access) -> Result<Connection> {
    let reported = |error: Error| store_error(&Location::from(file), &error);
    if access == Access::Read {
        return read_only(file).map_err(reported);
    }
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(|source| StoreError::Folder { folder: folder.to_owned(), source })?;
    }
    // A missing file is created with access for its owner alone: the results are private. Files that SQLite creates beside it
    // have the same rights. Whether the file can be used SQLite reports.
    let _ = OpenOptions::new().write(true).create_new(true).mode(0o600).open(file);
    let db = Connection::open(file).map_err(reported)?;
    db.busy_timeout(TIMEOUT).map_err(reported)?;
    Ok(db)
}

/// Readers and one writer do not wait for each other in WAL mode; there a crash of the host may lose the last runs, and never the
/// file.
pub(super) fn share(db: &Connection) -> rusqlite::Result<()> {
    db.pragma_update(None, "foreign_keys", true)?;
    db.pragma_update(None, "journal_mode", "WAL")?;
    db.pragma_update(None, "synchronous", "NORMAL")
}

/// Opens beside a program that writes, or, in a folder that cannot be written, the file unchanged.
fn read_only(file: &Path) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let opened = |query: &str| {
        let db = Connection::open_with_flags(uri(file, query), flags)?;
        db.busy_timeout(TIMEOUT)?;
        version(&db).map(|_| db)
    };
    opened("mode=ro").or_else(|error| opened("immutable=1").map_err(|_| error))
}

/// A `file:` URI, with characters that would end the path escaped.
fn uri(file: &Path, query: &str) -> String {
    let path = file.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    format!("file:{path}?{query}")
}

pub(super) fn version(db: &Connection) -> rusqlite::Result<i64> {
    db.pragma_query_value(None, "user_version", |row| row.get(0))
}

pub(super) fn set_version(db: &Connection, version: i64) -> rusqlite::Result<()> {
    db.pragma_update(None, "user_version", version)
}

pub(super) fn execute(db: &Connection, sql: &str, values: &[Value]) -> rusqlite::Result<u64> {
    let mut statement = db.prepare_cached(sql)?;
    statement.execute(params_from_iter(values)).map(|count| count as u64)
}

pub(super) fn each(
    db: &Connection,
    sql: &str,
    values: &[Value],
    mut take: impl FnMut(ResultRow),
) -> rusqlite::Result<()> {
    let mut statement = db.prepare_cached(sql)?;
    let columns = statement.column_count();
    let mut rows = statement.query(params_from_iter(values))?;
    while let Some(row) = rows.next()? {
        let values = (0..columns).map(|column| row.get_ref(column).map(value));
        take(ResultRow(values.collect::<rusqlite::Result<_>>()?));
    }
    Ok(())
}

fn value(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(value) => Value::Int(value),
        ValueRef::Real(value) => Value::Real(value),
        // A damaged file can hold anything.
        ValueRef::Text(text) => Value::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Blob(bytes) => Value::Bytes(bytes.to_owned()),
    }
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Int(value) => ValueRef::Integer(*value),
            Value::Real(value) => ValueRef::Real(*value),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

pub(super) fn store_error(store: &Location, error: &Error) -> StoreError {
    let (store, why) = (store.clone(), error.to_string());
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => StoreError::Locked(store),
        Some(ErrorCode::DiskFull) => StoreError::Full(store),
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => StoreError::ReadOnly(store),
        Some(ErrorCode::CannotOpen) => StoreError::Unopened { store, why },
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => StoreError::Damaged { store, why },
        _ => StoreError::Other { store, why },
    }
}
