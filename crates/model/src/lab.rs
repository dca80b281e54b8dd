//! Topologies measured: what `pathmeter lab run` found in each, and how they compare.
//!
//! The shares are explained in `docs/methods/lab.md`.

mod compare;
mod share;

pub use compare::{Versus, versus};
pub use share::{LinkSpeed, Packet, SpeedBasis, conclude};

use crate::finding::Finding;
use crate::frames::FrameRow;
use crate::framing::Network;
use crate::host::Host;
use crate::limit::{Confidence, Limit, LimitKind};
use crate::plan::Direction;
use crate::time::WallTime;
use crate::transfer::Spread;
use crate::units::{BitRate, Nanos, PacketRate};
use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// The lab document, schema `pathmeter/lab/1`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabReport {
    /// Always `pathmeter/lab/1`.
    pub schema: String,
    /// Begin, wall clock of this host.
    pub started: Option<WallTime>,
    /// End, wall clock of this host.
    pub finished: Option<WallTime>,
    /// The host that all of it ran on.
    pub host: Option<Host>,
    /// Requested repetitions.
    pub repetitions: u32,
    /// Length of each test of throughput and latency.
    #[serde(rename = "time_ns")]
    pub time: Nanos,
    /// Every topology, in the requested order.
    pub variants: Vec<Variant>,
    /// Each compared with the first one, where a comparison was requested.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<Versus>,
    /// Remarks on the whole report.
    pub notes: Vec<String>,
}

/// One topology and what was found in it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Variant {
    /// Name of the topology.
    pub name: String,
    /// Description in one line.
    pub title: String,
    /// The node whose CPU is reported.
    pub device_under_test: Option<String>,
    /// Why it could not be built here; nothing was measured then.
    pub unavailable: Option<String>,
    /// Series of measurements.
    pub series: Vec<Series>,
    /// Sweeps over frame sizes, where they were requested: one for each family.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sweeps: Vec<FrameSweep>,
    /// The topology's expectations, and whether each was met.
    pub expectations: Vec<Expectation>,
    /// Faults that the measurements found.
    pub findings: Vec<VariantFinding>,
    /// Remarks on this topology.
    pub notes: Vec<String>,
}

/// Rates of a topology for frames of each size.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FrameSweep {
    /// The family of the addresses measured between.
    pub family: Network,
    /// A row for each size and transport.
    pub rows: Vec<FrameRow>,
    /// Why it broke off, or gave nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// One figure of one topology, repeated: a test over one family in one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// `pathmeter`, or the name of another tool.
    pub tool: String,
    /// The family of the addresses measured between.
    pub family: Network,
    /// The test.
    pub test: LabTest,
    /// Direction of the data; absent for round trips.
    pub direction: Option<Direction>,
    /// Every repetition.
    pub runs: Vec<Repetition>,
    /// Payload received per second, over the repetitions.
    #[serde(rename = "goodput_bps")]
    pub goodput: Option<Spread>,
    /// The median round trip of each repetition, over the repetitions.
    #[serde(rename = "rtt_ns")]
    pub rtt: Option<Spread>,
    /// Path MTU, of the last repetition that knew it.
    pub path_mtu: Option<u32>,
    /// Its packets on the narrowest link.
    pub packet: Option<Packet>,
    /// Line rate of that link.
    pub speed: Option<LinkSpeed>,
    /// Median rate of frames as a share of that speed.
    pub share_of_nic: Option<f64>,
    /// The goodput that such packets have when they fill the link.
    #[serde(rename = "limit_bps")]
    pub limit: Option<BitRate>,
    /// Median goodput as a share of that.
    pub share_of_limit: Option<f64>,
    /// CPU during the test, mean of the repetitions.
    pub cpu: Option<LabCpu>,
}

/// A kind of test in a lab.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LabTest {
    /// TCP, one direction at a time.
    #[default]
    Tcp,
    /// TCP, both directions at once.
    TcpBoth,
    /// UDP as fast as possible, one direction at a time.
    Udp,
    /// UDP as fast as possible, both directions at once.
    UdpBoth,
    /// UDP at a rate that fills no queue, for the loss of the path itself.
    Loss,
    /// Round trips of an idle path.
    Latency,
    /// Path MTU and fragments.
    Mtu,
    /// A sweep over frame sizes.
    Frames,
    /// All that `pathmeter measure` does, for its findings.
    Measure,
    /// Another tool.
    Tool,
}

/// One repetition.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Repetition {
    /// Its number, from 1.
    pub number: u32,
    /// Payload received per second.
    #[serde(rename = "goodput_bps")]
    pub goodput: Option<BitRate>,
    /// The same as frames without FCS, as the kernel counts them.
    #[serde(rename = "frames_bps")]
    pub frames: Option<BitRate>,
    /// Packets on the wire per second, computed from the goodput and the size of a packet.
    pub packets_per_second: Option<PacketRate>,
    /// Payload of one packet on the wire.
    #[serde(rename = "payload_bytes")]
    pub payload: Option<u32>,
    /// Datagrams sent.
    pub sent: Option<u64>,
    /// Datagrams lost, wherever.
    pub lost: Option<u64>,
    /// Retransmitted segments.
    pub retransmits: Option<u64>,
    /// Least round trip.
    #[serde(rename = "rtt_min_ns")]
    pub rtt_min: Option<Nanos>,
    /// Median round trip.
    #[serde(rename = "rtt_p50_ns")]
    pub rtt_p50: Option<Nanos>,
    /// 99th percentile of the round trips.
    #[serde(rename = "rtt_p99_ns")]
    pub rtt_p99: Option<Nanos>,
    /// Path MTU.
    pub path_mtu: Option<u32>,
    /// Rate of frames without FCS that the shaped link carried, by its own counters.
    #[serde(rename = "shaped_bps")]
    pub shaped: Option<BitRate>,
    /// The limit of the rate, of a test of throughput; its cause may be a counter of a node between the ends.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_by: Option<Box<Limit>>,
    /// CPU during the test.
    pub cpu: Option<LabCpu>,
    /// Interfaces that dropped packets meanwhile.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub drops: Vec<Drops>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// CPU of the machine that the device under test is: of the whole host for a namespace, of the virtual machine where it is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LabCpu {
    /// Share of all its CPUs that was busy, 0 to 1.
    pub busy: f64,
    /// Share of all its CPUs that software interrupts took, 0 to 1: there packets are forwarded.
    pub softirq: f64,
    /// CPUs it has.
    pub cpus: u32,
    /// Whether it is a virtual machine, so that these are its own figures alone.
    pub own: bool,
}

/// Packets that one interface dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Drops {
    /// The node.
    pub node: String,
    /// The interface in it.
    pub device: String,
    /// Packets that came and were dropped.
    pub received: u64,
    /// Packets that were to leave and were dropped, those of its queue among them.
    pub sent: u64,
}

/// Something a topology expects.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Expectation {
    /// The figure: `path MTU up, IPv4`.
    pub what: String,
    /// The expected value, with its tolerance.
    pub expected: String,
    /// The value found.
    pub found: String,
    /// Whether it held; absent when it was not measured.
    pub held: Option<bool>,
}

/// A finding and the family it is of.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VariantFinding {
    /// The family measured over.
    pub family: Network,
    /// The finding.
    #[serde(flatten)]
    pub finding: Finding,
}

impl LabTest {
    /// The test gives a goodput for each direction.
    #[must_use]
    pub fn is_throughput(self) -> bool {
        matches!(self, LabTest::Tcp | LabTest::TcpBoth | LabTest::Udp | LabTest::UdpBoth)
    }
}

impl Display for LabTest {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            LabTest::Tcp => "TCP",
            LabTest::TcpBoth => "TCP both directions",
            LabTest::Udp => "UDP",
            LabTest::UdpBoth => "UDP both directions",
            LabTest::Loss => "loss",
            LabTest::Latency => "latency",
            LabTest::Mtu => "MTU",
            LabTest::Frames => "frames",
            LabTest::Measure => "measure",
            LabTest::Tool => "tool",
        })
    }
}

impl Series {
    /// An empty series.
    #[must_use]
    pub fn new(tool: &str, family: Network, test: LabTest, direction: Option<Direction>) -> Series {
        Series { tool: tool.into(), family, test, direction, ..Series::default() }
    }

    /// The same measurement, in whatever topology.
    #[must_use]
    pub fn is_like(&self, other: &Series) -> bool {
        (&self.tool, self.family, self.test, self.direction)
            == (&other.tool, other.family, other.test, other.direction)
    }

    /// Computes what follows from the repetitions alone.
    fn spread(&mut self) {
        let spread = |of: fn(&Repetition) -> Option<u64>| {
            Spread::from_values(
                &self.runs.iter().filter_map(of).map(|value| value as f64).collect::<Vec<_>>(),
            )
        };
        self.goodput = spread(|run| Some(run.goodput?.0));
        self.rtt = spread(|run| Some(run.rtt_p50?.0));
        self.path_mtu = self.runs.iter().rev().find_map(|run| run.path_mtu);
        self.cpu = LabCpu::mean(self.runs.iter().filter_map(|run| run.cpu));
    }

    /// The limit of the rate, of the last repetition that has one which is not of low confidence.
    #[must_use]
    pub fn set_by(&self) -> Option<&Limit> {
        let mut limits = self.runs.iter().rev().filter_map(|run| run.set_by.as_deref());
        limits.find(|limit| limit.kind != LimitKind::NotKnown && limit.confidence > Confidence::Low)
    }

    /// Packets dropped in all repetitions, by interface, most first.
    #[must_use]
    pub fn drops(&self) -> Vec<Drops> {
        let mut all: Vec<Drops> = Vec::new();
        for one in self.runs.iter().flat_map(|run| &run.drops) {
            match all.iter_mut().find(|of| (&of.node, &of.device) == (&one.node, &one.device)) {
                Some(of) => {
                    of.received += one.received;
                    of.sent += one.sent;
                }
                None => all.push(one.clone()),
            }
        }
        all.sort_by_key(|one| std::cmp::Reverse(one.received + one.sent));
        all
    }
}

impl Variant {
    /// The series like this one.
    #[must_use]
    pub fn like(&self, series: &Series) -> Option<&Series> {
        self.series.iter().find(|one| one.is_like(series))
    }
}

impl LabCpu {
    fn mean(of: impl Iterator<Item = LabCpu>) -> Option<LabCpu> {
        let all: Vec<LabCpu> = of.collect();
        let first = *all.first()?;
        let mean = |value: fn(&LabCpu) -> f64| all.iter().map(value).sum::<f64>() / all.len() as f64;
        Some(LabCpu { busy: mean(|cpu| cpu.busy), softirq: mean(|cpu| cpu.softirq), ..first })
    }
}

impl LabReport {
    /// Some expectation was broken.
    #[must_use]
    pub fn is_broken(&self) -> bool {
        self.variants.iter().flat_map(|variant| &variant.expectations).any(|one| one.held == Some(false))
    }

    /// No topology could be built.
    #[must_use]
    pub fn is_void(&self) -> bool {
        self.variants.iter().all(|variant| variant.unavailable.is_some())
    }

    /// The run was stopped before all of it was done.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        self.notes.iter().any(|note| note == INTERRUPTED)
    }
}

/// The note of a report that was stopped.
pub const INTERRUPTED: &str = "It was interrupted: some tests are missing.";

/// Name and version of the document's schema.
pub const SCHEMA: &str = "pathmeter/lab/1";
