//! The form that would measure again what a run measured. Where the form has no field for something, there is none.

use crate::backend::Kind;
use model::history::{Entry, Origin};
use model::hops::{HopProtocol, HopsPlan};
use model::latency::{LatencyMode, LatencyPlan, LatencyProtocol};
use model::marks::Dscp;
use model::path::{PathMethod, PathPlan};
use model::plan::{End, LocalOptions, Plan, ProtocolName, Target, TestSpec};
use model::run::Run;
use model::units::{Nanos, PacketRate};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::net::{IpAddr, SocketAddr};

/// The fields, named as the API takes them.
#[derive(Debug, Default, PartialEq, Serialize)]
pub(crate) struct Again {
    kind: Kind,
    pub(crate) host: String,
    label: String,
    keys: Map<String, Value>,
    /// The IP version that was measured, where the name of the host leaves it open.
    #[serde(skip_serializing_if = "Option::is_none")]
    family: Option<u8>,
}

impl Again {
    /// The same with these keys; those without a value are left out.
    fn with<const N: usize>(self, keys: [(&str, Value); N]) -> Again {
        let keys = keys.into_iter().filter(|(_, value)| !value.is_null());
        Again { keys: keys.map(|(name, value)| (name.to_owned(), value)).collect(), ..self }
    }
}

/// The fields for this run; absent: it was measured elsewhere, or otherwise than the form can ask for.
pub(crate) fn again(run: &Run, entry: &Entry) -> Option<Again> {
    if entry.origin != Origin::Measured || run.summary.pairs.is_some() {
        return None;
    }
    let again = match entry.kind.as_str() {
        "measure" => measure(run),
        "throughput" => throughput(run.throughput()?),
        "latency" => latency(run.latency()?),
        "mtu" => mtu(run.path()?),
        "hops" => hops(run.hops()?),
        _ => None,
    };
    again.map(|again| Again { label: entry.label.clone(), ..again })
}

fn to(kind: Kind, target: &Target, usual: u16) -> Again {
    let (host, port) = (&target.host, target.address.port());
    let host = match (port == usual || port == 0, host.contains(':')) {
        (true, _) => host.clone(),
        (false, true) => format!("[{host}]:{port}"),
        (false, false) => format!("{host}:{port}"),
    };
    Again {
        kind,
        host,
        family: target.host.parse::<IpAddr>().is_err().then(|| family(target.address)),
        ..Again::default()
    }
}

fn family(address: SocketAddr) -> u8 {
    if address.is_ipv4() { 4 } else { 6 }
}

/// Packets leave by the usual interface.
fn is_usual(local: &LocalOptions) -> bool {
    local.bind.is_none() && local.device.is_none() && local.client_port.is_none() && local.affinity.is_empty()
}

/// Whole seconds that the form takes, as text.
fn seconds(time: Nanos) -> Option<String> {
    let seconds = time.0 / SECOND;
    (time.0.is_multiple_of(SECOND) && (1..=3_600).contains(&seconds)).then(|| format!("{seconds}s"))
}

/// Whole milliseconds between reports that the form takes, as text.
fn interval(interval: Nanos) -> Option<String> {
    let milliseconds = interval.0 / MILLISECOND;
    let fits = interval.0.is_multiple_of(MILLISECOND) && (10..=60_000).contains(&milliseconds);
    fits.then(|| format!("{milliseconds}ms"))
}

/// The byte is one that the form can ask for: it has no bits of ECN.
fn is_dscp(tos: u8) -> bool {
    tos.trailing_zeros() >= 2
}

/// The mark of this byte, by its name where it has one; absent: the usual one.
fn dscp(tos: u8) -> Option<String> {
    let dscp = Dscp(tos >> 2);
    (tos > 0).then(|| dscp.name().map_or_else(|| dscp.0.to_string(), str::to_owned))
}

fn measure(run: &Run) -> Option<Again> {
    let plans = || run.tests.iter().filter_map(|test| test.throughput());
    let plan =
        plans().next().filter(|plan| is_usual(&plan.local) && plan.protocol == ProtocolName::Native)?;
    let longest = plans().filter_map(|plan| match plan.test.end {
        End::Time(time) => Some(time),
        _ => None,
    });
    let quick = longest.max()? < Nanos::from_secs(3);
    let again = to(Kind::Measure, &plan.target, PORT);
    // A run without a requested version looks at the other one, too.
    let is_single = run.summary.reach.as_ref().is_some_and(|reach| reach.families.len() == 1);
    Some(Again { family: again.family.filter(|_| is_single), ..again }.with([("quick", json!(quick))]))
}

fn throughput(plan: &Plan) -> Option<Again> {
    let test = &plan.test;
    let End::Time(time) = test.end else { return None };
    // Any other difference from the defaults was requested, and the form has no field for it.
    let usual = TestSpec {
        directions: test.directions,
        streams: test.streams,
        end: test.end,
        length: test.length,
        bitrate: test.bitrate,
        burst: test.burst,
        mss: test.mss,
        tos: test.tos,
        ..TestSpec::new(test.transport)
    };
    let can =
        *test == usual && is_dscp(test.tos) && is_usual(&plan.local) && plan.protocol == ProtocolName::Native;
    can.then_some(())?;
    Some(to(Kind::Throughput, &plan.target, PORT).with([
        ("transport", json!(test.transport)),
        ("direction", json!(test.directions)),
        ("time", json!(seconds(time)?)),
        ("parallel", json!(test.streams)),
        ("bitrate", json!(test.bitrate.map(|rate| rate.0))),
        ("mss", json!(test.mss)),
        ("length", json!(test.length)),
        ("interval", json!(interval(plan.local.interval))),
        ("dscp", json!(dscp(test.tos))),
    ]))
}

fn latency(plan: &LatencyPlan) -> Option<Again> {
    let [egress] = plan.egress_paths.as_slice() else { return None };
    let own_egress = egress.bind.is_some() || egress.device.is_some() || egress.port.is_some();
    let mode = match plan.load {
        Some(_) => (LatencyMode::UnderLoad, Some(LOAD_RATE)),
        None => (LatencyMode::PingPong, None),
    };
    let other = plan.protocol != LatencyProtocol::Native
        || (plan.mode, plan.rate) != mode
        || plan.sizes.is_some()
        || plan.burst != 1
        || !is_dscp(plan.tos)
        || plan.load.as_ref().is_some_and(|load| load.streams != LOAD_STREAMS || load.congestion.is_some());
    if own_egress || other {
        return None;
    }
    let End::Time(time) = plan.end else { return None };
    let time = plan.load.as_ref().map_or(time, |load| load.time);
    Some(to(Kind::Latency, &egress.target, PORT).with([
        ("transport", json!(plan.transport)),
        ("time", json!(seconds(time)?)),
        ("size", json!(plan.size)),
        ("interval", json!(interval(plan.interval))),
        ("loaded", json!(plan.load.is_some())),
        ("dscp", json!(dscp(plan.tos))),
    ]))
}

fn mtu(plan: &PathPlan) -> Option<Again> {
    let usual = plan.method == PathMethod::Auto
        && plan.largest.is_none()
        && plan.service.is_none()
        && plan.encap.is_none()
        && is_usual(&plan.local);
    usual.then(|| to(Kind::Mtu, &plan.target, PORT))
}

fn hops(plan: &HopsPlan) -> Option<Again> {
    let usual =
        plan.protocol == HopProtocol::Udp && !plan.watch && plan.as_file.is_none() && is_usual(&plan.local);
    // A port of its own is that of the probes, which the form has no field for.
    usual.then(|| Again { host: plan.target.host.clone(), ..to(Kind::Hops, &plan.target, 0) })
}

const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;
/// Where `pathmeter serve` listens.
const PORT: u16 = 5210;
/// Streams of a load by default.
const LOAD_STREAMS: u32 = 4;
/// Messages per second beside a load, likewise.
const LOAD_RATE: PacketRate = PacketRate(100);
