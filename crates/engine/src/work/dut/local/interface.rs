//! The interface of a port: there, of Ethernet, up, and with carrier; else an error with the command that fixes it.

use crate::error::{Failure, Result};
use crate::work::dut::spec::PortSpec;
use linux::clock::mono_now;
use linux::netlink::{Network, OperState};
use linux::nic::Nic;
use model::units::Nanos;

/// An interface that frames can leave by.
#[derive(Debug)]
pub(super) struct Interface {
    /// Its name as the user gives it.
    pub(super) name: PortSpec,
    pub(super) nic: Nic,
    pub(super) mac: [u8; 6],
}

impl Interface {
    /// The interface of this name in the calling thread's namespace. Waits some seconds for the carrier of one that has just
    /// been set up.
    pub(super) fn open(interface: &str, name: &PortSpec) -> Result<Interface> {
        let until = mono_now() + CARRIER;
        loop {
            let nic = named(interface, name)?;
            let mac = usable(&nic, name)?;
            match nic.link.state {
                OperState::Up | OperState::Unknown => return Ok(Interface { name: name.clone(), nic, mac }),
                state if mono_now() >= until => return Err(no_carrier(name, interface, state).into()),
                _ => std::thread::sleep(STEP.to_duration()),
            }
        }
    }
}

fn named(interface: &str, name: &PortSpec) -> Result<Nic> {
    let mut network = Network::open()?;
    let links = network.links()?;
    if links.iter().any(|link| link.name == interface) {
        return Ok(Nic::named(interface)?);
    }
    let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
    let place = name.namespace.as_ref().map_or("here".into(), |namespace| format!("in {namespace}"));
    let advice = format!("there is {}; `{}` shows more", names.join(", "), name.command("ip -brief link"));
    Err(Failure::usage(format!("there is no interface {interface} {place}"), advice).into())
}

/// The Ethernet address of an interface that is up.
fn usable(nic: &Nic, name: &PortSpec) -> Result<[u8; 6], Failure> {
    let link = &nic.link;
    let mac = match link.mac.filter(|mac| *mac != [0; 6]) {
        _ if link.is_loopback => Err("is the loopback interface: nothing leaves by it"),
        None => Err("is not an interface of Ethernet: it has no such address"),
        Some(_) if link.kind.as_deref() == Some("bridge") => {
            Err("is a bridge, which forwards what a port is to send")
        }
        Some(mac) => Ok(mac),
    };
    let other = "name an interface that a cable of the device under test ends at";
    let mac = mac.map_err(|what| Failure::usage(format!("{name} {what}"), other))?;
    if !link.is_up {
        let set = name.command(&format!("ip link set {} up", link.name));
        return Err(Failure::unreachable(format!("{name} is down"), format!("`{set}` sets it up")));
    }
    Ok(mac)
}

fn no_carrier(name: &PortSpec, interface: &str, state: OperState) -> Failure {
    let what = match state {
        OperState::Dormant => "waits for something outside (802.1X, a supplicant)",
        OperState::LowerLayerDown => "has no carrier: the interface below it is down",
        _ => "has no carrier",
    };
    let look = name.command(&format!("ip link show {interface}"));
    let advice = format!("set the device's end up, and look at the cable between; `{look}` shows the state");
    Failure::unreachable(format!("{name} {what}"), advice)
}

/// Copper at 1 Gbit/s takes three seconds to find its speed, at 10 Gbit/s five and more.
const CARRIER: Nanos = Nanos::from_secs(6);
const STEP: Nanos = Nanos::from_millis(50);
