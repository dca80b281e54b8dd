//! The plan of `lab run`: the tests of each topology, their sequence, their repetitions, and their duration.

mod tap;

pub(super) use tap::Tap;

use super::path::{self, Shaped};
use engine::error::{Failure, Result};
use lab::shipped;
use lab::topology::{Node, NodePlace, Tool, Topology};
use model::framing::Network;
use model::lab::LabTest;
use model::plan::{Direction, Directions, Transport};
use model::units::{BitRate, Nanos};
use serde_json::{Value, json};
use std::fmt::Write;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

/// The request of a measurement.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Topologies by name or file, each for itself.
    pub topologies: Vec<String>,
    /// Topologies in place of these, all compared with the first.
    pub compare: Vec<String>,
    /// Kinds of measurement; none: all that fit.
    pub tests: Vec<Test>,
    /// A sweep over frame sizes.
    pub frames: bool,
    /// IPv4 alone.
    pub ipv4: bool,
    /// IPv6 alone.
    pub ipv6: bool,
    /// Duration of each test of throughput and latency.
    pub time: Option<Nanos>,
    /// Repetitions of each test.
    pub rounds: Option<u32>,
    /// Shorter tests, once.
    pub quick: bool,
    /// `NODE:DEVICE` whose packets are written to this file.
    pub capture: Option<(String, PathBuf)>,
}

/// A kind of measurement in a lab.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Test {
    /// TCP throughput: up, down, and both at once.
    Tcp,
    /// UDP throughput: up, down, and both at once.
    Udp,
    /// Round trips of an idle path.
    Latency,
    /// Path MTU and fragments, in both directions.
    Mtu,
    /// All that `pathmeter measure` does, for its findings.
    Measure,
    /// The tools that the topology names.
    Tools,
}

impl Test {
    /// The name that `lab run --tests` takes.
    pub(super) fn name(self) -> &'static str {
        match self {
            Test::Tcp => "tcp",
            Test::Udp => "udp",
            Test::Latency => "latency",
            Test::Mtu => "mtu",
            Test::Measure => "measure",
            Test::Tools => "tools",
        }
    }
}

/// Everything that will be done.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The request.
    pub(super) asked: Request,
    /// The capture.
    pub(super) tap: Option<Tap>,
    /// The topologies, in the requested order.
    pub(super) variants: Vec<Planned>,
    /// Repetitions of each test.
    pub(super) rounds: u32,
    /// Duration of each test of throughput and latency.
    pub(super) time: Nanos,
    /// They are compared with the first.
    pub(super) compared: bool,
}

/// One topology and its tests.
#[derive(Clone, Debug)]
pub(super) struct Planned {
    pub(super) topology: Topology,
    pub(super) steps: Vec<Step>,
}

/// One test over one family.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) family: Network,
    /// Where the far end answers.
    pub(super) target: SocketAddr,
    pub(super) work: Work,
}

/// The measurement of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// At full rate, or datagrams at this rate.
    Throughput(Transport, Directions, Option<BitRate>),
    /// Datagrams at this rate, to see what the path itself loses.
    Loss(Direction, BitRate),
    Latency,
    /// Round trips idle and under load.
    Loaded,
    Mtu,
    /// Frames of each size, against the rate that the topology is shaped to.
    Frames(Option<BitRate>),
    /// All that `pathmeter measure` does, for its findings.
    Measure,
    /// Whether the far end answers at all.
    Reach,
    /// A tool of the topology.
    Tool(Tool),
}

impl Plan {
    /// The tests of a request.
    ///
    /// # Errors
    /// When a topology is unknown or faulty, a name stands twice, or nothing would be measured.
    pub fn from_request(asked: &Request) -> Result<Plan> {
        let compared = !asked.compare.is_empty();
        let names = if compared { &asked.compare } else { &asked.topologies };
        let time = asked.time.unwrap_or(Nanos::from_secs(if asked.quick { 1 } else { 3 }));
        if time < LEAST_TIME {
            let message = format!("-t {time} is too short to measure in");
            return Err(Failure::usage(message, "ask for 200ms at least").into());
        }
        let mut variants: Vec<Planned> = Vec::new();
        for name in names {
            let topology = shipped::find(name)
                .map_err(|error| Failure::usage(error.to_string(), "docs/lab.md has the form of a file"))?;
            if variants.iter().any(|one| one.topology.name == topology.name) {
                let message = format!("the topology {} is given twice", topology.name);
                return Err(Failure::usage(message, "name each once; --runs N repeats all").into());
            }
            let steps = steps(&topology, asked, compared);
            variants.push(Planned { topology, steps });
        }
        if variants.iter().all(|one| one.steps.is_empty()) {
            let advice = "these topologies have no address of that family, or no such test";
            return Err(Failure::usage("there is nothing to measure", advice).into());
        }
        let repeats = variants.iter().flat_map(|one| &one.steps).any(Step::repeats);
        let rounds = asked.rounds.unwrap_or(match (compared && repeats, asked.quick) {
            (true, false) => 5,
            (true, true) => 3,
            (false, _) => 1,
        });
        let tap = Tap::from_request(asked, &variants)?;
        Ok(Plan { asked: asked.clone(), tap, variants, rounds, time, compared })
    }

    /// Every step in its sequence: each round has all steps of all topologies, so that a slow drift of the host affects all of them
    /// equally. Figures that do not change are measured once.
    pub(super) fn schedule(&self) -> Vec<(u32, usize, &Step)> {
        let mut all = Vec::new();
        for round in 1..=self.rounds {
            let most = self.variants.iter().map(|one| one.steps.len()).max().unwrap_or(0);
            for step in 0..most {
                let variants = self.variants.iter().enumerate();
                let steps =
                    variants.filter_map(|(variant, one)| Some((round, variant, one.steps.get(step)?)));
                all.extend(steps.filter(|(round, _, step)| *round == 1 || step.repeats()));
            }
        }
        all
    }

    /// Approximate duration.
    pub(super) fn duration(&self) -> Nanos {
        let tests = self.schedule().iter().map(|(_, _, step)| step.duration(self.time).0).sum();
        let machines = self.variants.iter().flat_map(|one| &one.topology.nodes);
        let machines = machines.filter(|node| node.place.is_machine()).count() as u64;
        Nanos(tests).saturating_add(BOOT.saturating_mul(machines))
    }

    /// The steps, for programs.
    pub fn value(&self) -> Value {
        let step = |step: &Step| {
            let often = if step.repeats() { self.rounds } else { 1 };
            let [family, target, test] = [step.family.to_string(), step.target.to_string(), step.to_string()];
            json!({ "repetitions": often, "family": family, "target": target, "test": test })
        };
        let topology = |one: &Planned| {
            let steps: Vec<Value> = one.steps.iter().map(step).collect();
            json!({ "name": one.topology.name, "title": one.topology.title, "steps": steps })
        };
        let topologies: Vec<Value> = self.variants.iter().map(topology).collect();
        json!({ "topologies": topologies, "tests": self.schedule().len(), "about_ns": self.duration() })
    }

    /// The plan in words.
    #[must_use]
    pub fn text(&self) -> String {
        let mut text = String::new();
        for one in &self.variants {
            let _ = writeln!(text, "{}: {}", one.topology.name, one.topology.title);
            for step in &one.steps {
                let often = if step.repeats() { self.rounds } else { 1 };
                let _ = writeln!(text, "  {} × {step}", often);
            }
        }
        let tests = self.schedule().len();
        let _ = writeln!(text, "{tests} tests, about {}", minutes(self.duration()));
        text
    }
}

impl Planned {
    /// Nothing but frames of each size: nothing is expected of those.
    pub(super) fn is_sweep(&self) -> bool {
        self.steps.iter().all(|step| matches!(step.work, Work::Frames(_)))
    }

    /// Every kind of test that a finding may come from is among the steps.
    pub(super) fn is_complete(&self) -> bool {
        let has = |test| self.steps.iter().any(|step| step.test() == test);
        [LabTest::Tcp, LabTest::Udp, LabTest::Latency, LabTest::Mtu].into_iter().all(has)
    }
}

/// Seconds below two minutes, minutes from there on.
pub(super) fn minutes(time: Nanos) -> String {
    match time.0.div_ceil(1_000_000_000) {
        seconds @ ..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds.div_ceil(60)),
    }
}

impl Step {
    /// The kind of its figures.
    pub(super) fn test(&self) -> LabTest {
        match &self.work {
            Work::Throughput(Transport::Tcp, Directions::Both, _) => LabTest::TcpBoth,
            Work::Throughput(Transport::Tcp, ..) => LabTest::Tcp,
            Work::Throughput(Transport::Udp, Directions::Both, _) => LabTest::UdpBoth,
            Work::Throughput(Transport::Udp, ..) => LabTest::Udp,
            Work::Loss(..) => LabTest::Loss,
            Work::Latency | Work::Loaded | Work::Reach => LabTest::Latency,
            Work::Mtu => LabTest::Mtu,
            Work::Frames(_) => LabTest::Frames,
            Work::Measure => LabTest::Measure,
            Work::Tool(_) => LabTest::Tool,
        }
    }

    /// Whether it runs in every round: path MTU and findings do not scatter.
    fn repeats(&self) -> bool {
        !matches!(self.work, Work::Loaded | Work::Mtu | Work::Frames(_) | Work::Measure | Work::Reach)
    }

    /// Approximate duration.
    pub(super) fn duration(&self, time: Nanos) -> Nanos {
        match &self.work {
            Work::Throughput(..) | Work::Loss(..) => time.saturating_add(Nanos::from_millis(900)),
            Work::Latency => time.saturating_add(Nanos::from_millis(1_800)),
            Work::Loaded => time.saturating_mul(4).saturating_add(Nanos::from_secs(3)),
            Work::Mtu => Nanos::from_secs(4),
            Work::Frames(_) => time.saturating_add(Nanos::from_millis(900)).saturating_mul(SWEEP_TESTS),
            Work::Measure => Nanos::from_secs(9),
            Work::Reach => Nanos::from_secs(4),
            Work::Tool(_) => Nanos::from_secs(10),
        }
    }

    /// The words of our own command; none of a tool.
    pub(super) fn args(&self, program: &str, time: Nanos) -> Vec<String> {
        let host = self.target.to_string();
        let span = |time: Nanos| format!("{}us", time.0 / 1_000);
        let timed = ["-t".to_owned(), span(time), "-i".to_owned(), span(Nanos(time.0 / 4))];
        let (command, options): (&str, Vec<String>) = match &self.work {
            Work::Throughput(transport, directions, rate) => {
                let udp = (*transport == Transport::Udp).then(|| "--udp".to_owned());
                let rate = rate.map(|rate| ["-b".to_owned(), rate.0.to_string()]);
                let direction = match directions {
                    Directions::Up => None,
                    Directions::Down => Some("--reverse".to_owned()),
                    Directions::Both => Some("--bidir".to_owned()),
                };
                (
                    "throughput",
                    timed.into_iter().chain(udp).chain(rate.into_iter().flatten()).chain(direction).collect(),
                )
            }
            Work::Loss(direction, rate) => {
                let rate = ["--udp".to_owned(), "-b".into(), rate.0.to_string()];
                let back = (*direction == Direction::Down).then(|| "--reverse".to_owned());
                ("throughput", timed.into_iter().chain(rate).chain(back).collect())
            }
            Work::Latency => ("latency", vec!["-t".into(), span(time)]),
            Work::Loaded => ("latency", vec!["--loaded".into(), "-t".into(), span(time)]),
            Work::Reach => ("latency", vec!["-t".into(), "500ms".into()]),
            Work::Mtu => ("mtu", Vec::new()),
            Work::Frames(link) => {
                let link = link.map(|link| ["--link".to_owned(), link.0.to_string()]);
                let timed = ["-t".to_owned(), span(time)].into_iter();
                ("frames", timed.chain(link.into_iter().flatten()).collect())
            }
            Work::Measure => ("measure", vec!["--quick".into()]),
            Work::Tool(_) => return Vec::new(),
        };
        let format = if command == "throughput" { "ndjson" } else { "json" };
        let wait = if self.work == Work::Reach { "3s" } else { "15s" };
        let common = ["--format", format, "--connect-timeout", wait].map(str::to_owned);
        [program.to_owned(), command.into(), host].into_iter().chain(options).chain(common).collect()
    }
}

impl std::fmt::Display for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.work {
            Work::Throughput(transport, directions, rate) => {
                let direction = match directions {
                    Directions::Up => "up",
                    Directions::Down => "down",
                    Directions::Both => "both directions at once",
                };
                write!(f, "{transport} {direction}")?;
                if let Some(rate) = rate {
                    write!(f, " at {rate}")?;
                }
            }
            Work::Loss(direction, rate) => write!(f, "UDP {direction} at {rate}, for the loss")?,
            Work::Latency => f.write_str("round trips")?,
            Work::Loaded => f.write_str("round trips under load")?,
            Work::Mtu => f.write_str("path MTU and fragments")?,
            Work::Frames(_) => f.write_str("frames of each size")?,
            Work::Measure => f.write_str("measure, for its findings")?,
            Work::Reach => f.write_str("whether it answers")?,
            Work::Tool(tool) => f.write_str(&tool.name)?,
        }
        write!(f, ", {}", self.family)
    }
}

/// The tests of one topology, in order.
fn steps(topology: &Topology, asked: &Request, compared: bool) -> Vec<Step> {
    let families = [(Network::V4, asked.ipv6), (Network::V6, asked.ipv4)];
    let families = families.into_iter().filter(|(_, left_out)| !left_out);
    families.flat_map(|(family, _)| of_family(topology, asked, compared, family)).collect()
}

fn of_family(topology: &Topology, asked: &Request, compared: bool, family: Network) -> Vec<Step> {
    let Some(target) = target(topology, family) else { return Vec::new() };
    let shaped = path::shaped(topology);
    let rates = shaped.iter().flatten().map(|side| side.rate);
    let step = |work| Step { family, target, work };
    if !topology.expect.reachable[usize::from(family == Network::V6)] {
        return vec![step(Work::Reach)];
    }
    // A sweep alone, where nothing else is requested.
    let all = asked.tests.is_empty() && !asked.frames;
    let wants = |test| all || asked.tests.contains(&test);
    let mut works = Vec::new();
    for (test, transport) in [(Test::Tcp, Transport::Tcp), (Test::Udp, Transport::Udp)] {
        if wants(test) {
            let directions = [Directions::Up, Directions::Down, Directions::Both];
            let filling = |direction| filling(&shaped, direction).filter(|_| transport == Transport::Udp);
            works.extend(
                directions.map(|direction| Work::Throughput(transport, direction, filling(direction))),
            );
        }
    }
    if wants(Test::Latency) {
        works.push(Work::Latency);
    }
    if wants(Test::Latency) && !compared && topology.expect.findings.iter().any(|id| id == "bufferbloat") {
        works.push(Work::Loaded);
    }
    if wants(Test::Udp) && topology.expect.loss.is_some() && !compared {
        let half = rates.clone().map(|rate| rate.0 / 2).min();
        let rate = BitRate(half.unwrap_or(LOSS_RATE).min(LOSS_RATE));
        works.extend(Direction::BOTH.map(|direction| Work::Loss(direction, rate)));
    }
    if wants(Test::Mtu) {
        works.push(Work::Mtu);
    }
    if wants(Test::Measure) && !compared && !topology.expect.findings.is_empty() {
        works.push(Work::Measure);
    }
    if asked.frames {
        works.push(Work::Frames(rates.min()));
    }
    let tools = topology.tools.iter().filter(|tool| is_of(tool, family));
    works.extend(tools.filter(|_| wants(Test::Tools)).cloned().map(Work::Tool));
    works.into_iter().map(step).collect()
}

/// The rate of datagrams that overloads every direction of a shaped path. As much as goes would take the CPUs from the
/// queues that shape: they let less through than they should.
fn filling(shaped: &[Option<Shaped>; 2], directions: Directions) -> Option<BitRate> {
    let rates = directions.each().map(|direction| Some(shaped[path::place(direction)].as_ref()?.rate.0));
    let rates: Option<Vec<u64>> = rates.collect();
    rates?.into_iter().max().map(|most| BitRate(most / 2 * 3))
}

/// Where the far end answers over a family.
pub(super) fn target(topology: &Topology, family: Network) -> Option<SocketAddr> {
    let node = topology.node(&topology.to)?;
    if let NodePlace::Remote { address } = &node.place {
        return (address.is_ipv4() == (family == Network::V4)).then_some(*address);
    }
    address(node, family).map(|address| SocketAddr::new(address, engine::wire::native::PORT))
}

/// The first address of a node in a family.
pub(super) fn address(node: &Node, family: Network) -> Option<IpAddr> {
    let is_in_family = |address: &IpAddr| address.is_ipv4() == (family == Network::V4);
    node.addresses.iter().map(|own| own.address).find(is_in_family)
}

/// Whether a tool measures over this family: `{to4}` and `{to6}` say so, `{to}` is both in turn. Without any of them it is
/// run once, with IPv4.
fn is_of(tool: &Tool, family: Network) -> bool {
    let names = |what: &str| tool.run.iter().any(|word| word.contains(what));
    match family {
        Network::V4 => names("{to4}") || names("{to}") || !names("{to6}"),
        Network::V6 => names("{to6}") || names("{to}"),
    }
}

/// Two samples and what is between them need so much.
const LEAST_TIME: Nanos = Nanos::from_millis(200);
/// A machine under emulation takes so long to boot.
const BOOT: Nanos = Nanos::from_secs(25);
/// Sizes that TCP and UDP are tried with.
const SWEEP_TESTS: u64 = 14;
/// Enough datagrams to count losses by, and far below what any path here carries.
const LOSS_RATE: u64 = 20_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(topology: &str, directions: Directions) -> Option<u64> {
        let shaped = path::shaped(&shipped::find(topology).expect("it is shipped"));
        filling(&shaped, directions).map(|rate| rate.0)
    }

    #[test]
    fn datagrams_overload_a_shaped_path_and_not_the_host() {
        let all = [Directions::Up, Directions::Down, Directions::Both];
        assert_eq!(all.map(|directions| rate("tbf-mtu", directions)), [Some(30_000_000); 3]);
        assert_eq!(all.map(|directions| rate("forward", directions)), [None; 3]);
    }
}
