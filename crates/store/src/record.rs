//! Recording a run in the store while it is measured.

use crate::database::{Database, Value, to_sql};
use crate::document::describe;
use crate::{Begun, Ended, Location, Result, Store, StoreError};
use model::event::Event;
use model::history::{Headline, Measured, Origin};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Stores the events of a run until it ends. A thread of its own writes them about once a second, so that a slow database does
/// not delay the measurement.
#[derive(Debug)]
pub struct Recorder {
    run: String,
    events: Sender<String>,
    /// Errors of the thread.
    wrong: Receiver<StoreError>,
    writer: JoinHandle<Writer>,
}

/// The store that a run ended up in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placed {
    /// The run's own store.
    Kept,
    /// A store of this host, since the server could not be reached: [`Store::deliver`] moves the run there.
    Waiting(PathBuf),
}

impl Recorder {
    /// Begins a run. `waiting`: the store of this host that takes the run when the server is lost.
    pub(crate) fn begin(store: Store, begun: &Begun, waiting: Option<PathBuf>) -> Result<Recorder> {
        let location = store.location().clone();
        let (events, incoming) = channel();
        let (report, wrong) = channel();
        let writer = Writer {
            store,
            begun: begun.clone(),
            waiting,
            moved: None,
            next: 0,
            unwritten: Vec::new(),
            beaten: Instant::now(),
            report,
        };
        writer.store.beat(&begun.id)?;
        let thread = Builder::new().name("store".into()).spawn(move || writer.write(&incoming));
        let writer = thread.map_err(|error| StoreError::Other { store: location, why: error.to_string() })?;
        Ok(Recorder { run: begun.id.clone(), events, wrong, writer })
    }

    /// The run's name.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.run
    }

    /// Stores an event. It is on disk about a second later.
    ///
    /// # Errors
    /// Earlier events could not be written; each reason is returned once. The thread retries them.
    pub fn event(&self, event: &Event) -> Result<()> {
        // An event has string keys and plain values only, and the thread ends after this one.
        let _ = serde_json::to_string(event).map(|text| self.events.send(text));
        self.wrong.try_recv().map_or(Ok(()), Err)
    }

    /// Ends the run: its document takes the place of its events, all at once.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn finish(self, measured: Measured<'_>, figures: &[Headline]) -> Result<Placed> {
        drop(self.events);
        let lost = |_| StoreError::Other { store: Location::from("runs"), why: "its thread panicked".into() };
        self.writer.join().map_err(lost)?.finish(measured, figures)
    }
}

/// The thread's side.
#[derive(Debug)]
struct Writer {
    store: Store,
    begun: Begun,
    waiting: Option<PathBuf>,
    /// The file that the run was moved to, when the server was lost.
    moved: Option<PathBuf>,
    /// The number of the next event.
    next: i64,
    unwritten: Vec<String>,
    /// Time of the last update of `alive`.
    beaten: Instant,
    report: Sender<StoreError>,
}

impl Writer {
    fn write(mut self, events: &Receiver<String>) -> Writer {
        let mut reported = String::new();
        loop {
            let ended = match events.recv_timeout(BEAT) {
                Ok(event) => self.gather(event, events),
                Err(RecvTimeoutError::Timeout) => false,
                Err(RecvTimeoutError::Disconnected) => true,
            };
            self.beat();
            if let Err(error) = self.flush() {
                // Each error once, however often the write is retried.
                let text = error.to_string();
                if text != reported {
                    let _ = self.report.send(error);
                    reported = text;
                }
            }
            if ended {
                return self;
            }
        }
    }

    /// Updates `alive`. Where that fails, lists show the run as cut off.
    fn beat(&mut self) {
        if self.beaten.elapsed() >= BEAT {
            self.beaten = Instant::now();
            let _ = self.store.beat(&self.begun.id);
        }
    }

    /// Takes the events that arrive within a second of the first. True: no more events arrive.
    fn gather(&mut self, first: String, events: &Receiver<String>) -> bool {
        self.unwritten.push(first);
        if self.next == 0 {
            return false;
        }
        let end = Instant::now() + AT_MOST;
        loop {
            match events.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(event) => self.unwritten.push(event),
                Err(RecvTimeoutError::Timeout) => return false,
                Err(RecvTimeoutError::Disconnected) => return true,
            }
        }
    }

    fn flush(&mut self) -> Result<()> {
        if self.unwritten.is_empty() {
            return Ok(());
        }
        match self.append() {
            Err(error) if error.is_unreachable() && self.waiting.is_some() => {
                self.move_to_file()?;
                self.append()?;
                Err(error)
            }
            done => done,
        }
    }

    fn append(&mut self) -> Result<()> {
        let (database, run, first) = (&self.store.database, &self.begun.id, self.next);
        database.at_once(|| {
            let insert = "INSERT INTO events (run, number, event) VALUES ($1, $2, $3)";
            for (number, event) in (first..).zip(&self.unwritten) {
                database.execute(insert, &[run.into(), number.into(), event.into()])?;
            }
            Ok(())
        })?;
        self.next += self.unwritten.len() as i64;
        self.unwritten.clear();
        Ok(())
    }

    /// Continues in the store of this host. The part of the run on the server stays there until the run is delivered.
    fn move_to_file(&mut self) -> Result<()> {
        let Some(file) = self.waiting.take() else { return Ok(()) };
        let store = Store::open(&file)?;
        store.add(&self.begun, Origin::Measured)?;
        store.beat(&self.begun.id)?;
        self.store = store;
        self.moved = Some(file);
        Ok(())
    }

    fn finish(mut self, measured: Measured<'_>, figures: &[Headline]) -> Result<Placed> {
        // The row exists, unless somebody removed it meanwhile.
        let put =
            |store: &Store| store.put(&self.begun, Origin::Measured, measured, figures, Ended::Replaced);
        match put(&self.store) {
            Err(error) if error.is_unreachable() && self.waiting.is_some() => {
                self.move_to_file()?;
                self.store.put(&self.begun, Origin::Measured, measured, figures, Ended::Replaced)?;
            }
            done => drop(done?),
        }
        Ok(self.moved.map_or(Placed::Kept, Placed::Waiting))
    }
}

/// Writes, within a transaction, the row, its document, its figures and the data for comparisons, in place of its events.
pub(crate) fn finish(
    database: &Database,
    id: &str,
    measured: Measured<'_>,
    packed: Vec<u8>,
    figures: &[Headline],
) -> Result<()> {
    let (verdict, [started, finished]) = (measured.verdict(), measured.times());
    let update = "UPDATE runs SET alive = NULL, started = coalesce($1, started), finished = $2, status = $3, verdict = $4, schema = $5 \
                  WHERE id = $6";
    let values = [
        started.map(to_sql).into(),
        finished.map(to_sql).into(),
        verdict.status.word().into(),
        (&verdict.text).into(),
        measured.schema().into(),
        id.into(),
    ];
    database.execute(update, &values)?;
    for table in ["documents", "figures", "events", "histograms"] {
        database.execute(&format!("DELETE FROM {table} WHERE run = $1"), &[id.into()])?;
    }
    let insert = "INSERT INTO documents (run, document) VALUES ($1, $2)";
    database.execute(insert, &[id.into(), Value::Bytes(packed)])?;
    let insert = "INSERT INTO figures (run, number, name, value, text) VALUES ($1, $2, $3, $4, $5)";
    for (number, figure) in (0_i64..).zip(figures) {
        let Headline { name, value, text } = figure;
        database
            .execute(insert, &[id.into(), number.into(), name.into(), Value::Real(*value), text.into()])?;
    }
    describe(database, id, measured)
}

/// Time between two updates of `alive`; `query.rs` waits for several of them.
const BEAT: Duration = Duration::from_secs(5);
/// Longest time that an event waits to be written together with others.
const AT_MOST: Duration = Duration::from_secs(1);
