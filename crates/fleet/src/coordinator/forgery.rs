//! Whether an outcome is of the run that it names: its agent, its title and its job are held against what was planned. An agent is
//! believed in nothing but its own measurement.

use crate::job::{End, Outcome};
use crate::ledger::LedgerRow;
use std::collections::BTreeMap;

/// Holds the body of a result against the body of the job that was handed out: why it is the result of another job. A body that
/// cannot be read is nothing that could be believed, and no error here.
pub type Check = fn(asked: &str, result: &str) -> Result<(), String>;

/// An outcome that was refused, as it is not authentic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Forgery {
    /// The agent with whose key it was sent.
    pub agent: String,
    /// The run that it names.
    pub run: String,
    /// The measurement of that run, as it was planned; where it is not known here, as the outcome names it.
    pub title: String,
    /// The part that is forged.
    pub why: String,
}

impl Forgery {
    /// All of it in a sentence.
    #[must_use]
    pub fn text(&self) -> String {
        format!("agent {} sent a forged outcome of {}: {}; it is not taken", self.agent, self.title, self.why)
    }
}

/// The coordinator that an outcome is for.
pub(super) enum Origin {
    Ours,
    Another,
    Forged(Forgery),
}

/// `row`: what is known of the run; `sender`: the agent with whose key it was appended.
pub(super) fn origin(row: Option<&LedgerRow>, outcome: &Outcome, sender: &str, check: Check) -> Origin {
    let forged = |why: String| {
        let title = row.map_or(&outcome.title, |row| &row.title);
        Origin::Forged(Forgery {
            agent: sender.to_owned(),
            run: outcome.run.clone(),
            title: title.clone(),
            why,
        })
    };
    if outcome.agent != sender {
        return forged(format!("it names agent {} as the one that measured it", outcome.agent));
    }
    // A row without an agent is of an earlier version: who may report it is not known.
    let Some(row) = row.filter(|row| !row.agent.is_empty()) else { return Origin::Another };
    if row.agent != sender {
        return forged(format!("the run is agent {}'s", row.agent));
    }
    if row.title != outcome.title {
        return forged(format!("it calls the run `{}`", outcome.title));
    }
    let body = match &outcome.end {
        End::Done { body } | End::Void { body, .. } => body,
        End::Failed { .. } => return Origin::Ours,
    };
    check(&row.asked, body).map_or_else(forged, |()| Origin::Ours)
}

/// Outcomes that were refused since the last query. One agent may send any number: the first of each are kept.
#[derive(Debug, Default)]
pub(super) struct Forgeries {
    fresh: Vec<Forgery>,
    counts: BTreeMap<String, usize>,
}

impl Forgeries {
    pub(super) fn note(&mut self, forgery: Forgery) {
        let count = self.counts.entry(forgery.agent.clone()).or_default();
        *count += 1;
        if *count <= MOST_OF_AN_AGENT {
            self.fresh.push(forgery);
        }
    }

    pub(super) fn take(&mut self) -> Vec<Forgery> {
        std::mem::take(&mut self.fresh)
    }
}

const MOST_OF_AN_AGENT: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;
    use model::time::WallTime;

    fn outcome(agent: &str, title: &str, end: End) -> Outcome {
        let at = WallTime(1);
        let (agent, title) = (agent.to_owned(), title.to_owned());
        Outcome {
            run: "1".into(),
            title,
            agent,
            end,
            started: at,
            finished: at,
            token: 1,
            attempt: 1,
            number: 1,
            unmeasured: false,
        }
    }

    fn check(asked: &str, result: &str) -> Result<(), String> {
        if asked == result { Ok(()) } else { Err(format!("it is the result of {result}")) }
    }

    fn why(row: Option<&LedgerRow>, outcome: &Outcome, sender: &str) -> String {
        match origin(row, outcome, sender, check) {
            Origin::Ours => "ours".to_owned(),
            Origin::Another => "another's".to_owned(),
            Origin::Forged(forgery) => forgery.text(),
        }
    }

    #[test]
    fn an_outcome_is_of_its_run_or_forged() {
        let row = LedgerRow {
            title: "lon -> fra".into(),
            agent: "lon".into(),
            asked: "job".into(),
            ..LedgerRow::default()
        };
        let done = |body: &str| End::Done { body: body.to_owned() };
        let void = End::Void { reason: "lease lost".into(), body: "other".into() };
        let failed = || End::Failed { reason: "no route".into() };
        for (sender, outcome, part) in [
            ("lon", outcome("lon", "lon -> fra", done("job")), "ours"),
            ("lon", outcome("lon", "lon -> fra", failed()), "ours"),
            ("lon", outcome("lon", "ams -> fra", done("job")), "it calls the run `ams -> fra`"),
            ("lon", outcome("lon", "ams -> fra", failed()), "it calls the run `ams -> fra`"),
            ("lon", outcome("lon", "lon -> fra", done("other")), "it is the result of other"),
            ("lon", outcome("lon", "lon -> fra", void), "it is the result of other"),
            (
                "lon",
                outcome("ams", "lon -> fra", done("job")),
                "it names agent ams as the one that measured it",
            ),
            ("ams", outcome("ams", "lon -> fra", done("job")), "the run is agent lon's"),
            ("ams", outcome("ams", "ams -> fra", failed()), "the run is agent lon's"),
        ] {
            let text = why(Some(&row), &outcome, sender);
            assert!(text.contains(part), "{text}");
            assert!(
                part == "ours"
                    || text.contains(&format!("agent {sender} sent a forged outcome of lon -> fra")),
                "{text}"
            );
        }
        let unknown = LedgerRow { agent: String::new(), ..row };
        let late = outcome("lon", "lon -> fra", done("job"));
        assert_eq!(why(Some(&unknown), &late, "lon"), "another's");
        assert_eq!(why(None, &late, "lon"), "another's");
    }

    #[test]
    fn a_flood_of_forgeries_keeps_a_few() {
        let mut forgeries = Forgeries::default();
        let forgery = |agent: &str| Forgery {
            agent: agent.into(),
            run: String::new(),
            title: String::new(),
            why: String::new(),
        };
        (0..1000).for_each(|_| forgeries.note(forgery("lon")));
        forgeries.note(forgery("ams"));
        assert_eq!(forgeries.take().len(), MOST_OF_AN_AGENT + 1);
        assert!(forgeries.take().is_empty());
    }
}
