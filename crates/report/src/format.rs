//! The output formats: one file and one row in [`FORMATS`] each; and the documents of runs and reports.

pub mod analysis;
mod brief;
pub mod compared;
mod csv;
pub mod doctor;
mod experiment;
mod fingerprint;
pub mod frames;
mod gather;
pub mod history;
mod hops;
mod html;
mod imported;
mod joined;
mod json;
mod junit;
pub mod lab;
mod line_rate;
mod markdown;
mod matrix;
mod mesh;
pub mod ndjson;
mod noted;
pub mod prometheus;
pub mod ranges;
pub mod rfc2544;
pub mod rolling;
mod run;
mod side_by_side;
mod table;
pub mod text;
pub mod trend;
mod wide;

pub use crate::document::{Paint, Style};
pub use joined::{Joined, Joint};
pub use noted::Noted;
pub use run::{LivePoint, RunDocument, Series, SeriesLine, SeriesMark, live_points, series, test_title};
pub use side_by_side::SideBySide;

use crate::document::{Document, ErrorBody, ErrorDocument, indented_json};
use crate::harmless;
use model::history::Kept;
use std::borrow::Cow;

/// A kept measurement as a document that can be written.
#[must_use]
pub fn document(kept: &Kept) -> Box<dyn Document + '_> {
    match kept {
        Kept::Run(run) => Box::new(RunDocument::from_run(run)),
        Kept::Device(report) => Box::new(model::dut::DutReport::clone(report)),
        Kept::Lab(report) => Box::new(model::lab::LabReport::clone(report)),
    }
}

/// An output format.
#[derive(Debug)]
pub struct Format {
    /// The name given to `--format`.
    pub name: &'static str,
    /// Its purpose, in a few words.
    pub about: &'static str,
    /// Its output while something runs.
    pub live: Live,
    /// How it writes a plan; absent: it has no form for one.
    pub plan: Option<PlanForm>,
    /// How documents that are written one at a time follow each other; absent: all of them are needed at once.
    pub joint: Option<Joint>,
    /// Writes documents, one after the other; what is written ends with a line feed.
    pub render: Render,
}

type Render = fn(&[&dyn Document], &Style) -> String;

impl Format {
    /// A format that writes nothing but results, and needs all of them at once.
    const fn of_all(name: &'static str, about: &'static str, render: Render) -> Format {
        Format { name, about, live: Live::Nothing, plan: None, joint: None, render }
    }

    /// Documents, one after the other, with nothing in them that steers a terminal.
    #[must_use]
    pub fn write(&self, documents: &[&dyn Document], style: &Style) -> String {
        let written = (self.render)(documents, style);
        let is_json = matches!(self.name, "json" | "ndjson");
        match if is_json { harmless::json(&written) } else { harmless::text(&written) } {
            Cow::Borrowed(_) => written,
            Cow::Owned(changed) => changed,
        }
    }

    /// The document of an error; absent: the format is for people, or has no form for it.
    #[must_use]
    pub fn error(&self, error: ErrorBody) -> Option<String> {
        let document = ErrorDocument { error };
        let text = match self.plan? {
            PlanForm::Text => return None,
            PlanForm::Json => indented_json(&document),
            PlanForm::Line => ndjson::tagged("error", None, &document),
        };
        Some(harmless::json(&text).into_owned())
    }
}

/// The output of a format while something runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Live {
    /// Rows for people; the document is the end of them.
    Rows,
    /// Every event, as a line of JSON.
    Events,
    /// Nothing: the document comes whole.
    Nothing,
}

/// How a format writes what is not a result: what would be done (`--dry-run`), and an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanForm {
    /// Sentences where the command has them, else as JSON; of an error nothing, which standard error has.
    Text,
    /// Indented JSON.
    Json,
    /// A line of JSON.
    Line,
}

/// Every format, in the order help shows them. The first is the usual one.
pub static FORMATS: &[Format] = &[
    Format {
        name: "text",
        about: "tables and sentences for people",
        live: Live::Rows,
        plan: Some(PlanForm::Text),
        joint: Some(Joint::Plain),
        render: text::documents,
    },
    Format {
        name: "json",
        about: "one document",
        live: Live::Nothing,
        plan: Some(PlanForm::Json),
        joint: Some(Joint::Array),
        render: json::documents,
    },
    Format {
        name: "ndjson",
        about: "one event a line, as it happens",
        live: Live::Events,
        plan: Some(PlanForm::Line),
        joint: Some(Joint::Plain),
        render: ndjson::documents,
    },
    Format::of_all("csv", "rows with a header", csv::documents),
    Format {
        joint: Some(Joint::Plain),
        ..Format::of_all("markdown", "tables for a ticket", markdown::documents)
    },
    Format::of_all("html", "one page to send or print", html::documents),
    Format::of_all("junit", "expectations as test cases, for CI", junit::documents),
    Format::of_all("prometheus", "samples of the latest run of each path", prometheus::documents),
    Format::of_all("wide", "CSV with a row for each run and a column for each figure", wide::documents),
];

/// The format of this name.
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// One document in a format.
pub fn render(document: &dyn Document, format: &Format, style: &Style) -> String {
    format.write(&[document], style)
}

impl Default for &'static Format {
    fn default() -> &'static Format {
        &FORMATS[0]
    }
}
