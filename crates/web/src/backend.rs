//! What the server is given: a store, what can be measured, topologies.

use model::event::Event;
use model::history::Entry;
use model::plan::Directions;
use model::run::Run;
use serde::{Deserialize, Serialize};
use store::Store;

/// The program around the page.
pub struct Backend {
    /// Its name and version.
    pub version: String,
    /// Opens the store; called for each request, so that one that was locked or away is found again.
    pub open: Box<dyn Fn() -> store::Result<Store> + Send + Sync>,
    /// Begins a test in a thread of its own, and keeps it in the store. What happens goes to the sink, whose last word is
    /// [`Update::Ended`] or [`Update::Failed`].
    pub start: Box<dyn Fn(Asked, Sink) -> Result<Stop, Refused> + Send + Sync>,
    /// The topologies of the lab, each a document with a `drawing`; none where this build has no lab.
    pub topologies: Box<dyn Fn() -> Vec<serde_json::Value> + Send + Sync>,
    /// The document of a run that has not ended, of its events.
    pub unended: fn(&Entry, &[Event]) -> Run,
}

/// Where a test reports.
pub type Sink = Box<dyn FnMut(Update) + Send>;

/// Asks a test to stop; it ends with what was measured.
pub type Stop = Box<dyn Fn() + Send + Sync>;

/// What happens in a test.
#[derive(Debug)]
pub enum Update {
    /// An event of the engine.
    Event(Box<Event>),
    /// The test has ended, and its result is in the store.
    Ended {
        /// The name of the run.
        id: String,
        /// Why it ended early, if an error did it.
        error: Option<String>,
    },
    /// There is no result.
    Failed(Refused),
}

/// Why a test did not begin, or has no result.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Refused {
    /// What is wrong.
    pub error: String,
    /// The way out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// What the form asks for. An unknown field is an error.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// What is measured.
    pub kind: Kind,
    /// The far end, as on the command line: a name or an address, with a port or without.
    pub host: String,
    /// A shorter `measure`.
    #[serde(default)]
    pub quick: bool,
    /// Throughput and latency: UDP in place of TCP.
    #[serde(default)]
    pub udp: bool,
    /// Throughput: which way the data goes.
    #[serde(default = "up")]
    pub directions: Directions,
    /// Throughput and latency: how long, in seconds, 1 to 3,600.
    pub seconds: Option<u32>,
    /// Throughput: streams in each direction.
    pub streams: Option<u32>,
    /// A word that holds runs together.
    #[serde(default)]
    pub label: String,
    /// The token that the far end asks for. It is not kept.
    pub token: Option<String>,
}

/// What can be started from the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The main job.
    Measure,
    /// How much a path carries.
    Throughput,
    /// Round trips.
    Latency,
    /// Which packet sizes cross.
    Mtu,
    /// Which routers packets cross.
    Hops,
}

impl Kind {
    /// The command of this kind.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Kind::Measure => "measure",
            Kind::Throughput => "throughput",
            Kind::Latency => "latency",
            Kind::Mtu => "mtu",
            Kind::Hops => "hops",
        }
    }
}

fn up() -> Directions {
    Directions::Up
}
