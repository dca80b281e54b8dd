//! The interfaces that a server sends frames out of and counts them on, for clients that ask: those its operator named, each
//! for one session at a time.

use super::super::local::{LocalOptions, LocalPort};
use super::super::safety::{self, Exposure};
use super::super::spec::PortSpec;
use crate::error::{Failure, advice, sentence};
use anyhow::Context;
use linux::frames::Stop;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use wire::native::Refusal;
use wire::native::frames::FramesWish;

/// What is offered.
#[derive(Debug, Default)]
pub struct Offers {
    ports: Vec<Offer>,
    /// Frames may go to any address.
    anywhere: bool,
}

#[derive(Debug)]
struct Offer {
    port: PortSpec,
    taken: AtomicBool,
}

/// An interface for one session; free again when dropped.
#[derive(Debug)]
pub(super) struct Claim {
    offers: Arc<Offers>,
    place: usize,
}

impl Offers {
    /// Offers these interfaces, after a look at each. `anywhere`: frames may go to any address.
    ///
    /// # Errors
    /// `Kind::Usage` for an interface that is not there, is named twice, or carries other traffic; `Kind::Unreachable` for
    /// one that cannot be used: it is down, or there is no privilege.
    pub fn new(ports: &[PortSpec], anywhere: bool) -> anyhow::Result<Offers> {
        let mut offers = Offers { ports: Vec::new(), anywhere };
        for port in ports {
            if port.host.is_some() {
                let what = format!("--frames-port {port} names another host");
                return Err(Failure::usage(
                    what,
                    format!("run `pathmeter serve --frames-port {}` there", port.at_its_host()),
                )
                .into());
            }
            if offers.ports.iter().any(|offer| offer.port == *port) {
                let what = format!("--frames-port {port} is given twice");
                return Err(Failure::usage(what, "name each interface once").into());
            }
            let open = offers.look_at(port);
            open.with_context(|| format!("--frames-port {port}"))?;
            offers.ports.push(Offer { port: port.clone(), taken: AtomicBool::new(false) });
        }
        Ok(offers)
    }

    /// Opens an interface and closes it again; tells what could be disturbed.
    fn look_at(&self, port: &PortSpec) -> anyhow::Result<()> {
        let options = LocalOptions { name: Some(port.clone()), ..LocalOptions::default() };
        let opened = LocalPort::open(port.open_namespace()?, &port.interface, &options)?;
        self.check(opened.exposure(), &[])
    }

    /// RFC 6815, in the words of a server.
    fn check(&self, exposure: &Exposure, addresses: &[IpAddr]) -> anyhow::Result<()> {
        let checked = safety::check(&[exposure], addresses, self.anywhere);
        checked.map(drop).map_err(|error| Failure::usage(sentence(&error), ANYWHERE).into())
    }

    /// The interface of this name, for one session.
    pub(super) fn claim(self: &Arc<Self>, name: &str) -> Result<Claim, Refusal> {
        let Some(place) = self.ports.iter().position(|offer| offer.port.to_string() == name) else {
            return Err(self.not_offered(name));
        };
        if self.ports[place].taken.swap(true, Ordering::AcqRel) {
            let what = format!("another client has {name} at present");
            return Err(refusal("busy", what, "try again later"));
        }
        Ok(Claim { offers: self.clone(), place })
    }

    fn not_offered(&self, name: &str) -> Refusal {
        let offered: Vec<String> = self.ports.iter().map(|offer| offer.port.to_string()).collect();
        let what = match offered.is_empty() {
            true => format!("this server sends and counts frames on no interface, {name} included"),
            false => format!("this server does not offer {name}, but {}", offered.join(", ")),
        };
        refusal("unsupported", what, format!("start it with `pathmeter serve --frames-port {name}`"))
    }
}

impl Claim {
    /// Opens the interface as it is wished for. `stop` ends what is being sent.
    ///
    /// # Errors
    /// As [`LocalPort::open`]; an address that is wished for is a public one.
    pub(super) fn open(&self, wish: &FramesWish, stop: &Stop) -> anyhow::Result<LocalPort> {
        let port = &self.offers.ports[self.place].port;
        let all = [&wish.addressing, &wish.fallback];
        let given: Vec<IpAddr> =
            all.iter().flat_map(|these| these.addresses.iter().map(|(address, _)| *address)).collect();
        self.check(&given)?;
        let options = LocalOptions {
            name: Some(port.clone()),
            cpu: self.cpu(),
            addressing: super::words::addressing_in(&wish.addressing),
            fallback: super::words::addressing_in(&wish.fallback),
            is_lab: false,
            stop: stop.clone(),
        };
        LocalPort::open(port.open_namespace()?, &port.interface, &options)
    }

    /// Whether frames may go to these addresses.
    ///
    /// # Errors
    /// They are public ones, and the operator did not say that they may be sent to.
    pub(super) fn check(&self, addresses: &[IpAddr]) -> anyhow::Result<()> {
        // The interface itself was looked at when it was offered.
        self.offers.check(&Exposure::default(), addresses)
    }

    /// A CPU for the generator, another one for each interface: the last ones, as interrupts are on the first.
    fn cpu(&self) -> Option<u32> {
        let cpus = linux::cpu::affinity().ok()?;
        let from_the_last = self.place % cpus.len().max(1);
        cpus.iter().rev().nth(from_the_last).and_then(|cpu| u32::try_from(*cpu).ok())
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        self.offers.ports[self.place].taken.store(false, Ordering::Release);
    }
}

/// A refusal for a client, with the way out.
pub(super) fn refusal(code: &str, reason: impl Into<String>, advice: impl Into<String>) -> Refusal {
    Refusal { code: code.into(), reason: reason.into(), advice: advice.into() }
}

/// An error of this end as a refusal.
pub(super) fn refused(error: &anyhow::Error) -> Refusal {
    refusal("unsupported", sentence(error), advice(error).unwrap_or_default())
}

const ANYWHERE: &str = "name an interface that leads to the device under test and nowhere else; \
                        `pathmeter serve --frames-anywhere` allows it all the same";
