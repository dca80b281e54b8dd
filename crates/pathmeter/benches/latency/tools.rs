//! The tools: where they are, their command lines, and how their results are read.

use super::cases::{Case, Contender, Transport};
use super::common::options::whole_seconds;
use super::common::program::{in_path, version};
use super::plain;
use anyhow::{Context, bail};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// A program that measures round trips.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// The release build of this workspace.
    Ours,
    Sockperf,
    /// The loop of this benchmark.
    Plain,
}

/// Which tools this machine has.
#[derive(Debug)]
pub(crate) struct Toolbox {
    sockperf: Option<PathBuf>,
    plain: PathBuf,
    taskset: PathBuf,
}

/// The figures that a tool reports. Times are of whole round trips, in microseconds.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reading {
    /// Round trips behind the percentiles.
    pub(crate) count: f64,
    /// From one message to the next.
    pub(crate) interval: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    /// Not a number where the count does not carry it.
    pub(crate) p999: f64,
}

impl Toolbox {
    /// Looks for them.
    pub(crate) fn find() -> anyhow::Result<Toolbox> {
        Ok(Toolbox {
            sockperf: in_path("sockperf"),
            plain: std::env::current_exe().context("find this program itself")?,
            taskset: in_path("taskset").context("no taskset in PATH (util-linux)")?,
        })
    }

    /// Is it there?
    pub(crate) fn has(&self, tool: Tool) -> bool {
        self.path(tool).is_some()
    }

    /// The tools and their versions, one a line.
    pub(crate) fn describe(&self) -> Vec<String> {
        let line = |(name, tool)| match self.path(tool) {
            Some(path) => format!("{name}: {}", version(path)),
            None => format!("{name}: not here, left out"),
        };
        [("pathmeter", Tool::Ours), ("sockperf", Tool::Sockperf)].map(line).to_vec()
    }

    /// The server's command line.
    pub(crate) fn server(&self, contender: &Contender, case: &Case) -> anyhow::Result<Command> {
        let mut command = self.pinned(contender.tool, SERVER_CPU)?;
        let (address, port) = (case.egress.address().to_string(), contender.tool.port().to_string());
        match contender.tool {
            Tool::Ours => command.args(["serve", "--bind", &address, "-p", &port]),
            Tool::Sockperf => command.args(["sr", "-i", &address, "-p", &port]),
            Tool::Plain => {
                let at = format!("{address}:{port}");
                command.args([plain::NAME, "serve", plain_name(case), &at, &case.size.to_string()])
            }
        };
        if contender.tool == Tool::Sockperf && case.transport == Transport::Tcp {
            command.arg("--tcp");
        }
        command.args(contender.server);
        Ok(command)
    }

    /// The client's command line.
    pub(crate) fn client(
        &self,
        contender: &Contender,
        case: &Case,
        time: Duration,
    ) -> anyhow::Result<Command> {
        let mut command = self.pinned(contender.tool, CLIENT_CPU)?;
        let (address, port) = (case.egress.address().to_string(), contender.tool.port().to_string());
        let (size, seconds) = (case.size.to_string(), time.as_secs_f64());
        match contender.tool {
            Tool::Ours => {
                let time = format!("{seconds}s");
                command.args(["latency", &address, "-p", &port, "-m", &size, "-t", &time]);
                command.args(["--no-wire-times", "--json"]);
            }
            Tool::Sockperf => {
                let time = whole_seconds(time).to_string();
                command.args(["pp", "-i", &address, "-p", &port, "-m", &size, "-t", &time, "--full-rtt"]);
            }
            Tool::Plain => {
                let to = format!("{address}:{port}");
                command.args([plain::NAME, "ping", plain_name(case), &to, &size, &seconds.to_string()]);
            }
        }
        if contender.tool != Tool::Plain && case.transport == Transport::Tcp {
            command.arg("--tcp");
        }
        command.args(contender.client);
        Ok(command)
    }

    /// The tool on one CPU, with every thread of it.
    fn pinned(&self, tool: Tool, cpu: &str) -> anyhow::Result<Command> {
        let mut command = Command::new(&self.taskset);
        command.args(["-c", cpu]).arg(self.path(tool).context("the tool is not here")?);
        Ok(command)
    }

    fn path(&self, tool: Tool) -> Option<&Path> {
        match tool {
            Tool::Ours => Some(Path::new(env!("CARGO_BIN_EXE_pathmeter"))),
            Tool::Sockperf => self.sockperf.as_deref(),
            Tool::Plain => Some(&self.plain),
        }
    }
}

impl Tool {
    /// The port its server listens on.
    pub(crate) fn port(self) -> u16 {
        match self {
            Tool::Ours => 5210,
            Tool::Sockperf => 11111,
            Tool::Plain => 5299,
        }
    }

    /// From its start until it measures: our own floor is measured first, SockPerf calibrates its clock and sleeps 2 s.
    pub(crate) fn lead_in(self) -> Duration {
        Duration::from_millis(match self {
            Tool::Ours => 300,
            Tool::Sockperf => 2120,
            Tool::Plain => 10,
        })
    }

    /// Reads the figures out of what the client wrote.
    pub(crate) fn read(self, client: &str) -> anyhow::Result<Reading> {
        match self {
            Tool::Ours => read_ours(&parse(client)?),
            Tool::Sockperf => read_sockperf(client),
            Tool::Plain => read_plain(&parse(client)?),
        }
    }
}

fn parse(text: &str) -> anyhow::Result<Value> {
    serde_json::from_str(text).with_context(|| format!("the client wrote no JSON: {}", text.trim()))
}

fn read_ours(document: &Value) -> anyhow::Result<Reading> {
    let egress = &document["summary"]["ways"][0];
    let (rtt, elapsed) = (&egress["rtt_ns"], number(&egress["elapsed_ns"], "elapsed_ns")?);
    Ok(Reading {
        count: number(&rtt["count"], "count")?,
        interval: elapsed / 1e3 / number(&egress["counted"]["received"], "received")?,
        p50: number(&rtt["p50"], "p50")? / 1e3,
        p99: number(&rtt["p99"], "p99")? / 1e3,
        p999: rtt["p999"].as_f64().unwrap_or(f64::NAN) / 1e3,
    })
}

/// Reads the output of SockPerf 3.7. Its percentile is the value at the index ⌊0.5 + share × count⌋ − 1.
fn read_sockperf(text: &str) -> anyhow::Result<Reading> {
    let Some((head, summary)) = text.split_once("Summary: Round trip is") else {
        bail!("no round trips; {}", text.lines().last().unwrap_or_default());
    };
    let (_, valid) = head.split_once("[Valid Duration]").context("sockperf reports no duration")?;
    let received = number_after(valid, "ReceivedMessages=")?;
    Ok(Reading {
        count: number_after(summary, "Total ")?,
        interval: number_after(valid, "RunTime=")? * 1e6 / received,
        p50: number_after(summary, "percentile 50.000 =")?,
        p99: number_after(summary, "percentile 99.000 =")?,
        p999: number_after(summary, "percentile 99.900 =")?,
    })
}

fn number_after(text: &str, needle: &str) -> anyhow::Result<f64> {
    let rest = text.split_once(needle).map_or("", |(_, rest)| rest).trim_start();
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    rest[..end].parse().with_context(|| format!("sockperf reports no number after {needle:?}"))
}

fn read_plain(document: &Value) -> anyhow::Result<Reading> {
    let figure = |name: &str| number(&document[name], name);
    Ok(Reading {
        count: figure("count")? * 0.9,
        interval: figure("elapsed_ns")? / 1e3 / figure("count")?,
        p50: figure("p50")? / 1e3,
        p99: figure("p99")? / 1e3,
        p999: figure("p999")? / 1e3,
    })
}

fn number(value: &Value, name: &str) -> anyhow::Result<f64> {
    value.as_f64().with_context(|| format!("no number {name} in the result"))
}

fn plain_name(case: &Case) -> &'static str {
    match case.transport {
        Transport::Udp => "udp",
        Transport::Tcp => "tcp",
    }
}

const CLIENT_CPU: &str = "0";
const SERVER_CPU: &str = "1";
