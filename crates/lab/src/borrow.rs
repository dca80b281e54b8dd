//! Real interfaces of this host in a lab: taken with their name, MTU, hardware address and addresses, and returned with the same.
//!
//! While an interface is in a lab, a file beside those of the labs records its former state. When a lab is killed the kernel
//! returns a physical interface to the host by itself, under the name it had in the lab and without addresses; [`put_back_all`]
//! restores the rest. A virtual one (veth, VLAN, …) is destroyed with the lab's namespace: the kernel does that, so virtual
//! interfaces are accepted and `docs/lab.md` has a warning.

use crate::error::LabError;
use crate::real::{Record, look_up};
use crate::state::Directory;
use linux::namespace::Namespace;
use linux::netlink::Network;
use std::thread;
use std::time::Duration;

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

/// Restores interfaces after a lab was killed. The kernel returns them soon after, not at once.
pub(crate) fn put_back_all() {
    let Ok(directory) = Directory::existing() else { return };
    for _ in 0..RETURNS {
        match directory.put_back_interfaces() {
            Ok(true) | Err(_) => return,
            Ok(false) => thread::sleep(A_MOMENT),
        }
    }
}

const RETURNS: u32 = 100;
const A_MOMENT: Duration = Duration::from_millis(50);
