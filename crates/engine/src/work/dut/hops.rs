//! Where frames are dropped: the counters of every interface on the path, over the trial at the most load.

use super::bench::Device;
use super::spec::PortSpec;
use super::testbed::Testbed;
use crate::error::Result;
use lab::counters::{InterfaceCounters, Snapshot, Traffic};
use linux::counters::Softnet;
use linux::netlink::{LinkStatistics, Network};
use model::dut::{Action, BenchRequest, HopDrops, Observation};
use model::units::Bytes;
use std::collections::BTreeMap;

/// The counters of the trial at the most load so far.
#[derive(Debug, Default)]
pub(crate) struct Hops {
    /// Ports of this host, where the device is not made here.
    ports: Vec<PortSpec>,
    /// Frames per second offered, all directions together.
    offered: f64,
    /// The interfaces in the order of the path, and the drops of each.
    pub(crate) drops: Vec<HopDrops>,
}

/// Counters at one moment.
#[derive(Debug)]
pub(crate) enum Reading {
    /// Counters of everything in a lab.
    Lab(Snapshot),
    /// Counters of the ports alone.
    Ports(Vec<LinkStatistics>),
}

impl Hops {
    pub(crate) fn new(device: &Device) -> Hops {
        let ports = match device {
            Device::Ports(ports) => ports.iter().filter(|port| port.host.is_none()).cloned().collect(),
            Device::Lab(_) => Vec::new(),
        };
        Hops { ports, ..Hops::default() }
    }

    /// Reads every counter there is.
    ///
    /// # Errors
    /// When the kernel does not answer, or an interface has gone.
    pub(crate) fn read(&self, testbed: Option<&Testbed>) -> Result<Reading> {
        match testbed {
            Some(testbed) => Ok(Reading::Lab(testbed.counters()?)),
            None => Ok(Reading::Ports(self.ports.iter().map(statistics).collect::<Result<_>>()?)),
        }
    }

    /// Takes what moved since `before`, unless a trial before this one offered more.
    ///
    /// # Errors
    /// Those of [`Hops::read`].
    pub(crate) fn take(
        &mut self,
        before: &Reading,
        testbed: Option<&Testbed>,
        order: &BenchRequest,
        observation: &Observation,
    ) -> Result<()> {
        let offered = offered(order, observation);
        if offered <= self.offered {
            return Ok(());
        }
        let frame = Bytes(order.stream.frames.mean().round() as u64);
        let drops = match (self.read(testbed)?, before) {
            (Reading::Lab(now), Reading::Lab(before)) => of_lab(&now.since(before), frame),
            (Reading::Ports(now), Reading::Ports(before)) => {
                let moved = self.ports.iter().zip(now).zip(before);
                moved.map(|((port, now), before)| of_port(port, &now.since(before), frame)).collect()
            }
            _ => Vec::new(),
        };
        (self.offered, self.drops) = (offered, drops);
        Ok(())
    }
}

/// Frames sent per second: in a flood one direction after the other, else all at once.
fn offered(order: &BenchRequest, observation: &Observation) -> f64 {
    let rates = observation
        .directions
        .iter()
        .map(|direction| direction.result.sent as f64 / direction.time.as_secs_f64().max(1e-9));
    match order.action {
        Action::Flood(_) => rates.fold(0.0, f64::max),
        _ => rates.sum(),
    }
}

fn statistics(port: &PortSpec) -> Result<LinkStatistics> {
    let read = || Network::open()?.link(&port.interface);
    Ok(port.open_namespace()?.run(read)??.statistics)
}

fn of_port(port: &PortSpec, moved: &LinkStatistics, frame: Bytes) -> HopDrops {
    let counters =
        InterfaceCounters { name: port.interface.clone(), link: *moved, ..InterfaceCounters::default() };
    of_interface(port.namespace.as_deref().unwrap_or(TESTER), &counters, frame)
}

/// Every interface, and the backlogs of those CPUs that dropped: they are of no one node.
fn of_lab(traffic: &Traffic, frame: Bytes) -> Vec<HopDrops> {
    let nodes = traffic.nodes.iter().flat_map(|node| {
        node.interfaces.iter().map(move |interface| of_interface(&node.node, interface, frame))
    });
    let backlogs = traffic.softnet.iter().filter(|softnet| softnet.dropped > 0);
    nodes.chain(backlogs.map(|softnet| of_backlog(softnet, frame))).collect()
}

fn of_interface(node: &str, interface: &InterfaceCounters, frame: Bytes) -> HopDrops {
    let link = &interface.link;
    let drops = [
        ("rx_dropped", link.rx_dropped),
        ("rx_errors", link.rx_errors),
        ("rx_missed", link.rx_missed),
        ("tx_dropped", link.tx_dropped),
        ("tx_errors", link.tx_errors),
        ("queue", interface.queue_drops),
    ];
    let drops = drops.into_iter().filter(|(_, count)| *count > 0);
    HopDrops {
        node: node.to_owned(),
        interface: interface.name.clone(),
        frame,
        received: link.rx_packets,
        sent: link.tx_packets,
        drops: drops.map(|(name, count)| (name.to_owned(), count)).collect(),
    }
}

fn of_backlog(softnet: &Softnet, frame: Bytes) -> HopDrops {
    HopDrops {
        node: "this host".to_owned(),
        interface: format!("backlog of CPU {}", softnet.cpu),
        frame,
        received: softnet.processed,
        sent: softnet.processed,
        drops: BTreeMap::from([("softnet".to_owned(), softnet.dropped)]),
    }
}

const TESTER: &str = "tester";
