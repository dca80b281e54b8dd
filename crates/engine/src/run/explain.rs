//! The step that every measurement with an unexpected result goes through: hypotheses, each with the probe that decides it,
//! the cheapest first, within a budget of time for each direction.
//!
//! A hypothesis is one row of [`HYPOTHESES`]. Rules over the figures (`insight`) decide which findings follow: a probe adds events
//! and evidence, and never words.

mod sizes;
pub(super) mod tcp;

use super::Options;
use crate::error::{Result, fault, sentence};
use crate::work::probe::Prober;
use linux::clock::mono_now;
use model::event::{Event, Outcome};
use model::explain::{Answer, Explanation, Hypothesis};
use model::plan::{Direction, LocalOptions, ProtocolName, Target, Transport};
use model::run::Run;
use model::units::Nanos;
use serde_json::Value;
use std::collections::BTreeMap;

/// The far end of the measurement, and how it may be asked.
#[derive(Clone, Debug)]
pub(super) struct Subject {
    /// The far end.
    pub(super) target: Target,
    /// This end's choices, the budget among them.
    pub(super) local: LocalOptions,
    /// A pathmeter answers there by our own protocol.
    pub(super) is_native: bool,
    /// The test, where it is one of throughput.
    pub(super) plan: Option<model::plan::Plan>,
    /// The directions that were measured.
    pub(super) directions: Vec<Direction>,
}

impl Subject {
    /// The far end of a test of throughput.
    pub(super) fn of_test(plan: &model::plan::Plan) -> Subject {
        Subject {
            target: plan.target.clone(),
            local: plan.local.clone(),
            is_native: plan.protocol == ProtocolName::Native,
            plan: Some(plan.clone()),
            directions: plan.test.directions.each().collect(),
        }
    }
}

/// A case to be explained, with all that is known so far.
struct Case<'a> {
    subject: &'a Subject,
    options: &'a Options,
    /// The result, judged anew after each probe.
    run: Run,
    /// The test, where it is one that our own protocol can repeat.
    plan: Option<&'a model::plan::Plan>,
    /// The session that probes share; `None` until one is needed.
    prober: Option<Prober>,
}

/// One possible reason.
struct HypothesisRow {
    /// Its stable name.
    id: &'static str,
    /// Shown while it is asked about.
    doing: &'static str,
    /// Time that its probe takes over a path without delay.
    cost: Nanos,
    /// Whether its answer may be the reason of what was measured in a direction.
    suspects: fn(&Case<'_>, Direction) -> bool,
    /// Asks. The events of what was found go into the run before the answer is judged.
    probe: fn(&mut Case<'_>, Direction) -> Result<Probed>,
    /// The explanation holds where one of these findings is raised of the direction then.
    findings: &'static [&'static str],
}

/// The result of a probe.
#[derive(Debug, Default)]
struct Probed {
    /// Events of its findings, for the run.
    events: Vec<Event>,
    /// Its figures.
    evidence: BTreeMap<String, Value>,
    /// Packets that both ends sent.
    packets: u64,
    /// The answer where the probe gives it itself; else the findings do.
    answer: Option<Answer>,
    /// Why it is undecided.
    why: Option<String>,
}

/// Every hypothesis, the cheapest first.
const HYPOTHESES: &[HypothesisRow] = &[
    HypothesisRow {
        id: "packet-size",
        doing: "which packet sizes cross",
        cost: Nanos::from_millis(500),
        suspects: sizes::suspects,
        probe: sizes::probe,
        findings: sizes::FINDINGS,
    },
    HypothesisRow {
        id: "mark-dropped",
        doing: "whether packets without the mark cross",
        cost: Nanos::from_millis(1_200),
        suspects: tcp::suspects_mark,
        probe: tcp::mark,
        findings: &["mark-dropped"],
    },
    HypothesisRow {
        id: "segment-size",
        doing: "whether smaller segments of TCP cross",
        cost: Nanos::from_millis(1_300),
        suspects: tcp::suspects_segments,
        probe: tcp::segments,
        findings: &["tcp-blackhole"],
    },
    HypothesisRow {
        id: "joined-segments",
        doing: "whether segments cross that are sent one by one",
        cost: Nanos::from_millis(2_400),
        suspects: tcp::suspects_joined,
        probe: tcp::joined,
        findings: &["joined-segments-dropped"],
    },
];

/// A finding of these names why data is lost or late; a further reason is not looked for then.
const CAUSES: &[&str] = &[
    "mtu-black-hole",
    "tcp-blackhole",
    "mtu-hole",
    "mtu-discovery-wrong",
    "df-ignored",
    "fragments-dropped",
    "reassembly-failed",
    "checksum-errors",
    "mark-dropped",
    "joined-segments-dropped",
    "receiver-stalled",
    "neighbour-failed",
];

/// A finding of this name names why data is lost or late.
pub(super) fn is_cause(id: &str) -> bool {
    CAUSES.contains(&id)
}

/// Asks about what is unexpected in a run; what is found goes to `sink`, and the hypotheses with their answers come last.
pub(super) fn explain(subject: &Subject, options: &Options, run: Run, sink: &mut dyn FnMut(&Event)) {
    let budget = subject.local.explain;
    let ended = match run.summary.outcome {
        Some(Outcome::Completed | Outcome::Interrupted) => true,
        // A transfer that stalled has failed; a test of throughput that broke off has its own reason, unless nothing arrived at all.
        Some(Outcome::Failed { .. }) => subject.plan.is_none() || has_moved_nothing(&run),
        _ => false,
    };
    if budget.is_zero() || !ended || options.stop.is_raised() {
        return;
    }
    let plan = subject.plan.as_ref().filter(|_| subject.is_native);
    let mut case = Case { subject, options, run, plan, prober: None };
    let mut explanation = Explanation { budget, ..Explanation::default() };
    for row in HYPOTHESES {
        for &direction in &subject.directions {
            if options.stop.is_raised() || !(row.suspects)(&case, direction) {
                continue;
            }
            let tried = explanation.hypotheses.iter().filter(|one| one.direction == direction);
            let spent: Nanos = tried.map(|one| one.elapsed).sum();
            let hypothesis = case.decide(row, direction, budget.saturating_sub(spent), sink);
            case.take(&hypothesis);
            explanation.elapsed += hypothesis.elapsed;
            explanation.hypotheses.push(hypothesis);
        }
    }
    if let Some(prober) = case.prober.take() {
        prober.close();
    }
    if !explanation.hypotheses.is_empty() {
        sink(&Event::Explained(Box::new(explanation)));
    }
}

/// TCP was open, and nothing that it sent was acknowledged.
fn has_moved_nothing(run: &Run) -> bool {
    Direction::BOTH.into_iter().filter_map(|direction| run.summary.direction(direction)).any(|figures| {
        figures.transport == Transport::Tcp && figures.sent.bytes.0 > 0 && figures.received.bytes.0 == 0
    })
}

impl Case<'_> {
    /// Asks about one hypothesis, where the time that is left allows it.
    fn decide(
        &mut self,
        row: &HypothesisRow,
        direction: Direction,
        left: Nanos,
        sink: &mut dyn FnMut(&Event),
    ) -> Hypothesis {
        let mut hypothesis = Hypothesis {
            id: row.id.into(),
            direction,
            answer: Answer::Undecided,
            why: None,
            evidence: BTreeMap::new(),
            elapsed: Nanos::ZERO,
            packets: 0,
        };
        if row.cost > left {
            hypothesis.why =
                Some(format!("not asked: it takes {}, and {left} are left of --explain", row.cost));
            return hypothesis;
        }
        sink(&Event::progress(format!("To explain this result: {} {direction} …", row.doing)));
        let began = mono_now();
        match (row.probe)(self, direction) {
            Ok(probed) => {
                for event in &probed.events {
                    sink(event);
                    self.run.summary.fold(event);
                }
                self.judge();
                hypothesis.answer = probed.answer.unwrap_or_else(|| self.judged(row, direction));
                (hypothesis.evidence, hypothesis.packets) = (probed.evidence, probed.packets);
                hypothesis.why = probed.why;
            }
            Err(error) => {
                // A session that broke off is of no more use.
                self.prober = None;
                hypothesis.why = Some(sentence(&error));
            }
        }
        hypothesis.elapsed = mono_now().saturating_since(began);
        hypothesis
    }

    /// Findings may rest on the answer itself.
    fn take(&mut self, hypothesis: &Hypothesis) {
        let answered = Explanation { hypotheses: vec![hypothesis.clone()], ..Explanation::default() };
        self.run.summary.fold(&Event::Explained(Box::new(answered)));
        self.judge();
    }

    fn judge(&mut self) {
        self.run = insight::judge(std::mem::replace(&mut self.run, Run::unjudged("", "", &[])));
    }

    /// A reason is known.
    fn is_explained(&self, direction: Direction) -> bool {
        self.finding(direction, CAUSES)
    }

    /// By the findings that follow now.
    fn judged(&self, row: &HypothesisRow, direction: Direction) -> Answer {
        if self.finding(direction, row.findings) { Answer::Holds } else { Answer::Refuted }
    }

    /// One of these findings is raised of a direction, or of both.
    fn finding(&self, direction: Direction, ids: &[&str]) -> bool {
        let is_about = |of: Option<Direction>| of.is_none_or(|of| of == direction);
        self.run.findings.iter().any(|one| ids.contains(&one.id.as_str()) && is_about(one.direction))
    }

    /// The probe session with the far end, opened when it is first needed.
    fn prober(&mut self) -> Result<&mut Prober> {
        if self.prober.is_none() {
            let (subject, options) = (self.subject, self.options);
            let limit = subject.local.connect_timeout.unwrap_or(LONGEST_OPEN).min(LONGEST_OPEN);
            let local = LocalOptions { connect_timeout: Some(limit), ..subject.local.clone() };
            self.prober = Some(Prober::open(&subject.target, &local, &options.security, &options.stop)?);
        }
        self.prober.as_mut().ok_or_else(|| fault("the probe session is gone"))
    }
}

/// A far end that does not answer within this is not asked.
const LONGEST_OPEN: Nanos = Nanos::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hypotheses_stand_in_the_order_of_their_cost() {
        assert!(HYPOTHESES.is_sorted_by_key(|row| row.cost));
        let ids: std::collections::BTreeSet<_> = HYPOTHESES.iter().map(|row| row.id).collect();
        assert_eq!(ids.len(), HYPOTHESES.len());
    }

    #[test]
    fn findings_of_hypotheses_are_rules() {
        for id in HYPOTHESES.iter().flat_map(|row| row.findings).chain(CAUSES) {
            assert!(insight::finding::rule_named(id).is_some(), "{id} is no rule");
        }
    }
}
