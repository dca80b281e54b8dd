//! A plan carried out: every path with every test and setting, repeated, and how they compare.

use crate::expectation::Checked;
use crate::finding::{Severity, Status};
use crate::history::Headline;
use crate::host::Host;
use crate::stats::compare::{Comparison, Group, Judgement};
use crate::stats::distribution::Distribution;
use crate::time::WallTime;
use crate::units::{Bytes, Nanos};
use serde::{Deserialize, Serialize};

/// The document of a plan, schema `pathmeter/experiment/1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Experiment {
    /// Always `pathmeter/experiment/1`.
    pub schema: String,
    /// Name of the plan: that of its file, without `.toml`.
    pub name: String,
    /// The plan's description of itself, in one line.
    pub title: String,
    /// Words that hold its runs together in a store.
    pub labels: Vec<String>,
    /// Begin, wall clock of this host.
    pub started: Option<WallTime>,
    /// End, wall clock of this host.
    pub finished: Option<WallTime>,
    /// The host that carried it out.
    pub host: Option<Host>,
    /// Requested runs of each row.
    pub repetitions: u32,
    /// Whether the rows took turns, so that a slow drift affects all of them equally.
    pub interleaved: bool,
    /// Every row, in the order of the plan.
    pub rows: Vec<ExperimentRow>,
    /// Findings from rows between sites together.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<MatrixFinding>,
    /// Remarks on the whole.
    pub notes: Vec<String>,
}

/// A finding from rows between sites together, which no row shows alone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MatrixFinding {
    /// Stable name.
    pub id: String,
    /// The test.
    pub test: String,
    /// One sentence in plain words.
    pub title: String,
}

/// One path with one test and one value of each variable.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ExperimentRow {
    /// Name of the path.
    pub path: String,
    /// The sites that it lies between.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sites: Option<Sites>,
    /// Name of the test.
    pub test: String,
    /// The values of the variables.
    pub settings: Vec<Setting>,
    /// Every run of it, those that failed too.
    pub runs: Vec<RowRun>,
    /// Its figures over the runs that count.
    pub figures: Vec<RowFigure>,
    /// The round trips of all runs that count together: percentiles of merged histograms, never means of percentiles.
    #[serde(rename = "rtt_ns", skip_serializing_if = "Option::is_none")]
    pub round_trips: Option<Distribution>,
    /// The row that it is compared with; absent: others are compared with it, or nothing was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// Findings in its runs.
    pub findings: Vec<RowFinding>,
    /// Expectations of each of its runs.
    pub expectations: Vec<Checked>,
    /// Why runs are missing, or none could be.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Whether it cannot run here at all: no far end is the cause.
    #[serde(default)]
    pub unavailable: bool,
}

/// The sites that a path lies between: its place in a matrix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sites {
    /// Where it begins.
    pub source: String,
    /// Where it ends.
    pub target: String,
    /// The IP version, 4 or 6, where the plan asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<u8>,
}

/// A variable and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setting {
    /// The key of the plan.
    pub name: String,
    /// The text in the plan.
    pub value: String,
}

/// One run of a row.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowRun {
    /// Its name, by which a store has it; empty: it failed.
    pub id: String,
    /// The round, from 1.
    pub round: u32,
    /// Begin, wall clock of this host.
    pub started: Option<WallTime>,
    /// The verdict in one word; absent: it failed.
    pub status: Option<Status>,
    /// The verdict in a sentence.
    pub verdict: String,
    /// Its foremost figures.
    pub figures: Vec<Headline>,
    /// Why it failed or was cut short; its figures do not count then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The agent that measured it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The fencing token of the lease under which it was measured: of two runs on one resource the later one has the higher.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_token: Option<u64>,
}

/// A figure over the runs of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowFigure {
    /// Its name, as an expectation names it.
    pub name: String,
    /// The runs: a run is one value, whatever it consists of. Bits per second, nanoseconds, bytes or a share.
    pub runs: Group,
    /// The median with its unit, to be read.
    pub text: String,
    /// Comparison with the row in `against`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub comparison: Option<Comparison>,
}

/// Something found in runs of a row.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RowFinding {
    /// Stable name.
    pub id: String,
    /// Severity.
    pub severity: Severity,
    /// The sentence of the first run that has it.
    pub title: String,
    /// Advice.
    pub advice: String,
    /// Number of runs in which it was found.
    pub runs: u64,
}

impl ExperimentRow {
    /// The runs whose figures count: they were not cut short, and are not void.
    pub fn counted(&self) -> impl Iterator<Item = &RowRun> {
        self.runs.iter().filter(|run| run.error.is_none() && run.status.is_some_and(|of| of != Status::Void))
    }

    /// The path and the values of its variables.
    #[must_use]
    pub fn name(&self) -> String {
        let settings = self.settings.iter().map(|one| format!("{} {}", one.name, one.value));
        std::iter::once(self.path.clone()).chain(settings).collect::<Vec<_>>().join(", ")
    }

    /// Nothing of it can be used.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.counted().next().is_none()
    }

    /// The words of all its comparisons, the worst one.
    #[must_use]
    pub fn judgement(&self) -> Option<Judgement> {
        let all = self.figures.iter().filter_map(|figure| Some(figure.comparison.as_ref()?.judgement));
        all.max_by_key(|judgement| rank(*judgement))
    }

    /// Something that was expected is otherwise.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.expectations.iter().any(|expected| !expected.held)
    }
}

impl Experiment {
    /// Nothing could be measured, or nothing of it can be used.
    #[must_use]
    pub fn is_void(&self) -> bool {
        self.rows.iter().all(ExperimentRow::is_empty)
    }

    /// Something that was expected is otherwise. A row that cannot run here breaks nothing.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.rows.iter().any(|row| row.is_broken() && !row.unavailable)
    }

    /// Rows that were tried, and of which nothing could be measured: the far end cannot be reached, or refuses.
    pub fn failed(&self) -> impl Iterator<Item = &ExperimentRow> {
        let has_failed =
            |row: &ExperimentRow| row.runs.iter().any(|run| run.status.is_none() && run.error.is_some());
        self.rows.iter().filter(move |row| row.is_empty() && has_failed(row))
    }
}

/// Sort key: worse results before better ones, certain results before uncertain ones.
fn rank(judgement: Judgement) -> u8 {
    match judgement {
        Judgement::Same => 0,
        Judgement::NoPercentage => 1,
        Judgement::TooFew { .. } => 2,
        Judgement::CannotTell { .. } => 3,
        Judgement::Better => 4,
        Judgement::Worse => 5,
    }
}

/// Name and version of the document's schema.
pub const SCHEMA: &str = "pathmeter/experiment/1";

/// The steps of a plan, schema `pathmeter/experiment-plan/1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Outline {
    /// Always `pathmeter/experiment-plan/1`.
    pub schema: String,
    /// Name of the plan.
    pub name: String,
    /// Description in one line.
    pub title: String,
    /// Its paths.
    pub paths: Vec<OutlinePath>,
    /// Runs of each row.
    pub repetitions: u32,
    /// The rows take turns.
    pub interleaved: bool,
    /// Every combination of path, test and values.
    pub rows: Vec<OutlineRow>,
    /// The rows in the order in which they run, by their numbers from 1.
    pub order: Vec<u64>,
    /// Runs in all.
    pub runs: u64,
    /// The time of those runs whose time is known.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// Whether that is the time of all runs.
    pub is_time_known: bool,
    /// The payload of those runs that move a known amount.
    pub bytes: Bytes,
    /// Whether that is the payload of all runs; otherwise the others move as much as the path carries.
    pub are_bytes_known: bool,
    /// No run begins that would end later.
    #[serde(rename = "time_limit_ns")]
    pub time_limit: Option<Nanos>,
    /// No run begins after so many bytes.
    #[serde(rename = "limit_bytes")]
    pub bytes_limit: Option<Bytes>,
}

/// A path of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutlinePath {
    /// Its name.
    pub name: String,
    /// Where it begins.
    pub from: String,
    /// Where it ends, as it was written.
    pub to: String,
    /// The address that will be used.
    pub address: Option<String>,
    /// The local address that packets leave from.
    pub bind: Option<String>,
    /// The interface that packets leave through.
    pub device: Option<String>,
    /// Why it cannot be measured.
    pub refused: Option<String>,
}

/// A row that a plan would measure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct OutlineRow {
    /// The path.
    pub path: String,
    /// The test.
    pub test: String,
    /// The values of the variables.
    pub settings: Vec<Setting>,
    /// The activity, in a few words.
    pub what: String,
    /// About how long a run takes; absent: as long as the path needs.
    #[serde(rename = "time_ns")]
    pub time: Option<Nanos>,
    /// Payload that a run moves; absent: as much as the path carries.
    pub bytes: Option<Bytes>,
    /// Why it cannot be measured.
    pub refused: Option<String>,
}

/// Name and version of the outline's schema.
pub const OUTLINE_SCHEMA: &str = "pathmeter/experiment-plan/1";
