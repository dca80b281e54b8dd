//! The document of a benchmark.

use super::{Change, DirectionObservation, Overload, Rates, ResetTime, Stream, Test, Times, Tools, y1564};
use crate::expectation::Checked;
use crate::finding::{Finding, Verdict};
use crate::framing::Encaps;
use crate::host::Host;
use crate::limit::Limit;
use crate::plan::Direction;
use crate::search::{BackToBackOutcome, BufferTime, Goal, Irregular, Load, LossStepsOutcome};
use crate::stats::distribution::Distribution;
use crate::stats::rfc8219::{InterPacketVariation, OverRuns};
use crate::time::WallTime;
use crate::units::{BitRate, Bytes, Nanos, PacketRate};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema of the document.
pub const SCHEMA: &str = "pathmeter/rfc2544/1";

/// The results of `pathmeter rfc2544`, schema `pathmeter/rfc2544/1`. Rates are in frames per second, for each
/// port and direction where no other unit is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DutReport {
    /// Always `pathmeter/rfc2544/1`.
    pub schema: String,
    /// A random name of the run.
    pub id: String,
    /// Begin, wall clock of this host.
    pub started: Option<WallTime>,
    /// End, wall clock of this host.
    pub finished: Option<WallTime>,
    /// The host that tested.
    pub host: Option<Host>,
    /// The request, with every default filled in.
    pub setup: Setup,
    /// The devices under test, in the order of the request.
    pub devices: Vec<DeviceReport>,
    /// Devices held against the first one, or against an older report.
    #[serde(default)]
    pub comparisons: Vec<DeviceComparison>,
    /// Remarks on the whole report.
    pub notes: Vec<String>,
    /// The expectations (`--expect`), and whether each was met.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Checked>,
}

/// The request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Setup {
    /// The tests, in order.
    pub tests: Vec<Test>,
    /// The streams, one row of results each.
    pub streams: Vec<Stream>,
    /// Method of searching for a rate.
    pub search: SearchMethod,
    /// Goals of the searches.
    pub goals: Vec<NamedGoal>,
    /// Durations and repetitions of trials.
    pub times: Times,
    /// Speed of the link as given, or as both ports have it; absent when it is not known: then the generator is the limit.
    #[serde(rename = "link_bps")]
    pub link: Option<BitRate>,
    /// Whether that speed is only given: the interfaces have none of their own. The speed then bounds the loads, and no time of a
    /// frame on the link is subtracted from latencies.
    #[serde(default)]
    pub link_is_nominal: bool,
    /// Headers around the frames on the device's narrowest link, from the outermost.
    pub encaps: Encaps,
    /// The least load of a search, as requested.
    #[serde(rename = "min_pps")]
    pub min: Option<PacketRate>,
    /// The most load of a search, as requested.
    #[serde(rename = "max_pps")]
    pub max: Option<PacketRate>,
    /// Loads of the latency test, in percent of the throughput.
    pub latency_percents: Vec<u32>,
    /// The service to be activated, for [`Test::Service`].
    pub service: Option<y1564::Profile>,
    /// Where this departs from what the standards ask, in words; empty: it conforms.
    pub departures: Vec<String>,
}

/// A method of searching for a rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum SearchMethod {
    /// MLRsearch (RFC 9971): all goals at once.
    #[default]
    Mlr,
    /// By halves, one goal after the other.
    Binary,
}

/// A goal and what it is called: `throughput` (RFC 2544), `ndr`, `pdr`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct NamedGoal {
    /// Its name.
    pub name: String,
    /// The goal.
    pub goal: Goal,
}

/// One device under test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceReport {
    /// The user's name for it: the name of a topology, or `eth1 - eth2`.
    pub name: String,
    /// Description in one line, where a topology has one.
    pub title: Option<String>,
    /// Where it could not be tested at all: why.
    pub unavailable: Option<String>,
    /// The tester's two ports.
    pub ports: Vec<PortFacts>,
    /// Sender and counter of each direction.
    pub tools: Vec<Tools>,
    /// A row for each stream, in the order of the setup.
    pub rows: Vec<StreamReport>,
    /// Result of the service's test.
    pub service: Option<ServiceReport>,
    /// Places where frames were dropped, hop by hop, in the trial at the most load; empty where the device's interfaces cannot be
    /// observed.
    pub hops: Vec<HopDrops>,
    /// Trials whose result was thrown away, since the host interrupted the generator.
    pub voided: u64,
    /// Trials whose result was kept, floods aside; zero in documents that do not say.
    #[serde(default)]
    pub kept: u64,
    /// The device shares a CPU with the generator, so that it holds the generator back instead of dropping; absent when that
    /// is not known.
    pub shares_cpu: Option<bool>,
    /// The findings.
    pub findings: Vec<Finding>,
    /// The conclusion.
    pub verdict: Verdict,
    /// Remarks on this device.
    pub notes: Vec<String>,
}

/// A port of the tester.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PortFacts {
    /// The user's name for it.
    pub name: String,
    /// Driver of the interface.
    pub driver: Option<String>,
    /// Speed of the interface; absent of virtual ones, which have none of their own.
    #[serde(rename = "link_bps")]
    pub link: Option<BitRate>,
    /// MTU of the interface, bytes.
    pub mtu: u32,
    /// Addresses that frames are sent from.
    pub addresses: Vec<std::net::IpAddr>,
    /// The CPU that its generator is pinned to.
    pub cpu: Option<u32>,
    /// The tunnel of IPv4 in IPv6 whose far end it is; absent: frames of IPv4 come and go here as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tunnel: Option<TunnelEnds>,
}

/// The two ends of a tunnel of IPv4 in IPv6 (RFC 2473), the tester's one and the device's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct TunnelEnds {
    /// The tester's address.
    pub local: std::net::Ipv6Addr,
    /// The device's address.
    pub remote: std::net::Ipv6Addr,
}

/// The results of one stream.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct StreamReport {
    /// The frames sent.
    pub stream: Stream,
    /// Frames per second that the link carries at most; absent when its speed is not known.
    #[serde(rename = "line_rate_pps")]
    pub line_rate: Option<Load>,
    /// The rate that the generator was shown to reach.
    #[serde(rename = "ceiling_pps")]
    pub ceiling: Option<Load>,
    /// The most load that trials offered, in each direction: the least of line rate, the requested rate and the ceiling.
    #[serde(rename = "most_pps", default)]
    pub most: Option<Load>,
    /// Which of them it is.
    #[serde(default)]
    pub limit: Option<LoadLimit>,
    /// The limit that set the rate found, in the kinds of `throughput`; absent: no rate was found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_by: Option<Box<Limit>>,
    /// The goal whose lower bound all tests at shares of the throughput took for it: the first one that has such a bound.
    #[serde(default)]
    pub reference: Option<String>,
    /// Frames forwarded of the first flood.
    pub flood: Vec<DirectionObservation>,
    /// Each goal's rate.
    pub rates: Vec<RateReport>,
    /// The most load, repeated: RFC 2889's forwarding rate at maximum offered load, CSIT's MRR.
    pub mrr: Option<MrrReport>,
    /// Latency at shares of the throughput.
    pub latency: Vec<LatencyReport>,
    /// Frame loss rate.
    pub loss: Option<LossStepsOutcome>,
    /// Bursts.
    pub back_to_back: Option<BackToBackReport>,
    /// System recovery.
    pub recovery: Option<RecoveryReport>,
    /// Reset.
    pub reset: Option<ResetReport>,
    /// RFC 8219's delay variation at the throughput.
    pub delay_variation: Option<DelayVariationReport>,
    /// Tests that were left out, and why.
    pub left_out: Vec<LeftOut>,
}

/// The bound of the loads of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LoadLimit {
    /// The link carries no more.
    LineRate,
    /// The requested rate.
    Asked,
    /// The generator reaches no more: the device's rate beyond it is not known.
    Generator,
}

/// The result of a search for one goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateReport {
    /// The goal's name.
    pub goal: String,
    /// The highest load that passes, in each direction.
    #[serde(rename = "lower_pps")]
    pub lower: Option<Load>,
    /// The lowest load that fails.
    #[serde(rename = "upper_pps")]
    pub upper: Option<Load>,
    /// Frames forwarded at the lower bound (RFC 9971's conditional throughput), in each direction.
    #[serde(rename = "conditional_throughput_pps")]
    pub conditional_throughput: Option<Load>,
    /// The lower bounds of every search, where it was repeated.
    pub repeats: Option<Rates>,
    /// Irregularities; empty for a regular result.
    pub irregular: Vec<Irregular>,
    /// Number of trials of the search, all goals together.
    pub trials: u32,
}

/// Trials at the most load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MrrReport {
    /// The load offered in each direction.
    #[serde(rename = "offered_pps")]
    pub offered: Load,
    /// Frames forwarded, all directions together.
    pub forwarded: Rates,
    /// Lost of what was sent, mean, 0 to 1.
    pub loss_ratio: f64,
}

/// Latency at one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyReport {
    /// The load, in percent of the throughput.
    pub percent: u32,
    /// The load, in each direction.
    #[serde(rename = "load_pps")]
    pub load: Load,
    /// Each direction.
    #[serde(rename = "ways")]
    pub directions: Vec<LatencyDirection>,
}

/// Latency in one direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LatencyDirection {
    /// From the first port to the second, or back.
    #[serde(rename = "way")]
    pub direction: Direction,
    /// Delays of all frames of the last run, as the tester measures them: from the writing of a frame to its arrival in the driver.
    pub delays: Distribution,
    /// RFC 8219's typical latency (the median) over the runs, nanoseconds.
    pub typical: Option<OverRuns>,
    /// RFC 8219's worst-case latency (99.9th percentile) over the runs, nanoseconds.
    pub worst_case: Option<OverRuns>,
    /// The median for a device that stores and forwards: last bit in to first bit out (RFC 1242 section 3.8). The time of a
    /// frame on both links is taken off; absent where the link has no speed of its own or the frames no one size.
    #[serde(rename = "store_and_forward_ns")]
    pub store_and_forward: Option<Nanos>,
    /// The median for a device that forwards bits: first bit in to first bit out. The time of a frame on one link is taken
    /// off; absent where that is.
    #[serde(rename = "bit_forwarding_ns", default)]
    pub bit_forwarding: Option<Nanos>,
    /// Frames lost in these runs.
    pub lost: u64,
}

/// Bursts at the link's rate, or at what the generator reaches of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct BackToBackReport {
    /// The rate of the bursts.
    #[serde(rename = "rate_pps")]
    pub rate: Load,
    /// The bound of that rate; RFC 9004 requires the line rate.
    pub limit: LoadLimit,
    /// The result.
    pub outcome: BackToBackOutcome,
    /// The buffer it takes.
    pub buffer: Option<BufferTime>,
}

/// Time until the device forwards all frames again after an overload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RecoveryReport {
    /// The loads.
    pub loads: Overload,
    /// Every run, nanoseconds.
    #[serde(rename = "times_ns")]
    pub times: Vec<Nanos>,
    /// Over the runs, nanoseconds.
    pub over_runs: Option<OverRuns>,
    /// Runs in which frames were still lost at the end: their recovery took longer than was measured.
    #[serde(default)]
    pub unrecovered: u32,
}

/// Duration of the interruption by a reset.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ResetReport {
    /// The reset, in words; filled in by the crate that carries it out.
    pub how: String,
    /// The load.
    #[serde(rename = "load_pps")]
    pub load: Load,
    /// Every run.
    pub runs: Vec<ResetTime>,
}

/// RFC 8219's delay variation at one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelayVariationReport {
    /// The load.
    #[serde(rename = "load_pps")]
    pub load: Load,
    /// Each direction.
    #[serde(rename = "ways")]
    pub directions: Vec<DelayVariationDirection>,
}

/// RFC 8219's figures of one direction, nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DelayVariationDirection {
    /// From the first port to the second, or back.
    #[serde(rename = "way")]
    pub direction: Direction,
    /// Packet delay variation over the runs.
    pub packet: OverRuns,
    /// Inter-packet delay variation of the last run.
    pub inter_packet: Option<InterPacketVariation>,
}

/// A test that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LeftOut {
    /// Which.
    pub test: Test,
    /// Why.
    pub why: String,
}

/// The results of a service's configuration and performance test (ITU-T Y.1564).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceReport {
    /// The frames it was tested with.
    pub stream: Stream,
    /// Every step.
    pub steps: Vec<ServiceStep>,
    /// The long test at the committed rate; absent where it was not requested.
    pub performance: Option<ServiceStep>,
    /// Share of its seconds in which the service was available.
    pub availability: Option<f64>,
    /// All promises were shown to hold.
    pub passed: bool,
    /// Remarks: steps left out, commitments that could not be measured.
    #[serde(default)]
    pub notes: Vec<String>,
}

/// A step of a service's test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ServiceStep {
    /// The load offered.
    pub step: y1564::Step,
    /// The result, the worse of the directions.
    pub observed: y1564::Observed,
    /// Promises broken; none: it passed.
    pub misses: Vec<y1564::Miss>,
}

/// Counters of one interface on the path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HopDrops {
    /// The node.
    pub node: String,
    /// Its interface.
    pub interface: String,
    /// The frame size of the trial.
    pub frame: Bytes,
    /// Frames received.
    pub received: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames dropped, by counter: `rx_dropped`, `tx_dropped`, `softnet`, and so on; none that is zero.
    pub drops: BTreeMap<String, u64>,
}

/// A device held against another, or against itself at another time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DeviceComparison {
    /// The device compared with, and when it was tested where that was another run.
    pub reference: String,
    /// The device.
    pub compared: String,
    /// Every figure that both have, the largest loss first.
    pub rows: Vec<RateChange>,
}

/// Two devices compared, one row of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RateChange {
    /// The frames sent.
    pub stream: Stream,
    /// `ndr`, `mrr` and so on. The MRR is of all directions together, the others are of each direction.
    pub figure: String,
    /// The device compared with.
    pub reference: Rates,
    /// This device.
    pub compared: Rates,
    /// The change.
    pub change: Option<Change>,
    /// The reference forwards this or more: the generator or the link was the limit.
    pub reference_is_least: bool,
    /// The same of this device.
    pub compared_is_least: bool,
}
