//! The agents of a mesh: those that are there, and those that are expected and are not.

use crate::inventory::{AgentReport, KnownReport};
use crate::matrix::split;
use crate::rounds::{PlanError, Reports};
use fleet::mesh::PlannedRun;
use fleet::results::Results;
use model::mesh::ends;
use model::time::WallTime;
use model::toml_file::suggest;
use model::units::Nanos;
use std::collections::{BTreeMap, BTreeSet};

/// Agents that measured before, and when they last did.
pub type Earlier = BTreeMap<String, WallTime>;

/// The agents that take part.
#[derive(Clone, Debug, Default)]
pub struct Roll {
    /// All of them, with what they reported last.
    pub reports: Reports,
    /// Those that are not there, and since when, in words.
    pub absent: BTreeMap<String, String>,
}

impl Roll {
    /// Calls those of these names; without names everyone that the server knows or that measured `earlier`, but those that were
    /// forgotten.
    ///
    /// # Errors
    /// A name was never heard of, or there are fewer than two.
    pub fn call(
        everyone: &BTreeMap<String, KnownReport>,
        names: &[String],
        earlier: &Earlier,
    ) -> Result<Roll, PlanError> {
        let is_forgotten = |name: &String| everyone.get(name).is_some_and(|known| known.is_forgotten);
        let named: BTreeSet<&String> = match names {
            [] => everyone.keys().chain(earlier.keys()).filter(|name| !is_forgotten(name)).collect(),
            names => names.iter().collect(),
        };
        let mut roll = Roll::default();
        for name in named {
            let known = everyone.get(name).filter(|known| !known.is_forgotten);
            let measured = earlier.get(name);
            if known.is_none() && measured.is_none() {
                let others = everyone.keys().filter(|name| !is_forgotten(name));
                let meant = suggest(name, others.map(String::as_str));
                return Err(PlanError::Unknown { name: name.clone(), meant });
            }
            let known = known.cloned().unwrap_or_else(|| KnownReport {
                report: AgentReport { listens: true, ..AgentReport::default() },
                ..KnownReport::default()
            });
            if !known.is_there {
                roll.absent.insert(name.clone(), not_heard(name, known.report.status.clock, measured));
            } else if let Some(why) = known.report.why_outdated(name) {
                roll.absent.insert(name.clone(), why);
            }
            roll.reports.insert(name.clone(), known.report);
        }
        if roll.reports.len() < 2 { Err(PlanError::TooFew(roll.reports.len())) } else { Ok(roll) }
    }

    /// Those that are there.
    #[must_use]
    pub fn there(&self) -> Reports {
        let there = self.reports.iter().filter(|(name, _)| !self.absent.contains_key(*name));
        there.map(|(name, report)| (name.clone(), report.clone())).collect()
    }

    /// Why a run cannot be: one of its agents is not there.
    #[must_use]
    pub fn why_not(&self, run: &PlannedRun) -> Option<&str> {
        let (from, to) = split(&run.job.title).and_then(|(_, path)| ends(path))?;
        self.absent.get(from).or_else(|| self.absent.get(to)).map(String::as_str)
    }
}

fn not_heard(name: &str, reported: Option<WallTime>, measured: Option<&WallTime>) -> String {
    match (reported, measured) {
        (Some(at), _) => format!("the agent {name} has not been heard since {at}"),
        (None, Some(at)) => {
            format!(
                "the agent {name} is unknown to the server; its last result is of {at} (mesh forget {name}: it is gone for good)"
            )
        }
        (None, None) => format!("the agent {name} has not been heard"),
    }
}

/// The agents of the results of a file, and when they last measured: those of a month.
#[must_use]
pub fn earlier(results: &Results, now: WallTime) -> Earlier {
    let measured = results.outcomes.values().map(|outcome| (outcome.title.as_str(), outcome.started));
    let paths = measured.filter_map(|(title, at)| Some((split(title)?.1, at)));
    earlier_of_paths(paths, now)
}

/// The same of paths (`ams -> fra`) and when they were measured.
pub fn earlier_of_paths<'p>(paths: impl Iterator<Item = (&'p str, WallTime)>, now: WallTime) -> Earlier {
    let recent = paths.filter(|(_, at)| now - *at <= REMEMBERED);
    let agents = recent.filter_map(|(path, at)| Some((ends(path)?, at)));
    agents.fold(Earlier::new(), |known, ((from, to), at)| {
        latest(known, [from, to].map(|name| (name.to_owned(), at)).into())
    })
}

/// Merges two maps, keeping the later time of each agent.
#[must_use]
pub fn latest(mut known: Earlier, more: Earlier) -> Earlier {
    for (name, at) in more {
        let last = known.entry(name).or_insert(at);
        *last = (*last).max(at);
    }
    known
}

/// An agent that measured nothing for longer is no longer expected, unless the server knows it.
const REMEMBERED: Nanos = Nanos::from_secs(30 * 86_400);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::LEASES;
    use crate::outcomes::failed;
    use model::agent::AgentStatus;

    const NOW: WallTime = WallTime(1_790_000_500_000_000_000);

    fn known(is_there: bool, is_forgotten: bool) -> KnownReport {
        let report = AgentReport {
            listens: true,
            leases: LEASES,
            status: AgentStatus { clock: Some(WallTime(NOW.0 - 60)), ..AgentStatus::default() },
            ..AgentReport::default()
        };
        KnownReport { report, is_there, is_forgotten }
    }

    fn everyone() -> BTreeMap<String, KnownReport> {
        let all = [("ams", true, false), ("fra", true, false), ("lon", false, false), ("old", false, true)];
        all.map(|(name, there, forgotten)| (name.to_owned(), known(there, forgotten))).into()
    }

    #[test]
    fn who_is_gone_is_expected_until_it_is_forgotten() {
        let results = Results {
            outcomes: [("1".to_owned(), failed("1", "latency ams -> par"))].into(),
            ..Results::default()
        };
        let earlier = earlier(&results, NOW);
        let roll = Roll::call(&everyone(), &[], &earlier).expect("a roll");
        assert_eq!(roll.reports.keys().collect::<Vec<_>>(), ["ams", "fra", "lon", "par"]);
        assert!(roll.absent["lon"].starts_with("the agent lon has not been heard since 20"), "{roll:?}");
        assert!(roll.absent["par"].contains("mesh forget par"), "{roll:?}");
        assert_eq!(roll.there().len(), 2);
        // Named, also one that was forgotten and never came back.
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let roll = Roll::call(&everyone(), &names(&["ams", "lon"]), &Earlier::new()).expect("a roll");
        assert_eq!((roll.reports.len(), roll.absent.len()), (2, 1));
        let unknown = Roll::call(&everyone(), &names(&["ams", "fro"]), &Earlier::new()).expect_err("unknown");
        assert!(unknown.to_string().contains("no agent is called `fro`"), "{unknown}");
        let gone = Roll::call(&everyone(), &names(&["ams", "old"]), &Earlier::new()).expect_err("forgotten");
        assert!(!gone.to_string().contains("did you mean `old`"), "{gone}");
        let few = Roll::call(&everyone(), &names(&["ams"]), &Earlier::new()).expect_err("one alone");
        assert!(matches!(few, PlanError::TooFew(1)));
        // One of the version before is there, and can be given nothing.
        let mut old = everyone();
        old.entry("fra".to_owned()).and_modify(|known| known.report.leases = 0);
        let roll = Roll::call(&old, &names(&["ams", "fra"]), &Earlier::new()).expect("a roll");
        assert!(roll.absent.len() == 1 && roll.absent["fra"].contains("update it"), "{roll:?}");
        // A month later the agent is no longer expected.
        assert!(super::earlier(&results, NOW + REMEMBERED).is_empty());
    }
}
