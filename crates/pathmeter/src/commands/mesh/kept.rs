//! The runs of a mesh in a store.

use crate::commands::alerts::Alerts as Receivers;
use crate::commands::progress::say;
use crate::commands::store::{failed, open, to_read};
use cli::{MeshRunArgs, StoreArgs};
use engine::error::{Failure, Result};
use fleet::coordinator::{Forgery, Sink};
use fleet::mesh::MeshPlan;
use fleet::results::{ResultFile, Results};
use linux::clock::wall_now;
use mesh::alerts::{AGAIN, GROUP_KIND, Judge, Judged, target_of_group};
use mesh::keep::KeptResults;
use mesh::matrix::{report_of_results, results_of_runs, runs_of_plan};
use mesh::roll::{Earlier, earlier_of_paths};
use model::history::{Measured, Origin};
use model::mesh::MeshReport;
use model::run::Run;
use model::time::WallTime;
use report::expect::headlines;
use report::mesh::report_of_entries;
use std::collections::HashSet;
use store::{Begun, Filter, Store};

/// Where the results of a run of the mesh go: into their file, and with `--save` into the store, too.
pub(super) fn sink(args: &MeshRunArgs, file: ResultFile) -> Result<Box<dyn Sink>> {
    if !args.save {
        return Ok(Box::new(file));
    }
    Ok(Box::new(KeptResults::new(file, open(&args.store)?, &args.label)))
}

/// The receivers of alerts on changes.
pub(super) struct Alerts<'a> {
    args: &'a MeshRunArgs,
    receivers: Receivers<'a>,
    judge: Judge,
    /// The runs that were reported before, as far as there was something to report.
    known: HashSet<String>,
}

impl<'a> Alerts<'a> {
    /// Makes the receivers of alerts; absent where there are none.
    ///
    /// # Errors
    /// A receiver is invalid, or the store cannot be opened.
    pub(super) fn from_args(args: &'a MeshRunArgs) -> Result<Option<Alerts<'a>>> {
        let Some((receivers, judge)) = judging(args)? else { return Ok(None) };
        let known = Results::read(&args.results).map_err(super::failed)?;
        // Runs that were missed since the last measured one are still to be reported.
        let last = known.outcomes.values().map(|outcome| outcome.started).max();
        let missed = known.missed.into_iter().filter(|(_, row)| last.is_some_and(|last| row.due <= last));
        let known = known.outcomes.into_keys().chain(missed.map(|(run, _)| run)).collect();
        Ok(Some(Alerts { args, receivers, judge, known }))
    }

    /// Measures suspicious runs again, before an alert is sent.
    pub(super) fn again(
        &self,
        plan: &MeshPlan,
        carry_out: &mut dyn FnMut(MeshPlan) -> Result<()>,
    ) -> Result<()> {
        let mut last = plan.clone();
        for attempt in 1..=AGAIN {
            let results = Results::read(&self.args.results).map_err(super::failed)?;
            last = self.judge.again(&last, &results, attempt).map_err(failed)?;
            if last.runs() == 0 {
                break;
            }
            carry_out(last.clone())?;
        }
        Ok(())
    }

    /// Sends alerts on changes by a plan's runs, on missed runs beside them, and on forged outcomes.
    pub(super) fn notify(self, plan: &MeshPlan, forgeries: &[Forgery]) -> Result<()> {
        let mut results = Results::read(&self.args.results).map_err(super::failed)?;
        let all: HashSet<String> = results.outcomes.keys().chain(results.missed.keys()).cloned().collect();
        let mut runs = runs_of_plan(plan);
        runs.extend(all.difference(&self.known).cloned());
        results = results_of_runs(results, &runs);
        let mut judged =
            self.judge.judge(&report_of_results("", &results, Vec::new()), &results).map_err(failed)?;
        self.judge.judge_forgeries(forgeries, &mut judged).map_err(failed)?;
        send(self.receivers, &judged, &self.args.label);
        Ok(())
    }
}

/// The receivers of alerts, and the judge of what they get; absent where there are none.
fn judging(args: &MeshRunArgs) -> Result<Option<(Receivers<'_>, Judge)>> {
    if args.alerts.is_empty() {
        return Ok(None);
    }
    let receivers = Receivers::from_args(&args.alerts, open(&args.store)?)?;
    let judge = Judge::new(open(&args.store)?, &args.label, receivers.kept_for());
    Ok(Some((receivers, judge)))
}

/// Hands out what a judge has found, and waits until it is delivered.
fn send(receivers: Receivers<'_>, judged: &Judged, label: &str) {
    for alert in &judged.alerts {
        say(&format!("ALERT {}", alert.text));
        receivers.send(alert);
    }
    receivers.note(&judged.states, label);
    receivers.finish();
}

/// Pairs that are measured together, as runs of a store.
pub(super) struct Group<'a> {
    args: &'a MeshRunArgs,
    store: Store,
    target: String,
    /// The receivers of alerts on changes.
    alerts: Option<(Receivers<'a>, Judge)>,
}

impl<'a> Group<'a> {
    /// Absent where nothing is kept.
    ///
    /// # Errors
    /// A receiver is none, or the store cannot be opened.
    pub(super) fn from_args(args: &'a MeshRunArgs, pairs: &[(String, String)]) -> Result<Option<Group<'a>>> {
        if !args.save {
            return Ok(None);
        }
        let (alerts, store) = (judging(args)?, open(&args.store)?);
        Ok(Some(Group { args, store, target: target_of_group(pairs), alerts }))
    }

    /// Keeps a run. True: it is to be measured again before an alert is sent.
    pub(super) fn keep(&self, run: &Run, attempt: u32) -> Result<bool> {
        let begun = Begun {
            id: run.id.clone(),
            kind: GROUP_KIND.to_owned(),
            target: self.target.clone(),
            label: self.args.label.clone(),
            started: run.started.unwrap_or_else(wall_now),
        };
        let measured = Measured::Run(run);
        self.store.insert(&begun, Origin::Measured, measured, &headlines(measured)).map_err(failed)?;
        let Some((_, judge)) = self.alerts.as_ref().filter(|_| attempt <= AGAIN) else { return Ok(false) };
        judge.is_suspicious(run, &self.target, attempt).map_err(failed)
    }

    /// Sends alerts on changes by the last run.
    pub(super) fn notify(self, run: &Run) -> Result<()> {
        let Some((receivers, judge)) = self.alerts else { return Ok(()) };
        let judged = judge.judge_group(run, &self.target).map_err(failed)?;
        send(receivers, &judged, &self.args.label);
        Ok(())
    }
}

/// The matrix of the latest kept run of each path.
pub(super) fn report(label: &str, args: &StoreArgs) -> Result<MeshReport> {
    let filter = Filter { label: Some(label.to_owned()), limit: Some(LOOKED_AT), ..Filter::default() };
    let report = report_of_entries(label, &to_read(args)?.list(&filter).map_err(failed)?);
    if report.cells.is_empty() {
        let what = format!("no run of a mesh is kept with the label {label}");
        return Err(Failure::usage(what, "keep them with `pathmeter mesh run --save`").into());
    }
    Ok(report)
}

/// The agents of kept runs that have a result, and when they last measured; none without `--save`.
pub(super) fn earlier(args: &MeshRunArgs, now: WallTime) -> Result<Earlier> {
    if !args.save {
        return Ok(Earlier::new());
    }
    let filter = Filter { label: Some(args.label.clone()), limit: Some(LOOKED_AT), ..Filter::default() };
    let entries = open(&args.store)?.list(&filter).map_err(failed)?;
    let measured = entries.iter().filter(|entry| entry.status.is_some());
    Ok(earlier_of_paths(measured.map(|entry| (entry.target.as_str(), entry.started)), now))
}

/// Runs that are looked at, the latest: a path without any among them has no cell.
const LOOKED_AT: u64 = 50_000;
