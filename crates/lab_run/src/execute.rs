//! Runs the commands of a plan in their nodes, and watches what links, queues and CPUs do meanwhile.

use super::nodes::{self, NodesBefore};
use super::observed::Observation;
use super::outcome::{Outcome, of_output, packet, repetition, series_of};
use super::plan::{Plan, Step, Work};
use super::real_frames::RealFrames;
use super::testbed::Testbed;
use super::tools;
use engine::host::interrupt::Interrupt;
use lab::build::Lab;
use lab::command::Running;
use lab::counters::{Snapshot, Traffic};
use model::framing::Network;
use model::lab::{Drops, FrameSweep, LabCpu, Repetition};
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
    if let Work::Tool(tool) = &step.work {
        let (result, observed) = match tools::start(lab, tool, step) {
            Ok(started) => watch.tool(started, tool),
            Err(why) => (Outcome::Failed(why), Observation::default()),
        };
        if !interrupt.is_raised() {
            tools::take(testbed, step, tool, round, result, &observed);
        }
        return;
    }
    let real = matches!(step.work, Work::Frames(_)).then(|| RealFrames::between_ends(lab));
    let (outcome, observed) = watch.command(&step.args(program, plan.time));
    let note = real.as_ref().and_then(RealFrames::note);
    drop(real);
    if interrupt.is_raised() {
        return;
    }
    if let Some(note) = note.filter(|note| !testbed.variant.notes.contains(note)) {
        testbed.variant.notes.push(note);
    }
    let family = usize::from(step.family == Network::V6);
    let ran = matches!(outcome, Outcome::Run(_));
    testbed.answered[family] = Some(testbed.answered[family] == Some(true) || ran);
    match outcome {
        Outcome::Run(run) if matches!(step.work, Work::Frames(_)) => {
            let rows = run.summary.rows;
            testbed.variant.sweeps.push(FrameSweep { family: step.family, rows, error: None });
        }
        Outcome::Failed(why) if matches!(step.work, Work::Frames(_)) => {
            testbed.variant.sweeps.push(FrameSweep {
                family: step.family,
                rows: Vec::new(),
                error: Some(why),
            });
        }
        Outcome::Run(run) => {
            let run = nodes::explained(*run, &observed.nodes);
            take(testbed, step, round, &run, &observed);
        }
        Outcome::Failed(_) if step.work == Work::Reach => {}
        Outcome::Failed(why) => {
            for series in series_of(step) {
                let failed =
                    Repetition { number: round, error: Some(why.clone()), ..observed.repetition(None) };
                testbed.series(series).runs.push(failed);
            }
        }
    }
}

/// Puts the figures of a run where they belong.
fn take(testbed: &mut Testbed, step: &Step, round: u32, run: &Run, observed: &Observation) {
    testbed.take_findings(run, step.family);
    for like in series_of(step) {
        let (test, one_way) = (like.test, like.direction);
        let figures = repetition(run, test, one_way);
        let on_the_wire =
            one_way.and_then(|one_way| packet(run, one_way, step.family, testbed.encaps(step.family)));
        let speed = one_way.and_then(|one_way| testbed.speed(one_way)).filter(|_| test.is_throughput());
        let observed = observed.repetition(one_way);
        let series = testbed.series(like);
        series.packet = on_the_wire.or_else(|| series.packet.take());
        series.speed = speed;
        series.runs.push(Repetition {
            number: round,
            cpu: observed.cpu,
            drops: observed.drops,
            shaped: observed.shaped,
            ..figures
        });
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
    fn command(&self, words: &[String]) -> (Outcome, Observation) {
        let from = self.lab.node(&self.lab.topology().from);
        match from.and_then(|from| from.start(words)) {
            Ok(running) => self.to_its_end(running, of_output),
            Err(error) => (Outcome::Failed(error.to_string()), Observation::default()),
        }
    }

    fn tool(&self, started: tools::Started, tool: &lab::topology::Tool) -> (Outcome, Observation) {
        let tools::Started { running, server } = started;
        let ended = self.to_its_end(running, |output| tools::of_output(output, &tool.name));
        drop(server);
        ended
    }

    /// Waits for the end, within a bound, and reads counters before, in the middle of the test, and after.
    fn to_its_end(
        &self,
        mut running: Running,
        read: impl Fn(&lab::command::Output) -> Outcome,
    ) -> (Outcome, Observation) {
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
        let outcome = match running.finish(Duration::ZERO) {
            Ok(output) => read(&output),
            Err(error) => Outcome::Failed(error.to_string()),
        };
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
