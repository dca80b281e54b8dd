//! When paths are measured next: as `pathmeter watch` keeps it, or as the runs that are kept show it.

use super::request::{query, target};
use super::{App, answer, ask};
use crate::failed::Failed;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use linux::clock::wall_now;
use model::history::Entry;
use model::stats::quantile::median;
use model::time::WallTime;
use serde::Serialize;
use serde_json::json;
use store::{Schedule, ScheduleKey, Store};

/// How often a path is measured by one command under one label.
#[derive(Serialize)]
pub(super) struct ScheduleRow {
    target: String,
    kind: String,
    label: String,
    every_seconds: f64,
    /// When the latest run began.
    latest: String,
    /// The next run should have begun by now.
    overdue: bool,
    /// The host whose `watch` measures; absent: the runs show how often they come.
    host: Option<String>,
    /// When the next run is due; absent: it is not known.
    due: Option<String>,
    /// How many runs show it; absent: `watch` keeps it.
    runs: Option<usize>,
}

impl ScheduleRow {
    fn of_watch(Schedule { key, every, latest, due }: Schedule, overdue: bool) -> ScheduleRow {
        ScheduleRow {
            target: key.target,
            kind: key.kind,
            label: key.label,
            every_seconds: every.as_secs_f64(),
            latest: latest.to_string(),
            overdue,
            host: Some(key.host),
            due: Some(due.to_string()),
            runs: None,
        }
    }

    pub(super) fn target(&self) -> &str {
        &self.target
    }
}

/// Those that `watch` keeps, of a far end or of all, the one that is due first in front.
pub(super) async fn list(State(app): State<App>, uri: Uri) -> Result<Response, Failed> {
    let target = target(&uri)?;
    answer(&app, move |store, _| Ok(json!({ "schedules": of_watches(store, target.as_deref())? }))).await
}

/// Drops one whose `watch` is gone for good; one that still runs keeps it anew.
pub(super) async fn forget(State(app): State<App>, uri: Uri) -> Result<StatusCode, Failed> {
    let key: ScheduleKey = query(&uri)?;
    match ask(&app, move |store, _| Ok(store.unschedule(&key)?)).await? {
        true => Ok(StatusCode::NO_CONTENT),
        false => Err(Failed::new(StatusCode::NOT_FOUND, "no such schedule is kept")
            .advised("/api/schedules lists them")),
    }
}

/// Those that `watch` keeps.
pub(super) fn of_watches(store: &Store, target: Option<&str>) -> Result<Vec<ScheduleRow>, Failed> {
    let now = wall_now();
    let row = |schedule: Schedule| {
        let overdue = schedule.is_overdue(now);
        ScheduleRow::of_watch(schedule, overdue)
    };
    Ok(store.schedules(target)?.into_iter().map(row).collect())
}

/// All of a far end: those that `watch` keeps, and for other commands and labels what their runs show.
pub(super) fn of_path(store: &Store, target: &str, entries: &[Entry]) -> Result<Vec<ScheduleRow>, Failed> {
    let mut rows = of_watches(store, Some(target))?;
    let shown = of_runs(target, entries, wall_now());
    let is_other =
        |row: &ScheduleRow| !rows.iter().any(|kept| (&kept.kind, &kept.label) == (&row.kind, &row.label));
    let others: Vec<ScheduleRow> = shown.into_iter().filter(is_other).collect();
    rows.extend(others);
    Ok(rows)
}

/// One row for each command and label that was measured often enough to see it. `entries`: the latest first.
fn of_runs(target: &str, entries: &[Entry], now: WallTime) -> Vec<ScheduleRow> {
    let mut groups: Vec<(&str, &str, Vec<&Entry>)> = Vec::new();
    for entry in entries {
        match groups.iter_mut().find(|(kind, label, _)| *kind == entry.kind && *label == entry.label) {
            Some((.., runs)) => runs.push(entry),
            None => groups.push((&entry.kind, &entry.label, vec![entry])),
        }
    }
    let schedule = |(kind, label, runs): &(&str, &str, Vec<&Entry>)| {
        // The latest alone: a schedule that was changed counts as it is now.
        let runs: Vec<&Entry> = runs.iter().take(RECENT).copied().collect();
        let gaps: Vec<f64> = runs.windows(2).map(|pair| seconds(pair[1].started, pair[0].started)).collect();
        let every = median(&gaps).filter(|every| runs.len() >= FEWEST && *every >= SHORTEST)?;
        // Runs by hand keep to no time.
        let near = gaps.iter().filter(|gap| (every * 0.5..=every * 1.5).contains(*gap)).count();
        (near * 4 >= gaps.len() * 3).then(|| ScheduleRow {
            target: target.to_owned(),
            kind: (*kind).to_owned(),
            label: (*label).to_owned(),
            every_seconds: every,
            latest: runs[0].started.to_string(),
            overdue: seconds(runs[0].started, now) > every * LATE,
            host: None,
            due: None,
            runs: Some(runs.len()),
        })
    };
    groups.iter().filter_map(schedule).collect()
}

fn seconds(from: WallTime, to: WallTime) -> f64 {
    to.0.saturating_sub(from.0) as f64 / 1e9
}

/// Runs that show how often a path is measured.
const RECENT: usize = 30;
const FEWEST: usize = 5;
/// Seconds: what comes faster is a series and no schedule.
const SHORTEST: f64 = 30.0;
/// Times between two runs without one: a run is missing.
const LATE: f64 = 2.5;
