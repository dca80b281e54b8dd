//! What a figure is of: the whole run, a way of it by its label, or a phase under load.

use super::figures::Figure;
use insight::finding::rule_named;
use model::plan::Directions;

/// The part of a run that a figure is of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// The run, or one of its directions.
    Run,
    /// The way of this label.
    Egress(String),
    /// The phase under this load; `None`: idle.
    Loaded(Option<Directions>),
    /// Findings of this id.
    Finding(String),
}

impl Scope {
    /// The scope that a name begins with, and the figure's own name. A label may have points in it, so that the figure
    /// is looked for from the end.
    pub(super) fn from_key(key: &str, figures: impl Iterator<Item = &'static Figure>) -> (Scope, &str) {
        if let Some(rest) = key.strip_prefix("way.") {
            let names = figures.filter(|figure| figure.is_labelled()).map(|figure| figure.name);
            let ends = names.filter_map(|name| rest.strip_suffix(name)?.strip_suffix('.'));
            if let Some(label) = ends.filter(|label| !label.is_empty()).min_by_key(|label| label.len()) {
                return (Scope::Egress(label.into()), &rest[label.len() + 1..]);
            }
        }
        if let Some(id) = key.strip_prefix("finding.").filter(|id| rule_named(id).is_some()) {
            return (Scope::Finding(id.into()), FINDING);
        }
        let phase = PHASES.iter().find_map(|(prefix, load)| Some((*load, key.strip_prefix(prefix)?)));
        phase.map_or((Scope::Run, key), |(load, rest)| (Scope::Loaded(load), rest))
    }
}

/// The name of the figure that counts findings of an id.
pub(super) const FINDING: &str = "finding.ID";
const PHASES: [(&str, Option<Directions>); 4] = [
    ("loaded.idle.", None),
    ("loaded.up.", Some(Directions::Up)),
    ("loaded.down.", Some(Directions::Down)),
    ("loaded.both.", Some(Directions::Both)),
];
