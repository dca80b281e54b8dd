//! Conditions of a run beside its figures: two runs that differ in one of them measured two different things.

use super::Measured;
use crate::distinct;
use crate::dut::{DutReport, SearchMethod};
use crate::host::Host;
use crate::latency::LatencyPlan;
use crate::plan::{Directions, Plan};
use crate::run::Run;
use crate::transfer::TransferPlan;
use serde::{Deserialize, Serialize};

/// A name and its value: `kernel here`, `Linux 6.1.0`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fact {
    /// Name of the condition.
    pub name: String,
    /// Its value.
    pub value: String,
}

/// The fingerprint of a document: the hosts, and the request. Labs have none: every topology is another path.
#[must_use]
pub fn facts(measured: Measured<'_>) -> Vec<Fact> {
    let known = match measured {
        Measured::Run(run) => of_run(run),
        Measured::Device(report) => of_devices(report),
        Measured::Lab(_) => Vec::new(),
    };
    known.into_iter().map(|(name, value)| Fact { name: name.into(), value }).collect()
}

fn of_run(run: &Run) -> Vec<(&'static str, String)> {
    let mut known = Vec::new();
    for (host, names) in [(&run.host, &HERE), (&run.peer, &THERE)] {
        let values = host.as_ref().map(of_host).unwrap_or_default();
        known.extend(names.iter().copied().zip(values));
    }
    // The tests of a run share hosts; plans stand in the tests.
    let plan = run.first_throughput();
    known.extend(plan.map(of_plan).unwrap_or_default());
    known.extend(run.latency().map(of_latency).unwrap_or_default());
    known.extend(run.transfer().map(of_transfer).unwrap_or_default());
    known
}

/// Conditions on which figures of a device depend beside the device: the host that tests, its ports, and the method of trials.
fn of_devices(report: &DutReport) -> Vec<(&'static str, String)> {
    let mut known: Vec<(&str, String)> = Vec::new();
    known.extend(HERE.into_iter().zip(report.host.as_ref().map(of_host).unwrap_or_default()));
    let ports = || report.devices.iter().flat_map(|device| &device.ports);
    let joined = |values: Vec<String>| distinct(values).join(" ");
    let setup = &report.setup;
    let directions = setup.streams.iter().map(|stream| match stream.directions {
        Directions::Up => "from the first port to the second",
        Directions::Down => "from the second port to the first",
        Directions::Both => "both at once",
    });
    let search = match setup.search {
        SearchMethod::Mlr => "MLRsearch",
        SearchMethod::Binary => "by halves",
    };
    let link = setup.link.map_or_else(|| "unknown".into(), |link| link.to_string());
    known.extend([
        ("drivers of the ports", joined(ports().filter_map(|port| port.driver.clone()).collect())),
        ("MTU of the ports", joined(ports().map(|port| port.mtu.to_string()).collect())),
        ("link", link),
        ("encapsulation", setup.encaps.to_string()),
        ("directions", joined(directions.map(str::to_owned).collect())),
        ("search", search.into()),
        ("length of a trial", setup.times.trial.to_string()),
    ]);
    known
}

/// The histograms of round trips of a run and its parts, as in the document: the label of the path, and HdrHistogram V2,
/// compressed, in base64. Where paths have the same label, the first one counts.
#[must_use]
pub fn histograms(run: &Run) -> Vec<(String, &str)> {
    let egress_paths = std::iter::once(run).chain(&run.tests).flat_map(|run| &run.summary.egress_paths);
    let mut found: Vec<(String, &str)> = Vec::new();
    for egress in egress_paths {
        if let Some(counts) =
            egress.histogram.as_deref().filter(|_| found.iter().all(|(label, _)| *label != egress.label))
        {
            found.push((egress.label.clone(), counts));
        }
    }
    found
}

const HERE: [&str; 8] = [
    "host",
    "pathmeter here",
    "kernel here",
    "CPU here",
    "congestion control here",
    "interface here",
    "MTU here",
    "offloads here",
];
const THERE: [&str; 8] = [
    "far host",
    "pathmeter there",
    "kernel there",
    "CPU there",
    "congestion control there",
    "interface there",
    "MTU there",
    "offloads there",
];

fn of_host(host: &Host) -> Vec<String> {
    let nic = host.nic.as_ref();
    let card = nic
        .map(|nic| format!("{} {}", nic.name, nic.driver.as_deref().unwrap_or_default()).trim().to_owned());
    vec![
        host.name.clone(),
        host.version.clone(),
        host.kernel.clone(),
        host.cpu.clone(),
        host.congestion.clone(),
        card.unwrap_or_default(),
        nic.map(|nic| nic.mtu.to_string()).unwrap_or_default(),
        nic.map(|nic| nic.offloads.join(" ")).unwrap_or_default(),
    ]
}

fn of_plan(plan: &Plan) -> Vec<(&'static str, String)> {
    let rate = plan.test.bitrate.map_or_else(|| "none".into(), |rate| rate.to_string());
    vec![
        ("far end", plan.target.address.ip().to_string()),
        ("streams", plan.test.streams.to_string()),
        ("length", plan.test.length.unwrap_or(0).to_string()),
        ("rate asked for", rate),
        ("protocol", plan.protocol.to_string()),
    ]
}

fn of_latency(plan: &LatencyPlan) -> Vec<(&'static str, String)> {
    vec![
        ("mode", plan.mode.to_string()),
        ("transport", plan.transport.to_string()),
        ("message size", format!("{} bytes", plan.size)),
        ("messages asked for", plan.rate.map_or_else(|| "any".into(), |rate| rate.to_string())),
        ("protocol", plan.protocol.to_string()),
    ]
}

fn of_transfer(plan: &TransferPlan) -> Vec<(&'static str, String)> {
    let mtus: Vec<String> = plan.mtus.iter().map(u32::to_string).collect();
    vec![
        ("MTUs set", mtus.join(" ")),
        ("MSS asked for", plan.mss.map(|mss| mss.to_string()).unwrap_or_default()),
        ("congestion control asked for", plan.congestion.clone().unwrap_or_default()),
    ]
}
