//! Real interfaces of this host in a lab: taken with their name, MTU, hardware address and addresses, and given back so.
//!
//! While one is away a file beside those of the labs tells what it was. When a lab is killed the kernel returns a physical
//! interface to the host by itself, under the name it had in the lab and without addresses; [`put_back`] does the rest. A
//! virtual one (veth, VLAN, …) is destroyed with the lab's namespace: that is the kernel's rule, and why it is refused
//! nowhere but told in `docs/lab.md`.

use crate::error::LabError;
use crate::state::Directory;
use linux::namespace::Namespace;
use linux::netlink::Network;
use linux::process::{own_pid, started_at};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::thread;
use std::time::Duration;

/// What an interface was before it was taken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Its name on the host.
    pub(crate) name: String,
    inside: String,
    mtu: u32,
    mac: Option<[u8; 6]>,
    is_up: bool,
    addresses: Vec<(IpAddr, u8)>,
    pid: u32,
    started: u64,
}

/// An interface of the host that is in a lab until this value is dropped.
#[derive(Debug)]
pub(crate) struct Borrowed {
    record: Record,
    home: Namespace,
    node: Namespace,
    directory: Directory,
}

impl Borrowed {
    /// Takes an interface of the calling thread's namespace into a node, under the name `inside`.
    pub(crate) fn take(name: &str, inside: &str, node: &Namespace) -> Result<Self, LabError> {
        let mut network = Network::open()?;
        let record = look_up(&mut network, name, inside)?;
        let directory = Directory::open()?;
        directory.write_borrowed(&record)?;
        let home = Namespace::current()?;
        let node = node.run(Namespace::current)??;
        network.set_down(name)?;
        network.move_link(name, &node)?;
        // From here on it is given back, whatever comes.
        let borrowed = Self { record, home, node, directory };
        if name != inside {
            borrowed.node.run(|| Network::open()?.set_name(name, inside))??;
        }
        Ok(borrowed)
    }

    fn give_back(&self) -> linux::Result<()> {
        let Record { name, inside, .. } = &self.record;
        self.node.run(|| {
            let mut network = Network::open()?;
            network.set_down(inside)?;
            if name != inside {
                network.set_name(inside, name)?;
            }
            network.move_link(name, &self.home)
        })??;
        self.home.run(|| self.record.restore(&mut Network::open()?))?
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        // One that does not come back is found by the sweep: its file stays.
        if self.give_back().is_ok() {
            let _ = self.directory.remove_borrowed(&self.record.name);
        }
    }
}

impl Record {
    /// Whether the process that took it lives.
    pub(crate) fn is_away(&self) -> bool {
        started_at(self.pid) == Some(self.started)
    }

    /// Makes an interface that is back what it was.
    fn restore(&self, network: &mut Network) -> linux::Result<()> {
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

/// Makes an interface of a lab that was killed what it was, where the kernel has returned it; says whether it is there.
pub(crate) fn put_back(record: &Record) -> linux::Result<bool> {
    let mut network = Network::open()?;
    let links = network.links()?;
    // A driver's own address tells it from a later interface of the same name.
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

/// What is left to do for interfaces when a lab was killed. The kernel returns them soon after, not at once.
pub(crate) fn put_back_all() {
    let Ok(directory) = Directory::existing() else { return };
    for _ in 0..RETURNS {
        match directory.put_back_interfaces() {
            Ok(true) | Err(_) => return,
            Ok(false) => thread::sleep(A_MOMENT),
        }
    }
}

fn look_up(network: &mut Network, name: &str, inside: &str) -> Result<Record, LabError> {
    let refused = |why: String| LabError::Interface { interface: name.to_owned(), why };
    let links = network.links()?;
    let Some(link) = links.iter().find(|link| link.name == name) else {
        let names: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
        // An ordinary user's lab is built in a user namespace, whose network has nothing else.
        let way_out = if names == ["lo"] { ": only root can take interfaces into a lab" } else { "" };
        return Err(refused(format!("there is none of that name, but {}{way_out}", names.join(", "))));
    };
    if link.is_loopback {
        return Err(refused("the loopback leads nowhere".into()));
    }
    if link.master.is_some() {
        return Err(refused("it is part of a bridge or bond: take it out of there first".into()));
    }
    // Asked of the routes only: nothing is sent.
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

const RETURNS: u32 = 100;
const A_MOMENT: Duration = Duration::from_millis(50);
/// Hosts in nobody's own network, so that the way to them is the default one.
const ANY_HOST_V4: Ipv4Addr = Ipv4Addr::new(8, 8, 8, 8);
const ANY_HOST_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 0x4860, 0x4860, 0, 0, 0, 0, 0x8888);
