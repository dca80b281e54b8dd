//! A topology that is up and its answering end.

use super::outcome::packet;
use super::path::{Shaped, encaps, shaped};
use super::plan::Planned;
use lab::build::Lab;
use lab::command::Running;
use lab::feature;
use lab::node::RunningNode;
use lab::topology::{NodePlace, Topology};
use model::framing::{Encaps, Network};
use model::lab::{LabTest, LinkSpeed, Repetition, Series, SpeedBasis, Variant, VariantFinding};
use model::plan::Direction;
use model::run::Run;
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// One topology while it is measured.
pub(super) struct Testbed {
    /// Results so far.
    pub(super) variant: Variant,
    /// Whether the far end answered over IPv4 and over IPv6; absent where that was not tested.
    pub(super) answered: [Option<bool>; 2],
    /// The network; absent where it could not be built.
    pub(super) lab: Option<Lab>,
    /// Where each direction is shaped.
    pub(super) shaped: [Option<Shaped>; 2],
    /// Encapsulation of the packets of IPv4 and of IPv6.
    encaps: [Encaps; 2],
    // Killed when the site goes.
    _server: Option<Running>,
}

impl Testbed {
    /// Builds a topology and starts its answering end. What cannot be built here stands in the variant.
    pub(super) fn new(planned: &Planned, host: &mut feature::Host, program: &str) -> Testbed {
        let topology = &planned.topology;
        let mut testbed = Testbed {
            variant: variant(topology),
            answered: [None; 2],
            lab: None,
            shaped: shaped(topology),
            encaps: [Network::V4, Network::V6].map(|family| encaps(topology, family)),
            _server: None,
        };
        let lacks = host.lacks(topology);
        if !lacks.is_empty() {
            let needs: Vec<&str> = lacks.iter().map(|lack| lack.needs.as_str()).collect();
            testbed.variant.unavailable = Some(format!("not on this host: needs {}", needs.join(", ")));
            return testbed;
        }
        match build(planned, program) {
            Ok((lab, server)) => {
                testbed.variant.notes.extend(lab.notes().iter().cloned());
                (testbed.lab, testbed._server) = (Some(lab), server);
            }
            Err(why) => testbed.variant.unavailable = Some(why),
        }
        testbed
    }

    /// Takes the findings of a run, each once.
    pub(super) fn take_findings(&mut self, run: &Run, family: Network) {
        for finding in &run.findings {
            let same = |known: &VariantFinding| {
                (known.family, &known.finding.id, known.finding.direction)
                    == (family, &finding.id, finding.direction)
            };
            if !self.variant.findings.iter().any(same) {
                self.variant.findings.push(VariantFinding { family, finding: finding.clone() });
            }
        }
    }

    /// Adds the figures of a run to the series like this one.
    pub(super) fn add(&mut self, like: Series, run: &Run, figures: Repetition) {
        let (test, one_way) = (like.test, like.direction);
        let encaps = &self.encaps[usize::from(like.family == Network::V6)];
        let packet = one_way.and_then(|one_way| packet(run, one_way, like.family, encaps));
        let has_speed = test.is_throughput() || test == LabTest::Tool;
        let speed = one_way.and_then(|one_way| self.speed(one_way)).filter(|_| has_speed);
        let series = self.series(like);
        series.packet = packet.or_else(|| series.packet.take());
        series.speed = speed;
        series.runs.push(figures);
    }

    /// Adds a repetition that failed to the series like this one.
    pub(super) fn add_failed(&mut self, like: Series, observed: Repetition, why: &str) {
        self.series(like).runs.push(Repetition { error: Some(why.to_owned()), ..observed });
    }

    /// The series like this one, made where there was none.
    fn series(&mut self, like: Series) -> &mut Series {
        let known = self.variant.series.iter().position(|one| one.is_like(&like));
        let place = known.unwrap_or(self.variant.series.len());
        if known.is_none() {
            self.variant.series.push(like);
        }
        &mut self.variant.series[place]
    }

    /// The rate at which the topology shapes a direction.
    fn speed(&self, direction: Direction) -> Option<LinkSpeed> {
        let shaped = self.shaped[super::path::place(direction)].as_ref()?;
        Some(LinkSpeed { rate: shaped.rate, basis: SpeedBasis::Shaped })
    }
}

fn variant(topology: &Topology) -> Variant {
    Variant {
        name: topology.name.clone(),
        title: topology.title.clone(),
        device_under_test: topology.device_under_test.clone(),
        ..Variant::default()
    }
}

fn build(planned: &Planned, program: &str) -> Result<(Lab, Option<Running>), String> {
    let topology = &planned.topology;
    let lab = Lab::build(topology).map_err(|error| error.to_string())?;
    let from = lab.node(&topology.from).map_err(|error| format!("cannot be measured from here: {error}"))?;
    let server = match topology.node(&topology.to).map(|node| &node.place) {
        Some(NodePlace::Remote { .. } | NodePlace::External { .. }) => None,
        _ => {
            let to = lab.node(&topology.to).map_err(|error| error.to_string())?;
            Some(to.start(&[program.to_owned(), "serve".into()]).map_err(|error| error.to_string())?)
        }
    };
    for step in &planned.steps {
        if await_answer(from, step.target) {
            break;
        }
    }
    Ok((lab, server))
}

/// Waits until the far end takes connections. If it never does, the tests report their own errors, which are more precise.
fn await_answer(from: &RunningNode, target: SocketAddr) -> bool {
    let Some(namespace) = from.namespace() else { return false };
    let until = Instant::now() + TO_ANSWER;
    loop {
        let connected = namespace.run(|| TcpStream::connect_timeout(&target, A_TRY));
        if connected.is_ok_and(|connected| connected.is_ok()) {
            return true;
        }
        if Instant::now() > until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

const TO_ANSWER: Duration = Duration::from_secs(4);
const A_TRY: Duration = Duration::from_millis(500);
