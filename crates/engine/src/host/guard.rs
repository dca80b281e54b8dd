//! Putting back what a run changes of the host, whatever happens.
//!
//! A guard, which is this program again in a process and a group of its own, puts the old state back when its standard
//! input closes: at the end of the run, and just so when this process dies, be it by `kill -9`.

use crate::error::{Context, Failure, Kind, Result, fault};
use linux::netlink::{HostRoute, Network, Route};
use linux::nic::{Offload, set_offload};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::IpAddr;
use std::os::unix::fs::FileTypeExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The state before the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OldState {
    /// An interface and its MTU.
    Interface {
        /// Its name.
        name: String,
        /// Its MTU.
        mtu: u32,
    },
    /// No routes of ours to these hosts.
    Routes(Vec<HostRoute>),
    /// Offloads of an interface that were on.
    Offloads {
        /// Its name.
        name: String,
        /// Which.
        on: Vec<Offload>,
    },
}

/// A guard at work. Dropped, it puts the old state back.
#[derive(Debug)]
pub struct Guard {
    old: OldState,
    /// Its process, until it has done its work.
    process: Option<Child>,
}

impl Guard {
    /// Starts it, and waits until it watches.
    ///
    /// # Errors
    /// When the process cannot be started.
    pub fn start(old: OldState) -> Result<Guard> {
        let mut command = Command::new("/proc/self/exe");
        command.arg0("pathmeter").arg(COMMAND).args(old.argv());
        // A group of its own: Ctrl-C goes to all of the terminal's group.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = command.spawn().context("start the guard that puts things back")?;
        let mut ready = String::new();
        let out = process.stdout.take().context("the guard has no output")?;
        BufReader::new(out).read_line(&mut ready).context("wait for the guard that puts things back")?;
        if ready.trim() != READY {
            return Err(fault("the guard that puts things back did not start"));
        }
        Ok(Guard { old, process: Some(process) })
    }

    /// The state before the run.
    pub(crate) fn old(&self) -> &OldState {
        &self.old
    }

    /// Restores the old state.
    ///
    /// # Errors
    /// Neither the guard nor this process could restore it; the error has the command that does it by hand.
    pub fn put_back(&mut self) -> Result<()> {
        let Some(mut process) = self.process.take() else { return Ok(()) };
        drop(process.stdin.take());
        let mut errors_text = String::new();
        let read = process.stderr.take().map(|mut errors| errors.read_to_string(&mut errors_text));
        let ended = process.wait();
        if ended.is_ok_and(|status| status.success()) && read.is_none_or(|read| read.is_ok()) {
            return Ok(());
        }
        // The guard has been killed, or could not: what it did not, this process does.
        let done = Network::open().and_then(|mut network| self.old.put_back(&mut network));
        done.map_err(|e| {
            let message = format!("{} put back: {e} {}", self.old.lost(), errors_text.trim());
            let advice = Some(format!("put it back by hand: {}", self.old.by_hand()));
            Failure { kind: Kind::Fault, message, advice }.into()
        })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // An error here follows an earlier one, which is reported.
        self.put_back().ok();
    }
}

impl OldState {
    /// The arguments of a command line.
    fn argv(&self) -> Vec<String> {
        match self {
            OldState::Interface { name, mtu } => vec!["link".into(), name.clone(), mtu.to_string()],
            OldState::Routes(routes) => {
                let to = routes.iter().map(|route| route.destination.to_string());
                std::iter::once("route".to_owned()).chain(to).collect()
            }
            OldState::Offloads { name, on } => {
                let names = on.iter().map(|offload| offload.name().to_owned());
                ["offload".to_owned(), name.clone()].into_iter().chain(names).collect()
            }
        }
    }

    /// Parses such arguments; to delete a route no next hop is needed.
    fn read(argv: &[String]) -> Option<OldState> {
        match argv {
            [kind, name, mtu] if kind == "link" => {
                Some(OldState::Interface { name: name.clone(), mtu: mtu.parse().ok()? })
            }
            [kind, to @ ..] if kind == "route" => {
                let route = Route { link: 0, source: None, gateway: None, mtu: None };
                let route = |to: &String| {
                    Some(HostRoute { destination: to.parse::<IpAddr>().ok()?, route: route.clone() })
                };
                to.iter().map(route).collect::<Option<_>>().map(OldState::Routes)
            }
            [kind, name, on @ ..] if kind == "offload" => {
                let known =
                    |word: &String| Offload::ALL.iter().find(|offload| offload.name() == word).copied();
                let on = on.iter().map(known).collect::<Option<_>>()?;
                Some(OldState::Offloads { name: name.clone(), on })
            }
            _ => None,
        }
    }

    /// The subject of the error when it is not restored.
    fn lost(&self) -> &'static str {
        match self {
            OldState::Interface { .. } | OldState::Routes(_) => "the MTU was not",
            OldState::Offloads { .. } => "the offloads were not",
        }
    }

    /// The command that does the same.
    fn by_hand(&self) -> String {
        match self {
            OldState::Interface { name, mtu } => format!("ip link set {name} mtu {mtu}"),
            OldState::Routes(routes) => {
                let commands = routes.iter().map(|route| format!("ip route del {}", route.destination));
                commands.collect::<Vec<_>>().join("; ")
            }
            OldState::Offloads { name, on } => {
                let argv: Vec<String> = on.iter().map(|offload| format!("{} on", offload.name())).collect();
                format!("ethtool -K {name} {}", argv.join(" "))
            }
        }
    }

    /// Makes it so again. A route that is not there needs no deleting.
    fn put_back(&self, network: &mut Network) -> linux::Result<()> {
        match self {
            OldState::Interface { name, mtu } => network.set_mtu(name, *mtu),
            OldState::Routes(routes) => {
                let delete = |route: &HostRoute| match network.delete_host_route(route) {
                    Err(e) if e.errno() == Some(NO_SUCH_ROUTE) => Ok(()),
                    other => other,
                };
                routes.iter().map(delete).fold(Ok(()), linux::Result::and)
            }
            OldState::Offloads { name, on } => {
                on.iter().map(|offload| set_offload(name, *offload, true)).fold(Ok(()), linux::Result::and)
            }
        }
    }
}

/// Waits, and puts back. Run as a process of its own.
///
/// # Errors
/// When the words make no sense, or the kernel refuses.
pub fn watch(argv: &[String]) -> Result<()> {
    let input = std::fs::metadata("/proc/self/fd/0").context("look at standard input")?;
    let old = OldState::read(argv).filter(|_| input.file_type().is_fifo()).ok_or_else(|| {
        Failure::usage(
            "this command is for pathmeter itself, which starts it with a pipe",
            "it needs no starting: whatever changes an MTU or an offload has it put back",
        )
    })?;
    // A signal that ends the run may reach this process too: the pipe alone marks its end.
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::<AtomicBool>::default())?;
    }
    // Opened in time: the process that started this one may have had more rights than its end leaves.
    let mut network = Network::open()?;
    let mut out = std::io::stdout();
    writeln!(out, "{READY}").and_then(|()| out.flush()).context("report that the guard watches")?;
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
pub(crate) const COMMAND: &str = "guard";
/// The guard's message once it watches.
const READY: &str = "watching";
/// `ESRCH`.
const NO_SUCH_ROUTE: i32 = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_state_is_reported_in_words() {
        let link = OldState::Interface { name: "eth0".into(), mtu: 1500 };
        assert_eq!(OldState::read(&link.argv()), Some(link.clone()));
        assert_eq!(link.by_hand(), "ip link set eth0 mtu 1500");
        let argv = ["route", "192.0.2.1", "2001:db8::1"].map(String::from);
        let routes = OldState::read(&argv).expect("they are addresses");
        assert_eq!(routes.argv(), argv);
        let offloads = OldState::Offloads { name: "eth0".into(), on: vec![Offload::Tso, Offload::Gro] };
        assert_eq!(OldState::read(&offloads.argv()), Some(offloads.clone()));
        assert_eq!(offloads.by_hand(), "ethtool -K eth0 tso on gro on");
        for wrong in [
            &["offload", "eth0", "x"][..],
            &["link", "eth0"],
            &["link", "eth0", "x"],
            &["route", "far"],
            &["x"],
            &[],
        ] {
            let argv: Vec<String> = wrong.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(OldState::read(&argv), None, "{wrong:?}");
        }
    }
}
