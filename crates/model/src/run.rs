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
    /// The plan. A `measure` run has the plan in each of its tests.
    pub plan: Option<Plan>,
    /// The plan of a latency run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyPlan>,
    /// The plan of a run about packet sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathPlan>,
    /// The plan of a run about hops.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hops: Option<HopsPlan>,
    /// The plan of a run of transfers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer: Option<TransferPlan>,
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

    /// The far end as requested, or several; empty: it is not known.
    #[must_use]
    pub fn target(&self) -> String {
        let plan = self.plan.as_ref().map(|plan| plan.target.host.clone());
        let egress_paths = || {
            let mut hosts: Vec<&str> = self
                .latency
                .as_ref()?
                .egress_paths
                .iter()
                .map(|egress| egress.target.host.as_str())
                .collect();
            hosts.dedup();
            Some(hosts.join(" "))
        };
        let files = || {
            let files = &self.transfer.as_ref()?.files;
            Some(files.iter().map(|file| file.url.as_str()).collect::<Vec<_>>().join(" "))
        };
        plan.or_else(egress_paths)
            .or_else(|| self.path.as_ref().map(|plan| plan.target.host.clone()))
            .or_else(|| self.hops.as_ref().map(|plan| plan.target.host.clone()))
            .or_else(files)
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
        match self.kind.as_str() {
            _ if self.latency.is_some() || !self.summary.egress_paths.is_empty() => Subject::Latency,
            kind if self.path.is_some() || kind == "mtu" => Subject::Path,
            kind if self.hops.is_some() || kind == "hops" => Subject::Hops,
            _ if self.transfer.is_some() || self.summary.transfer.is_some() => Subject::Transfer,
            kind if kind == "frames" || !self.summary.rows.is_empty() => Subject::Frames,
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

    fn take(&mut self, event: &Event) {
        match event {
            Event::Connected(connected) => {
                self.started = Some(connected.wall);
                self.plan = Some(connected.plan.clone());
                self.host = Some(connected.host.clone());
                self.peer.clone_from(&connected.peer);
            }
            Event::Sample(sample) => self.intervals.push(sample.clone()),
            Event::LatencyStarted(begun) => {
                self.started = Some(begun.wall);
                self.latency = Some(begun.plan.clone());
                self.host = Some(begun.host.clone());
                self.peer = begun.ends.iter().find_map(|ends| ends.peer.clone());
            }
            Event::PathStarted(begun) => {
                self.started = Some(begun.wall);
                self.path = Some(begun.plan.clone());
                self.host = Some(begun.host.clone());
                self.peer.clone_from(&begun.peer);
            }
            Event::HopsStarted(begun) => {
                self.started = Some(begun.wall);
                self.hops = Some(begun.plan.clone());
                self.host = Some(begun.host.clone());
            }
            Event::TransferStarted(begun) => {
                self.started = Some(begun.wall);
                self.transfer = Some(begun.plan.clone());
                self.host = Some(begun.host.clone());
            }
            Event::LatencySample(sample) => self.latency_intervals.push(sample.clone()),
            Event::Finished(finished) => self.finished = Some(finished.wall),
            _ => {}
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
