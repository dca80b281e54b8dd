//! Pairs that are measured together on purpose: all ready, one start, and what of the results counts.
//!
//! Every agent gets the start by its own clock: its offset to ours is measured first (of several questions the one with the
//! shortest round trip; the error is at most half of that round trip).

use crate::agent::{Answer, Command};
use crate::broker::{Broker, ask};
use crate::clock::Clock;
use crate::error::{FleetError, Result};
use crate::job::{AgentJob, End, Outcome};
use model::time::WallTime;
use model::units::Nanos;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// How an agent's wall clock stands to ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Offset {
    /// How far the agent's clock is ahead, in nanoseconds; negative: behind.
    pub ahead: i64,
    /// How wrong that may be.
    pub error: Nanos,
}

impl Offset {
    /// A time of ours, on the agent's clock.
    pub fn at_agent(self, ours: WallTime) -> WallTime {
        WallTime(ours.0.saturating_add_signed(self.ahead))
    }

    /// A time of the agent's, on our clock.
    pub fn at_ours(self, agents: WallTime) -> WallTime {
        WallTime(agents.0.saturating_add_signed(self.ahead.saturating_neg()))
    }
}

/// Measures the offset of an agent's clock.
///
/// # Errors
/// No answer, or not in time.
pub fn offset(broker: &dyn Broker, clock: &dyn Clock, agent: &str) -> Result<Offset> {
    let subject = format!("pm.cmd.{agent}");
    let question = encoded(&Command::Clock);
    let mut best: Option<Offset> = None;
    for _ in 0..QUESTIONS {
        let sent = clock.wall();
        let answer = ask(broker, &subject, &question, ANSWER_WITHIN)?;
        let received = clock.wall();
        let Answer::Clock(theirs) = decoded(&answer.data)? else {
            return Err(FleetError::malformed("the answer of an agent", "a clock was asked for"));
        };
        let error = Nanos((received - sent).0 / 2);
        let middle = sent + error;
        let ahead = i64::try_from(i128::from(theirs.0) - i128::from(middle.0)).unwrap_or(0);
        if best.is_none_or(|best| error < best.error) {
            best = Some(Offset { ahead, error });
        }
    }
    best.ok_or(FleetError::TimedOut { operation: "ask", object: subject })
}

/// A group that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// The start, on our clock.
    pub at: WallTime,
    /// How the agents' clocks stand.
    pub offsets: BTreeMap<String, Offset>,
}

/// Has every agent get ready for its job, and starts all of them `lead` from then. The jobs' `group` is the same and names no
/// other group.
///
/// # Errors
/// An agent is not there or refuses: then none starts, and those that were ready give up after 20 s.
pub fn start(
    broker: &dyn Broker,
    clock: &dyn Clock,
    jobs: &[(String, AgentJob)],
    lead: Nanos,
) -> Result<Started> {
    let Some((_, first)) = jobs.first() else {
        return Err(FleetError::malformed("a group", "it has no jobs"));
    };
    let mut offsets = BTreeMap::new();
    for (agent, _) in jobs {
        if !offsets.contains_key(agent) {
            offsets.insert(agent.clone(), offset(broker, clock, agent)?);
        }
    }
    let requests = jobs.iter().map(|(agent, job)| {
        let command = encoded(&Command::Prepare(Box::new(job.clone())));
        Ok((agent, broker.request(&format!("pm.cmd.{agent}"), &command)?))
    });
    for (agent, mut mailbox) in requests.collect::<Result<Vec<_>>>()? {
        let answer = mailbox.next(ANSWER_WITHIN)?;
        let answer =
            answer.ok_or_else(|| FleetError::TimedOut { operation: "prepare", object: agent.clone() })?;
        match decoded(&answer.data)? {
            Answer::Ready => {}
            Answer::Refused(why) => return Err(FleetError::Refused { agent: agent.clone(), why }),
            Answer::Clock(_) | Answer::Stopped | Answer::Text(_) => {
                return Err(FleetError::malformed("the answer of an agent", "readiness was asked for"));
            }
        }
    }
    let at = clock.wall() + lead;
    let starts: BTreeMap<&String, WallTime> =
        offsets.iter().map(|(agent, offset)| (agent, offset.at_agent(at))).collect();
    broker.publish(&format!("pm.go.{}", first.group), &encoded(&starts))?;
    Ok(Started { at, offsets })
}

/// The valid part of a group's results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GroupReport {
    /// From the first true start to the last.
    pub start_skew: Nanos,
    /// How wrong that may be: the two largest errors of the clocks' offsets.
    pub skew_error: Nanos,
    /// While all ran, on our clock: only what was measured then counts.
    pub overlap: Option<(WallTime, WallTime)>,
    /// The overlap as a share of the longest run.
    pub overlap_share: f64,
    /// Why the group's figures must not be trusted; none: they can be.
    pub void: Option<String>,
}

/// Judges the outcomes of a group of `expected` runs.
#[must_use]
pub fn judge(started: &Started, expected: usize, outcomes: &[Outcome]) -> GroupReport {
    let ours = |outcome: &Outcome, time| {
        started.offsets.get(&outcome.agent).map_or(time, |offset| offset.at_ours(time))
    };
    let begins: Vec<WallTime> = outcomes.iter().map(|outcome| ours(outcome, outcome.started)).collect();
    let ends: Vec<WallTime> = outcomes.iter().map(|outcome| ours(outcome, outcome.finished)).collect();
    let (first, last) = (begins.iter().min().copied(), begins.iter().max().copied());
    let end = ends.iter().min().copied();
    let longest = begins.iter().zip(&ends).map(|(begin, end)| *end - *begin).max().unwrap_or(Nanos::ZERO);
    let overlap = last.zip(end).filter(|(last, end)| last < end);
    let shared = overlap.map_or(Nanos::ZERO, |(last, end)| end - last);
    let overlap_share = if longest == Nanos::ZERO { 0.0 } else { shared.0 as f64 / longest.0 as f64 };
    let mut errors: Vec<Nanos> = started.offsets.values().map(|offset| offset.error).collect();
    errors.sort_unstable();
    GroupReport {
        start_skew: last.zip(first).map_or(Nanos::ZERO, |(last, first)| last - first),
        skew_error: errors.iter().rev().take(2).copied().sum(),
        overlap,
        overlap_share,
        void: why_void(expected, outcomes, overlap_share),
    }
}

fn why_void(expected: usize, outcomes: &[Outcome], overlap_share: f64) -> Option<String> {
    for outcome in outcomes {
        match &outcome.end {
            End::Done { .. } => {}
            End::Void { reason, .. } => {
                return Some(format!("the run of {} is void: {reason}", outcome.agent));
            }
            End::Failed { reason } => return Some(format!("the run of {} failed: {reason}", outcome.agent)),
        }
    }
    if outcomes.len() < expected {
        return Some(format!("{} of {expected} runs reported", outcomes.len()));
    }
    (overlap_share < LEAST_OVERLAP).then(|| {
        format!("the runs overlap for {:.0} % of the longest; at least 90 % is needed", overlap_share * 100.0)
    })
}

fn encoded(message: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(message).unwrap_or_default()
}

fn decoded(bytes: &[u8]) -> Result<Answer> {
    serde_json::from_slice(bytes).map_err(|error| FleetError::malformed("the answer of an agent", error))
}

const QUESTIONS: usize = 7;
const ANSWER_WITHIN: Nanos = Nanos::from_secs(5);
const LEAST_OVERLAP: f64 = 0.9;

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(agent: &str, started: u64, finished: u64) -> Outcome {
        let end = End::Done { body: String::new() };
        let (started, finished) = (WallTime(started), WallTime(finished));
        Outcome {
            run: agent.into(),
            title: String::new(),
            agent: agent.into(),
            end,
            started,
            finished,
            token: 1,
            attempt: 1,
            number: 1,
            unmeasured: false,
        }
    }

    fn started(offsets: &[(&str, i64, u64)]) -> Started {
        let offsets = offsets.iter().map(|(agent, ahead, error)| {
            ((*agent).to_owned(), Offset { ahead: *ahead, error: Nanos(*error) })
        });
        Started { at: WallTime(1000), offsets: offsets.collect() }
    }

    #[test]
    fn the_overlap_counts_on_one_clock() {
        // fra's clock is 500 ahead: it began 30 after ams in truth.
        let report = judge(
            &started(&[("ams", 0, 3), ("fra", 500, 4)]),
            2,
            &[outcome("ams", 1000, 2000), outcome("fra", 1530, 2530)],
        );
        assert_eq!((report.start_skew, report.skew_error), (Nanos::from_nanos(30), Nanos::from_nanos(7)));
        assert_eq!(report.overlap, Some((WallTime(1030), WallTime(2000))));
        assert!((report.overlap_share - 0.97).abs() < 1e-9);
        assert_eq!(report.void, None);
    }

    #[test]
    fn little_overlap_and_missing_runs_are_void() {
        let at = started(&[("ams", 0, 1), ("fra", 0, 1)]);
        let late = judge(&at, 2, &[outcome("ams", 1000, 2000), outcome("fra", 1101, 2101)]);
        assert!(late.void.expect("void").contains("90 %"));
        let apart = judge(&at, 2, &[outcome("ams", 1000, 2000), outcome("fra", 3000, 4000)]);
        assert_eq!((apart.overlap, apart.overlap_share), (None, 0.0));
        assert!(judge(&at, 2, &[outcome("ams", 1000, 2000)]).void.expect("void").contains("1 of 2"));
        assert!(judge(&at, 2, &[]).void.is_some());
        let lost = Outcome {
            end: End::Void { reason: "lease lost".into(), body: String::new() },
            ..outcome("fra", 1000, 2000)
        };
        assert!(
            judge(&at, 2, &[outcome("ams", 1000, 2000), lost]).void.expect("void").contains("lease lost")
        );
    }
}
