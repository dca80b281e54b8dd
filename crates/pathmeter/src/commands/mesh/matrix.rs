//! The matrix of a mesh: who sends in rows, who receives in columns.

use super::job::{MeshJob, MeshTest};
use crate::commands::output::deliver;
use crate::exit::Exit;
use cli::Common;
use engine::error::{Failure, Result, fault};
use fleet::job::End;
use fleet::results::Results;
use model::units::{BitRate, Nanos};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// What an agent sends back: what was asked, and the document of the run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct JobResult {
    /// What was asked.
    pub(crate) job: MeshJob,
    /// The document.
    pub(crate) run: Value,
}

/// One cell.
#[derive(Serialize)]
struct MatrixCell {
    from: String,
    to: String,
    state: &'static str,
    figure: Option<u64>,
    /// The figure's: `bit/s`, `ns` or `bytes`.
    unit: Option<&'static str>,
    #[serde(skip)]
    text: String,
    reason: Option<String>,
}

/// Prints the matrix. A run that is not done makes it void, failed or missed, and has its reason below.
pub(super) fn print(results: &Results, global: &Common) -> Result<Exit> {
    let cells = cells(results);
    let text = match global.format().name {
        "text" => text(&cells),
        "json" => serde_json::to_string_pretty(&cells).map_err(|error| fault(error.to_string()))? + "\n",
        other => {
            let what = format!("--format {other}: a matrix is printed as text or json");
            return Err(Failure::usage(what, "leave --format out, or give --json").into());
        }
    };
    deliver(global, report::harmless::text(&text).as_bytes())?;
    Ok(if cells.iter().all(|cell| cell.state == "done") { Exit::Done } else { Exit::Void })
}

fn cells(results: &Results) -> Vec<MatrixCell> {
    let ended = results.outcomes.values().map(|outcome| match &outcome.end {
        End::Done { body } => done(body),
        End::Void { reason, .. } => vec![not_done(&outcome.title, "void", reason)],
        End::Failed { reason } => vec![not_done(&outcome.title, "failed", reason)],
    });
    let missed = results
        .missed
        .values()
        .map(|row| not_done(&row.title, "missed", row.state.reason().unwrap_or("no reason is known")));
    let mut cells: Vec<MatrixCell> = ended.flatten().chain(missed).collect();
    cells.sort_by(|one, other| (&one.from, &one.to).cmp(&(&other.from, &other.to)));
    cells
}

/// The cells of a result: sizes of packets are measured in both directions at once.
fn done(body: &str) -> Vec<MatrixCell> {
    let Ok(JobResult { job, run }) = serde_json::from_str(body) else {
        return vec![not_done("? -> ?", "failed", "the result is not of this version")];
    };
    let back = MeshJob { from: job.to.clone(), to: job.from.clone(), reverse: !job.reverse, ..job.clone() };
    let both = if job.test == MeshTest::Mtu { vec![job, back] } else { vec![job] };
    both.into_iter().map(|job| measured(job, &run["summary"])).collect()
}

fn measured(job: MeshJob, summary: &Value) -> MatrixCell {
    let direction = if job.reverse { "down" } else { "up" };
    let figure = match job.test {
        MeshTest::Throughput => summary[direction]["goodput_bps"].as_u64(),
        MeshTest::Latency => summary["rtt_ns"]["p50"].as_u64(),
        MeshTest::Mtu => summary["path"][direction]["path_mtu"].as_u64(),
    };
    let unit = figure.map(|_| match job.test {
        MeshTest::Throughput => "bit/s",
        MeshTest::Latency => "ns",
        MeshTest::Mtu => "bytes",
    });
    let text = figure.map(|figure| match job.test {
        MeshTest::Throughput => BitRate(figure).to_string(),
        MeshTest::Latency => Nanos(figure).to_string(),
        MeshTest::Mtu => figure.to_string(),
    });
    let text = text.unwrap_or_else(|| "no figure".to_owned());
    MatrixCell { from: job.from, to: job.to, state: "done", figure, unit, text, reason: None }
}

fn not_done(title: &str, state: &'static str, reason: &str) -> MatrixCell {
    let (from, to) = title.split_once(" -> ").unwrap_or((title, "?"));
    let reason = Some(reason.to_owned());
    MatrixCell {
        from: from.to_owned(),
        to: to.to_owned(),
        state,
        figure: None,
        unit: None,
        text: state.to_owned(),
        reason,
    }
}

fn text(cells: &[MatrixCell]) -> String {
    let names: BTreeSet<&str> =
        cells.iter().flat_map(|cell| [cell.from.as_str(), cell.to.as_str()]).collect();
    let by_pair: BTreeMap<(&str, &str), &str> =
        cells.iter().map(|cell| ((cell.from.as_str(), cell.to.as_str()), cell.text.as_str())).collect();
    let widest = cells.iter().map(|cell| cell.text.len()).chain(names.iter().map(|name| name.len())).max();
    let width = widest.unwrap_or(0) + 2;
    let mut text = format!("{:<width$}", "from \\ to");
    names.iter().for_each(|name| text += &format!("{name:>width$}"));
    for from in &names {
        text += &format!("\n{from:<width$}");
        for to in &names {
            let cell = by_pair.get(&(*from, *to)).copied().unwrap_or(if from == to { "" } else { "-" });
            text += &format!("{cell:>width$}");
        }
    }
    text += "\n";
    for cell in cells {
        if let Some(reason) = &cell.reason {
            text += &format!("{}  {} -> {}: {reason}\n", cell.state, cell.from, cell.to);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use fleet::job::Outcome;
    use model::time::WallTime;

    fn outcome(run: &str, end: End) -> (String, Outcome) {
        let time = WallTime(0);
        let outcome = Outcome {
            run: run.into(),
            title: run.into(),
            agent: "a".into(),
            end,
            started: time,
            finished: time,
            token: 1,
            attempt: 1,
        };
        (run.to_owned(), outcome)
    }

    #[test]
    fn a_matrix_has_figures_and_reasons() {
        let job = MeshJob {
            from: "ams".into(),
            to: "fra".into(),
            test: MeshTest::Throughput,
            host: "192.0.2.1".into(),
            port: 5210,
            reverse: true,
            time: Nanos::from_secs(10),
        };
        let run = serde_json::json!({ "summary": { "down": { "goodput_bps": 9_400_000_000_u64 } } });
        let body = serde_json::to_string(&JobResult { job, run }).expect("JSON");
        let failed = End::Failed { reason: "no route".into() };
        let outcomes =
            [outcome("1", End::Done { body }), outcome("fra -> ams", failed)].into_iter().collect();
        let cells = cells(&Results { outcomes, ..Results::default() });
        let text = text(&cells);
        assert!(text.contains("9.40 Gbit/s") && text.contains("failed  fra -> ams: no route"), "{text}");
        assert_eq!((cells[0].figure, cells[0].unit), (Some(9_400_000_000), Some("bit/s")));
    }
}
