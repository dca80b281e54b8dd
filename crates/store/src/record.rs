//! A run on its way into the store.

use crate::query::to_sql;
use crate::{Result, Store};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use model::event::Event;
use model::history::Headline;
use model::run::Run;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};
use std::io::{self, Write};
use std::time::{Duration, Instant};

/// Keeps the events of a run until it ends.
#[derive(Debug)]
pub struct Recorder {
    store: Store,
    run: String,
    /// The number of the next one.
    next: i64,
    waiting: Vec<String>,
    written: Instant,
}

impl Recorder {
    pub(crate) fn new(store: Store, run: &str) -> Recorder {
        Recorder { store, run: run.into(), next: 0, waiting: Vec::new(), written: Instant::now() }
    }

    /// The run's name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.run
    }

    /// Keeps an event. It is on disk a second later, or with the next event after that.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn event(&mut self, event: &Event) -> Result<()> {
        // An event has string keys and plain values only.
        self.waiting.extend(serde_json::to_string(event).ok());
        if self.next == 0 || self.written.elapsed() >= AT_MOST { self.flush() } else { Ok(()) }
    }

    /// The run has ended: its document takes the place of its events.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn finish(self, run: &Run, figures: &[Headline]) -> Result<()> {
        self.store.finish(&self.run, run, figures)
    }

    /// Writes what waits.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        let (run, first, waiting) = (&self.run, self.next, &self.waiting);
        self.store.write(|db| {
            let change = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
            let mut insert =
                change.prepare_cached("INSERT INTO events (run, number, event) VALUES (?1, ?2, ?3)")?;
            for (number, event) in (first..).zip(waiting) {
                insert.execute(params![run, number, event])?;
            }
            drop(insert);
            change.commit()
        })?;
        self.next += self.waiting.len() as i64;
        self.waiting.clear();
        self.written = Instant::now();
        Ok(())
    }
}

impl Store {
    /// Puts a run's document into its row.
    pub(crate) fn finish(&self, id: &str, run: &Run, figures: &[Headline]) -> Result<()> {
        let packed = pack(run).map_err(|why| self.damaged(id, why))?;
        self.write(|db| finish(db, id, run, &packed, figures))
    }
}

fn finish(db: &Connection, id: &str, run: &Run, packed: &[u8], figures: &[Headline]) -> rusqlite::Result<()> {
    let change = Transaction::new_unchecked(db, TransactionBehavior::Immediate)?;
    let sql = "UPDATE runs SET started = coalesce(?2, started), finished = ?3, status = ?4, verdict = ?5, document = ?6 \
               WHERE id = ?1";
    let (started, finished) = (run.started.map(to_sql), run.finished.map(to_sql));
    change
        .execute(sql, params![id, started, finished, run.verdict.status.word(), run.verdict.text, packed])?;
    change.execute("DELETE FROM events WHERE run = ?1", params![id])?;
    let insert = "INSERT INTO figures (run, number, name, value, text) VALUES (?1, ?2, ?3, ?4, ?5)";
    for (number, figure) in (0_i64..).zip(figures) {
        change.execute(insert, params![id, number, figure.name, figure.value, figure.text])?;
    }
    change.commit()
}

fn pack(run: &Run) -> io::Result<Vec<u8>> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&serde_json::to_vec(run)?)?;
    encoder.finish()
}

pub(crate) fn unpack(packed: &[u8]) -> io::Result<Run> {
    Ok(serde_json::from_reader(io::BufReader::new(ZlibDecoder::new(packed)))?)
}

/// Events wait no longer than this for others to be written with.
const AT_MOST: Duration = Duration::from_secs(1);
