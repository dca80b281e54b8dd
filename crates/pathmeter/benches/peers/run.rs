//! One run of one tool, on a machine that does nothing else.

use super::cases::{Case, Contender, Work};
use super::common::lab::Lab;
use super::common::machine::{self, Watch, is_disturbed};
use super::common::options::{Options, whole_seconds};
use super::common::process::Process;
use super::common::table::mebibytes;
use super::relay::{Relay, pacing_error};
use super::tools::{Reading, Tool, Toolbox};
use anyhow::{Context, bail};
use model::units::{Bytes, Nanos};
use std::time::Duration;

/// What one run gave.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) reading: Reading,
    /// CPU time of both ends.
    pub(crate) cpu: Nanos,
    /// Peak memory of the client and the server.
    pub(crate) memory: (Bytes, Bytes),
    /// Mean absolute error of the gaps, nanoseconds.
    pub(crate) pacing: Option<f64>,
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
) -> anyhow::Result<Run> {
    let (run, foreign) = machine::undisturbed(options.patience, || {
        let run = once(case, contender, toolbox, lab, whole_seconds(options.time))?;
        let foreign = run.foreign;
        Ok((run, foreign))
    })?;
    Ok(Run { foreign, ..run })
}

impl Run {
    /// Others used so much of the machine that the figure is doubtful.
    pub(crate) fn is_disturbed(&self) -> bool {
        is_disturbed(self.foreign)
    }

    /// CPU seconds of both ends per gigabyte received.
    pub(crate) fn cpu_per_gigabyte(&self) -> f64 {
        self.cpu.0 as f64 / self.reading.bytes.max(1.0)
    }

    /// For the log.
    pub(crate) fn in_words(&self, case: &Case) -> String {
        let mut words = match (case.work, self.pacing) {
            (_, Some(error)) => format!("{:.2} us mean gap error", error / 1e3),
            _ => format!(
                "{:.2} Gbit/s, {:.0} ms/GB",
                self.reading.goodput / 1e9,
                self.cpu_per_gigabyte() * 1e3
            ),
        };
        if matches!(case.work, Work::Udp { .. }) {
            words += &format!(", {:.3} % lost", self.reading.loss * 100.0);
        }
        let (client, server) = self.memory;
        words += &format!(", {:.1} + {:.1} MiB", mebibytes(client), mebibytes(server));
        if self.is_disturbed() {
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
    seconds: u64,
) -> anyhow::Result<Run> {
    let paced = match case.work {
        Work::Paced { rate } => Some(rate),
        _ => None,
    };
    let port = contender.tool.port();
    let mut server = Process::start(toolbox.server(contender.tool, case.work, paced.is_some())?, &lab.far)?;
    server.wait_for_port(port)?;
    let relay = paced.map(|_| Relay::open(&lab.far, port, PACED_PAYLOAD)).transpose()?;
    std::thread::sleep(SETTLE);
    let (watch, before) = (Watch::start()?, server.cpu());
    let mut client = Process::start(toolbox.client(contender, case.work, seconds)?, &lab.near)?;
    client.wait_for_end(Duration::from_secs(seconds + PATIENCE), &mut server)?;
    let cpu = client.cpu() + (server.cpu() - before);
    let foreign = watch.foreign(cpu)?;
    if contender.tool == Tool::Iperf2 {
        // Its server reports a little later.
        std::thread::sleep(SETTLE * 2);
    }
    let reading = contender.tool.read(&client.written()?, &server.written()?);
    let reading = reading.with_context(|| client.complaints().trim().to_owned())?;
    check(case.work, &reading)?;
    let pacing = match (relay, paced) {
        (Some(relay), Some(rate)) => {
            let nominal = (PACED_PAYLOAD * 8) as f64 * 1e9 / rate as f64;
            Some(pacing_error(&relay.close()?, nominal).context("too few datagrams arrived")?)
        }
        _ => None,
    };
    Ok(Run { reading, cpu, memory: (client.peak(), server.peak()), pacing, foreign })
}

/// A tool that ran another congestion control than asked, or received nothing, has measured something else.
fn check(work: Work, reading: &Reading) -> anyhow::Result<()> {
    match (work, &reading.congestion) {
        (Work::Tcp { .. } | Work::Udp { .. }, _) if reading.bytes <= 0.0 => bail!("nothing was received"),
        (Work::Tcp { congestion, .. }, Some(ran)) if ran != congestion => {
            bail!("{ran} ran, not {congestion}")
        }
        _ => Ok(()),
    }
}

const PACED_PAYLOAD: usize = 1472;
const SETTLE: Duration = Duration::from_millis(250);
const PATIENCE: u64 = 20;
