//! Changing the MTU for a run, and putting it back whatever happens.

use super::IPV6_LEAST;
use crate::error::{Error, Failure, Result};
use crate::host::guard::{Guard, OldState};
use insight::fix;
use linux::clock::mono_now;
use linux::netlink::{HostRoute, Link, Network, OperState};
use linux::privilege::{Capabilities, Capability};
use model::transfer::MtuOf;
use model::units::Nanos;
use std::net::IpAddr;

/// A running sweep that changes the MTU. On drop it restores the old state.
pub(crate) struct Sweep {
    network: Network,
    guard: Guard,
    /// Host routes are there: the next MTU replaces theirs.
    routed: bool,
}

/// Checks whether these MTUs can be set, before anything is changed.
///
/// # Errors
/// `Kind::Usage`, with advice: no permission, an MTU that the interface does not take, IPv6 that would be lost.
pub fn check(mtus: &[u32], of: &MtuOf, ipv6: bool) -> Result<()> {
    if !Capabilities::of_this_thread()?.has(Capability::NetAdmin) {
        let advice = format!("run it as root, or once: {}", fix::rights(None));
        return Err(
            Failure::usage("--mtu changes an MTU, which needs the capability CAP_NET_ADMIN", advice).into()
        );
    }
    let mut network = Network::open()?;
    let links = match of {
        MtuOf::Interface { name, .. } => vec![network.link(name)?],
        MtuOf::Route { to } => to.iter().map(|to| link_toward(&mut network, *to)).collect::<Result<_>>()?,
    };
    for link in links {
        let (least, most) = match of {
            MtuOf::Interface { .. } => link.mtu_limits.unwrap_or((68, 65535)),
            // A packet larger than the interface's own MTU would be dropped by it.
            MtuOf::Route { .. } => (68, link.mtu),
        };
        if let Some(mtu) = mtus.iter().find(|mtu| !(least..=most).contains(mtu)) {
            let message = format!("--mtu {mtu}: {} takes {least} to {most}", link.name);
            return Err(Failure::usage(message, beyond(of)).into());
        }
        let below = mtus.iter().find(|mtu| **mtu < IPV6_LEAST);
        if let (Some(mtu), MtuOf::Interface { name, .. }) = (below, of) {
            keeps_ipv6(*mtu, name)?;
        }
        if let (Some(mtu), true) = (below, ipv6) {
            let message = format!("--mtu {mtu}: IPv6 needs {IPV6_LEAST} at least (RFC 8200 section 5)");
            return Err(Failure::usage(message, "use IPv4 (-4), or leave that MTU out").into());
        }
    }
    Ok(())
}

fn beyond(of: &MtuOf) -> &'static str {
    match of {
        MtuOf::Interface { .. } => "leave it out; `ip -d link` shows minmtu and maxmtu of every interface",
        MtuOf::Route { .. } => "leave it out, or sweep the interface's MTU without --mtu-route",
    }
}

/// Below 1280 Linux takes IPv6 off an interface, and its addresses do not come back.
fn keeps_ipv6(mtu: u32, name: &str) -> Result<()> {
    let table = std::fs::read_to_string("/proc/self/net/if_inet6").unwrap_or_default();
    let mut addresses = table.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [address, _, _, "00", _, device] = fields.as_slice() else { return None };
        let bits = u128::from_str_radix(address, 16).ok()?;
        (*device == name).then(|| IpAddr::from(bits.to_be_bytes()))
    });
    match addresses.next() {
        None => Ok(()),
        Some(address) => Err(Failure::usage(
            format!(
                "--mtu {mtu}: below {IPV6_LEAST} Linux takes the IPv6 addresses off {name} ({address}), and they do not \
                 come back"
            ),
            "leave that MTU out, or use --mtu-route with IPv4, which leaves the interface alone",
        )
        .into()),
    }
}

fn link_toward(network: &mut Network, to: IpAddr) -> Result<Link> {
    let route = network.route_to(to)?;
    Ok(network.link_by_index(route.link)?)
}

impl Sweep {
    /// Starts the guard; nothing is changed yet.
    pub(crate) fn begin(of: &MtuOf) -> Result<Sweep> {
        let mut network = Network::open()?;
        let old = match of {
            MtuOf::Interface { name, mtu } => OldState::Interface { name: name.clone(), mtu: *mtu },
            MtuOf::Route { to } => {
                let route = |to: &IpAddr| Ok(HostRoute { destination: *to, route: network.route_to(*to)? });
                OldState::Routes(to.iter().map(route).collect::<Result<_>>()?)
            }
        };
        Ok(Sweep { network, guard: Guard::start(old)?, routed: false })
    }

    /// Sets this MTU, and waits until the interface carries packets again.
    pub(crate) fn set(&mut self, mtu: u32) -> Result<()> {
        match self.guard.old() {
            OldState::Interface { name, .. } => {
                self.network.set_mtu(name, mtu).map_err(|e| refused(name, mtu, &mut self.network, e))?;
                self.until_up(&name.clone())
            }
            OldState::Routes(routes) => {
                for route in routes {
                    self.network.set_host_route(route, mtu, self.routed).map_err(|e| taken(route, e))?;
                }
                self.routed = true;
                Ok(())
            }
            // Never guarded for an MTU.
            OldState::Offloads { .. } => Ok(()),
        }
    }

    /// Hardware may take its link down for seconds to change its MTU.
    fn until_up(&mut self, name: &str) -> Result<()> {
        let began = mono_now();
        loop {
            let link = self.network.link(name)?;
            if link.is_up && matches!(link.state, OperState::Up | OperState::Unknown) {
                return Ok(());
            }
            if mono_now() - began > LINK_COMES_BACK {
                let message = format!("{name} is still down {LINK_COMES_BACK} after its MTU was set");
                return Err(
                    Failure::unreachable(message, "`ip link` shows its state; MTUs are put back").into()
                );
            }
            std::thread::sleep(LINK_STEP.to_duration());
        }
    }

    /// Restores the old state; the error is that of the guard.
    pub(crate) fn end(mut self) -> Result<()> {
        self.guard.put_back()
    }
}

fn refused(name: &str, mtu: u32, network: &mut Network, error: linux::OsError) -> Error {
    let limits = network.link(name).ok().and_then(|link| link.mtu_limits);
    let range = limits.map(|(least, most)| format!("; its driver takes {least} to {most}"));
    let message = format!("{name} refuses an MTU of {mtu}: {}{}", error.source, range.unwrap_or_default());
    Failure::usage(message, "its old MTU is put back; leave that MTU out").into()
}

fn taken(route: &HostRoute, error: linux::OsError) -> Error {
    match error.source.kind() {
        std::io::ErrorKind::AlreadyExists => Failure::usage(
            format!("{} has a host route of its own, which is left alone", route.destination),
            format!(
                "sweep the interface without --mtu-route, or look at `ip route show {}`",
                route.destination
            ),
        )
        .into(),
        _ => error.into(),
    }
}

const LINK_COMES_BACK: Nanos = Nanos::from_secs(15);
const LINK_STEP: Nanos = Nanos::from_millis(20);
