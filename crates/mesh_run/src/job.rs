//! The jobs of agents, as requests to the engine. They have closed sets of words: a coordinator cannot have an agent do anything
//! else.

use engine::request::{FarEnd, Latency, Path, Request, Throughput};
use model::plan::{Directions, End};
use model::units::Nanos;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A run between two agents.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeshJob {
    /// Who sends, by name.
    pub from: String,
    /// Who receives, by name.
    pub to: String,
    /// What is measured.
    pub test: MeshTest,
    /// Address of the end that listens.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The end that listens is the one that sends.
    pub reverse: bool,
    /// How long it takes.
    pub time: Nanos,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeshTest {
    /// TCP goodput.
    Throughput,
    /// Round trips.
    Latency,
    /// Packet sizes, both directions.
    Mtu,
}

/// A run of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanJob {
    /// The plan, which has this run alone.
    pub plan: String,
    /// Length of a test that ends by time, in place of the plan's.
    pub time: Option<Nanos>,
}

/// What an agent sends back of a [`MeshJob`]: what was asked, and the document of the run. Of a [`PlanJob`] it is the document alone.
#[derive(Debug, Serialize, Deserialize)]
pub struct JobResult {
    /// What was asked.
    pub job: MeshJob,
    /// The document.
    pub run: Value,
}

/// Either.
pub(crate) enum Asked {
    Mesh(MeshJob),
    Plan(PlanJob),
}

impl Asked {
    /// Reads the body of a job.
    pub(crate) fn read(body: &str) -> Result<Asked, String> {
        let unknown = |error: serde_json::Error| format!("this version does not know the job: {error}");
        let value: Value = serde_json::from_str(body).map_err(unknown)?;
        match value.get("plan") {
            Some(_) => serde_json::from_value(value).map(Asked::Plan).map_err(unknown),
            None => serde_json::from_value(value).map(Asked::Mesh).map_err(unknown),
        }
    }
}

impl MeshJob {
    /// What is asked of the engine. `interval`: between samples; zero: none.
    pub(crate) fn request(&self, interval: Nanos) -> Request {
        let mut far = FarEnd::named(&self.host);
        far.port = Some(self.port);
        match self.test {
            MeshTest::Throughput => {
                let directions = if self.reverse { Directions::Down } else { Directions::Up };
                let end = End::Time(self.time);
                Request::Throughput(Box::new(Throughput { directions, end, interval, ..Throughput::to(far) }))
            }
            MeshTest::Latency => {
                Request::Latency(Box::new(Latency { time: Some(self.time), ..Latency::to(far) }))
            }
            MeshTest::Mtu => Request::Path(Box::new(Path::to(far))),
        }
    }
}
