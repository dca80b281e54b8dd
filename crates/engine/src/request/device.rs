//! Tests of devices: the request, and the tests of each device. Topologies are read; nothing is built or opened.

mod check;
mod setup;
mod streams;

use crate::error::{Failure, Result};
use crate::run::{DevicePlan, Plan};
use crate::session::connect::Security;
use crate::work::dut::bench::{BenchOptions, Device as Tested, SideOptions};
use crate::work::dut::cpu::Cpus;
use crate::work::dut::reset::ResetMethod;
use crate::work::dut::spec::PortSpec;
use crate::work::dut::testbed;
use lab::shipped;
use model::dut::y1564::Profile;
use model::dut::{SearchMethod, Setup, Test, TunnelEnds};
use model::framing::Encaps;
use model::plan::{Directions, LocalOptions};
use model::units::{BitRate, Bytes, Nanos, PacketRate};
use std::net::{IpAddr, Ipv6Addr};

/// A benchmark of a device between two ports, or of one in each of several topologies.
#[derive(Clone, Debug, Default)]
pub struct Device {
    /// The two ports around the device.
    pub ports: Vec<PortSpec>,
    /// Topologies in place of ports, by name or file.
    pub lab: Vec<String>,
    /// The standard whose tests, frames, directions and IP version are taken.
    pub standard: Standard,
    /// The tests; none: those of the standard.
    pub tests: Vec<Test>,
    /// A look, not a measurement.
    pub quick: bool,
    /// The frames to send.
    pub traffic: Traffic,
    /// How rates are searched for.
    pub search: Search,
    /// The promised properties of a service.
    pub service: Option<Profile>,
    /// Time of a service's long test; absent: the standard's.
    pub service_time: Option<Nanos>,
    /// Addresses that frames come from: of the first port and of the second, of each IP version.
    pub addresses: Vec<IpAddr>,
    /// Addresses of the device at the ports, in the same order.
    pub gateways: Vec<IpAddr>,
    /// Ends of the tunnel that the second port speaks for: its own and the device's.
    pub tunnel: Vec<Ipv6Addr>,
    /// The command that resets the device.
    pub reset_command: Option<String>,
    /// CPUs that send.
    pub cpus: Vec<u32>,
    /// The CPU of a lab's device.
    pub device_cpu: Option<u32>,
    /// Frames may be sent through interfaces that carry other traffic too.
    pub allow_live_network: bool,
    /// Speed of the link, where the ports' own is not to be used.
    pub link: Option<BitRate>,
}

/// The frames to send through a device.
#[derive(Clone, Debug, Default)]
pub struct Traffic {
    /// Sizes of the frames, FCS included; none: the standard's.
    pub frames: Vec<Bytes>,
    /// A mix of sizes: `simple`, or letters of RFC 6985.
    pub imix: Option<String>,
    /// Frames of IPv4.
    pub ipv4: bool,
    /// Frames of IPv6.
    pub ipv6: bool,
    /// From which port to which; absent: the standard's.
    pub directions: Option<Directions>,
    /// All frames are of one flow, and not of many with random UDP ports.
    pub one_flow: bool,
    /// The number of the VLAN whose tag the frames carry.
    pub vlan: Option<u16>,
    /// Encapsulations between Ethernet and IP on the link.
    pub encap: Encaps,
}

/// How rates are searched for.
#[derive(Clone, Debug)]
pub struct Search {
    /// The algorithm.
    pub method: SearchMethod,
    /// The rates to search for; none: throughput.
    pub goals: Vec<GoalName>,
    /// Share of frames that the partial drop rate may lose, 0 to 1.
    pub loss_ratio: f64,
    /// Least load tried.
    pub min_rate: Option<PacketRate>,
    /// Largest load tried.
    pub max_rate: Option<PacketRate>,
    /// Time of the longest trial; absent: the standard's.
    pub time: Option<Nanos>,
    /// Searches for each rate.
    pub repeat: u32,
}

/// The standard whose tests, frames, directions and IP version are taken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Standard {
    /// Benchmarks of a device: throughput, latency, loss, bursts, recovery, reset.
    #[default]
    Rfc2544,
    /// The same over IPv6.
    Rfc5180,
    /// Switches: both directions at once.
    Rfc2889,
    /// IPv6 transition, tunnels among it.
    Rfc8219,
    /// A service against its promise.
    Y1564,
}

/// A rate that is searched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoalName {
    /// RFC 2544's: without loss in the longest trial.
    Throughput,
    /// No drop: without loss in most trials.
    Ndr,
    /// Partial drop: with a small loss.
    Pdr,
}

impl GoalName {
    /// Its name on the command line and in documents.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            GoalName::Throughput => "throughput",
            GoalName::Ndr => "ndr",
            GoalName::Pdr => "pdr",
        }
    }
}

impl Default for Search {
    fn default() -> Search {
        Search {
            method: SearchMethod::default(),
            goals: Vec::new(),
            loss_ratio: 0.005,
            min_rate: None,
            max_rate: None,
            time: None,
            repeat: 1,
        }
    }
}

pub(super) fn resolve(asked: &Device) -> Result<Plan> {
    check::check(asked)?;
    let devices = devices(asked)?;
    let (setup, notes) = setup::setup(asked)?;
    let bench = |device: Tested| BenchOptions {
        sides: sides(asked, &device),
        vlan: asked.traffic.vlan,
        ports: if asked.traffic.one_flow { ONE_FLOW } else { None },
        allow_live_network: asked.allow_live_network,
        cpus: Cpus { generators: asked.cpus.clone(), device: asked.device_cpu },
        both_directions: setup.streams.iter().any(|stream| stream.directions == Directions::Both),
        reset: reset(asked, &setup, &device),
        pause: setup.times.pause,
        // Known when it is run.
        security: Security::default(),
        local: LocalOptions { connect_timeout: Some(TO_CONNECT), ..LocalOptions::default() },
        device,
    };
    let benches = devices.into_iter().map(bench).collect();
    Ok(Plan::Device(Box::new(DevicePlan { setup, benches, notes })))
}

fn devices(asked: &Device) -> Result<Vec<Tested>> {
    if let [one, other] = asked.ports.as_slice() {
        return Ok(vec![Tested::Ports([one.clone(), other.clone()])]);
    }
    let device = |name: &String| {
        let advice = "docs/lab.md describes its form";
        let found = shipped::find(name).map_err(|error| Failure::usage(error.to_string(), advice))?;
        Ok(Tested::Lab(Box::new(found)))
    };
    asked.lab.iter().map(device).collect()
}

/// For each IP version, the first address is for the first port, the second for the second.
fn sides(asked: &Device, device: &Tested) -> [SideOptions; 2] {
    let addresses_of = |addresses: &[IpAddr], side: usize| -> Vec<IpAddr> {
        let family = |ipv4: bool| addresses.iter().filter(move |address| address.is_ipv4() == ipv4);
        [true, false].into_iter().filter_map(|ipv4| family(ipv4).nth(side)).copied().collect()
    };
    [0, 1].map(|side| SideOptions {
        addresses: addresses_of(&asked.addresses, side),
        gateways: addresses_of(&asked.gateways, side),
        tunnel: tunnel(asked, device, side),
    })
}

/// The tunnel of a port: the second port's as requested; a topology itself has the ends of its tunnels.
fn tunnel(asked: &Device, device: &Tested, side: usize) -> Option<TunnelEnds> {
    match (device, asked.tunnel.as_slice()) {
        (Tested::Lab(topology), _) => testbed::tunnel(topology, [&topology.from, &topology.to][side]),
        (Tested::Ports(_), [local, remote]) if side == 1 => {
            Some(TunnelEnds { local: *local, remote: *remote })
        }
        (Tested::Ports(_), _) => None,
    }
}

fn reset(asked: &Device, setup: &Setup, device: &Tested) -> ResetMethod {
    match (&asked.reset_command, device) {
        _ if !setup.tests.contains(&Test::Reset) => ResetMethod::None,
        (Some(command), _) => ResetMethod::Command(command.clone()),
        (None, Tested::Lab(_)) => ResetMethod::Link,
        (None, Tested::Ports(_)) => ResetMethod::None,
    }
}

/// A flow within the ranges of RFC 4814 section 4.5.
const ONE_FLOW: Option<(u16, u16)> = Some((49_152, 49_151));
const TO_CONNECT: Nanos = Nanos::from_secs(5);
