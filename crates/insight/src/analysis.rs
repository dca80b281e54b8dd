//! Stored and imported runs looked at together: wire arithmetic, fairness, round trips side by side, runs that ran at once
//! summed, groups of runs compared, and what follows from it in sentences.
//!
//! The method is in `docs/methods/analyse.md`.

mod conclusions;
mod flow;
mod groups;
mod pairs;
mod path;
mod together;
mod trips;

pub use flow::{Fairness, Flow, LineRate, Segment};
pub use pairs::sum_pairs;
pub(crate) use pairs::warnings;
pub use path::PathBound;
pub use trips::Trips;

use model::finding::Finding;
use model::pairs::Together;
use model::run::Run;
use model::stats::compare::Comparison;
use model::units::BitRate;
use serde::{Deserialize, Serialize};

/// The analysis document, schema `pathmeter/analysis/1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Analysis {
    /// Always `pathmeter/analysis/1`.
    pub schema: String,
    /// How many runs it rests on.
    pub runs: u64,
    /// Every run and direction of throughput.
    pub flows: Vec<Flow>,
    /// Every run and egress path of round trips.
    pub trips: Vec<Trips>,
    /// The path MTU of each run, as far as known.
    pub paths: Vec<PathBound>,
    /// All throughput as one measurement, where requested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub together: Option<Together>,
    /// Each group of runs against the first one.
    pub comparisons: Vec<Comparison>,
    /// The conclusions, in sentences.
    pub conclusions: Vec<String>,
    /// The findings of every run.
    pub findings: Vec<RunFinding>,
}

/// A finding and the run it is of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunFinding {
    /// Name of the run.
    pub run: String,
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
}

/// A run to look at.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its name in tables.
    pub name: &'a str,
    /// The group it belongs to, where groups are compared.
    pub group: Option<&'a str>,
    /// The run.
    pub run: &'a Run,
}

/// Options of an analysis beyond each run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnalysisOptions {
    /// Speed of the link, where the runs do not record it.
    pub link: Option<BitRate>,
    /// The runs ran at once.
    pub together: bool,
}

impl Analysis {
    /// Looks at these runs; the tests of a `measure` run are runs of their own.
    #[must_use]
    pub fn from_subjects(subjects: &[Subject<'_>], asked: AnalysisOptions) -> Analysis {
        let nested: Vec<(String, Option<&str>, &Run)> = subjects.iter().flat_map(parts).collect();
        let all: Vec<Subject<'_>> =
            nested.iter().map(|(name, group, run)| Subject { name, group: *group, run }).collect();
        let mut analysis = Analysis {
            schema: SCHEMA.into(),
            runs: subjects.len() as u64,
            flows: flow::flows(&all, asked.link),
            trips: trips::trips(&all),
            paths: path::path_bounds(&all),
            together: asked.together.then(|| together::runs_together(&all, asked.link)).flatten(),
            comparisons: groups::group_comparisons(&all),
            conclusions: Vec::new(),
            findings: subjects.iter().flat_map(findings).collect(),
        };
        analysis.conclusions = conclusions::conclusions(&analysis);
        analysis.conclusions.extend(all.iter().flat_map(|subject| line_rate_ranges(subject)));
        analysis
    }
}

/// The run itself, and its tests.
fn parts<'a>(subject: &Subject<'a>) -> Vec<(String, Option<&'a str>, &'a Run)> {
    let tests = subject.run.tests.iter().enumerate();
    let tests =
        tests.map(|(index, test)| (format!("{} test {}", subject.name, index + 1), subject.group, test));
    std::iter::once((subject.name.to_owned(), subject.group, subject.run)).chain(tests).collect()
}

fn findings(subject: &Subject<'_>) -> Vec<RunFinding> {
    let findings = subject.run.findings.iter();
    findings.map(|finding| RunFinding { run: subject.name.into(), finding: finding.clone() }).collect()
}

/// An import's note on the share of line rate where the size of segments is not known.
fn line_rate_ranges(subject: &Subject<'_>) -> Vec<String> {
    let ranges = subject.run.summary.warnings.iter().filter(|warning| warning.id == "line-rate-range");
    ranges.map(|warning| format!("{}: {}", subject.name, warning.text)).collect()
}

/// How far a figure lies from the first, in percent; `None` from zero.
fn change(first: f64, value: f64) -> Option<f64> {
    (first > 0.0).then(|| (value / first - 1.0) * 100.0)
}

/// Name and version of the document's schema.
pub const SCHEMA: &str = "pathmeter/analysis/1";
