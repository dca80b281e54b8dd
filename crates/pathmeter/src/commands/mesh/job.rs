//! One job of a mesh: what an agent is asked to measure, as a request to the engine.

use engine::error::{Result, fault};
use engine::host::interrupt::Interrupt;
use engine::request::{FarEnd, Host, Latency, Path, Request, Throughput, resolve};
use engine::run::{self, Options};
use engine::session::connect::Security;
use model::plan::{Directions, End};
use model::run::Run;
use model::units::Nanos;
use serde::{Deserialize, Serialize};

/// The body of a job. It has a closed set of words: a coordinator cannot have an agent do anything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MeshJob {
    /// Who sends, by name.
    pub(crate) from: String,
    /// Who receives, by name.
    pub(crate) to: String,
    /// What is measured.
    pub(crate) test: MeshTest,
    /// Address of the end that listens.
    pub(crate) host: String,
    /// Its port.
    pub(crate) port: u16,
    /// The end that listens is the one that sends.
    pub(crate) reverse: bool,
    /// How long it takes.
    pub(crate) time: Nanos,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum MeshTest {
    /// TCP goodput.
    Throughput,
    /// Round trips.
    Latency,
    /// Packet sizes, both directions.
    Mtu,
}

impl MeshJob {
    /// Measures, until the end or until `stop`; the document of the run.
    pub(crate) fn carry_out(&self, stop: Interrupt, security: Security) -> Result<Run> {
        let plan = resolve(&self.request(), &Host::here())?;
        let options = Options { stop, security, drop_intervals: true, ..Options::default() };
        let ended = run::run(&plan, &options, &mut |_| {})?;
        let run = ended.run().cloned();
        ended.error.map_or_else(|| run.ok_or_else(|| fault("a job of a mesh measured no path")), Err)
    }

    fn request(&self) -> Request {
        let mut far = FarEnd::named(&self.host);
        far.port = Some(self.port);
        match self.test {
            MeshTest::Throughput => {
                let directions = if self.reverse { Directions::Down } else { Directions::Up };
                Request::Throughput(Box::new(Throughput {
                    directions,
                    end: End::Time(self.time),
                    interval: Nanos::ZERO,
                    ..Throughput::to(far)
                }))
            }
            MeshTest::Latency => {
                Request::Latency(Box::new(Latency { time: Some(self.time), ..Latency::to(far) }))
            }
            MeshTest::Mtu => Request::Path(Box::new(Path::to(far))),
        }
    }
}
