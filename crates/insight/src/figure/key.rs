//! The full name of a figure: the part of a run, the transport and the direction before the figure's own name.

use super::{FINDING, Figure, Scope, Source, latency, listed, run_figures};
use crate::finding::rule_named;
use model::finding::Finding;
use model::latency::{EgressResult, LoadPhase};
use model::plan::{Direction, Directions, Transport};
use model::run::Run;
use std::fmt;

/// A figure of one part of a run: `udp.up.loss`, `way.LABEL.rtt.p50`, `loaded.up.rtt.p99`, `finding.host-noise`.
#[derive(Clone, Debug)]
pub struct Key {
    /// The figure.
    pub figure: &'static Figure,
    /// The part of the run.
    pub part: Part,
    /// The transport; absent: any.
    pub transport: Option<Transport>,
    /// The direction, where the figure has one.
    pub direction: Option<Direction>,
}

/// The part of a run that a figure belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// The run, or one of its directions.
    Run,
    /// The path of this label.
    Egress(String),
    /// The phase under this load; `None`: idle.
    Loaded(Option<Directions>),
    /// Findings of this id.
    Finding(String),
}

impl Key {
    /// The key of this full name. `p99.9` may be written in place of `p999`.
    #[must_use]
    pub fn named(name: &str) -> Option<Key> {
        let plain = without_points(name);
        let Prefixes { part, transport, direction, rest } = prefixes(&plain);
        let fits = |figure: &&Figure| match (&part, figure.source) {
            _ if figure.name != rest => false,
            (Part::Finding(_), Source::Finding) => direction.is_none() && transport.is_none(),
            (Part::Run, Source::Direction(_) | Source::Path(_)) => direction.is_some(),
            (Part::Run, Source::Run(_))
            | (Part::Egress(_), Source::Labelled(_))
            | (Part::Loaded(_), Source::Loaded(_)) => direction.is_none(),
            _ => false,
        };
        let figure = run_figures().find(fits)?;
        Some(Key { figure, part, transport, direction })
    }

    /// Every key of a run that lists have, the foremost first; those of its paths stand behind the others, and words last.
    #[must_use]
    pub fn listed(run: &Run) -> Vec<Key> {
        let paths = run.summary.egress_paths.iter().filter(|_| run.summary.egress_paths.len() > 1);
        let of_egress = listed(run_figures().filter(|figure| figure.scope == Scope::Egress));
        let of_path = |egress: &EgressResult| {
            let part = Part::Egress(egress.label.clone());
            let key = |figure: &&'static Figure| Key { part: part.clone(), ..Key::of_run(figure) };
            of_egress.iter().map(key).collect::<Vec<_>>()
        };
        let (words, numbers): (Vec<Key>, _) =
            of_every_run().into_iter().partition(|key| key.figure.quantity.is_word());
        numbers.into_iter().chain(paths.flat_map(of_path)).chain(words).collect()
    }

    /// Those of them with numbers that any run may have, the foremost first.
    #[must_use]
    pub fn foremost() -> Vec<Key> {
        of_every_run().into_iter().filter(|key| !key.figure.quantity.is_word()).collect()
    }

    /// Every key that may name a figure of this run, those of streams with their transport and without.
    pub(super) fn all_of(run: &Run) -> impl Iterator<Item = Key> {
        run_figures().flat_map(move |figure| {
            let with_part = |part| Key { part, ..Key::of_run(figure) };
            match figure.source {
                Source::Labelled(_) => {
                    let labels = run.summary.egress_paths.iter().map(|egress| egress.label.clone());
                    labels.map(|label| with_part(Part::Egress(label))).collect()
                }
                Source::Loaded(_) => PHASES.map(|(_, load)| with_part(Part::Loaded(load))).into(),
                Source::Finding => {
                    let ids = run.findings.iter().filter(|finding| rule_named(&finding.id).is_some());
                    ids.map(|finding| with_part(Part::Finding(finding.id.clone()))).collect()
                }
                _ => {
                    let keys = keys_of_figure(figure);
                    let of_any = keys.iter().map(|key| Key { transport: None, ..key.clone() });
                    of_any.chain(keys.iter().cloned()).collect::<Vec<_>>()
                }
            }
        })
    }

    const fn of_run(figure: &'static Figure) -> Key {
        Key { figure, part: Part::Run, transport: None, direction: None }
    }

    /// The figure in the run itself, or in the first of its tests that has it.
    #[must_use]
    pub fn measured(&self, run: &Run) -> Option<f64> {
        self.measured_in(run).or_else(|| run.tests.iter().find_map(|test| self.measured_in(test)))
    }

    fn measured_in(&self, run: &Run) -> Option<f64> {
        match (self.figure.source, self.direction) {
            (Source::Labelled(get), None) => self.egress(run).and_then(get),
            (Source::Loaded(get), None) => self.phase(run).and_then(get),
            (Source::Direction(get), Some(direction)) => {
                let found = run.summary.direction(direction)?;
                let wanted = self.transport.is_none_or(|transport| transport == found.transport);
                get(found).filter(|_| wanted)
            }
            (Source::Path(get), Some(direction)) => {
                run.summary.path.as_ref()?.in_direction(direction).and_then(get)
            }
            (Source::Run(get), None) => get(run),
            (Source::Finding, None) => {
                let raised = |finding: &&Finding| Part::Finding(finding.id.clone()) == self.part;
                Some(run.findings.iter().filter(raised).count() as f64)
            }
            _ => None,
        }
    }

    /// The least that a percentile can be, of which no more is known: messages that never came back reach it.
    #[must_use]
    pub fn least(&self, run: &Run) -> Option<f64> {
        let rtt = match self.part {
            Part::Egress(_) => self.egress(run)?.rtt,
            Part::Loaded(_) => self.phase(run)?.rtt,
            _ => run.summary.rtt,
        };
        latency::least(rtt, self.figure.name)
    }

    fn egress<'a>(&self, run: &'a Run) -> Option<&'a EgressResult> {
        let Part::Egress(label) = &self.part else { return None };
        run.summary.egress_paths.iter().find(|egress| egress.label == *label)
    }

    fn phase<'a>(&self, run: &'a Run) -> Option<&'a LoadPhase> {
        let Part::Loaded(load) = self.part else { return None };
        run.summary.loaded.as_ref()?.phases.iter().find(|phase| phase.load == load)
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.part {
            Part::Run => {}
            Part::Egress(label) => write!(f, "way.{label}.")?,
            Part::Loaded(load) => {
                let prefix = PHASES.iter().find(|(_, phase)| phase == load).map(|(prefix, _)| *prefix);
                f.write_str(prefix.unwrap_or_default())?;
            }
            Part::Finding(id) => return write!(f, "finding.{id}"),
        }
        if let Some(transport) = self.transport {
            write!(f, "{}.", transport.to_string().to_lowercase())?;
        }
        if let Some(direction) = self.direction {
            write!(f, "{direction}.")?;
        }
        f.write_str(self.figure.name)
    }
}

/// The listed keys of a run's own figures, the foremost first.
fn of_every_run() -> Vec<Key> {
    let own = run_figures().filter(|figure| figure.is_directed() || matches!(figure.source, Source::Run(_)));
    listed(own).into_iter().flat_map(keys_of_figure).collect()
}

fn keys_of_figure(figure: &'static Figure) -> Vec<Key> {
    let transports = match (figure.source, figure.transport) {
        (Source::Direction(_), None) => vec![Some(Transport::Tcp), Some(Transport::Udp)],
        (_, transport) => vec![transport],
    };
    let directions = match figure.is_directed() {
        true => vec![Some(Direction::Up), Some(Direction::Down)],
        false => vec![None],
    };
    let key = |transport, direction| Key { transport, direction, ..Key::of_run(figure) };
    transports.iter().flat_map(|one| directions.iter().map(move |other| key(*one, *other))).collect()
}

/// Every figure of a run by its full names, for a shell to complete; those behind a label or an id are not among them.
#[must_use]
pub fn full_names() -> Vec<String> {
    let names = |figure: &Figure| match figure.source {
        Source::Run(_) => vec![figure.name.to_owned()],
        Source::Loaded(_) => PHASES.map(|(prefix, _)| format!("{prefix}{}", figure.name)).into(),
        _ if figure.is_directed() => ["up", "down"].map(|one| format!("{one}.{}", figure.name)).into(),
        _ => Vec::new(),
    };
    run_figures().flat_map(names).collect()
}

/// The names of all figures behind the prefixes of this name, of which one may be meant by it.
#[must_use]
pub fn names_like(name: &str) -> Vec<String> {
    let plain = without_points(name);
    let Prefixes { part, direction, rest, .. } = prefixes(&plain);
    let before = &plain[..plain.len() - rest.len()];
    let one_way = if direction.is_none() && part == Part::Run { "down." } else { "" };
    let named = |figure: &Figure| {
        let one_way = if figure.is_directed() { one_way } else { "" };
        format!("{before}{one_way}{}", figure.name)
    };
    run_figures().map(named).collect()
}

/// The prefixes before a figure's own name.
struct Prefixes<'a> {
    part: Part,
    transport: Option<Transport>,
    direction: Option<Direction>,
    rest: &'a str,
}

fn prefixes(plain: &str) -> Prefixes<'_> {
    let (part, rest) = part_of_key(plain);
    let (transport, rest) = prefixed(rest, &[("tcp.", Transport::Tcp), ("udp.", Transport::Udp)]);
    let (direction, rest) = prefixed(rest, &[("up.", Direction::Up), ("down.", Direction::Down)]);
    Prefixes { part, transport, direction, rest }
}

/// The part that a key begins with, and the rest. A label may have points in it, so that the figure is looked for from the end.
fn part_of_key(key: &str) -> (Part, &str) {
    if let Some(rest) = key.strip_prefix("way.") {
        let names = run_figures().filter(|figure| figure.scope == Scope::Egress).map(|figure| figure.name);
        let ends = names.filter_map(|name| rest.strip_suffix(name)?.strip_suffix('.'));
        if let Some(label) = ends.filter(|label| !label.is_empty()).min_by_key(|label| label.len()) {
            return (Part::Egress(label.into()), &rest[label.len() + 1..]);
        }
    }
    if let Some(id) = key.strip_prefix("finding.").filter(|id| rule_named(id).is_some()) {
        return (Part::Finding(id.into()), FINDING);
    }
    let (phase, rest) = prefixed(key, &PHASES);
    phase.map_or((Part::Run, key), |load| (Part::Loaded(load), rest))
}

/// The meaning of a prefix, and the text without it.
fn prefixed<'a, T: Copy>(text: &'a str, prefixes: &[(&str, T)]) -> (Option<T>, &'a str) {
    let found = prefixes.iter().find_map(|(prefix, meaning)| Some((*meaning, text.strip_prefix(prefix)?)));
    found.map_or((None, text), |(meaning, rest)| (Some(meaning), rest))
}

/// `p99.9` is written `p999` in names.
fn without_points(key: &str) -> String {
    let points = [(".p99.99", ".p9999"), (".p99.9", ".p999")];
    let found =
        points.iter().find_map(|(with, without)| Some(format!("{}{without}", key.strip_suffix(with)?)));
    found.unwrap_or_else(|| key.into())
}

/// Phases of a run under load.
const PHASES: [(&str, Option<Directions>); 4] = [
    ("loaded.idle.", None),
    ("loaded.up.", Some(Directions::Up)),
    ("loaded.down.", Some(Directions::Down)),
    ("loaded.both.", Some(Directions::Both)),
];
