//! Jobs of agents, and their outcomes.

use crate::lease::{Class, Resource};
use model::time::WallTime;
use model::units::Nanos;
use serde::{Deserialize, Serialize};

/// A run for one agent. The test is in `body`, which only the agent's program understands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentJob {
    /// The run's name, which no other run ever has: [`crate::name::run_name`].
    pub run: String,
    /// The test and its pair, as text to show: `ams -> fra`.
    pub title: String,
    /// How it gets on with others.
    #[serde(default)]
    pub class: Class,
    /// The resources that it needs while it runs.
    pub resources: Vec<Resource>,
    /// Runs of one group do not exclude each other; empty: it is alone.
    #[serde(default)]
    pub group: String,
    /// How long it is expected to take.
    pub span: Nanos,
    /// After this it is not begun any more, clock of the agent.
    pub deadline: WallTime,
    /// When it was handed out, clock of the coordinator: distinguishes it from the same run handed out again.
    #[serde(default)]
    pub handed_out: WallTime,
    /// Which attempt at the run this is, from 1.
    #[serde(default = "first")]
    pub number: u32,
    /// A result of this attempt or a later one answers it: those before are known.
    #[serde(default = "first")]
    pub since: u32,
    /// The grant of its lease; empty: a coordinator of an earlier version handed it out.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub grant: String,
    /// The request that the program reads.
    pub body: String,
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The run's name.
    pub run: String,
    /// The test and its pair, as text to show.
    pub title: String,
    /// The agent that carried it out.
    pub agent: String,
    /// How it ended.
    #[serde(flatten)]
    pub end: End,
    /// Its true begin, clock of the agent; that of the report when it never began.
    pub started: WallTime,
    /// Its end, clock of the agent.
    pub finished: WallTime,
    /// The fencing token of its lease; 0 when it held none.
    pub token: u64,
    /// How often the job was delivered, this time included.
    pub attempt: u64,
    /// Which attempt at the run this is, from 1.
    #[serde(default = "first", skip_serializing_if = "is_first")]
    pub number: u32,
    /// The run failed for a reason of the fleet and not of the path: its agent was interrupted, or came to it too late.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unmeasured: bool,
}

fn first() -> u32 {
    1
}

fn is_first(number: &u32) -> bool {
    *number == 1
}

impl Outcome {
    /// Names this attempt and nothing else ever: the run, of the first one.
    #[must_use]
    pub fn id(&self) -> String {
        attempt_id(&self.run, self.number)
    }
}

/// The name of an attempt at a run.
#[must_use]
pub fn attempt_id(run: &str, number: u32) -> String {
    if number <= 1 { run.to_owned() } else { format!("{run}{ATTEMPT}{number}") }
}

/// The run and the number of an attempt that is named so.
#[must_use]
pub fn parse_attempt(id: &str) -> (&str, u32) {
    let parsed = id.rsplit_once(ATTEMPT).and_then(|(run, number)| Some((run, number.parse().ok()?)));
    parsed.unwrap_or((id, 1))
}

const ATTEMPT: char = '@';

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "end", rename_all = "kebab-case")]
pub enum End {
    /// The run has a result.
    Done {
        /// The result, which only the program that requested it understands.
        body: String,
    },
    /// The run has a result that must not be trusted.
    Void {
        /// Why not: `lease lost`.
        reason: String,
        /// The result; empty: none.
        body: String,
    },
    /// The run could not be measured.
    Failed {
        /// Why not.
        reason: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_reads_as_it_was_written() {
        let end = End::Void { reason: "lease lost".into(), body: String::new() };
        let (started, finished) = (WallTime(5), WallTime(7));
        let outcome = Outcome {
            run: "r".into(),
            title: "a -> b".into(),
            agent: "ams".into(),
            end,
            started,
            finished,
            token: 3,
            attempt: 2,
            number: 1,
            unmeasured: false,
        };
        let text = serde_json::to_string(&outcome).expect("JSON");
        assert!(text.contains(r#""end":"void""#), "{text}");
        assert_eq!(serde_json::from_str::<Outcome>(&text).expect("read"), outcome);
        // A first attempt is as an earlier version writes and reads it.
        assert!(!text.contains("number") && !text.contains("unmeasured"), "{text}");
        let again = Outcome { number: 3, unmeasured: true, ..outcome };
        let text = serde_json::to_string(&again).expect("JSON");
        assert_eq!(serde_json::from_str::<Outcome>(&text).expect("read"), again);
        assert_eq!(
            (again.id().as_str(), parse_attempt("r@3"), parse_attempt("r")),
            ("r@3", ("r", 3), ("r", 1))
        );
    }
}
