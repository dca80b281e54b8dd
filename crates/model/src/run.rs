//! One run as a document: everything a reader, a file or a database needs of it.

use crate::analysis::Pairs;
use crate::event::Event;
use crate::finding::{self, Finding, Verdict};
use crate::frames::FrameRow;
use crate::host::Host;
use crate::latency::{LatencyPlan, LatencySample};
use crate::path::PathPlan;
use crate::path::advice::{self, Advice};
use crate::plan::Plan;
use crate::sample::IntervalSample;
use crate::summary::Summary;
use crate::time::WallTime;
use crate::transfer::TransferPlan;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The result document, schema `pathmeter/result/1`. Only ever extended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    /// What was planned. A `measure` run has the plan in each of its tests.
    pub plan: Option<Plan>,
    /// What was planned for a latency run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency: Option<LatencyPlan>,
    /// What was planned for a run about packet sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathPlan>,
    /// What was planned for a run of transfers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transfer: Option<TransferPlan>,
    /// This host.
    pub host: Option<Host>,
    /// The other host, where the protocol tells.
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
    /// The conclusion.
    pub verdict: Verdict,
}

impl Run {
    /// Makes the document of one test from its events.
    pub fn of(id: &str, kind: &str, events: &[Event]) -> Run {
        let summary = Summary::of(events);
        let mut run = Run {
            schema: SCHEMA.into(),
            id: id.into(),
            kind: kind.into(),
            started: None,
            finished: None,
            plan: None,
            latency: None,
            path: None,
            transfer: None,
            host: None,
            peer: None,
            intervals: Vec::new(),
            latency_intervals: Vec::new(),
            summary,
            tests: Vec::new(),
            findings: Vec::new(),
            advice: Vec::new(),
            verdict: Verdict::default(),
        };
        events.iter().for_each(|event| run.take(event));
        run.judge();
        run
    }

    /// Makes the document of a run of several tests, with the findings of all of them.
    pub fn of_tests(id: &str, kind: &str, probes: &[Event], tests: Vec<Run>) -> Run {
        let mut run = Run::of(id, kind, probes);
        run.started = run.started.or_else(|| tests.iter().filter_map(|t| t.started).min());
        run.finished = tests.iter().filter_map(|t| t.finished).max().or(run.finished);
        run.host = run.host.or_else(|| tests.iter().find_map(|t| t.host.clone()));
        run.peer = run.peer.or_else(|| tests.iter().find_map(|t| t.peer.clone()));
        run.tests = tests;
        run.judge();
        run
    }

    /// Makes the document of pairs that ran at once: each is one of its tests, and the plan is the first one's.
    pub fn of_pairs(id: &str, probes: &[Event], tests: Vec<Run>, pairs: Pairs) -> Run {
        let warnings = pairs.warnings().into_iter().map(Event::Warning);
        let events: Vec<Event> = probes.iter().cloned().chain(warnings).collect();
        let mut run = Run::of_tests(id, "throughput", &events, tests);
        run.plan = run.tests.first().and_then(|test| test.plan.clone());
        run.summary.pairs = Some(Box::new(pairs));
        run.judge();
        run
    }

    /// Makes the document of a sweep over frame sizes: its tests in order, and its rows.
    pub fn of_frames(id: &str, probes: &[Event], tests: Vec<Run>, rows: Vec<FrameRow>) -> Run {
        let mut run = Run::of_tests(id, "frames", probes, tests);
        run.summary.rows = rows;
        run.judge();
        run
    }

    /// Frame sizes are its subject.
    pub fn is_frames(&self) -> bool {
        self.kind == "frames" || !self.summary.rows.is_empty()
    }

    /// Packet sizes are its subject.
    pub fn is_path(&self) -> bool {
        self.path.is_some() || self.kind == "mtu"
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

    fn judge(&mut self) {
        self.findings = finding::all(self);
        self.advice = if self.is_path() { advice::of_run(self) } else { Vec::new() };
        self.verdict = finding::verdict(self);
    }
}

/// Name and version of the document's schema.
pub const SCHEMA: &str = "pathmeter/result/1";
