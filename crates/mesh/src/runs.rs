//! Every run of a mesh, done or not, as a document.

use fleet::job::{End, Outcome};
use fleet::results::Results;
use model::time::WallTime;
use model::units::Nanos;
use report::document::{Block, Column, Csv, Document, Head, Table, json_line, json_value};
use serde::Serialize;
use serde_json::Value;

/// The document, schema `pathmeter/mesh-runs/1`.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunList {
    /// Always `pathmeter/mesh-runs/1`.
    pub schema: String,
    /// Name of the results.
    pub name: String,
    /// The runs, the earliest first.
    pub runs: Vec<ListedRun>,
}

/// A run.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ListedRun {
    /// Its name.
    pub run: String,
    /// The test and its pair: `throughput ams -> fra`.
    pub title: String,
    /// `done`, `void`, `failed` or `missed`.
    pub state: String,
    /// When it began, clock of its agent; of a missed one when it was due.
    pub at: WallTime,
    /// How long it took.
    pub took_ns: Option<Nanos>,
    /// The agent that carried it out.
    pub agent: Option<String>,
    /// The fencing token of its lease.
    pub lease_token: Option<u64>,
    /// Why it has no result, or one that must not be trusted.
    pub reason: Option<String>,
    /// Which attempt at the run this is, from 1.
    pub attempt: u32,
}

impl RunList {
    /// The runs of a results file.
    #[must_use]
    pub fn from_results(name: &str, results: &Results) -> RunList {
        let missed = results.missed.iter().map(|(run, row)| ListedRun {
            run: run.clone(),
            title: row.title.clone(),
            state: row.state.word().to_owned(),
            at: row.due,
            reason: row.state.reason().map(str::to_owned),
            agent: Some(row.agent.clone()).filter(|agent| !agent.is_empty()),
            attempt: row.number.max(1),
            ..ListedRun::default()
        });
        let mut runs: Vec<ListedRun> =
            results.outcomes.values().chain(&results.earlier).map(ended).chain(missed).collect();
        runs.sort_by(|one, other| (one.at, &one.title).cmp(&(other.at, &other.title)));
        RunList { schema: SCHEMA.to_owned(), name: name.to_owned(), runs }
    }
}

fn ended(outcome: &Outcome) -> ListedRun {
    let (state, reason) = match &outcome.end {
        End::Done { .. } => ("done", None),
        End::Void { reason, .. } => ("void", Some(reason.clone())),
        End::Failed { reason } => ("failed", Some(reason.clone())),
    };
    ListedRun {
        run: outcome.run.clone(),
        title: outcome.title.clone(),
        state: state.to_owned(),
        at: outcome.started,
        took_ns: Some(outcome.finished - outcome.started),
        agent: Some(outcome.agent.clone()),
        lease_token: Some(outcome.token).filter(|token| *token > 0),
        reason,
        attempt: outcome.number,
    }
}

impl ListedRun {
    fn cells(&self) -> [String; 8] {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        [
            self.at.to_string(),
            self.title.clone(),
            self.state.clone(),
            self.attempt.to_string(),
            or_dash(self.took_ns.map(|took| took.to_string())),
            or_dash(self.agent.clone()),
            or_dash(self.lease_token.map(|token| token.to_string())),
            self.reason.clone().unwrap_or_default(),
        ]
    }
}

impl Document for RunList {
    fn head(&self) -> Head {
        let title = format!("Runs of {}", self.name);
        let times = self.runs.iter().map(|run| run.at);
        Head {
            kind: "mesh-runs".into(),
            title,
            depth: 1,
            started: times.clone().min(),
            finished: times.max(),
        }
    }

    fn blocks(&self) -> Vec<Block> {
        let cells = |run: &ListedRun| run.cells().map(|cell| report::harmless::text(&cell).into()).into();
        let rows = self.runs.iter().map(cells).collect();
        let count = |state: &str| self.runs.iter().filter(|run| run.state == state).count();
        let counts = ["done", "void", "failed", "missed"].map(|state| format!("{} {state}", count(state)));
        vec![
            Block::Table(Table::new(COLUMNS.map(Column::left).into(), rows).with_spare(&SPARE)),
            Block::Sentences(vec![format!("{} runs: {}.", self.runs.len(), counts.join(", "))]),
        ]
    }

    fn csv(&self) -> Csv {
        Csv::new(COLUMNS, self.runs.iter().map(ListedRun::cells))
    }

    fn value(&self) -> Value {
        json_value(self)
    }

    /// A line for each.
    fn ndjson(&self) -> String {
        self.runs.iter().map(json_line).collect()
    }
}

const COLUMNS: [&str; 8] =
    ["began or due", "run", "state", "attempt", "took", "agent", "lease token", "reason"];
/// Columns that a narrow screen leaves out, the first ones first.
const SPARE: [&str; 4] = ["lease token", "attempt", "took", "agent"];
const SCHEMA: &str = "pathmeter/mesh-runs/1";
