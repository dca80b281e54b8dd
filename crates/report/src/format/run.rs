//! The document of a run.

mod blocks;
mod charts;
mod csv;
mod datapath;
mod details;
mod method;
mod series;

pub(super) use blocks::title;

pub use series::{LivePoint, Series, SeriesLine, SeriesMark, live_points, series, test_title};

use super::brief::{provenance, screen};
use super::ndjson;
use super::text::rows::rows;
use crate::document::{Block, Csv, Document, ErrorBody, Expectation, Head, Judgement, Part, Published};
use crate::expect::{Checked, entry};
use model::history::{Entry, Measured};
use model::run::Run;
use serde_json::Value;

/// A run, and what was expected of it.
#[derive(Clone, Copy, Debug)]
pub struct RunDocument<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its intervals have been shown while it ran, by a format that does so.
    pub shown: bool,
    /// The error that ended it early.
    pub error: Option<&'a ErrorBody>,
}

impl RunDocument<'_> {
    /// A run that was not shown while it ran.
    #[must_use]
    pub fn from_run(run: &Run) -> RunDocument<'_> {
        RunDocument { run, shown: false, error: None }
    }
}

impl Document for RunDocument<'_> {
    fn head(&self) -> Head {
        let Run { kind, started, finished, .. } = self.run;
        Head {
            kind: kind.clone(),
            title: blocks::title(self.run),
            depth: 3,
            started: *started,
            finished: *finished,
        }
    }

    fn blocks(&self) -> Vec<Block> {
        blocks::run_blocks(self.run)
    }

    fn entries(&self) -> Vec<Entry> {
        vec![entry(Measured::Run(self.run))]
    }

    fn expectations(&self) -> Vec<Expectation> {
        expectations(&self.run.expectations)
    }

    fn provenance(&self) -> String {
        let title = blocks::title(self.run).replace('`', "");
        let more = provenance(self.run);
        // The name of the test is printed once.
        let done = title.split_once(": ").map_or(title.as_str(), |(_, done)| done);
        match more.strip_prefix(done) {
            Some(rest) => format!("{title}{rest}"),
            None if more.is_empty() => title,
            None => format!("{title}. {more}"),
        }
    }

    fn csv(&self) -> Csv {
        csv::rows(self.run)
    }

    fn value(&self) -> Value {
        Published::of_run(self.run).with_error(self.error.cloned()).value()
    }

    fn ndjson(&self) -> String {
        if self.shown {
            ndjson::last_line(self.run, self.error)
        } else {
            ndjson::stored(self.run, self.error)
        }
    }

    /// One screen; the details begin with the rows that are shown live.
    fn parts(&self, detail: bool) -> Vec<Part> {
        let screen = Part::Screen(Box::new(screen(self.run, detail)));
        if !detail {
            return vec![screen];
        }
        let rows = [Block::Heading(blocks::title(self.run)).into(), rows(self.run)];
        let rows = rows.into_iter().filter(|_| !self.shown);
        let details = rows.chain(blocks::behind(self.run)).collect();
        vec![screen, Part::Full(details)]
    }
}

/// Expectations that were written on the command line. One of a figure that was not measured is broken, as the exit code
/// states.
pub(super) fn expectations(checked: &[Checked]) -> Vec<Expectation> {
    let expectation = |checked: &Checked| Expectation {
        of: String::new(),
        what: checked.expectation.clone(),
        expected: String::new(),
        found: checked.measured.clone().unwrap_or_else(|| "not measured".into()),
        judgement: if checked.held { Judgement::Held } else { Judgement::Broken },
    };
    checked.iter().map(expectation).collect()
}
