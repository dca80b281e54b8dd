//! The tools: where they are, their command lines, and how their results are read.

use super::cases::{Contender, Work};
use super::common::lab::FAR;
use super::common::program::{in_path, version};
use anyhow::{Context, bail};
use serde_json::Value;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program that measures throughput.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    /// The release build of this workspace.
    Ours,
    /// The same, by iPerf2's protocol.
    OursIperf2,
    /// iPerf3 as the distribution has it.
    Iperf3,
    /// A newer iPerf3.
    Iperf3New,
    /// The same, made to hand over 128 datagrams of 64 bytes at once, the most that the kernel takes.
    Iperf3Short,
    /// iPerf 2.
    Iperf2,
}

/// Which tools this machine has.
#[derive(Debug)]
pub(crate) struct Toolbox {
    iperf3: Option<PathBuf>,
    iperf3_new: Option<PathBuf>,
    iperf3_short: Option<PathBuf>,
    iperf2: Option<PathBuf>,
}

/// The figures that a tool reports, at the receiver.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    /// Payload bytes received.
    pub(crate) bytes: f64,
    /// Share of the datagrams lost, 0 to 1.
    pub(crate) loss: f64,
    /// Congestion control that ran, where the tool reports it.
    pub(crate) congestion: Option<String>,
    /// The link carried more than these bytes: part of the test was repeated.
    pub(crate) repeated: bool,
}

impl Toolbox {
    /// Looks for them.
    pub(crate) fn find() -> anyhow::Result<Toolbox> {
        let named = |variable: &str| -> anyhow::Result<Option<PathBuf>> {
            let path = std::env::var_os(variable).map(PathBuf::from);
            match path.as_ref().filter(|path| !path.is_file()) {
                Some(path) => bail!("{variable}: no file {}", path.display()),
                None => Ok(path),
            }
        };
        Ok(Toolbox {
            iperf3: in_path("iperf3"),
            iperf3_new: named("PATHMETER_BENCH_IPERF3_NEW")?,
            iperf3_short: named("PATHMETER_BENCH_IPERF3_SHORT")?,
            iperf2: in_path("iperf"),
        })
    }

    /// Is it there?
    pub(crate) fn has(&self, tool: Tool) -> bool {
        self.path(tool).is_some()
    }

    /// The tools and their versions, one a line.
    pub(crate) fn describe(&self) -> Vec<String> {
        let tools = [
            ("pathmeter", Tool::Ours),
            ("iperf3", Tool::Iperf3),
            ("new iperf3", Tool::Iperf3New),
            ("iperf3 of 128 segments, made with GSO_BF_MAX_SIZE 8192", Tool::Iperf3Short),
            ("iperf2", Tool::Iperf2),
        ];
        let line = |(name, tool)| match self.path(tool) {
            Some(path) => format!("{name}: {}", version(path)),
            None => format!("{name}: not here, left out"),
        };
        tools.map(line).to_vec()
    }

    /// The server's command line; `local`: behind the relay.
    pub(crate) fn server(&self, tool: Tool, work: Work, local: bool) -> anyhow::Result<Command> {
        let address = if local { IpAddr::V4(Ipv4Addr::LOCALHOST) } else { FAR }.to_string();
        let mut command = Command::new(self.path(tool).context("the tool is not here")?);
        match tool {
            Tool::Ours => command.args(["serve", "--bind", &address]),
            Tool::OursIperf2 => command.args(["serve", "--bind", &address, "--iperf2"]),
            Tool::Iperf3 | Tool::Iperf3New | Tool::Iperf3Short => command.args(["-s", "-B", &address]),
            Tool::Iperf2 => command.args(["-s", "-y", "C", "-B", &address]),
        };
        if let (Tool::Iperf2, Work::Udp { payload, .. }) = (tool, work) {
            command.args(["-u", "-l", &payload.to_string()]);
        }
        Ok(command)
    }

    /// The client's command line.
    pub(crate) fn client(&self, contender: &Contender, work: Work, seconds: u64) -> anyhow::Result<Command> {
        let tool = contender.tool;
        let mut command = Command::new(self.path(tool).context("the tool is not here")?);
        let (far, seconds) = (FAR.to_string(), seconds.to_string());
        match tool {
            Tool::Ours => command.args(["throughput", &far, "--json", "-t", &format!("{seconds}s")]),
            Tool::OursIperf2 => {
                let time = format!("{seconds}s");
                command.args(["throughput", &far, "--protocol", "iperf2", "--json", "-t", &time])
            }
            Tool::Iperf3 | Tool::Iperf3New | Tool::Iperf3Short => {
                command.args(["-c", &far, "-J", "-t", &seconds])
            }
            Tool::Iperf2 => command.args(["-c", &far, "-y", "C", "-t", &seconds]),
        };
        match work {
            Work::Tcp { streams, congestion } => {
                let option = match tool {
                    Tool::Ours | Tool::OursIperf2 => "--congestion",
                    Tool::Iperf3 | Tool::Iperf3New | Tool::Iperf3Short => "-C",
                    Tool::Iperf2 => "-Z",
                };
                command.args(["-P", &streams.to_string(), option, congestion]);
            }
            Work::Udp { payload, streams } => {
                // iPerf2 has no "as fast as possible" for UDP.
                let rate = if tool == Tool::Iperf2 { "100g" } else { "0" };
                command.args(["-u", "-b", rate, "-l", &payload.to_string(), "-P", &streams.to_string()]);
            }
            Work::Paced { rate } => {
                command.args(["-u", "-b", &rate.to_string(), "-l", "1472"]);
            }
        }
        command.args(contender.options);
        Ok(command)
    }

    fn path(&self, tool: Tool) -> Option<&Path> {
        match tool {
            Tool::Ours | Tool::OursIperf2 => Some(Path::new(env!("CARGO_BIN_EXE_pathmeter"))),
            Tool::Iperf3 => self.iperf3.as_deref(),
            Tool::Iperf3New => self.iperf3_new.as_deref(),
            Tool::Iperf3Short => self.iperf3_short.as_deref(),
            Tool::Iperf2 => self.iperf2.as_deref(),
        }
    }
}

impl Tool {
    /// The port its server listens on, TCP (UDP for iPerf2 over UDP).
    pub(crate) fn port(self) -> u16 {
        match self {
            Tool::Ours => 5210,
            Tool::Iperf3 | Tool::Iperf3New | Tool::Iperf3Short => 5201,
            Tool::OursIperf2 | Tool::Iperf2 => 5001,
        }
    }

    /// Reads the receiver's figures out of what the two ends wrote.
    pub(crate) fn read(self, client: &str, server: &str) -> anyhow::Result<Reading> {
        match self {
            Tool::Ours | Tool::OursIperf2 => read_ours(&parse(client)?),
            Tool::Iperf3 | Tool::Iperf3New | Tool::Iperf3Short => read_iperf3(&parse(client)?),
            Tool::Iperf2 => read_iperf2(server),
        }
    }
}

fn parse(text: &str) -> anyhow::Result<Value> {
    serde_json::from_str(text).with_context(|| format!("the client wrote no JSON: {}", text.trim()))
}

fn read_ours(document: &Value) -> anyhow::Result<Reading> {
    let up = &document["summary"]["up"];
    Ok(Reading {
        bytes: number(&up["received"]["bytes"], "received.bytes")?,
        loss: up["loss"]["share"].as_f64().unwrap_or(0.0),
        congestion: up["congestion"].as_str().map(Into::into),
        repeated: document["summary"]["without_copy"].as_array().is_some_and(|repeated| !repeated.is_empty()),
    })
}

fn read_iperf3(document: &Value) -> anyhow::Result<Reading> {
    if let Some(error) = document["error"].as_str() {
        bail!("iperf3: {error}");
    }
    let received = &document["end"]["sum_received"];
    Ok(Reading {
        bytes: number(&received["bytes"], "bytes")?,
        loss: received["lost_percent"].as_f64().unwrap_or(0.0) / 100.0,
        congestion: document["end"]["sender_tcp_congestion"].as_str().map(Into::into),
        repeated: false,
    })
}

/// One line for each stream: time, addresses, number, interval, bytes, bit/s; for UDP jitter, lost, datagrams, percent.
fn read_iperf2(server: &str) -> anyhow::Result<Reading> {
    let mut reading = Reading::default();
    for line in server.lines() {
        let fields: Vec<&str> = line.split(',').collect();
        if fields.len() < 9 || fields[5] == "-1" {
            continue;
        }
        let value = |index: usize| fields.get(index).and_then(|f| f.parse::<f64>().ok());
        reading.bytes += value(7).context("iperf: no bytes")?;
        reading.loss = value(12).unwrap_or(0.0) / 100.0;
    }
    if reading.bytes == 0.0 {
        bail!("iperf's server reported nothing: {}", server.trim());
    }
    Ok(reading)
}

fn number(value: &Value, name: &str) -> anyhow::Result<f64> {
    value.as_f64().with_context(|| format!("no number {name} in the result"))
}
