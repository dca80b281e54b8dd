//! Resetting the device in the middle of a trial (RFC 2544 section 26.6, RFC 6201).

mod command;

use super::testbed::Testbed;
use crate::error::{Failure, Kind, Result};
use lab::configure::route_spec;
use lab::topology::Node;
use linux::namespace::Namespace;
use linux::netlink::{Network, RouteSpec};
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

/// How the device is to be reset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ResetMethod {
    /// Not at all.
    #[default]
    None,
    /// The interface of a lab's device that faces the first port is taken down, and up again.
    Link,
    /// A command of the user's, run by `sh -c`. It must end with 0 within a minute.
    Command(String),
}

/// A reset that can be done.
#[derive(Debug)]
pub(crate) struct Reset {
    act: Act,
    /// The action as text; empty where there is none.
    pub(crate) description: String,
}

#[derive(Debug)]
enum Act {
    /// None, and why.
    None(String),
    Link(LinkReset),
    Command(String),
}

/// An interface that is taken down and up, and what goes with it and must be put back.
#[derive(Debug)]
struct LinkReset {
    namespace: Namespace,
    interface: String,
    routes: Vec<RouteSpec>,
    neighbours: Vec<lab::topology::Neighbour>,
}

impl Reset {
    /// Prepares it.
    ///
    /// # Errors
    /// The kernel refuses the preparation. A missing method is no error here: [`Reset::act`] returns it.
    pub(crate) fn new(direction: &ResetMethod, testbed: Option<&Testbed>) -> Result<Reset> {
        let none = |why: &str| Reset { act: Act::None(why.to_owned()), description: String::new() };
        match (direction, testbed) {
            (ResetMethod::None, _) => Ok(none("no command to reset the device was given")),
            (ResetMethod::Command(command), _) => {
                let description = format!("`{command}` was run");
                Ok(Reset { act: Act::Command(command.clone()), description })
            }
            (ResetMethod::Link, None) => Ok(none("the device is not made here")),
            (ResetMethod::Link, Some(testbed)) => {
                let Some((node, described, interface)) = testbed.device() else {
                    return Ok(none("the topology names no device under test"));
                };
                let Some(namespace) = node.namespace() else {
                    return Ok(none("the device is a virtual machine"));
                };
                let description = format!("{interface} of {} was taken down and up again", node.name);
                let link = LinkReset::new(namespace, described, interface)?;
                Ok(Reset { act: Act::Link(link), description })
            }
        }
    }

    /// Why it cannot be done; `None` where it can.
    pub(crate) fn impossible(&self) -> Option<&str> {
        let Act::None(why) = &self.act else { return None };
        Some(why)
    }

    /// Resets the device, and waits for the end of the action.
    ///
    /// # Errors
    /// `Kind::Usage` when there is no method, `Kind::Void` when the command fails or does not end in a minute.
    pub(crate) fn act(&self) -> Result<()> {
        match &self.act {
            Act::None(why) => {
                let message = format!("the device cannot be reset: {why}");
                let advice = "give --reset-command COMMAND, or leave the test of reset out";
                Err(Failure::usage(message, advice).into())
            }
            Act::Link(link) => link.act(),
            Act::Command(command) => command::run(command, TIMEOUT),
        }
    }
}

impl LinkReset {
    /// An interface that goes down loses its IPv6 addresses unless it is configured to keep them.
    fn new(namespace: &Namespace, node: &Node, interface: &str) -> Result<LinkReset> {
        if Path::new("/proc/sys/net/ipv6").exists() {
            namespace.set_sysctl(&format!("net/ipv6/conf/{interface}/keep_addr_on_down"), "1")?;
        }
        let neighbours = node.neighbours.iter().filter(|neighbour| neighbour.device == interface);
        Ok(LinkReset {
            namespace: namespace.run(Namespace::current)??,
            interface: interface.to_owned(),
            routes: node.routes.iter().map(route_spec).collect(),
            neighbours: neighbours.cloned().collect(),
        })
    }

    /// Routes and neighbours that went with the interface come back as they were; those that stayed are there already.
    fn act(&self) -> Result<()> {
        let around = || -> linux::Result<()> {
            let mut network = Network::open()?;
            network.set_down(&self.interface)?;
            std::thread::sleep(DOWN);
            network.set_up(&self.interface)?;
            for route in &self.routes {
                match network.add_route_spec(route) {
                    Err(error) if error.source.kind() != ErrorKind::AlreadyExists => return Err(error),
                    _ => {}
                }
            }
            for neighbour in &self.neighbours {
                network.add_neighbour(&neighbour.device, neighbour.address, neighbour.mac)?;
            }
            Ok(())
        };
        self.namespace.run(around)?.map_err(|error| {
            let message = format!("the device was not reset: {error}");
            Failure { kind: Kind::Void, message, advice: None }.into()
        })
    }
}

/// Long enough that every queue behind the interface has run empty.
const DOWN: Duration = Duration::from_millis(100);
const TIMEOUT: Duration = Duration::from_secs(60);
