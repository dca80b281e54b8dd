//! Options of a bench: the device, the two ports, and how frames are sent.

use super::super::cpu::Cpus;
use super::super::reset::ResetMethod;
use super::super::spec::PortSpec;
use crate::session::connect::Security;
use lab::topology::Topology;
use model::dut::TunnelEnds;
use model::plan::LocalOptions;
use model::units::Nanos;
use std::net::IpAddr;

/// Everything that a bench has to know before the first frame.
#[derive(Clone, Debug)]
pub struct BenchOptions {
    /// The device.
    pub device: Device,
    /// From where to where frames go, at each port.
    pub sides: [SideOptions; 2],
    /// The number of the VLAN whose tag the frames carry.
    pub vlan: Option<u16>,
    /// The UDP ports of the frames.
    pub ports: Option<(u16, u16)>,
    /// Frames may be sent through interfaces that carry other traffic too (RFC 6815).
    pub allow_live_network: bool,
    /// Which CPUs send, and on which one the device is to run.
    pub cpus: Cpus,
    /// Some stream is sent both directions at once, so that both ports need a CPU at the same time.
    pub both_directions: bool,
    /// How the device is reset.
    pub reset: ResetMethod,
    /// The pauses around each trial, all together ([`model::dut::Times::pause`]).
    pub pause: Nanos,
    /// How the control connection to a remote port is proven.
    pub security: Security,
    /// How that connection is opened.
    pub local: LocalOptions,
}

/// The device under test.
#[derive(Clone, Debug)]
pub enum Device {
    /// The device between these two ports.
    Ports([PortSpec; 2]),
    /// A topology, from the node that measures to the one that answers. Building it takes
    /// [`lab::privilege::gain_and_enclose`], before the first thread is started.
    Lab(Box<Topology>),
}

/// Settings of one port; absent ones are detected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SideOptions {
    /// Addresses that its frames come from, the first of each family counts; absent: those of the interface, and where it
    /// has none those set aside for benchmarks.
    pub addresses: Vec<IpAddr>,
    /// Addresses of the device at this port, the first of each family counts; absent: as the routes of the port say.
    pub gateways: Vec<IpAddr>,
    /// Where the device is one end of a tunnel and this port speaks for the other: packets of IPv4 leave and arrive here in
    /// IPv6, those of IPv6 as they are.
    pub tunnel: Option<TunnelEnds>,
}

impl Device {
    /// Its name for the user.
    pub fn name(&self) -> String {
        match self {
            Device::Ports([one, other]) => format!("{one} - {other}"),
            Device::Lab(topology) => topology.name.clone(),
        }
    }

    /// A description in one line, where one is known.
    pub fn title(&self) -> Option<String> {
        self.topology().map(|topology| topology.title.clone())
    }

    /// Its topology, where it is a lab's.
    pub(crate) fn topology(&self) -> Option<&Topology> {
        let Device::Lab(topology) = self else { return None };
        Some(topology)
    }
}
