//! The plan of `pathmeter rfc2544`: what is sent through which devices, and what cannot be, said before anything is.

mod check;
mod setup;
mod streams;

use crate::cli::{Flows, Rfc2544Args};
use engine::connect::Security;
use engine::dut::bench::{BenchOptions, Device, SideOptions};
use engine::dut::cpu::Cpus;
use engine::dut::reset::ResetWay;
use engine::dut::site;
use engine::error::Failure;
use lab::shipped;
use linux::frames::Ports;
use model::dut::{Setup, Test, TunnelEnds};
use model::plan::{Directions, LocalOptions};
use model::units::Nanos;
use std::net::IpAddr;

/// All that will be done.
pub(crate) struct Benchmark {
    /// The tests of every device.
    pub(crate) setup: Setup,
    /// The devices, one after the other.
    pub(crate) benches: Vec<BenchOptions>,
    /// What became other than it was asked for, in words.
    pub(crate) notes: Vec<String>,
}

/// Everything with its defaults filled. Topologies are read; nothing is built or opened.
///
/// # Errors
/// Code 2 for options that exclude each other or exceed what can be.
pub(crate) fn rfc2544(args: &Rfc2544Args, security: &Security) -> anyhow::Result<Benchmark> {
    check::check(args)?;
    let devices = devices(args)?;
    let (setup, notes) = setup::setup(args)?;
    let bench = |device: Device| BenchOptions {
        sides: sides(args, &device),
        vlan: args.traffic.vlan,
        ports: match args.traffic.flows {
            Flows::Random => Ports::Random,
            Flows::One => ONE_FLOW,
        },
        hop_limit: HOP_LIMIT,
        allow_live_network: args.device.allow_live_network,
        cpus: Cpus {
            generators: args.device.cpus.as_ref().map(|cpus| cpus.0.clone()).unwrap_or_default(),
            device: args.device.device_cpu,
        },
        both_ways: setup.streams.iter().any(|stream| stream.ways == Directions::Both),
        reset: reset(args, &setup, &device),
        pause: setup.times.pause,
        security: security.clone(),
        local: LocalOptions { connect_timeout: Some(TO_CONNECT), ..LocalOptions::default() },
        device,
    };
    let benches = devices.into_iter().map(bench).collect();
    Ok(Benchmark { setup, benches, notes })
}

fn devices(args: &Rfc2544Args) -> anyhow::Result<Vec<Device>> {
    if let [one, other] = args.ports.as_slice() {
        return Ok(vec![Device::Ports([one.clone(), other.clone()])]);
    }
    let device = |name: &String| {
        let advice = "docs/lab.md tells how to write one";
        let found = shipped::find(name).map_err(|error| Failure::usage(error.to_string(), advice))?;
        Ok(Device::Lab(Box::new(found)))
    };
    args.lab.iter().map(device).collect()
}

/// Of each IP version the first address is for the first port, the second for the second.
fn sides(args: &Rfc2544Args, device: &Device) -> [SideOptions; 2] {
    let of = |addresses: &[IpAddr], side: usize| -> Vec<IpAddr> {
        let family = |ipv4: bool| addresses.iter().filter(move |address| address.is_ipv4() == ipv4);
        [true, false].into_iter().filter_map(|ipv4| family(ipv4).nth(side)).copied().collect()
    };
    [0, 1].map(|side| SideOptions {
        addresses: of(&args.device.address, side),
        gateways: of(&args.device.gateway, side),
        tunnel: tunnel(args, device, side),
    })
}

/// The second port's as asked for; a topology says itself which of its ends are those of tunnels.
fn tunnel(args: &Rfc2544Args, device: &Device, side: usize) -> Option<TunnelEnds> {
    match (device, args.device.tunnel.as_slice()) {
        (Device::Lab(topology), _) => site::tunnel(topology, [&topology.from, &topology.to][side]),
        (Device::Ports(_), [local, remote]) if side == 1 => {
            Some(TunnelEnds { local: *local, remote: *remote })
        }
        (Device::Ports(_), _) => None,
    }
}

fn reset(args: &Rfc2544Args, setup: &Setup, device: &Device) -> ResetWay {
    match (&args.device.reset_command, device) {
        _ if !setup.tests.contains(&Test::Reset) => ResetWay::None,
        (Some(command), _) => ResetWay::Command(command.clone()),
        (None, Device::Lab(_)) => ResetWay::Link,
        (None, Device::Ports(_)) => ResetWay::None,
    }
}

/// A flow within the ranges of RFC 4814 section 4.5.
const ONE_FLOW: Ports = Ports::Fixed { source: 49_152, destination: 49_151 };
/// Enough for every device between two ports.
const HOP_LIMIT: u8 = 64;
const TO_CONNECT: Nanos = Nanos::from_secs(5);

#[cfg(test)]
mod tests;
