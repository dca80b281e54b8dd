//! One job of a mesh: the test that an agent runs, as a request to the engine, and what it sends back.

use engine::host::address::Family;
use engine::request::{FarEnd, Hops, Latency, Path, Request, Throughput};
use fleet::job::{End, Outcome};
use insight::finding::capital;
use model::finding::Status;
use model::mesh::path;
use model::plan::{Directions, TestSpec};
use model::run::Run;
use model::units::Nanos;
use serde::{Deserialize, Serialize};

/// The body of a job. It has a closed set of words: a coordinator cannot have an agent do anything else.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeshJob {
    /// Name of the sender.
    pub from: String,
    /// Name of the receiver.
    pub to: String,
    /// The test to run.
    pub test: MeshTest,
    /// Address of the end that listens.
    pub host: String,
    /// Its port.
    pub port: u16,
    /// The end that listens is the one that sends.
    pub reverse: bool,
    /// How long it takes.
    pub time: Nanos,
    /// The IP version, 4 or 6; absent: that of the address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub family: Option<u8>,
}

/// The kinds of tests in a mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MeshTest {
    /// TCP goodput.
    Throughput,
    /// Round trips.
    Latency,
    /// Packet sizes, both directions.
    Mtu,
    /// The routers of the path, from its first host, and back.
    Hops,
}

/// A run of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanJob {
    /// The plan, which has this run alone.
    pub plan: String,
    /// Length of a test that ends by time, in place of the plan's.
    pub time: Option<Nanos>,
    /// The test ends at another agent, which requires the token of the mesh.
    pub to_agent: bool,
    /// The test ends at a host that the agent's own configuration must name: with its token, which is never sent, or its
    /// fingerprint.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// Where the run ends, as text to show; only of a run that starts together with others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
}

/// Either.
pub(crate) enum AnyJob {
    Mesh(MeshJob),
    Plan(PlanJob),
}

impl AnyJob {
    /// Reads the body of a job.
    pub(crate) fn read(body: &str) -> std::result::Result<AnyJob, String> {
        let unknown = |error: serde_json::Error| format!("this version does not know the job: {error}");
        let value: serde_json::Value = serde_json::from_str(body).map_err(unknown)?;
        match value.get("plan") {
            Some(_) => serde_json::from_value(value).map(AnyJob::Plan).map_err(unknown),
            None => serde_json::from_value(value).map(AnyJob::Mesh).map_err(unknown),
        }
    }
}

/// An agent's reply to a mesh's job: the job and the document of the run. A plan's reply is the document alone.
#[derive(Debug, Serialize, Deserialize)]
pub struct JobResult {
    /// The job as it was requested.
    pub job: MeshJob,
    /// The document.
    pub run: Run,
}

impl JobResult {
    /// Reads the result of the run with this title.
    ///
    /// # Errors
    /// Another version wrote it, or it is the result of another job.
    pub fn read(body: &str, title: &str) -> std::result::Result<JobResult, String> {
        let result: JobResult = model::json::read(body.as_bytes())
            .map_err(|error| format!("the result is not of this version: {error}"))?;
        let job = result.job.title();
        if job != title {
            return Err(format!("the agent sent the result of another job: {job}"));
        }
        Ok(result)
    }
}

/// The result of an outcome, or why there is none; and why it must not be trusted.
pub(crate) fn result_of(outcome: &Outcome) -> (std::result::Result<JobResult, String>, Option<&str>) {
    let read = |body: &str| JobResult::read(body, &outcome.title);
    match &outcome.end {
        End::Failed { reason } => (Err(reason.clone()), None),
        End::Done { body } => (read(body), None),
        End::Void { reason, body } => (read(body).map_err(|_| reason.clone()), Some(reason)),
    }
}

/// Reads the document that an agent sent of a plan's run.
pub(crate) fn read_run(body: &str, agent: &str) -> std::result::Result<Run, String> {
    model::json::read(body.as_bytes())
        .map_err(|error| format!("the result of {agent} is not of this version: {error}"))
}

/// Holds the result of an agent against the job that it was handed: why it is that of another one. A job that cannot be read is
/// of another version, and shown as that.
///
/// # Errors
/// The job that it is the result of.
pub fn check(asked: &str, body: &str) -> std::result::Result<(), String> {
    let Ok(AnyJob::Mesh(asked)) = AnyJob::read(asked) else { return Ok(()) };
    match model::json::read::<JobResult>(body.as_bytes()) {
        Ok(result) if result.job != asked && result.job.title() == asked.title() => {
            Err("it is the result of a job of the same name that was never handed out".to_owned())
        }
        Ok(result) if result.job != asked => Err(format!("it is the result of {}", result.job.title())),
        _ => Ok(()),
    }
}

/// Makes the result of a run void whose lease lapsed, for this reason.
pub(crate) fn lapse(run: &mut Run, reason: &str) {
    run.verdict.status = Status::Void;
    run.verdict.text = format!("{}: another test may have run at the same time.", capital(reason));
}

impl MeshTest {
    /// Its name: that of the command that measures the same.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            MeshTest::Throughput => "throughput",
            MeshTest::Latency => "latency",
            MeshTest::Mtu => "mtu",
            MeshTest::Hops => "hops",
        }
    }
}

impl MeshJob {
    /// The title of its run: `throughput ams -> fra`.
    #[must_use]
    pub fn title(&self) -> String {
        format!("{} {}", self.test.word(), path(&self.from, &self.to, self.family))
    }

    /// The directions that it measures, as a job for each: packet sizes are measured in both at once.
    #[must_use]
    pub fn directions(self) -> Vec<MeshJob> {
        let back =
            MeshJob { from: self.to.clone(), to: self.from.clone(), reverse: !self.reverse, ..self.clone() };
        if self.test == MeshTest::Mtu { vec![self, back] } else { vec![self] }
    }

    /// The name of its foremost figure in the document of the run.
    #[must_use]
    pub fn figure(&self) -> &'static str {
        match (self.test, self.reverse) {
            (MeshTest::Throughput, false) => "tcp.up.goodput",
            (MeshTest::Throughput, true) => "tcp.down.goodput",
            (MeshTest::Latency, _) => "rtt.p50",
            (MeshTest::Mtu, false) => "up.path_mtu",
            (MeshTest::Mtu, true) => "down.path_mtu",
            (MeshTest::Hops, _) => "hops.count",
        }
    }

    /// About how long it takes, with what connecting and the exchange of results take.
    pub fn span(&self) -> Nanos {
        let test = match self.test {
            MeshTest::Throughput | MeshTest::Latency => self.time,
            MeshTest::Mtu | MeshTest::Hops => {
                experiment::time_of(&self.request(Nanos::ZERO)).unwrap_or(self.time)
            }
        };
        test.saturating_add(AROUND)
    }

    /// The request to the engine. `interval` is the time between samples; zero: no samples.
    pub(crate) fn request(&self, interval: Nanos) -> Request {
        let mut far = FarEnd::named(&self.host);
        far.port = Some(self.port);
        far.origin.family = match self.family {
            Some(4) => Family::V4("--ip"),
            Some(6) => Family::V6("--ip"),
            _ => Family::Any,
        };
        match self.test {
            MeshTest::Throughput => {
                let directions = if self.reverse { Directions::Down } else { Directions::Up };
                Request::Throughput(Box::new(Throughput {
                    test: TestSpec {
                        directions,
                        end: model::plan::End::Time(self.time),
                        ..TestSpec::default()
                    },
                    interval,
                    ..Throughput::to(far)
                }))
            }
            MeshTest::Latency => {
                Request::Latency(Box::new(Latency { time: Some(self.time), ..Latency::to(far) }))
            }
            MeshTest::Mtu => Request::Path(Box::new(Path::to(far))),
            MeshTest::Hops => {
                // UDP at the agent's own port would be taken by it, and no host would answer that it is closed.
                far.port = None;
                Request::Hops(Box::new(Hops { back_port: Some(self.port), ..Hops::to(far) }))
            }
        }
    }
}

/// Time for connecting and exchanging results, in addition to the test.
const AROUND: Nanos = Nanos::from_secs(2);
