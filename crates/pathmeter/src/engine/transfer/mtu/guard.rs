//! The guard: waits for its standard input to close, and puts the MTU back.

use anyhow::Context;
use linux::netlink::{HostRoute, Network, Route};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{Read, Write};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// What there was before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum OldState {
    /// An interface and its MTU.
    Interface {
        /// Its name.
        name: String,
        /// Its MTU.
        mtu: u32,
    },
    /// No routes of ours to these hosts.
    Routes(Vec<HostRoute>),
}

impl OldState {
    /// As words of a command line.
    pub(super) fn words(&self) -> Vec<String> {
        match self {
            OldState::Interface { name, mtu } => vec!["link".into(), name.clone(), mtu.to_string()],
            OldState::Routes(routes) => {
                let to = routes.iter().map(|route| route.destination.to_string());
                std::iter::once("route".to_owned()).chain(to).collect()
            }
        }
    }

    /// Reads such words; to delete a route no way is needed.
    fn read(words: &[String]) -> Option<OldState> {
        match words {
            [kind, name, mtu] if kind == "link" => {
                Some(OldState::Interface { name: name.clone(), mtu: mtu.parse().ok()? })
            }
            [kind, to @ ..] if kind == "route" => {
                let way = Route { link: 0, source: None, gateway: None, mtu: None };
                let route = |to: &String| {
                    Some(HostRoute { destination: to.parse::<IpAddr>().ok()?, way: way.clone() })
                };
                to.iter().map(route).collect::<Option<_>>().map(OldState::Routes)
            }
            _ => None,
        }
    }

    /// The command that does the same.
    pub(super) fn by_hand(&self) -> String {
        match self {
            OldState::Interface { name, mtu } => format!("ip link set {name} mtu {mtu}"),
            OldState::Routes(routes) => {
                let commands = routes.iter().map(|route| format!("ip route del {}", route.destination));
                commands.collect::<Vec<_>>().join("; ")
            }
        }
    }

    /// Makes it so again. A route that is not there needs no deleting.
    pub(super) fn put_back(&self, network: &mut Network) -> linux::Result<()> {
        match self {
            OldState::Interface { name, mtu } => network.set_mtu(name, *mtu),
            OldState::Routes(routes) => {
                let delete = |route: &HostRoute| match network.delete_host_route(route) {
                    Err(e) if e.errno() == Some(NO_SUCH_ROUTE) => Ok(()),
                    other => other,
                };
                routes.iter().map(delete).fold(Ok(()), linux::Result::and)
            }
        }
    }
}

/// Waits, and puts back. Run as a process of its own.
///
/// # Errors
/// When the words make no sense, or the kernel refuses.
pub(crate) fn watch(words: &[String]) -> anyhow::Result<()> {
    let old = OldState::read(words).context("this command is for pathmeter itself")?;
    // Whoever ends the run by a signal may send it here too: the pipe alone says when it is over.
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::<AtomicBool>::default())?;
    }
    // Opened in time: the process that started this one may have had more rights than its end leaves.
    let mut network = Network::open()?;
    let mut out = std::io::stdout();
    writeln!(out, "{READY}").and_then(|()| out.flush()).context("tell that the guard watches")?;
    let mut rest = [0; 16];
    loop {
        match std::io::stdin().read(&mut rest) {
            Ok(0) => break,
            Err(e) if e.kind() != std::io::ErrorKind::Interrupted => break,
            _ => {}
        }
    }
    Ok(old.put_back(&mut network)?)
}

/// The hidden sub-command.
pub(crate) const COMMAND: &str = "mtu-guard";
/// What the guard says when it watches.
pub(super) const READY: &str = "watching";
/// `ESRCH`.
const NO_SUCH_ROUTE: i32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_state_is_told_in_words() {
        let link = OldState::Interface { name: "eth0".into(), mtu: 1500 };
        assert_eq!(OldState::read(&link.words()), Some(link.clone()));
        assert_eq!(link.by_hand(), "ip link set eth0 mtu 1500");
        let words = ["route", "192.0.2.1", "2001:db8::1"].map(String::from);
        let routes = OldState::read(&words).expect("they are addresses");
        assert_eq!(routes.words(), words);
        for wrong in [&["link", "eth0"][..], &["link", "eth0", "x"], &["route", "far"], &["x"], &[]] {
            let words: Vec<String> = wrong.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(OldState::read(&words), None, "{wrong:?}");
        }
    }
}
