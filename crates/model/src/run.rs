//! One run as a document: everything a reader, a file or a database needs of it.

use crate::event::Event;
use crate::expectation::Checked;
use crate::finding::{Finding, Status, Verdict};
use crate::hops::HopsPlan;
use crate::host::Host;
use crate::latency::{LatencyPlan, LatencySample};
use crate::path::PathPlan;
use crate::path::advice::Advice;
use crate::plan::Plan;
use crate::sample::IntervalSample;
use crate::summary::Summary;
use crate::time::WallTime;
use crate::transfer::TransferPlan;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The result document, schema `pathmeter/result/1`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Run {
    /// Always `pathmeter/result/1`.
    pub schema: String,
    /// Unique name of the run.
    pub id: String,
    /// The command: `throughput`, `measure`.
    pub kind: String,
    /// Begin, wall clock of this host.
    pub started: Option<WallTime>,
    /// End, wall clock of this host.
    pub finished: Option<WallTime>,
    /// The plan of what was measured. Runs of several tests, such as `measure`, have it in each of their tests.
    #[serde(deserialize_with = "Option::deserialize")]
    pub work: Option<Work>,
    /// This host.
    pub host: Option<Host>,
    /// The other host, where the protocol reports it.
    pub peer: Option<Host>,
    /// Every report interval, both ends.
    pub intervals: Vec<IntervalSample>,
    /// Every report interval of a latency run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub latency_intervals: Vec<LatencySample>,
    /// The figures.
    pub summary: Summary,
    /// The parts of a `measure` run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tests: Vec<Run>,
    /// The reasons.
    pub findings: Vec<Finding>,
    /// The numbers to set on the path, of a run about packet sizes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub advice: Vec<Advice>,
    /// The expectations (`--expect`), and whether each was met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Checked>,
    /// The conclusion.
    pub verdict: Verdict,
}

impl Run {
    /// Reads a document of any version: those before `work` have a key for each kind of plan.
    ///
    /// # Errors
    /// The document is not a result of this schema.
    pub fn read(mut document: Value) -> serde_json::Result<Run> {
        join_plans(&mut document);
        serde_json::from_value(document)
    }

    /// Fills the document of one test from its events, without a judgement: `insight` adds findings, advice and verdict.
    #[must_use]
    pub fn unjudged(id: &str, kind: &str, events: &[Event]) -> Run {
        let summary = Summary::from_events(events);
        let mut run =
            Run { schema: SCHEMA.into(), id: id.into(), kind: kind.into(), summary, ..Run::default() };
        events.iter().for_each(|event| run.take(event));
        run
    }

    /// The same run with these tests as its parts.
    #[must_use]
    pub fn with_tests(mut self, tests: Vec<Run>) -> Run {
        self.started = self.started.or_else(|| tests.iter().filter_map(|t| t.started).min());
        self.finished = tests.iter().filter_map(|t| t.finished).max().or(self.finished);
        self.host = self.host.or_else(|| tests.iter().find_map(|t| t.host.clone()));
        self.peer = self.peer.or_else(|| tests.iter().find_map(|t| t.peer.clone()));
        self.tests = tests;
        self
    }

    /// The plan of a test of throughput.
    #[must_use]
    pub fn throughput(&self) -> Option<&Plan> {
        let Some(Work::Throughput(plan)) = &self.work else { return None };
        Some(plan)
    }

    /// The same, or that of the first of its tests that has one.
    #[must_use]
    pub fn first_throughput(&self) -> Option<&Plan> {
        self.throughput().or_else(|| self.tests.iter().find_map(Run::throughput))
    }

    /// The plan of round trips.
    #[must_use]
    pub fn latency(&self) -> Option<&LatencyPlan> {
        let Some(Work::Latency(plan)) = &self.work else { return None };
        Some(plan)
    }

    /// The plan of a search of packet sizes.
    #[must_use]
    pub fn path(&self) -> Option<&PathPlan> {
        let Some(Work::Path(plan)) = &self.work else { return None };
        Some(plan)
    }

    /// The plan of a search of hops.
    #[must_use]
    pub fn hops(&self) -> Option<&HopsPlan> {
        let Some(Work::Hops(plan)) = &self.work else { return None };
        Some(plan)
    }

    /// The plan of transfers.
    #[must_use]
    pub fn transfer(&self) -> Option<&TransferPlan> {
        let Some(Work::Transfer(plan)) = &self.work else { return None };
        Some(plan)
    }

    /// The far end as requested, or several; empty: it is not known.
    #[must_use]
    pub fn target(&self) -> String {
        let planned = self.work.as_ref().map(Work::target);
        planned
            .or_else(|| self.tests.first().map(Run::target))
            .or_else(|| self.measured_hosts())
            .unwrap_or_default()
    }

    /// The hosts of round trips that another tool measured, which have no plan.
    fn measured_hosts(&self) -> Option<String> {
        let mut hosts: Vec<&str> =
            self.summary.egress_paths.iter().map(|egress| egress.host.as_str()).collect();
        hosts.dedup();
        (!hosts.is_empty()).then(|| hosts.join(" "))
    }

    /// What it is about: the kind of its plan, or of its figures where another tool measured them.
    #[must_use]
    pub fn subject(&self) -> Subject {
        match (&self.work, self.kind.as_str()) {
            (Some(Work::Latency(_)), _) => Subject::Latency,
            (Some(Work::Path(_)), _) | (None, "mtu") => Subject::Path,
            (Some(Work::Hops(_)), _) | (None, "hops") => Subject::Hops,
            (Some(Work::Transfer(_)), _) => Subject::Transfer,
            _ if !self.summary.egress_paths.is_empty() => Subject::Latency,
            _ if self.summary.transfer.is_some() => Subject::Transfer,
            (_, kind) if kind == "frames" || !self.summary.rows.is_empty() => Subject::Frames,
            _ => Subject::Throughput,
        }
    }

    /// Takes the expectations of the user: where one is broken, the verdict is at least [`Status::Broken`].
    pub fn hold_against(&mut self, expectations: Vec<Checked>) {
        if expectations.iter().any(|expected| !expected.held) {
            self.verdict.status = self.verdict.status.max(Status::Broken);
        }
        self.expectations = expectations;
    }

    fn begin(&mut self, wall: WallTime, work: Work, host: &Host) {
        self.started = Some(wall);
        self.work = Some(work);
        self.host = Some(host.clone());
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::Connected(begun) => {
                self.begin(begun.wall, Work::Throughput(Box::new(begun.plan.clone())), &begun.host);
                self.peer.clone_from(&begun.peer);
            }
            Event::Sample(sample) => self.intervals.push(sample.clone()),
            Event::LatencyStarted(begun) => {
                self.begin(begun.wall, Work::Latency(Box::new(begun.plan.clone())), &begun.host);
                self.peer = begun.ends.iter().find_map(|ends| ends.peer.clone());
            }
            Event::PathStarted(begun) => {
                self.begin(begun.wall, Work::Path(Box::new(begun.plan.clone())), &begun.host);
                self.peer.clone_from(&begun.peer);
            }
            Event::HopsStarted(begun) => {
                self.begin(begun.wall, Work::Hops(Box::new(begun.plan.clone())), &begun.host);
            }
            Event::TransferStarted(begun) => {
                self.begin(begun.wall, Work::Transfer(Box::new(begun.plan.clone())), &begun.host);
            }
            Event::LatencySample(sample) => self.latency_intervals.push(sample.clone()),
            Event::Finished(finished) => self.finished = Some(finished.wall),
            _ => {}
        }
    }
}

/// Makes `work` of the plan of a document that has a key for each kind, and in each of its tests.
fn join_plans(document: &mut Value) {
    let Some(run) = document.as_object_mut() else { return };
    run.get_mut("tests").and_then(Value::as_array_mut).into_iter().flatten().for_each(join_plans);
    if run.contains_key("work") {
        return;
    }
    let kinds = [
        ("latency", "latency"),
        ("path", "path"),
        ("hops", "hops"),
        ("transfer", "transfer"),
        ("plan", "throughput"),
    ];
    let plans =
        kinds.map(|(key, kind)| run.remove(key).filter(|plan| !plan.is_null()).map(|plan| (kind, plan)));
    let work = plans.into_iter().flatten().next().map(|(kind, plan)| json!({ kind: plan }));
    run.insert("work".into(), work.unwrap_or_default());
}

/// The plan of the one kind of work that a run is about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// A test of throughput.
    Throughput(Box<Plan>),
    /// Round trips.
    Latency(Box<LatencyPlan>),
    /// A search of packet sizes.
    Path(Box<PathPlan>),
    /// A search of hops.
    Hops(Box<HopsPlan>),
    /// Transfers of files.
    Transfer(Box<TransferPlan>),
}

impl Work {
    /// The far end as requested, or several.
    #[must_use]
    pub fn target(&self) -> String {
        match self {
            Work::Throughput(plan) => plan.target.host.clone(),
            Work::Latency(plan) => {
                let mut hosts: Vec<&str> =
                    plan.egress_paths.iter().map(|egress| egress.target.host.as_str()).collect();
                hosts.dedup();
                hosts.join(" ")
            }
            Work::Path(plan) => plan.target.host.clone(),
            Work::Hops(plan) => plan.target.host.clone(),
            Work::Transfer(plan) => {
                plan.files.iter().map(|file| file.url.as_str()).collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// The subject of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Throughput in either direction: one test, several pairs, or the tests of a `measure` run.
    Throughput,
    /// Round trips.
    Latency,
    /// Packet sizes.
    Path,
    /// The hops of a path.
    Hops,
    /// Transfers of files.
    Transfer,
    /// Frame sizes.
    Frames,
}

/// Name and version of the document's schema.
pub const SCHEMA: &str = "pathmeter/result/1";
