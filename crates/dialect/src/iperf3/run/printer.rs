//! The output of one test, in the requested form: text, a document at the end, or a line for each event.

use crate::iperf3::Json;
use crate::iperf3::output::{Iperf3JsonStream, Iperf3Options, Iperf3Role, Iperf3Text, cjson, iperf3_json};
use model::event::Event;
use std::io;
use wire::Report;

/// The writer of one test.
pub(super) struct Printer {
    options: Iperf3Options,
    form: Form,
    /// Everything that happened, where a document is made of it.
    events: Vec<Event>,
}

enum Form {
    Text(Box<Iperf3Text>),
    Document,
    /// `end`: the event that ends it, held back until it is known whether something went wrong.
    Stream {
        lines: Box<Iperf3JsonStream>,
        document: bool,
        end: Option<Box<Event>>,
    },
}

impl Printer {
    /// Nothing has happened yet.
    pub(super) fn new(json: Json, options: Iperf3Options) -> Printer {
        let form = match json {
            Json::Off => Form::Text(Box::new(Iperf3Text::new(options.clone()))),
            Json::Document => Form::Document,
            Json::Stream { document } => {
                let lines = Box::new(Iperf3JsonStream::new(options.clone()));
                Form::Stream { lines, document, end: None }
            }
        };
        Printer { options, form, events: Vec::new() }
    }

    /// The lines this event gives. `stamp` stands before lines of text.
    pub(super) fn event(&mut self, event: &Event, stamp: &str) -> String {
        if self.has_document() {
            self.events.push(event.clone());
        }
        match &mut self.form {
            Form::Text(text) => {
                text.set_timestamp(stamp);
                text.event(event)
            }
            Form::Document => String::new(),
            Form::Stream { end, .. } if matches!(event, Event::Finished(_)) => {
                *end = Some(Box::new(event.clone()));
                String::new()
            }
            Form::Stream { lines, .. } => lines.event(event),
        }
    }

    /// The last lines. `error`: the sentence after `iperf3: `, which JSON contains; beside text it is printed separately.
    pub(super) fn ended(&mut self, error: Option<&str>) -> String {
        let last = match &mut self.form {
            Form::Text(_) | Form::Document => String::new(),
            Form::Stream { lines, end, .. } => match (error, end.take()) {
                (None, Some(finished)) => lines.event(&finished),
                (None, None) => String::new(),
                (Some(error), _) => lines.failed(error),
            },
        };
        if !self.has_document() {
            return last;
        }
        let document = iperf3_json(&self.events, &self.options, error);
        last + &cjson::print(&document) + "\n"
    }

    /// Is an error part of the output, and not printed beside it?
    pub(super) fn holds_errors(&self) -> bool {
        !matches!(self.form, Form::Text(_))
    }

    fn has_document(&self) -> bool {
        matches!(self.form, Form::Document | Form::Stream { document: true, .. })
    }
}

/// A server's text of these events, for the client that requested it (`--get-server-output`).
#[must_use]
pub fn text_report(events: &[Event]) -> Report {
    let mut text = Iperf3Text::new(Iperf3Options { role: Iperf3Role::Server, ..Iperf3Options::default() });
    Report::Text(events.iter().map(|event| text.event(event)).collect())
}

/// A server's document of these events, likewise.
pub(super) fn json_report(events: &[Event], options: &Iperf3Options) -> Report {
    Report::Json(iperf3_json(events, options, None))
}

/// The host as `uname -a` prints it: second line of `-V`, and `system_info`.
pub(super) fn system_info() -> String {
    let kernel = |name: &str| -> io::Result<String> {
        std::fs::read_to_string(format!("/proc/sys/kernel/{name}")).map(|text| text.trim().to_owned())
    };
    let parts = ["ostype", "hostname", "osrelease", "version"].map(|name| kernel(name).unwrap_or_default());
    format!("{} {}", parts.join(" "), std::env::consts::ARCH)
}
