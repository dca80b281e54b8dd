//! One run of one contender: its server started, its client at work, both looked at twice in between.

use super::cases::{Case, Contender, Figure, Way};
use super::common::lab::Lab;
use super::common::machine::{self, Watch, is_disturbed};
use super::common::options::{Options, whole_seconds};
use super::common::process::Process;
use super::tools::{Reading, Toolbox};
use anyhow::{Context, bail};
use model::units::{Bytes, Nanos};
use std::time::{Duration, Instant};

/// What one run gave.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    /// Which turn of all contenders it was part of.
    pub(crate) turn: usize,
    pub(crate) reading: Reading,
    /// CPU time of the client and the server for one round trip, microseconds.
    pub(crate) cpu: (f64, f64),
    /// What others used of one CPU meanwhile, as a share.
    pub(crate) foreign: f64,
}

/// Runs it, and again when others used the machine meanwhile; of these the least disturbed.
pub(crate) fn undisturbed(
    case: &Case,
    contender: &Contender,
    toolbox: &Toolbox,
    lab: &Lab,
    options: &Options,
    turn: usize,
) -> anyhow::Result<Run> {
    let (run, foreign) = machine::undisturbed(options.patience, || {
        let run = once(case, contender, toolbox, lab, options.time)?;
        let foreign = run.foreign;
        Ok((run, foreign))
    })?;
    Ok(Run { turn, foreign, ..run })
}

impl Run {
    /// A figure of it, microseconds.
    pub(crate) fn figure(&self, figure: Figure) -> f64 {
        match figure {
            Figure::P50 => self.reading.p50,
            Figure::P99 => self.reading.p99,
            Figure::P999 => self.reading.p999,
            Figure::ClientCpu => self.cpu.0,
            Figure::ServerCpu => self.cpu.1,
        }
    }

    /// For the log.
    pub(crate) fn in_words(&self) -> String {
        let Reading { count, p50, p99, p999, .. } = self.reading;
        let (client, server) = self.cpu;
        let mut words = format!(
            "p50 {p50:.2} us, p99 {p99:.2}, p99.9 {p999:.2} of {count:.0}, CPU {client:.2} + {server:.2} us"
        );
        if is_disturbed(self.foreign) {
            words += &format!(", DISTURBED: others used {:.0} % of a CPU", self.foreign * 100.0);
        }
        words
    }
}

fn once(
    case: &Case,
    contender: &Contender,
    toolbox: &Toolbox,
    lab: &Lab,
    time: Duration,
) -> anyhow::Result<Run> {
    let (mut server, mut client, watch) = start(case, contender, toolbox, lab, time)?;
    // A look at a process takes a CPU from the ends for some 50 µs: two looks, and none while waiting for the end.
    std::thread::sleep(contender.tool.lead_in() + time.mul_f64(0.3));
    let first = look(&client, &server);
    std::thread::sleep(time.mul_f64(0.6));
    let second = look(&client, &server);
    let was_in_time = !client.has_ended();
    std::thread::sleep(time.mul_f64(0.1) + SETTLE);
    client.wait_for_end(Duration::from_secs(whole_seconds(time) + PATIENCE), &mut server)?;
    let foreign = watch.foreign(client.cpu() + server.cpu())?;
    let reading = contender.tool.read(&client.written()?);
    let reading = reading.with_context(|| client.complaints().trim().to_owned())?;
    if !was_in_time {
        bail!("the client ended before its time");
    }
    let window = (second.0 - first.0).as_secs_f64();
    let per_round_trip = |from: Nanos, to: Nanos| (to - from).0 as f64 / 1e9 / window * reading.interval;
    let cpu = (per_round_trip(first.1, second.1), per_round_trip(first.2, second.2));
    Ok(Run { turn: 0, reading, cpu, foreign })
}

/// Peak memory of the client and the server in a run of this length.
pub(crate) fn memory(
    case: &Case,
    contender: &Contender,
    toolbox: &Toolbox,
    lab: &Lab,
    time: Duration,
) -> anyhow::Result<(Bytes, Bytes)> {
    let (mut server, mut client, _) = start(case, contender, toolbox, lab, time)?;
    client.wait_for_end(Duration::from_secs(whole_seconds(time) + PATIENCE), &mut server)?;
    let reading = contender.tool.read(&client.written()?);
    reading.with_context(|| client.complaints().trim().to_owned())?;
    Ok((client.peak(), server.peak()))
}

/// The server and the client, just started, and the state of the machine before.
fn start(
    case: &Case,
    contender: &Contender,
    toolbox: &Toolbox,
    lab: &Lab,
    time: Duration,
) -> anyhow::Result<(Process, Process, Watch)> {
    let watch = Watch::start()?;
    let mut server = Process::start(toolbox.server(contender, case)?, &lab.far)?;
    server.wait_for_port(contender.tool.port())?;
    std::thread::sleep(SETTLE);
    let near = match case.way {
        Way::Loopback => &lab.far,
        Way::Veth => &lab.near,
    };
    let client = Process::start(toolbox.client(contender, case, time)?, near)?;
    Ok((server, client, watch))
}

fn look(client: &Process, server: &Process) -> (Instant, Nanos, Nanos) {
    (Instant::now(), client.cpu(), server.cpu())
}

const SETTLE: Duration = Duration::from_millis(50);
const PATIENCE: u64 = 20;
