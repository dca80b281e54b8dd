//! Alerts on the paths of a mesh: a change that more than one run confirms is reported once.

use crate::matrix::split;
use alert::metrics::PathState;
use alert::reach::{Attempt, Reach, change};
use alert::{Alert, Word};
use fleet::coordinator::Forgery;
use fleet::job::End;
use fleet::mesh::{MeshPlan, PlannedRun};
use fleet::name::run_name;
use fleet::results::Results;
use linux::clock::wall_now;
use model::mesh::{CellState, MeshCell, MeshReport};
use model::run::Run;
use model::stats::compare::Rules;
use report::format::trend::Trends;
use store::{Change, Filter, Store, StoreError};

/// The kept runs of a mesh, judged.
#[derive(Debug)]
pub struct Judge {
    store: Store,
    label: String,
    /// For whom alerts are kept until they have them.
    receivers: Vec<String>,
}

/// The alerts and path states that a judge found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// Alerts to report now. The store notes them as reported.
    pub alerts: Vec<Alert>,
    /// How every path stands.
    pub states: Vec<PathState>,
}

impl Judge {
    /// Judges the runs with this label. The store keeps alerts for the `receivers` until they have received them.
    #[must_use]
    pub fn new(store: Store, label: impl Into<String>, receivers: Vec<String>) -> Judge {
        Judge { store, label: label.into(), receivers }
    }

    /// Those runs of a plan that are to be measured again before an alert is sent: paths that failed and whose failure was not
    /// reported yet, and those whose newest figure would be a change if it stayed. `attempt` names the new runs.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn again(&self, plan: &MeshPlan, results: &Results, attempt: u32) -> Result<MeshPlan, StoreError> {
        let mut again = MeshPlan { name: plan.name.clone(), grace: plan.grace, ..MeshPlan::default() };
        for round in &plan.rounds {
            let runs = self.suspicious(round, results, attempt)?;
            again.rounds.extend((!runs.is_empty()).then_some(runs));
        }
        again.background = self.suspicious(&plan.background, results, attempt)?;
        Ok(again)
    }

    fn suspicious(
        &self,
        runs: &[PlannedRun],
        results: &Results,
        attempt: u32,
    ) -> Result<Vec<PlannedRun>, StoreError> {
        let mut again = Vec::new();
        for run in runs {
            let Some(outcome) = results.outcomes.get(&run.job.run) else { continue };
            let Some((kind, target)) = split(&run.job.title) else {
                continue;
            };
            let is_suspicious = match &outcome.end {
                End::Void { .. } => false,
                End::Failed { .. } => self.is_new(target, kind, attempt)?,
                End::Done { .. } => self.stands_out(target, kind)?,
            };
            if is_suspicious {
                let mut run = run.clone();
                run.job.run = run_name(&[&run.job.run, "again", &attempt.to_string()]);
                again.push(run);
            }
        }
        Ok(again)
    }

    /// Judges a measured mesh: the alerts to report, and the states of its paths.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn judge(&self, report: &MeshReport, results: &Results) -> Result<Judged, StoreError> {
        let mut judged = Judged::default();
        // Packet sizes of both directions are one run.
        let own = report.cells.iter().filter(|cell| cell.path() == cell.target && !cell.run.is_empty());
        for cell in own {
            let attempt = Attempt { target: &cell.target, kind: &cell.test, run: &cell.run };
            let is_own = |run: &str| results.outcomes.contains_key(run);
            self.judge_path(attempt, reach_of_cell(cell).as_ref(), is_own, &mut judged)?;
        }
        Ok(judged)
    }

    /// The same of pairs that were measured together, which are one run. `target`: that of the kept run.
    ///
    /// # Errors
    /// The store cannot be read or written.
    pub fn judge_group(&self, run: &Run, target: &str) -> Result<Judged, StoreError> {
        let mut judged = Judged::default();
        let attempt = Attempt { target, kind: GROUP_KIND, run: &run.id };
        self.judge_path(attempt, reach_of_group(run).as_ref(), |one| one == run.id, &mut judged)?;
        Ok(judged)
    }

    /// Whether pairs that were measured together are to be measured again before an alert is sent.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn is_suspicious(&self, run: &Run, target: &str, attempt: u32) -> Result<bool, StoreError> {
        match reach_of_group(run) {
            Some(Reach::Failed(_)) => self.is_new(target, GROUP_KIND, attempt),
            Some(_) => self.stands_out(target, GROUP_KIND),
            None => Ok(false),
        }
    }

    /// Adds an alert for each outcome that was refused as forged, once for each run.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn judge_forgeries(&self, forgeries: &[Forgery], judged: &mut Judged) -> Result<(), StoreError> {
        for forgery in forgeries {
            let (kind, target) = split(&forgery.title).unwrap_or(("", &forgery.title));
            let alert = Alert::of_path(Word::Forged, target, kind, &forgery.run, forgery.text());
            // The last report of the path itself stands apart from it.
            self.report(Alert { figure: FORGED_FIGURE.to_owned(), ..alert }, judged)?;
        }
        Ok(())
    }

    /// Judges one path. `reach` is how its latest attempt ended; absent: the attempt shows nothing about the path.
    fn judge_path(
        &self,
        attempt: Attempt<'_>,
        reach: Option<&Reach>,
        is_own: impl Fn(&str) -> bool,
        judged: &mut Judged,
    ) -> Result<(), StoreError> {
        let state = |alert, is_active| PathState {
            target: attempt.target.to_owned(),
            kind: attempt.kind.to_owned(),
            figure: String::new(),
            alert,
            is_active,
        };
        if let Some(reach) = reach {
            let reported = self.reported(attempt.target, attempt.kind)?;
            if let Some(alert) = change(reported.as_deref(), attempt, reach) {
                self.report(alert, judged)?;
            }
            judged.states.push(state(Word::Unreachable.name(), matches!(reach, Reach::Failed(_))));
            judged.states.push(state(Word::Silent.name(), matches!(reach, Reach::Silent(_))));
        }
        let trends = self.trends(attempt.target, attempt.kind)?;
        for alert in Alert::of_trends(&trends, is_own) {
            self.report(alert, judged)?;
        }
        judged.states.extend(
            trends
                .series
                .iter()
                .map(|series| PathState { figure: series.figure.clone(), ..state("worse", series.is_worse) }),
        );
        Ok(())
    }

    /// A path that failed, and of which that is not known. Two attempts confirm it.
    fn is_new(&self, target: &str, kind: &str, attempt: u32) -> Result<bool, StoreError> {
        Ok(attempt == 1 && self.reported(target, kind)?.as_deref() != Some(Word::Unreachable.name()))
    }

    /// The newest figure of a path would be a change if it stayed.
    fn stands_out(&self, target: &str, kind: &str) -> Result<bool, StoreError> {
        Ok(self.trends(target, kind)?.series.iter().any(|series| series.is_suspicious))
    }

    /// Once, also by a coordinator that was killed after the run was kept.
    fn report(&self, alert: Alert, judged: &mut Judged) -> Result<(), StoreError> {
        let change = Change { run: &alert.run, figure: &alert.figure, change: alert.word.name() };
        let text = serde_json::to_string(&alert).unwrap_or_default();
        if self.store.alert(change, &text, wall_now(), &self.receivers)? {
            judged.alerts.push(alert);
        }
        Ok(())
    }

    fn reported(&self, target: &str, kind: &str) -> Result<Option<String>, StoreError> {
        self.store.last_alert(target, kind, &self.label, "")
    }

    fn trends(&self, target: &str, kind: &str) -> Result<Trends, StoreError> {
        let filter = Filter {
            kind: Some(kind.to_owned()),
            label: Some(self.label.clone()),
            limit: Some(LOOKED_BACK),
            ..Filter::default()
        };
        let (samples, marks) = self.store.marked_series(target, &filter)?;
        Ok(Trends::from_samples(target, &samples, &marks, Rules::new(true)))
    }
}

/// How a cell's path could be reached; absent: its result is void and shows nothing about the path.
fn reach_of_cell(cell: &MeshCell) -> Option<Reach> {
    let reason = || cell.reason.clone().unwrap_or_else(|| "no reason is known".to_owned());
    match cell.state {
        CellState::Done => Some(Reach::Measured),
        CellState::Failed => Some(Reach::Failed(reason())),
        CellState::Missed => Some(Reach::Silent(reason())),
        CellState::Void => None,
    }
}

/// The same of pairs that were measured together.
fn reach_of_group(run: &Run) -> Option<Reach> {
    let pairs = run.summary.pairs.as_ref()?;
    let is_void = pairs.common_start.as_ref().is_some_and(|start| start.void.is_some());
    match pairs.broken.first() {
        Some(broken) => Some(Reach::Failed(format!("pair {}: {}", broken.pair, broken.reason))),
        None => (!is_void).then_some(Reach::Measured),
    }
}

/// How the store knows pairs that are measured together: `together ams:fra, lon:fra`.
#[must_use]
pub fn target_of_group(pairs: &[(String, String)]) -> String {
    let pairs: Vec<String> = pairs.iter().map(|(from, to)| format!("{from}:{to}")).collect();
    format!("together {}", pairs.join(", "))
}

/// Test kind of pairs that are measured together.
pub const GROUP_KIND: &str = "throughput";

/// Where an alert of a forged outcome has the figure that changed.
const FORGED_FIGURE: &str = "outcome";
/// Attempts beside the first one, before a change is reported: two more confirm it.
pub const AGAIN: u32 = 2;
/// Runs that a trend is made of.
const LOOKED_BACK: u64 = 500;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::MeshJob;
    use crate::keep::keep;
    use crate::matrix::report_of_results;
    use crate::outcomes::{done, failed, latency, missed, outcome};
    use fleet::job::{AgentJob, Outcome};
    use fleet::lease::Class;
    use model::time::WallTime;
    use model::units::Nanos;

    /// A store and its judge, night after night.
    struct Nights {
        _folder: tempfile::TempDir,
        store: Store,
        judge: Judge,
        count: u64,
    }

    impl Nights {
        fn new() -> Nights {
            let folder = tempfile::tempdir().expect("a folder");
            let open = || Store::open(folder.path().join("runs.db").as_path()).expect("usable");
            let (store, judge) = (open(), Judge::new(open(), "mesh", Vec::new()));
            Nights { _folder: folder, store, judge, count: 0 }
        }

        /// Measures a night with these ends and returns the alerts that it reports.
        fn night(&mut self, ends: &[Option<End>]) -> Vec<String> {
            let job = latency("ams", "fra");
            let mut results = Results::default();
            for end in ends {
                self.count += 1;
                let run = self.count.to_string();
                let Some(end) = end else {
                    let row = missed(&job.title());
                    let begun = store::Begun {
                        id: run.clone(),
                        kind: "latency".into(),
                        target: "ams -> fra".into(),
                        label: "mesh".into(),
                        started: WallTime(1_790_000_000_000_000_000 + self.count),
                    };
                    self.store.expect(&begun).expect("kept");
                    results.missed.insert(run, row);
                    continue;
                };
                let measured = outcome(&run, &job.title(), end.clone());
                let measured = Outcome { started: WallTime(measured.started.0 + self.count), ..measured };
                keep(&self.store, &measured, "mesh").expect("kept");
                results.outcomes.insert(run, measured);
            }
            let report = report_of_results("night", &results, Vec::new());
            let judged = self.judge.judge(&report, &results).expect("usable");
            let again = self.judge.judge(&report, &results).expect("usable");
            assert!(again.alerts.is_empty(), "the same night again reports nothing: {again:?}");
            let reported =
                judged.alerts.iter().map(|alert| format!("{} {}", alert.word.name(), alert.figure));
            reported.map(|words| words.trim().to_owned()).collect()
        }
    }

    fn took(time: u64) -> Option<End> {
        Some(End::Done { body: done(&latency("ams", "fra"), time) })
    }

    fn refused() -> Option<End> {
        Some(End::Failed { reason: "no route".into() })
    }

    #[test]
    fn failure_silence_and_recovery_are_reported_once_each() {
        let mut nights = Nights::new();
        assert!(nights.night(&[took(1_000)]).is_empty());
        assert_eq!(nights.night(&[refused(), refused()]), ["unreachable"]);
        assert!(nights.night(&[refused()]).is_empty(), "it is known");
        assert_eq!(nights.night(&[took(1_000)]), ["reachable"]);
        // One failure and a second attempt that goes well is no alarm.
        assert!(nights.night(&[refused(), took(1_000)]).is_empty());
        assert_eq!(nights.night(&[None]), ["silent"]);
        assert!(nights.night(&[None]).is_empty());
        assert_eq!(nights.night(&[took(1_000)]), ["reachable"]);
        let lapsed = End::Void { reason: "lease lost".into(), body: done(&latency("ams", "fra"), 1) };
        assert!(nights.night(&[Some(lapsed)]).is_empty(), "what is void shows nothing");
    }

    #[test]
    fn a_figure_that_three_runs_confirm_is_reported_and_its_recovery_too() {
        let mut nights = Nights::new();
        for night in 0..10 {
            assert!(nights.night(&[took(1_000_000 + night % 3 * 1_000)]).is_empty());
        }
        let times = |of: u64| (0..6).map(|step| took(of + step % 3 * 1_000)).collect::<Vec<_>>();
        let worse = nights.night(&times(9_000_000));
        assert!(worse.contains(&"worse rtt.p50".to_owned()), "{worse:?}");
        assert!(!nights.night(&[took(9_000_000)]).contains(&"worse rtt.p50".to_owned()), "it is known");
        let back = nights.night(&times(1_000_000));
        assert!(back.contains(&"recovered rtt.p50".to_owned()), "{back:?}");
    }

    fn plan(run: &str, job: &MeshJob) -> MeshPlan {
        let job = AgentJob {
            run: run.into(),
            title: job.title(),
            class: Class::Normal,
            resources: Vec::new(),
            group: String::new(),
            span: Nanos::from_secs(1),
            deadline: WallTime(0),
            handed_out: WallTime(0),
            number: 1,
            since: 1,
            grant: String::new(),
            body: String::new(),
        };
        MeshPlan { rounds: vec![vec![PlannedRun { agent: "ams".into(), job }]], ..MeshPlan::default() }
    }

    #[test]
    fn what_fails_or_stands_out_is_measured_again_under_a_new_name() {
        let mut nights = Nights::new();
        let job = latency("ams", "fra");
        let again = |nights: &Nights, end: Outcome| {
            let results = Results { outcomes: [("1".to_owned(), end)].into(), ..Results::default() };
            let again = nights.judge.again(&plan("1", &job), &results, 1).expect("usable");
            again.rounds.concat().into_iter().map(|run| run.job.run).collect::<Vec<_>>()
        };
        let first = again(&nights, failed("1", &job.title()));
        assert!(first.len() == 1 && first[0] != "1", "{first:?}");
        nights.night(&[refused(), refused()]);
        assert!(
            again(&nights, failed("1", &job.title())).is_empty(),
            "what is known to fail is not tried again"
        );
        let good = || outcome("1", &job.title(), took(1_000_000).expect("an end"));
        for night in 0..10 {
            nights.night(&[took(1_000_000 + night % 3 * 1_000)]);
        }
        assert!(again(&nights, good()).is_empty());
        nights.night(&[took(9_000_000)]);
        assert_eq!(again(&nights, good()).len(), 1, "the newest run stands out");
    }
}
