//! State of a real interface of this host before a lab took it, and its restoration.

use crate::error::LabError;
use linux::netlink::Network;
use linux::process::{own_pid, started_at};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// State of an interface before it was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Its name on the host.
    pub(crate) name: String,
    /// Its name in the lab.
    pub(crate) inside: String,
    mtu: u32,
    mac: Option<[u8; 6]>,
    is_up: bool,
    addresses: Vec<(IpAddr, u8)>,
    pid: u32,
    started: u64,
}

impl Record {
    /// Whether the process that took it lives.
    pub(crate) fn is_away(&self) -> bool {
        started_at(self.pid) == Some(self.started)
    }

    /// Makes an interface that is back what it was.
    pub(crate) fn restore(&self, network: &mut Network) -> linux::Result<()> {
        if let Some(mac) = self.mac {
            network.set_mac(&self.name, mac)?;
        }
        network.set_mtu(&self.name, self.mtu)?;
        if !self.is_up {
            return Ok(());
        }
        network.set_up(&self.name)?;
        for (address, prefix) in &self.addresses {
            match network.add_address(&self.name, *address, *prefix) {
                Err(error) if error.source.kind() != std::io::ErrorKind::AlreadyExists => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

/// Restores an interface of a lab that was killed, where the kernel has returned it; returns whether it is there.
pub(crate) fn put_back(record: &Record) -> linux::Result<bool> {
    let mut network = Network::open()?;
    let links = network.links()?;
    // A driver's own address distinguishes it from a later interface of the same name.
    let same = |link: &&linux::netlink::Link| record.mac.is_none() || link.mac == record.mac;
    let found = [&record.name, &record.inside]
        .into_iter()
        .find_map(|name| links.iter().filter(same).find(|link| &link.name == name));
    let Some(link) = found else { return Ok(false) };
    if link.name != record.name {
        network.set_down(&link.name)?;
        network.set_name(&link.name, &record.name)?;
    }
    record.restore(&mut network)?;
    Ok(true)
}

/// The state of an interface that may be taken, in the network of the calling thread.
pub(crate) fn look_up(network: &mut Network, name: &str, inside: &str) -> Result<Record, LabError> {
    let refused = |why: String| LabError::Interface { interface: name.to_owned(), why };
    let links = network.links()?;
    let Some(link) = links.iter().find(|link| link.name == name) else {
        let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
        // An ordinary user's lab is built in a user namespace, whose network has nothing else.
        let advice = if names == ["lo"] { ": only root can take interfaces into a lab" } else { "" };
        return Err(refused(format!("there is none of that name, but {}{advice}", names.join(", "))));
    };
    if link.is_loopback {
        return Err(refused("the loopback leads nowhere".into()));
    }
    if link.master.is_some() {
        return Err(refused("it is part of a bridge or bond: take it out of there first".into()));
    }
    // The lookup is of routes only: nothing is sent.
    let carries_default = [IpAddr::V4(ANY_HOST_V4), IpAddr::V6(ANY_HOST_V6)]
        .into_iter()
        .any(|far| network.route_to(far).is_ok_and(|route| route.link == link.index));
    if carries_default {
        return Err(refused(
            "this host's default route leads over it: the host would lose its network".into(),
        ));
    }
    let all = network.addresses()?;
    let addresses = all.iter().filter(|entry| entry.link == link.index && entry.is_lasting);
    let pid = own_pid()?;
    Ok(Record {
        name: name.to_owned(),
        inside: inside.to_owned(),
        mtu: link.mtu,
        mac: link.mac,
        is_up: link.is_up,
        addresses: addresses.map(|entry| (entry.address, entry.prefix)).collect(),
        pid,
        started: started_at(pid).unwrap_or_default(),
    })
}

/// Public addresses, so that the path to them is the default route.
const ANY_HOST_V4: Ipv4Addr = Ipv4Addr::new(8, 8, 8, 8);
const ANY_HOST_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0x4860, 0x4860, 0, 0, 0, 0, 0x8888);
