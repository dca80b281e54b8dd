//! The one table of figures: the name, label, quantity and source of every figure that a result can have.
//!
//! Expectations, the figures of JSON, lists of runs, comparisons, trends, Prometheus and wide CSV read it, and `docs/figures.md` is made from it.

mod device;
mod frames;
mod key;
mod latency;
mod numbers;
mod quantity;
mod run;
mod sizes;
mod streams;
mod transfer;

pub use device::{DEVICE_FIGURES, device_figure, device_headlines, row_scope};
pub use key::{Key, Part, full_names, names_like};
pub use numbers::{Numbers, device_numbers, numbers, printed_figures};
pub use quantity::Quantity;
pub use streams::fastest;

use model::dut::{DeviceReport, StreamReport};
use model::latency::{EgressResult, LoadPhase};
use model::path::PathDirection;
use model::plan::Transport;
use model::run::Run;
use model::summary::DirectionSummary;
use model::units::Nanos;

/// A figure.
#[derive(Debug)]
pub struct Figure {
    /// Its public name, without the part of a result before it: `goodput` of `tcp.up.goodput`.
    pub name: &'static str,
    /// Its name for readers.
    pub label: &'static str,
    /// The kind of value.
    pub quantity: Quantity,
    /// Which of two values is better.
    pub better: Better,
    /// Which work yields it.
    pub scope: Scope,
    /// The only transport that has it.
    pub transport: Option<Transport>,
    /// Where it is shown.
    pub level: Level,
    /// Its place in lists of runs, comparisons, trends, Prometheus and wide CSV; absent: it is in none of them.
    pub place: Option<u8>,
    /// Its place in a result.
    pub source: Source,
    /// Its meaning, as the documentation has it.
    pub note: &'static str,
}

/// Which of two values of a figure is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The higher one.
    Higher,
    /// The lower one.
    Lower,
    /// Neither: the figure describes.
    Neither,
}

/// Where a figure of streams is shown beside JSON, in which every figure is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// In the table of every run.
    Table,
    /// The same, unless it is zero.
    AboveZero,
    /// In the table of a run of one test; of several tests in the details.
    OneTest,
    /// In the details of a run of one test: with `-v`, in Markdown and in HTML.
    Detail,
    /// In no table.
    Data,
}

/// The work that yields a figure: a plan without it never has the figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Every run.
    Every,
    /// Streams of a direction.
    Streams,
    /// Several sessions at once.
    Pairs,
    /// Frames of one size.
    Frames,
    /// Round trips of any kind.
    RoundTrips,
    /// A latency run.
    Latency,
    /// One path of a latency run.
    Egress,
    /// A phase of a latency run under load.
    Load,
    /// A search for the packet sizes of a direction.
    Sizes,
    /// Any probing with packets of many sizes.
    Probing,
    /// A UDP service.
    Service,
    /// The routers of a path.
    Hops,
    /// Transfers of files.
    Transfers,
    /// A benchmarked device.
    Device,
}

/// The place of a figure in a result, and how it is read there.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// In the summary of a direction.
    Direction(Get<DirectionSummary>),
    /// In the packet sizes of a direction.
    Path(Get<PathDirection>),
    /// In the run as a whole.
    Run(Get<Run>),
    /// In a path of a latency run, which is named by its label.
    Labelled(Get<EgressResult>),
    /// In a phase of a run under load.
    Loaded(Get<LoadPhase>),
    /// The number of findings of an id.
    Finding,
    /// In a row of the report of a device.
    Row(Get<StreamReport>),
    /// In the report of a device.
    Device(Get<DeviceReport>),
}

impl Figure {
    /// Whether it is named with `up.` or `down.` before it.
    #[must_use]
    pub fn is_directed(&self) -> bool {
        matches!(self.source, Source::Direction(_) | Source::Path(_))
    }

    /// Its value in a direction; none of a figure of something else.
    #[must_use]
    pub fn in_direction(&self, direction: &DirectionSummary) -> Option<f64> {
        match self.source {
            Source::Direction(get) => get(direction),
            _ => None,
        }
    }

    /// Its value in a direction in words.
    #[must_use]
    pub fn text_in(&self, direction: &DirectionSummary) -> Option<String> {
        self.in_direction(direction).map(|value| self.quantity.print(value))
    }

    const fn listed(self, place: u8) -> Figure {
        Figure { place: Some(place), ..self }
    }

    const fn shown(self, level: Level) -> Figure {
        Figure { level, ..self }
    }

    const fn higher(self) -> Figure {
        Figure { better: Better::Higher, ..self }
    }

    const fn lower(self) -> Figure {
        Figure { better: Better::Lower, ..self }
    }

    const fn within(self, scope: Scope) -> Figure {
        Figure { scope, ..self }
    }

    const fn udp(self) -> Figure {
        Figure { transport: Some(Transport::Udp), ..self }
    }

    const fn tcp(self) -> Figure {
        Figure { transport: Some(Transport::Tcp), ..self }
    }
}

impl Better {
    /// Whether it is the higher value, where one of two is better.
    #[must_use]
    pub fn is_higher(self) -> Option<bool> {
        match self {
            Better::Higher => Some(true),
            Better::Lower => Some(false),
            Better::Neither => None,
        }
    }
}

type Get<T> = fn(&T) -> Option<f64>;
/// Name and label.
type Names = (&'static str, &'static str);
type Note = &'static str;

/// A row of the table, to which its group adds the scope.
const fn figure((name, label): Names, quantity: Quantity, source: Source, note: Note) -> Figure {
    let (better, scope, transport) = (Better::Neither, Scope::Every, None);
    Figure { name, label, quantity, better, scope, transport, level: Level::Data, place: None, source, note }
}

/// A row of the run as a whole.
const fn whole(names: Names, quantity: Quantity, get: Get<Run>, note: Note) -> Figure {
    figure(names, quantity, Source::Run(get), note)
}

/// The name of the figure that counts findings of an id.
const FINDING: &str = "finding.ID";

/// Every figure of a run.
pub fn run_figures() -> impl Iterator<Item = &'static Figure> {
    let groups =
        [streams::STREAMS, run::RUN, latency::LATENCY, sizes::SIZES, transfer::TRANSFER, frames::FRAMES];
    groups.into_iter().flatten()
}

/// The figures of streams that tables show, in the order of their rows.
pub fn table_figures() -> impl Iterator<Item = &'static Figure> {
    streams::STREAMS.iter().filter(|figure| figure.level != Level::Data)
}

/// The figure of streams with this name.
///
/// # Panics
/// When there is none.
#[must_use]
pub fn stream_figure(name: &str) -> &'static Figure {
    streams::STREAMS.iter().find(|figure| figure.name == name).expect("a figure of the table")
}

/// The figure of a run or of a row of a device's report that has this full name.
#[must_use]
pub fn figure_named(name: &str) -> Option<&'static Figure> {
    let of_run = Key::named(name).map(|key| key.figure);
    of_run.or_else(|| device_figure(name).and_then(|(scope, figure)| scope.map(|_| figure)))
}

/// These figures that lists have, the foremost first.
fn listed(figures: impl Iterator<Item = &'static Figure>) -> Vec<&'static Figure> {
    let mut figures: Vec<_> = figures.filter(|figure| figure.place.is_some()).collect();
    figures.sort_by_key(|figure| figure.place);
    figures
}

fn nanos(time: Nanos) -> f64 {
    time.0 as f64
}

#[cfg(test)]
mod tests;
