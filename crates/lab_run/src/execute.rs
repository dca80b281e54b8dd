//! Runs the commands of a plan in their nodes, and watches what links, queues and CPUs do meanwhile.

use super::nodes::{self, NodesBefore};
use super::observed::Observation;
use super::outcome::{Outcome, of_output, repetition, series_of};
use super::plan::{Plan, Step, Work};
use super::real_frames::RealFrames;
use super::testbed::Testbed;
use super::tools::{self, Started};
use engine::host::interrupt::Interrupt;
use lab::build::Lab;
use lab::command::Running;
use lab::counters::{Snapshot, Traffic};
use model::framing::Network;
use model::lab::{Drops, FrameSweep, LabCpu};
use model::run::Run;
use model::units::{BitRate, Bytes, Nanos};
use std::time::{Duration, Instant};

/// Runs one step and takes its figures.
pub(super) fn step(
    testbed: &mut Testbed,
    step: &Step,
    round: u32,
    plan: &Plan,
    program: &str,
    interrupt: &Interrupt,
) {
    let Some(lab) = &testbed.lab else { return };
    let watch = Watch { lab, testbed, step, time: plan.time, interrupt };
    let real = matches!(step.work, Work::Frames(_)).then(|| RealFrames::between_ends(lab));
    let started = match &step.work {
        Work::Tool(tool) => tools::start(lab, tool, step),
        _ => start(lab, &step.args(program, plan.time)),
    };
    let (outcome, observed) = match started {
        Ok(started) => watch.to_its_end(started),
        Err(why) => (Err(why), Observation::default()),
    };
    let note = real.as_ref().and_then(RealFrames::note);
    drop(real);
    if interrupt.is_raised() {
        return;
    }
    if let Work::Tool(tool) = &step.work {
        return tools::take(testbed, step, tool, round, outcome, &observed);
    }
    if let Some(note) = note.filter(|note| !testbed.variant.notes.contains(note)) {
        testbed.variant.notes.push(note);
    }
    let family = usize::from(step.family == Network::V6);
    testbed.answered[family] = Some(testbed.answered[family] == Some(true) || outcome.is_ok());
    match outcome {
        outcome if matches!(step.work, Work::Frames(_)) => {
            let (rows, error) = match outcome {
                Ok(run) => (run.summary.rows, None),
                Err(why) => (Vec::new(), Some(why)),
            };
            testbed.variant.sweeps.push(FrameSweep { family: step.family, rows, error });
        }
        Ok(run) => {
            let run = nodes::explained(*run, &observed.nodes);
            take(testbed, step, round, &run, &observed);
        }
        Err(_) if step.work == Work::Reach => {}
        Err(why) => series_of(step).into_iter().for_each(|series| {
            testbed.add_failed(series, observed.repetition(round, None), &why);
        }),
    }
}

/// Starts one of our own commands in the measuring node.
fn start(lab: &Lab, words: &[String]) -> Result<Started, String> {
    let from = lab.node(&lab.topology().from);
    let running = from.and_then(|from| from.start(words)).map_err(|error| error.to_string())?;
    Ok(Started { running, server: None })
}

/// Puts the figures of a run where they belong.
fn take(testbed: &mut Testbed, step: &Step, round: u32, run: &Run, observed: &Observation) {
    testbed.take_findings(run, step.family);
    for like in series_of(step) {
        let figures = repetition(run, like.test, like.direction, observed.repetition(round, like.direction));
        testbed.add(like, run, figures);
    }
}

/// One command, watched.
struct Watch<'a> {
    lab: &'a Lab,
    testbed: &'a Testbed,
    step: &'a Step,
    time: Nanos,
    interrupt: &'a Interrupt,
}

impl Watch<'_> {
    /// Waits for the end, within a bound, and reads counters before, in the middle of the test, and after. The answering end of a
    /// tool runs until then.
    fn to_its_end(&self, started: Started) -> (Outcome, Observation) {
        let Started { mut running, server: _server } = started;
        let before = self.lab.counters().ok();
        let until = Instant::now() + self.step.duration(self.time).to_duration() * 4 + TIMEOUT;
        let (mut first, mut last) = (None, None);
        let (mut nodes, mut observed) = (None, Observation::default());
        while !running.has_ended() && Instant::now() < until && !self.interrupt.is_raised() {
            match &first {
                None if self.has_begun(&running) => {
                    first = self.moment();
                    nodes = nodes.or_else(|| Some(NodesBefore::start(self.lab, self.step.target.ip())));
                }
                Some((at, _)) if last.is_none() && at.elapsed() >= self.window() => {
                    last = self.moment();
                    observed.nodes = nodes.take().map(NodesBefore::since).unwrap_or_default();
                }
                _ => {}
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let output = running.finish(Duration::ZERO).map_err(|error| error.to_string());
        let outcome = output.and_then(|output| match &self.step.work {
            Work::Tool(tool) => tools::of_output(&output, &tool.name),
            _ => of_output(&output),
        });
        if let (Some(before), Ok(after)) = (before, self.lab.counters()) {
            let traffic = after.since(&before);
            observed.cpu = cpu(&traffic);
            observed.drops = drops(&traffic);
        }
        if let (Some((begin, first)), Some((end, last))) = (first, last) {
            let traffic = last.since(&first);
            observed.cpu = cpu(&traffic).or(observed.cpu);
            let time = Nanos::from_duration(end.duration_since(begin));
            observed.shaped = [0, 1].map(|direction| self.rate(&traffic, direction, time));
        }
        (outcome, observed)
    }

    /// The counters and when they were read. `None` when that took so long, on a busy host, that the time of each reading is not
    /// known.
    fn moment(&self) -> Option<(Instant, Snapshot)> {
        let begun = Instant::now();
        let counters = self.lab.counters().ok()?;
        let took = begun.elapsed();
        (took <= self.window() / LONGEST_READING).then(|| (begun + took / 2, counters))
    }

    /// A test of throughput has reported for the first time: it is past its beginning.
    fn has_begun(&self, running: &Running) -> bool {
        let timed = matches!(self.step.work, Work::Throughput(..) | Work::Loss(..));
        timed && String::from_utf8_lossy(&running.stdout()).contains("\"event\":\"sample\"")
    }

    /// From the first report, after a quarter of the time, until well before the end.
    fn window(&self) -> Duration {
        Nanos(self.time.0 / 5 * 3).to_duration()
    }

    fn rate(&self, traffic: &Traffic, direction: usize, time: Nanos) -> Option<BitRate> {
        let end = &self.testbed.shaped[direction].as_ref()?.end;
        let node = traffic.nodes.iter().find(|node| node.node == end.node)?;
        let interface = node.interfaces.iter().find(|interface| interface.name == end.device)?;
        Some(BitRate::from_bytes(Bytes(interface.queue_bytes), time))
    }
}

/// The whole host's CPUs: what is forwarded in a namespace runs on any of them.
fn cpu(traffic: &Traffic) -> Option<LabCpu> {
    let sum =
        |of: fn(&linux::cpu::CpuTimes) -> Nanos| traffic.cpus.iter().map(|cpu| of(cpu).0).sum::<u64>() as f64;
    let all = sum(linux::cpu::CpuTimes::total);
    let share = |part: f64| part / all;
    (all > 0.0).then(|| LabCpu {
        busy: share(sum(linux::cpu::CpuTimes::busy)),
        softirq: share(sum(|cpu| cpu.softirq)),
        cpus: u32::try_from(traffic.cpus.len()).unwrap_or(u32::MAX),
        own: false,
    })
}

/// Interfaces that dropped packets, and the filters of fragments.
fn drops(traffic: &Traffic) -> Vec<Drops> {
    let mut drops = Vec::new();
    for node in &traffic.nodes {
        for interface in &node.interfaces {
            drops.push(Drops {
                node: node.node.clone(),
                device: interface.name.clone(),
                received: interface.link.rx_dropped + interface.link.rx_missed,
                sent: interface.link.tx_dropped + interface.queue_drops,
            });
        }
        drops.extend(node.fragments.map(|dropped| Drops {
            node: node.node.clone(),
            device: "filter of fragments".into(),
            received: dropped.ipv4 + dropped.ipv6,
            sent: 0,
        }));
    }
    // The queue of a CPU comes before any interface of a namespace: the owner of these packets is not known.
    drops.push(Drops {
        node: "host".into(),
        device: "backlog of the CPUs".into(),
        received: traffic.softnet.iter().map(|cpu| cpu.dropped).sum(),
        sent: 0,
    });
    drops.retain(|one| one.received + one.sent > 0);
    drops
}

/// A reading of all counters takes this part of the time between two of them at most: together they err by less than 2 %.
const LONGEST_READING: u32 = 60;
/// Beyond four times what a command should take; a machine under emulation is slow.
const TIMEOUT: Duration = Duration::from_secs(45);
