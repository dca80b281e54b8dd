//! The running test: one at a time; its events are kept for later listeners and sent to all of them.
//!
//! A listener holds a place in the story and nothing else, so that one who does not listen costs no memory. The page asks for what
//! is new now and then ([`Live::since`]), since a browser opens six connections to a host and ten tabs would take all of them;
//! programs may follow a stream ([`Live::next`]).

use crate::backend::{Backend, BegunTest, Kind, Refused, Sink, Stop, TestRequest, Update};
use crate::secret::random;
use model::event::{Event, Progress};
use report::format::{LivePoint, live_points};
use serde::Serialize;
use serde_json::json;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::watch;

/// The test that runs, or the last one.
pub(crate) struct Live {
    /// Another one after each start of the server: what a page knows of a test is then of another server.
    server: String,
    state: Mutex<State>,
    /// Counts the lines that were published.
    reported: watch::Sender<u64>,
    stopped: watch::Receiver<bool>,
}

#[derive(Default)]
struct State {
    /// Which test it is, from 1.
    number: u64,
    running: bool,
    stop: Option<Stop>,
    about: Option<About>,
    /// The test was stopped before it had begun.
    unwanted: bool,
    story: Vec<Arc<str>>,
}

/// Which test runs, or ran last.
struct About {
    kind: Kind,
    host: String,
    label: String,
    /// The name that it is kept under.
    id: String,
    began: Instant,
    /// How long it took, once it has ended.
    took: Option<Duration>,
    /// How long it takes, as far as that is known.
    expected: Option<Duration>,
}

/// The messages to listeners, a line of JSON each.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum LiveMessage<'a> {
    /// No test has been begun since this server started.
    Idle,
    Started {
        kind: Kind,
        host: &'a str,
        label: &'a str,
    },
    Test {
        title: String,
    },
    Progress {
        progress: &'a Progress,
    },
    /// Another part of the run begins.
    Mark {
        at: f64,
        name: &'a str,
    },
    Points {
        points: Vec<LivePoint>,
    },
    Warning {
        text: &'a str,
    },
    Ended {
        id: &'a str,
        error: Option<String>,
    },
    Failed {
        why: &'a Refused,
    },
}

/// Why no test was begun.
#[derive(Debug)]
pub(crate) enum NotBegun {
    /// Another one runs.
    Busy,
    /// The request was refused.
    Refused(Refused),
}

/// Where in the story a listener is.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LogPosition {
    number: u64,
    next: usize,
}

impl Live {
    /// # Errors
    /// The kernel gives no entropy.
    pub(crate) fn new(stopped: watch::Receiver<bool>) -> io::Result<Live> {
        let server = random()?;
        Ok(Live { server, state: Mutex::default(), reported: watch::channel(0).0, stopped })
    }

    /// Names this start of the server.
    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// Begins a test. Blocks while names are looked up.
    pub(crate) fn start(self: &Arc<Live>, asked: TestRequest, backend: &Backend) -> Result<(), NotBegun> {
        {
            let mut state = self.lock();
            if state.running {
                return Err(NotBegun::Busy);
            }
            let number = state.number + 1;
            let about = About {
                kind: asked.kind,
                host: asked.host.clone(),
                label: asked.label.clone(),
                id: String::new(),
                began: Instant::now(),
                took: None,
                expected: None,
            };
            *state = State { number, running: true, about: Some(about), ..State::default() };
        }
        self.publish(&LiveMessage::Started { kind: asked.kind, host: &asked.host, label: &asked.label });
        let begun = (backend.start)(asked, self.sink());
        match begun {
            Ok(BegunTest { stop, id, expected }) => {
                let mut state = self.lock();
                if state.unwanted || *self.stopped.borrow() {
                    stop();
                }
                state.stop = Some(stop);
                if let Some(about) = &mut state.about {
                    (about.id, about.expected) = (id, expected);
                }
                Ok(())
            }
            Err(why) => {
                self.end(&LiveMessage::Failed { why: &why });
                Err(NotBegun::Refused(why))
            }
        }
    }

    /// Asks the test to end.
    pub(crate) fn stop(&self) -> bool {
        let mut state = self.lock();
        state.unwanted = state.running;
        state.stop.iter().filter(|_| state.running).for_each(|stop| stop());
        state.running
    }

    /// A test runs.
    pub(crate) fn is_running(&self) -> bool {
        self.lock().running
    }

    /// Waits until no test runs.
    pub(crate) async fn ended(&self) {
        let mut reported = self.reported.subscribe();
        while self.is_running() {
            if reported.changed().await.is_err() {
                return;
            }
        }
    }

    /// How the test stands, and the story behind this place, as JSON: all of it where another server or test is known.
    pub(crate) fn since(&self, server: &str, number: u64, next: usize) -> String {
        let state = self.lock();
        let known = server == self.server && number == state.number;
        let lines = state.story.get(if known { next } else { 0 }..).unwrap_or_default();
        let mut standing = json!({ "server": self.server, "number": state.number, "running": state.running });
        if let Some(about) = &state.about {
            standing["test"] = json!({
                "kind": about.kind,
                "host": about.host,
                "label": about.label,
                "id": about.id,
                "elapsed_seconds": about.took.unwrap_or_else(|| about.began.elapsed()).as_secs_f64(),
                "expected_seconds": about.expected.map(|expected| expected.as_secs_f64()),
            });
        }
        standing["next"] = state.story.len().into();
        let head = standing.to_string();
        // The lines are JSON already.
        format!("{},\"story\":[{}]}}", head.strip_suffix('}').unwrap_or("{"), lines.join(","))
    }

    /// The line for a listener that comes before the first test.
    pub(crate) fn idle(&self) -> Option<String> {
        let is_idle = self.lock().story.is_empty();
        is_idle.then(|| serde_json::to_string(&LiveMessage::Idle).unwrap_or_default())
    }

    /// Returns the next line of the story; waits for it. `None`: the server ends, or there was nothing for a while.
    pub(crate) async fn next(&self, place: &mut LogPosition) -> Next {
        let (mut reported, mut stopped) = (self.reported.subscribe(), self.stopped.clone());
        loop {
            if let Some((line, next)) = self.after(*place) {
                *place = next;
                return Next::Line(line);
            }
            tokio::select! {
                changed = reported.changed() => if changed.is_err() { return Next::End },
                _ = stopped.wait_for(|stopped| *stopped) => return Next::End,
                () = tokio::time::sleep(QUIET) => return Next::Nothing,
            }
        }
    }

    fn after(&self, place: LogPosition) -> Option<(Arc<str>, LogPosition)> {
        let state = self.lock();
        let next = if place.number == state.number { place.next } else { 0 };
        let line = state.story.get(next)?.clone();
        Some((line, LogPosition { number: state.number, next: next + 1 }))
    }

    fn sink(self: &Arc<Live>) -> Sink {
        let mut reporter =
            Reporter { live: self.clone(), number: self.lock().number, clock: Clock::default(), over: false };
        Box::new(move |update| reporter.take(&update))
    }

    fn publish(&self, reported: &LiveMessage<'_>) {
        let Ok(line) = serde_json::to_string(reported) else { return };
        self.lock().story.push(line.into());
        self.reported.send_modify(|count| *count += 1);
    }

    /// The last message of a test: when it is read, the next test can start.
    fn end(&self, reported: &LiveMessage<'_>) {
        let line = serde_json::to_string(reported).ok();
        let mut state = self.lock();
        state.story.extend(line.map(Into::into));
        state.running = false;
        state.stop = None;
        if let Some(about) = &mut state.about {
            about.took = Some(about.began.elapsed());
        }
        drop(state);
        self.reported.send_modify(|count| *count += 1);
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The next item for a listener.
#[derive(Debug)]
pub(crate) enum Next {
    Line(Arc<str>),
    /// Nothing happened for a while.
    Nothing,
    End,
}

/// When the test that runs now began, on the axis of the whole run.
#[derive(Default)]
struct Clock {
    first: Option<Instant>,
    offset: f64,
    /// Name of its lines.
    name: String,
    /// Name of the part in a chart.
    part: String,
}

/// Turns the events of one test into its story.
struct Reporter {
    live: Arc<Live>,
    number: u64,
    clock: Clock,
    over: bool,
}

impl Reporter {
    fn take(&mut self, update: &Update) {
        match update {
            Update::Event(event) => self.event(event),
            Update::Ended { id, error } => self.end(&LiveMessage::Ended { id, error: error.clone() }),
            Update::Failed(why) => self.end(&LiveMessage::Failed { why }),
        }
    }

    fn event(&mut self, event: &Event) {
        let began = *self.clock.first.get_or_insert_with(Instant::now);
        match event {
            Event::Connected(connected) => {
                let test = &connected.plan.test;
                self.clock.name = format!("{} ", test.transport);
                let directions: Vec<String> = test.directions.each().map(|one| one.to_string()).collect();
                self.clock.part = format!("{}{}", self.clock.name, directions.join(" and "));
                let title = report::format::test_title(&connected.plan);
                self.live.publish(&LiveMessage::Test { title });
            }
            Event::Started(_) | Event::LatencyStarted(_) => {
                let is_latency = matches!(event, Event::LatencyStarted(_));
                self.clock.offset = began.elapsed().as_secs_f64();
                if is_latency {
                    self.clock = Clock {
                        name: String::new(),
                        part: "round trips".into(),
                        ..std::mem::take(&mut self.clock)
                    };
                }
                let mark = LiveMessage::Mark { at: self.clock.offset, name: &self.clock.part };
                self.live.publish(&mark);
            }
            Event::Progress(progress) => self.live.publish(&LiveMessage::Progress { progress }),
            Event::Warning(warning) => self.live.publish(&LiveMessage::Warning { text: &warning.text }),
            _ => {}
        }
        let mut points = live_points(event);
        for point in &mut points {
            point.at += self.clock.offset;
            point.begin += self.clock.offset;
            point.line = format!("{}{}", self.clock.name, point.line);
        }
        if !points.is_empty() {
            self.live.publish(&LiveMessage::Points { points });
        }
    }

    fn end(&mut self, reported: &LiveMessage<'_>) {
        if !std::mem::replace(&mut self.over, true) {
            self.live.end(reported);
        }
    }
}

/// A test that died without a last word must not keep others from running.
impl Drop for Reporter {
    fn drop(&mut self) {
        let state = self.live.lock();
        let is_mine = state.number == self.number && state.running;
        drop(state);
        if is_mine && !self.over && std::thread::panicking() {
            let why =
                Refused { error: "internal error: the test ended without a result".into(), advice: None };
            self.end(&LiveMessage::Failed { why: &why });
        }
    }
}

/// After so long a listener is shown that the connection lives.
const QUIET: std::time::Duration = std::time::Duration::from_secs(15);
