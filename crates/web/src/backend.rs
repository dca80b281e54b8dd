//! Inputs of the server: a store, the tests that it can start, topologies.

use model::event::Event;
use model::history::Entry;
use model::run::Run;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::time::Duration;
use store::Store;

/// The program around the page.
pub struct Backend {
    /// Its name and version.
    pub version: String,
    /// Opens the store; called for each request, so that one that was locked or away is found again.
    pub open: Box<dyn Fn() -> store::Result<Store> + Send + Sync>,
    /// Begins a test in a thread of its own, and keeps it in the store. Updates go to the sink; the last one is
    /// [`Update::Ended`] or [`Update::Failed`].
    pub start: Box<dyn Fn(TestRequest, Sink) -> Result<BegunTest, Refused> + Send + Sync>,
    /// Puts the outputs in a text into the store, as `pathmeter import --save` does.
    pub import: Box<dyn Fn(Upload) -> Result<Uploaded, Refused> + Send + Sync>,
    /// Far ends that have names in the configuration.
    pub targets: Vec<String>,
    /// The topologies of the lab, each a document with a `drawing`; none where this build has no lab.
    pub topologies: Box<dyn Fn() -> Vec<Value> + Send + Sync>,
    /// The document of a run that has not ended, of its events.
    pub unended: fn(&Entry, &[Event]) -> Run,
}

/// Where a test reports.
pub type Sink = Box<dyn FnMut(Update) + Send>;

/// Asks a test to stop; it ends with what was measured.
pub type Stop = Box<dyn Fn() + Send + Sync>;

/// A test that has begun.
pub struct BegunTest {
    /// Ends it.
    pub stop: Stop,
    /// The name that it is kept under.
    pub id: String,
    /// How long it takes, as far as that is known.
    pub expected: Option<Duration>,
}

/// A file that a browser sends.
#[derive(Debug)]
pub struct Upload {
    /// Name of the file.
    pub name: String,
    /// Content of the file.
    pub bytes: Vec<u8>,
    /// The label of what is in it; empty: its own.
    pub label: String,
}

/// Result of an upload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Uploaded {
    /// Runs that were not there before.
    pub new: u64,
    /// Runs in all.
    pub all: u64,
    /// Why only a part of the file could be read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub damage: Option<String>,
}

/// An update of a running test.
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
    /// The error.
    pub error: String,
    /// Advice on how to avoid the error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advice: Option<String>,
}

/// The fields of the form. An unknown field is an error.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TestRequest {
    /// Kind of the measurement.
    pub kind: Kind,
    /// The far end, as on the command line: a name or an address, with a port or without.
    pub host: String,
    /// The keys of the test, named as in a plan file, each with a text, a number, or true or false.
    #[serde(default)]
    pub keys: Map<String, Value>,
    /// 4 or 6: addresses of this IP version alone.
    pub family: Option<u8>,
    /// A word that holds runs together.
    #[serde(default)]
    pub label: String,
    /// The token that the far end asks for. It is not kept.
    pub token: Option<String>,
}

/// The tests that can be started from the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The main job.
    #[default]
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
