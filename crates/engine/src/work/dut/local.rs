//! A port on this host: an interface of a network namespace, with a thread in it that sends and a sink that counts.
//!
//! Frames that a sink of `AF_PACKET` counts reach the host's own stack too, which answers a datagram to a closed UDP port with
//! ICMP. The kernel sends at most one of these a second to each host (`icmp_ratelimit`: icmp(7)), and no sink counts them, so
//! they are let be. The other sinks take the frames before the stack.

mod addresses;
mod interface;
mod kinds;
mod next_hop;
mod sender;

pub(crate) use addresses::{bridged, is_for_benchmarks, routed, shared_bits};
#[cfg(feature = "device")]
pub(crate) use addresses::{ipv4, ipv6};

use super::port::{Counted, Port};
use super::safety::Exposure;
use super::spec::PortSpec;
use crate::error::{Context, Error, Failure, Result, fault};
use addresses::{Added, left_behind};
use frames::{Burst, FrameSpec, Sent, Sink, Stop, Watch, open_sink};
use interface::Interface;
use kinds::Kinds;
use linux::clock::mono_now;
use linux::namespace::Namespace;
use model::dut::{PortFacts, SinkKind, SourceKind};
use sender::Sender;
use std::io::ErrorKind;
use std::net::IpAddr;
use std::sync::Arc;
use wire::native::frames::Addressing;

/// How a port is set up; the default leaves the interface as it is.
#[derive(Clone, Debug, Default)]
pub(crate) struct LocalOptions {
    /// The port as the user names it. Its namespace is named in commands that errors propose.
    pub(crate) name: Option<PortSpec>,
    /// The CPU that its sending thread is pinned to.
    pub(crate) cpu: Option<u32>,
    /// Addresses that the interface gets in any case.
    pub(crate) addressing: Addressing,
    /// Addresses that it gets in a family of which it has none, unless others use them.
    pub(crate) fallback: Addressing,
    /// The namespace is of a lab of ours: nothing else is there that could be disturbed.
    pub(crate) is_lab: bool,
    /// Ends what is being sent.
    pub(crate) stop: Stop,
}

/// An interface of this host.
#[derive(Debug)]
pub(crate) struct LocalPort {
    namespace: Arc<Namespace>,
    interface: Interface,
    kinds: Kinds,
    /// The hosts that could be disturbed through this port: for [`super::safety::check`].
    pub(crate) exposure: Exposure,
    cpu: Option<u32>,
    stop: Stop,
    gateways: Vec<IpAddr>,
    sending: Option<Sender>,
    counting: Option<Counting>,
    /// The last to go: until then the addresses are needed.
    added: Added,
}

/// A running count, and its highest number.
struct Counting {
    sink: Box<dyn Sink>,
    frames: u64,
}

impl LocalPort {
    /// Opens the interface of this name in a namespace.
    ///
    /// # Errors
    /// `Kind::Usage` where there is no such interface or it is none of Ethernet; `Kind::Unreachable` where it is down or
    /// without carrier, or this process has no privilege for it: with the command that fixes it.
    pub(crate) fn open(namespace: Namespace, interface: &str, options: &LocalOptions) -> Result<LocalPort> {
        let name = options.name.clone().unwrap_or_else(|| PortSpec::here(interface));
        let inside = || -> Result<_> {
            let mut interface = Interface::open(interface, &name)?;
            let left = left_behind(&interface)?;
            interface.nic.addresses.retain(|address| !left.contains(address));
            let kinds = Kinds::from_interface(&interface)?;
            let exposure = Exposure::from_nic(&interface.nic, &name, options.is_lab)?;
            // Nothing is added unasked to what others use.
            let none = Addressing::default();
            let fallback = if exposure.is_live() { &none } else { &options.fallback };
            let added = Added::to(&interface, &options.addressing, fallback)?;
            Ok((interface, kinds, exposure, added))
        };
        let (mut interface, kinds, exposure, mut added) =
            namespace.run(inside).map_err(|error| not_entered(error, &name))??;
        interface.nic.addresses.extend(added.addresses());
        Ok(LocalPort {
            namespace: Arc::new(namespace),
            interface,
            kinds,
            exposure,
            cpu: options.cpu,
            stop: options.stop.clone(),
            gateways: added.take_gateways(),
            sending: None,
            counting: None,
            added,
        })
    }

    /// Changes to the interface for the test, in sentences.
    pub(crate) fn notes(&self) -> &[String] {
        &self.added.notes
    }
}

impl Port for LocalPort {
    fn facts(&self) -> PortFacts {
        let nic = &self.interface.nic;
        PortFacts {
            name: self.interface.name.to_string(),
            driver: nic.driver.clone(),
            link: nic.speed,
            mtu: nic.link.mtu,
            addresses: nic.addresses.clone(),
            cpu: self.cpu,
            // Whether it speaks for one is known to who sends through it.
            tunnel: None,
        }
    }

    fn mac(&self) -> [u8; 6] {
        self.interface.mac
    }

    fn addresses(&self) -> Vec<IpAddr> {
        self.interface.nic.addresses.clone()
    }

    fn next_hop(&mut self, to: IpAddr) -> Result<[u8; 6]> {
        let gateway = self.gateways.iter().find(|gateway| gateway.is_ipv4() == to.is_ipv4()).copied();
        self.namespace.run(|| next_hop::find(&self.interface, gateway, to, &self.stop))?
    }

    fn sources(&self) -> Vec<SourceKind> {
        self.kinds.sources()
    }

    fn sinks(&self) -> Vec<SinkKind> {
        self.kinds.sinks()
    }

    fn count(&mut self, kind: SinkKind, spec: &FrameSpec, frames: u64, watch: Watch) -> Result<()> {
        // An interface has room for one XDP program.
        self.counting = None;
        let index = self.interface.nic.link.index;
        let open = || open_sink(kind, spec, frames, watch, index);
        let sink = self.namespace.run(open)?.with_context(|| format!("count on {}", self.interface.name))?;
        self.counting = Some(Counting { sink, frames });
        Ok(())
    }

    fn arrived(&self) -> Option<u64> {
        Some(self.counting.as_ref()?.sink.arrived().ok()?.distinct())
    }

    fn counted(&mut self) -> Result<Counted> {
        let Counting { sink, frames } = self.counting.take().context("nothing is being counted")?;
        let (arrived, at) = (sink.arrived()?, mono_now());
        // Looked for word by word, which takes long for millions: not where all have come.
        let all = arrived.distinct() >= frames;
        let last_missing = if all { None } else { sink.last_missing(frames)? };
        Ok(Counted { arrived, last_missing, at })
    }

    fn send(&mut self, kind: SourceKind, spec: &FrameSpec, burst: &Burst) -> Result<()> {
        if self.sending.is_some() {
            return Err(fault(format!("{} is sending already", self.interface.name)));
        }
        if self.stop.is_raised() {
            return Err(fault(format!("{} was asked to stop", self.interface.name)));
        }
        let job = sender::SenderJob {
            namespace: self.namespace.clone(),
            interface: self.interface.nic.link.index,
            cpu: self.cpu,
            kind,
            spec: spec.clone(),
            burst: *burst,
        };
        self.sending = Some(job.start().with_context(|| format!("send out of {}", self.interface.name))?);
        Ok(())
    }

    fn sent(&mut self) -> Result<Sent> {
        let sender = self.sending.take().context("nothing is being sent")?;
        sender.finish(&self.stop).with_context(|| format!("send out of {}", self.interface.name))
    }

    fn is_here(&self) -> bool {
        true
    }
}

/// Why the namespace of this port cannot be entered.
fn not_entered(error: linux::OsError, name: &PortSpec) -> Error {
    match error.source.kind() {
        ErrorKind::PermissionDenied => Failure::usage(
            format!("{name}: {error}"),
            "run it as root (sudo): only CAP_SYS_ADMIN lets a process into another network namespace",
        )
        .into(),
        _ => error.into(),
    }
}

impl std::fmt::Debug for Counting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Counting").field("kind", &self.sink.kind()).field("frames", &self.frames).finish()
    }
}

#[cfg(test)]
mod tests;
