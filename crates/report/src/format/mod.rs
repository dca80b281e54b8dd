//! The output formats: one file and one row in [`FORMATS`] each.

pub mod analysis;
pub mod csv;
pub mod frames;
pub mod iperf2;
pub mod iperf3;
pub mod json;
pub mod lab;
pub mod markdown;
pub mod ndjson;
pub mod rfc2544;
pub mod sockperf;
mod style;
mod table;
pub mod text;
mod units;

use model::run::Run;

pub use style::{Paint, Style};

/// An output format of a whole run.
pub struct Format {
    /// The name given to `--format`.
    pub name: &'static str,
    /// What it is for, in a few words.
    pub about: &'static str,
    /// Writes the whole document; it ends with a line feed.
    pub render: fn(&Run, &Style) -> String,
}

/// Every format, in the order help shows them.
pub static FORMATS: &[Format] = &[
    Format { name: "text", about: "tables and sentences for people", render: text::document },
    Format { name: "json", about: "one document, schema pathmeter/result/1", render: json::document },
    Format { name: "ndjson", about: "one JSON object per line, as things happen", render: ndjson::document },
    Format {
        name: "csv",
        about: "one row per interval and stream, and per direction",
        render: csv::document,
    },
    Format { name: "markdown", about: "tables to paste into a ticket", render: markdown::document },
];

/// The format of this name.
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}
