//! A store on a PostgreSQL server: tables in a schema of their own, `pathmeter`.

mod tls;

use super::{ResultRow, TIMEOUT, Value};
use crate::{Location, Result, StoreError};
use postgres::error::SqlState;
use postgres::types::private::BytesMut;
use postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};
use postgres::{Client, Config};
use std::cell::RefCell;
use tls::Tls;

/// A connection, reopened after a loss.
pub(super) struct Server {
    location: Location,
    config: Config,
    tls: Tls,
    client: RefCell<Client>,
}

impl std::fmt::Debug for Server {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.location)
    }
}

impl Server {
    pub(super) fn connect(url: &str) -> Result<Server> {
        let location = Location::from(url);
        let (known, tls) = tls::of_url(url)?;
        let mut config: Config = known
            .parse()
            .map_err(|error| StoreError::Unopened { store: location.clone(), why: cause(&error) })?;
        if config.get_password().is_none() {
            std::env::var("PGPASSWORD").ok().map(|password| config.password(password));
        }
        let options = config.get_options().map(|own| format!("{own} ")).unwrap_or_default();
        let wait = TIMEOUT.as_millis();
        config
            .connect_timeout(TIMEOUT)
            .tcp_user_timeout(TIMEOUT)
            .keepalives_idle(TIMEOUT)
            .application_name("pathmeter")
            .ssl_mode(tls.mode)
            .options(&format!(
                "{options}-c search_path={SCHEMA} -c lock_timeout={wait} -c client_min_messages=warning"
            ));
        let client = connected(&location, &config, &tls)?;
        Ok(Server { location, config, tls, client: RefCell::new(client) })
    }

    pub(super) fn version(&self) -> Result<i64> {
        let made = "SELECT 1::BIGINT FROM information_schema.tables WHERE table_schema = $1 AND table_name = 'version'";
        let mut rows = Vec::new();
        self.each(made, &[Value::from(SCHEMA)], |row| rows.push(row))?;
        if rows.is_empty() {
            return Ok(0);
        }
        let mut version = 0;
        self.each("SELECT number FROM version", &[], |mut row| version = row.int(0).unwrap_or_default())?;
        Ok(version)
    }

    pub(super) fn set_version(&self, version: i64) -> Result<()> {
        self.script("CREATE TABLE IF NOT EXISTS version (number BIGINT NOT NULL); DELETE FROM version")?;
        self.execute("INSERT INTO version (number) VALUES ($1)", &[version.into()]).map(drop)
    }

    /// Creates the schema, where there is none, and keeps other programs from changing its tables until the transaction ends.
    pub(super) fn claim(&self) -> Result<()> {
        self.script(&format!("SELECT pg_advisory_xact_lock({MAKING}); CREATE SCHEMA IF NOT EXISTS {SCHEMA}"))
    }

    pub(super) fn script(&self, sql: &str) -> Result<()> {
        self.with(|client| client.batch_execute(sql))
    }

    pub(super) fn execute(&self, sql: &str, values: &[Value]) -> Result<u64> {
        self.with(|client| client.execute(sql, &parameters(values)))
    }

    pub(super) fn each(&self, sql: &str, values: &[Value], mut take: impl FnMut(ResultRow)) -> Result<()> {
        let rows = self.with(|client| client.query(sql, &parameters(values)))?;
        for row in rows {
            let columns = (0..row.len()).map(|column| row.try_get(column));
            let values = columns.collect::<std::result::Result<_, _>>();
            take(ResultRow(values.map_err(|error| store_error(&self.location, &error))?));
        }
        Ok(())
    }

    fn with<T>(&self, act: impl FnOnce(&mut Client) -> std::result::Result<T, postgres::Error>) -> Result<T> {
        let mut client = self.client.borrow_mut();
        if client.is_closed() {
            *client = connected(&self.location, &self.config, &self.tls)?;
        }
        act(&mut client).map_err(|error| store_error(&self.location, &error))
    }
}

fn connected(location: &Location, config: &Config, tls: &Tls) -> Result<Client> {
    config.connect(tls.connector(location)?).map_err(|error| store_error(location, &error))
}

/// Translates SQLite's dialect to PostgreSQL's. Texts are ordered by their bytes, as in SQLite.
pub(super) fn translated(sql: &str) -> String {
    let replacements = [
        (" STRICT, WITHOUT ROWID", ""),
        (" INTEGER", " BIGINT"),
        (" REAL", " DOUBLE PRECISION"),
        (" BLOB", " BYTEA"),
        (" TEXT", " TEXT COLLATE \"C\""),
    ];
    replacements.iter().fold(sql.to_owned(), |sql, (from, to)| sql.replace(from, to))
}

fn parameters(values: &[Value]) -> Vec<&(dyn ToSql + Sync)> {
    values.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

type Failure = Box<dyn std::error::Error + Sync + Send>;

impl ToSql for Value {
    fn to_sql(&self, to: &Type, out: &mut BytesMut) -> std::result::Result<IsNull, Failure> {
        match self {
            Value::Null => Ok(IsNull::Yes),
            Value::Int(value) => value.to_sql(to, out),
            Value::Real(value) => value.to_sql(to, out),
            Value::Text(text) => text.to_sql(to, out),
            Value::Bytes(bytes) => bytes.to_sql(to, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

impl<'a> FromSql<'a> for Value {
    fn from_sql(from: &Type, raw: &'a [u8]) -> std::result::Result<Value, Failure> {
        match *from {
            Type::INT8 => i64::from_sql(from, raw).map(Value::Int),
            Type::FLOAT8 => f64::from_sql(from, raw).map(Value::Real),
            Type::BYTEA => Vec::from_sql(from, raw).map(Value::Bytes),
            _ => String::from_sql(from, raw).map(Value::Text),
        }
    }

    fn from_sql_null(_: &Type) -> std::result::Result<Value, Failure> {
        Ok(Value::Null)
    }

    fn accepts(from: &Type) -> bool {
        [Type::INT8, Type::FLOAT8, Type::BYTEA, Type::TEXT].contains(from)
    }
}

fn store_error(store: &Location, error: &postgres::Error) -> StoreError {
    let (store, why) = (store.clone(), cause(error));
    let Some(state) = error.code() else {
        // The library offers no other means to recognise it.
        if error.to_string().starts_with("error performing TLS handshake") {
            return StoreError::Untrusted { store, why };
        }
        return StoreError::Unreachable { store, why };
    };
    match *state {
        SqlState::DISK_FULL => StoreError::Full(store),
        SqlState::READ_ONLY_SQL_TRANSACTION | SqlState::INSUFFICIENT_PRIVILEGE => StoreError::ReadOnly(store),
        SqlState::LOCK_NOT_AVAILABLE | SqlState::T_R_DEADLOCK_DETECTED => StoreError::Locked(store),
        SqlState::DATA_CORRUPTED | SqlState::INDEX_CORRUPTED => StoreError::Damaged { store, why },
        SqlState::ADMIN_SHUTDOWN
        | SqlState::CRASH_SHUTDOWN
        | SqlState::CANNOT_CONNECT_NOW
        | SqlState::TOO_MANY_CONNECTIONS => StoreError::Unreachable { store, why },
        SqlState::INVALID_PASSWORD
        | SqlState::INVALID_AUTHORIZATION_SPECIFICATION
        | SqlState::INVALID_CATALOG_NAME => StoreError::Refused { store, why },
        _ => StoreError::Other { store, why },
    }
}

/// The cause behind `db error` and `error connecting to server`.
fn cause(error: &postgres::Error) -> String {
    let mut text = error.to_string();
    let mut next = std::error::Error::source(error);
    while let Some(source) = next {
        text = format!("{text}: {source}");
        next = source.source();
    }
    text
}

const SCHEMA: &str = "pathmeter";
/// Key of the lock that is held while tables are created.
const MAKING: i64 = 0x7061_7468_6d65_7465;
