//! Opening the tester's two ports: on this host, on another, or at the ends of a topology.

use super::bench::{BenchOptions, SideOptions};
use super::cpu::Places;
use super::local::{LocalOptions, LocalPort, bridged, routed};
use super::port::Port;
use super::remote::{RemoteOptions, RemotePort};
use super::safety::{self, Exposure};
use super::spec::PortSpec;
use super::testbed::Testbed;
use crate::error::Result;
use frames::Stop;
use linux::namespace::Namespace;
use std::net::IpAddr;
use wire::native::frames::Addressing;

/// Two ports, and what a reader must know of how they were opened.
pub(crate) struct Connected {
    pub(crate) ports: [Box<dyn Port>; 2],
    pub(crate) notes: Vec<String>,
}

/// One port, and what could be disturbed through it: absent where another host has looked at that.
struct Opened {
    port: Box<dyn Port>,
    exposure: Option<Exposure>,
    notes: Vec<String>,
}

/// Opens the ports that the user named. Those without an address are given one for the test: of one network where the device
/// lets each port find the other in it, as a switch does, and of two with a router between where it does not.
///
/// # Errors
/// `Kind::Usage` for what is not there or carries other traffic, `Kind::Unreachable` for what cannot be used or reached.
pub(crate) fn ports(
    specs: &[PortSpec; 2],
    options: &BenchOptions,
    places: &Places,
    stop: &Stop,
) -> Result<Connected> {
    let with = |fallback: fn(u8) -> Addressing| {
        let open = |side: usize| {
            let settings = LocalOptions {
                name: Some(specs[side].clone()),
                cpu: Some(places.generators[side]),
                addressing: addressing_of(&options.sides[side]),
                fallback: fallback(u8::from(side == 1)),
                is_lab: false,
                stop: stop.clone(),
            };
            named(&specs[side], settings, options)
        };
        joined([open(0)?, open(1)?], options)
    };
    if options.sides.iter().any(|side| side.tunnel.is_some()) {
        // A tunnel's end routes.
        return with(routed);
    }
    let mut switched = with(bridged)?;
    if reaches(&mut switched.ports) {
        return Ok(switched);
    }
    // These addresses go before others come.
    drop(switched);
    with(routed)
}

/// Opens the ends of a topology as ports.
///
/// # Errors
/// `Kind::Usage` and `Kind::Unreachable` for what cannot be a port.
pub(crate) fn ends(
    testbed: &Testbed,
    options: &BenchOptions,
    places: &Places,
    stop: &Stop,
) -> Result<Connected> {
    let open = |side: usize| -> Result<Opened> {
        let end = &testbed.ends[side];
        let settings = LocalOptions {
            name: Some(PortSpec { namespace: Some(end.node.clone()), ..PortSpec::here(&end.device) }),
            cpu: Some(places.generators[side]),
            is_lab: true,
            stop: stop.clone(),
            ..LocalOptions::default()
        };
        local(testbed.namespace(end)?, &end.device, &settings)
    };
    joined([open(0)?, open(1)?], options)
}

fn named(spec: &PortSpec, settings: LocalOptions, options: &BenchOptions) -> Result<Opened> {
    if spec.host.is_none() {
        return local(spec.open_namespace()?, &spec.interface, &settings);
    }
    let LocalOptions { addressing, fallback, stop, .. } = settings;
    let (local, security) = (options.local.clone(), options.security.clone());
    let port = RemotePort::open(spec, &RemoteOptions { local, security, addressing, fallback, stop })?;
    let notes = port.notes().to_vec();
    Ok(Opened { port: Box::new(port), exposure: None, notes })
}

fn local(namespace: Namespace, interface: &str, settings: &LocalOptions) -> Result<Opened> {
    let port = LocalPort::open(namespace, interface, settings)?;
    let (exposure, notes) = (Some(port.exposure.clone()), port.notes().to_vec());
    Ok(Opened { port: Box::new(port), exposure, notes })
}

/// Refuses ports through which others could be disturbed.
fn joined(opened: [Opened; 2], options: &BenchOptions) -> Result<Connected> {
    let exposures: Vec<&Exposure> = opened.iter().filter_map(|one| one.exposure.as_ref()).collect();
    let ends = options.sides.iter().filter_map(|side| side.tunnel).map(|tunnel| tunnel.remote.into());
    let destinations: Vec<IpAddr> = opened.iter().flat_map(|one| one.port.addresses()).chain(ends).collect();
    let allowed = safety::check(&exposures, &destinations, options.allow_live_network)?;
    let notes = opened.iter().flat_map(|one| one.notes.iter().cloned()).chain(allowed).collect();
    Ok(Connected { ports: opened.map(|one| one.port), notes })
}

/// Whether the first port finds the second one, where both have an address of one network for the test.
fn reaches(ports: &mut [Box<dyn Port>; 2]) -> bool {
    let given = |side: usize, ports: &[Box<dyn Port>; 2]| {
        let all = bridged(u8::from(side == 1)).addresses.into_iter().map(|(address, _)| address);
        let own = ports[side].addresses();
        all.filter(|address| own.contains(address)).collect::<Vec<_>>()
    };
    let (near, far) = (given(0, ports), given(1, ports));
    match far.into_iter().find(|far| near.iter().any(|near| near.is_ipv4() == far.is_ipv4())) {
        Some(far) => ports[0].next_hop(far).is_ok(),
        None => true,
    }
}

/// The user names addresses without their networks: of IPv4 it is taken to have 24 bits, of IPv6 64.
fn addressing_of(side: &SideOptions) -> Addressing {
    let prefix = |address: &IpAddr| if address.is_ipv4() { 24 } else { 64 };
    // With a tunnel, the device has to find the port at the tunnel's end.
    let end = side.tunnel.map(|tunnel| IpAddr::from(tunnel.local));
    let addresses = side.addresses.iter().chain(&end).map(|address| (*address, prefix(address))).collect();
    Addressing { addresses, gateways: side.gateways.clone() }
}
