//! One client of the server: its lines, and the report it may have requested.

use super::console::Console;
use super::printer::{Printer, json_report};
use super::{debug, messages};
use crate::iperf3::Json;
use crate::iperf3::output::Iperf3Options;
use engine::work::observer::{Observer, SessionEvent, Watcher};
use model::event::Event;
use model::plan::ProtocolName;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use wire::{ProtocolError, Report, iperf3::Extras};

/// State that all sessions of a server share.
#[derive(Clone)]
pub(super) struct Sessions {
    console: Arc<Mutex<Console>>,
    json: Json,
    debug: bool,
    options: Iperf3Options,
    running: Arc<AtomicU32>,
}

impl Sessions {
    /// No session yet.
    pub(super) fn new(console: Console, json: Json, debug: bool, options: Iperf3Options) -> Sessions {
        Sessions { console: Arc::new(Mutex::new(console)), json, debug, options, running: Arc::default() }
    }

    /// The console, for one call.
    pub(super) fn console(&self) -> MutexGuard<'_, Console> {
        self.console.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sessions that run, and sessions there have been.
    pub(super) fn running(&self) -> u32 {
        self.running.load(Ordering::Acquire)
    }
}

impl Observer for Sessions {
    fn session(&self, _client: SocketAddr, _protocol: ProtocolName) -> Box<dyn Watcher> {
        self.running.fetch_add(1, Ordering::AcqRel);
        let number = self.console().begin();
        let printer = Printer::new(self.json, self.options.clone());
        Box::new(Session {
            shared: self.clone(),
            number,
            printer,
            options: self.options.clone(),
            lines: None,
        })
    }

    fn note(&self, text: &str) {
        self.console().out.error(&format!("error - {text}"));
    }
}

/// One session.
struct Session {
    shared: Sessions,
    number: u64,
    printer: Printer,
    options: Iperf3Options,
    /// All lines so far, where the client wants them.
    lines: Option<String>,
}

impl Session {
    /// Applies the client's requests beside the test.
    fn apply(&mut self, extras: &Extras) {
        self.options.title.clone_from(&extras.title);
        self.options.extra_data.clone_from(&extras.extra_data);
        self.lines = extras.get_server_output.then(String::new);
        self.printer = Printer::new(self.shared.json, self.options.clone());
    }

    fn print(&mut self, event: &Event) {
        debug(self.shared.debug, event);
        let mut console = self.shared.console();
        let text = self.printer.event(event, &console.out.stamp());
        console.say(self.number, &text);
        if let Some(lines) = &mut self.lines {
            lines.push_str(&text);
        }
    }
}

impl Watcher for Session {
    fn event(&mut self, event: SessionEvent<'_>) {
        match event {
            SessionEvent::Extras(extras) => self.apply(extras),
            SessionEvent::Event(event) => self.print(event),
            _ => {}
        }
    }

    fn report(&self, events: &[Event], _extras: &Extras) -> Option<Report> {
        match self.shared.json {
            Json::Off => self.lines.clone().map(Report::Text),
            Json::Document | Json::Stream { .. } => Some(json_report(events, &self.options)),
        }
    }

    fn ended(&mut self, outcome: Result<(), &ProtocolError>) {
        let sentence = outcome.err().map(messages::of_session);
        let mut console = self.shared.console();
        console.say(self.number, &self.printer.ended(sentence.as_deref()));
        if let (Some(sentence), false) = (sentence, self.printer.holds_errors()) {
            console.say_error(self.number, &sentence);
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.shared.console().end(self.number);
        self.shared.running.fetch_sub(1, Ordering::AcqRel);
    }
}
