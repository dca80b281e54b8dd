//! A benchmark as it is stored: every turn of every contender, and what was to be reached. Tables and verdicts are made
//! from this alone, so that they can be made again from `docs/benchmarks/*.json`.

pub(crate) mod judge;
pub(crate) mod pages;
pub(crate) mod tables;

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All cases of one benchmark.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// The figures, in the order of the tables' columns; contenders are compared by the first one.
    pub(crate) figures: Vec<Figure>,
    pub(crate) cases: Vec<Case>,
}

/// One figure of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Figure {
    /// Its name in a turn.
    pub(crate) key: String,
    /// Its name, with the unit.
    pub(crate) title: String,
    pub(crate) higher_is_better: bool,
    /// Shown only where a contender's median is farther from zero than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) beyond: Option<f64>,
}

/// One kind of work, done by several contenders in turns; the first is ours.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    pub(crate) setting: Setting,
    pub(crate) goals: Vec<Goal>,
    pub(crate) contenders: Vec<Contender>,
}

/// Where, when and how a case was measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Setting {
    pub(crate) date: String,
    pub(crate) machine: String,
    pub(crate) command: String,
    pub(crate) versions: Vec<String>,
}

/// A tool with its options, and its turns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Contender {
    pub(crate) label: String,
    pub(crate) turns: Vec<Turn>,
    /// Turns that failed, and why the last did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) failed: Option<(usize, String)>,
}

/// One turn of one contender.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Turn {
    /// Its number among the turns of the case, from 1.
    pub(crate) turn: usize,
    /// CPU time of others meanwhile, the hypervisor included, as a share of one CPU.
    pub(crate) foreign: f64,
    pub(crate) figures: BTreeMap<String, f64>,
}

/// A goal to reach: by ours in each turn, beside the strongest of some peers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Goal {
    pub(crate) figure: String,
    /// Label of our contender.
    pub(crate) ours: String,
    /// Labels of the peer's settings, of which the one with the best median counts; none: ours alone.
    pub(crate) peers: Vec<String>,
    pub(crate) measure: Measure,
    /// At least this of a figure of which more is better, else at most.
    pub(crate) wanted: f64,
}

/// How ours is held against the peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Measure {
    /// Ours over the peer's.
    Ratio,
    /// Ours minus the peer's.
    Difference,
    /// Ours alone.
    Value,
}

impl Record {
    pub(crate) fn figure(&self, key: &str) -> Option<&Figure> {
        self.figures.iter().find(|figure| figure.key == key)
    }

    /// Takes cases measured anew in the place of those of the same name; all stay in the order of `names`, and what is
    /// not among them is gone.
    pub(crate) fn merge(&mut self, new: Record, names: &[String]) {
        self.figures = new.figures;
        for case in new.cases {
            self.cases.retain(|old| old.name != case.name);
            self.cases.push(case);
        }
        self.cases.retain(|case| names.contains(&case.name));
        self.cases.sort_by_key(|case| names.iter().position(|name| *name == case.name));
    }

    /// The document as JSON, a line for each contender: small, and a change shows where it is.
    pub(crate) fn to_json(&self) -> serde_json::Result<String> {
        let lines = |items: Vec<serde_json::Result<String>>, indent: &str| -> serde_json::Result<String> {
            let items: Vec<String> = items.into_iter().collect::<Result<_, _>>()?;
            Ok(items.iter().map(|item| format!("{indent}{item}")).collect::<Vec<_>>().join(",\n"))
        };
        let case = |case: &Case| -> serde_json::Result<String> {
            Ok(format!(
                "{{\"name\": {},\n   \"setting\": {},\n   \"goals\": [\n{}],\n   \"contenders\": [\n{}]}}",
                serde_json::to_string(&case.name)?,
                serde_json::to_string(&case.setting)?,
                lines(case.goals.iter().map(serde_json::to_string).collect(), "    ")?,
                lines(case.contenders.iter().map(serde_json::to_string).collect(), "    ")?,
            ))
        };
        Ok(format!(
            "{{\n \"figures\": [\n{}],\n \"cases\": [\n{}]\n}}\n",
            lines(self.figures.iter().map(serde_json::to_string).collect(), "  ")?,
            lines(self.cases.iter().map(case).collect(), "  ")?,
        ))
    }
}

impl Case {
    pub(crate) fn contender(&self, label: &str) -> Option<&Contender> {
        self.contenders.iter().find(|contender| contender.label == label)
    }
}

impl Contender {
    /// A figure of the turns that others did not disturb.
    pub(crate) fn values(&self, key: &str) -> Vec<f64> {
        self.quiet().filter_map(|turn| turn.figures.get(key).copied()).collect()
    }

    pub(crate) fn median(&self, key: &str) -> Option<f64> {
        model::stats::quantile::median(&self.values(key))
    }

    pub(crate) fn quiet(&self) -> impl Iterator<Item = &Turn> {
        self.turns.iter().filter(|turn| !turn.is_disturbed())
    }
}

impl Turn {
    /// Others used so much of the machine that the figures say nothing.
    pub(crate) fn is_disturbed(&self) -> bool {
        self.foreign > FOREIGN_LIMIT
    }
}

/// Limit of others' CPU time, as a share of one CPU.
const FOREIGN_LIMIT: f64 = 0.12;
