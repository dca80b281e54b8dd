//! Programs of others as senders; their frames are counted by the interfaces.

use super::common::lab::{FAR, Lab};
use super::common::options::whole_seconds;
use super::common::process::Process;
use super::common::program::in_path;
use super::run::{GENERATOR, Link, RECEIVER, Run};
use anyhow::{Context, bail};
use model::units::Nanos;
use std::process::Command;
use std::time::{Duration, Instant};

/// UDP as fast as iPerf3 can.
pub(crate) fn iperf3(lab: &Lab, link: &Link, time: Duration) -> anyhow::Result<(Run, Nanos)> {
    let seconds = whole_seconds(time + START).to_string();
    let far = FAR.to_string();
    let server = command(RECEIVER, "iperf3", &["-s", "-1", "-p", "5302"])?;
    let client = ["-c", &far, "-p", "5302", "-u", "-l", "18", "-b", "0", "-t", &seconds];
    between(lab, link, time, server, 5302, command(GENERATOR, "iperf3", &client)?)
}

/// sockperf's throughput.
pub(crate) fn sockperf(lab: &Lab, link: &Link, time: Duration) -> anyhow::Result<(Run, Nanos)> {
    let seconds = whole_seconds(time + START).to_string();
    let far = FAR.to_string();
    let server = command(RECEIVER, "sockperf", &["sr", "-i", &far, "-p", "5303"])?;
    let client = ["tp", "-i", &far, "-p", "5303", "--mps=max", "-m", "18", "-t", &seconds];
    between(lab, link, time, server, 5303, command(GENERATOR, "sockperf", &client)?)
}

fn command(cpu: usize, program: &str, args: &[&str]) -> anyhow::Result<Command> {
    let path = in_path(program).with_context(|| format!("{program} is not installed"))?;
    let taskset = in_path("taskset").context("taskset is not installed")?;
    let mut command = Command::new(taskset);
    command.args(["-c", &cpu.to_string()]).arg(path).args(args);
    Ok(command)
}

/// Counts of the link for so long while they were at work.
fn between(
    lab: &Lab,
    link: &Link,
    time: Duration,
    server: Command,
    port: u16,
    client: Command,
) -> anyhow::Result<(Run, Nanos)> {
    let mut server = Process::start(server, &lab.far)?;
    server.wait_for_port(port)?;
    let mut client = Process::start(client, &lab.near)?;
    wait_until_busy(link)?;
    let (before, began) = (link.both()?, Instant::now());
    std::thread::sleep(time);
    let (after, took) = (link.both()?, began.elapsed());
    if client.has_ended() {
        bail!("it ended early: {}", client.complaints().trim());
    }
    let used = client.cpu() + server.cpu();
    let [sent, received] = [after[0] - before[0], after[1] - before[1]];
    Ok((Run { sent, received, time: Nanos(took.as_nanos() as u64) }, used))
}

/// They begin with a greeting, and some then wait.
fn wait_until_busy(link: &Link) -> anyhow::Result<()> {
    let deadline = Instant::now() + START;
    let mut before = link.both()?;
    while Instant::now() < deadline {
        std::thread::sleep(STEP);
        let now = link.both()?;
        if now[1] - before[1] > BUSY {
            return Ok(());
        }
        before = now;
    }
    bail!("it sends nothing for {START:?}")
}

/// How long a program may take until it sends, and goes on to send.
const START: Duration = Duration::from_secs(5);
const STEP: Duration = Duration::from_millis(50);
/// Frames in a step that are no greeting.
const BUSY: u64 = 500;
