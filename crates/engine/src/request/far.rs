//! The far end, and where packets leave this host.

use super::Host;
use super::check::positive;
use crate::error::Failure;
use crate::host::address::Family;
use crate::host::host_port::HostPort;
use model::plan::{LocalOptions, Target};
use model::units::{BitRate, Nanos};
use std::net::IpAddr;
use wire::native;

/// The far end and the path to it.
#[derive(Clone, Debug)]
pub struct FarEnd {
    /// Name or address, with a port or without.
    pub host: HostPort,
    /// Its port; absent: the protocol's.
    pub port: Option<u16>,
    /// Address family, source address, interface and timeout of connections to it.
    pub origin: Origin,
}

/// Where packets leave this host, and how long a connection may take to open.
#[derive(Clone, Debug)]
pub struct Origin {
    /// Which addresses of the far end may be used.
    pub family: Family,
    /// Local address to send from.
    pub bind: Option<IpAddr>,
    /// Network interface to send through.
    pub device: Option<String>,
    /// Longest wait for a connection to open, and for TLS after it.
    pub connect_timeout: Nanos,
}

impl Default for Origin {
    fn default() -> Origin {
        Origin { family: Family::Any, bind: None, device: None, connect_timeout: CONNECT_TIMEOUT }
    }
}

impl Origin {
    pub(super) fn check(&self) -> Result<(), Failure> {
        let other = match (self.family, self.bind) {
            (Family::V4(reason), Some(IpAddr::V6(address))) => Some((IpAddr::V6(address), reason)),
            (Family::V6(reason), Some(IpAddr::V4(address))) => Some((IpAddr::V4(address), reason)),
            _ => None,
        };
        if let Some((address, reason)) = other {
            return Err(Failure::usage(
                format!("--bind {address} cannot be used with {reason}: the address is of the other family"),
                "drop one of them",
            ));
        }
        positive("--connect-timeout", self.connect_timeout)
    }

    /// The requested family, or else that of the local address.
    pub(super) fn family(&self) -> Family {
        match (self.family, self.bind) {
            (Family::Any, Some(address)) => Family::of_bind(address),
            (family, _) => family,
        }
    }

    /// This end's choices. `link`: the speed of the link, where it is given.
    pub(super) fn local(&self, link: Option<BitRate>) -> LocalOptions {
        LocalOptions {
            bind: self.bind,
            device: self.device.clone(),
            connect_timeout: Some(self.connect_timeout),
            link,
            ..LocalOptions::default()
        }
    }
}

impl FarEnd {
    /// A host as people write it, reached as the routes say: `far.example`, `10.0.0.2:5210`, `[::1]:5210`. An invalid host is
    /// refused when its name is resolved.
    #[must_use]
    pub fn named(host: &str) -> FarEnd {
        let host = host.parse().unwrap_or_else(|_| HostPort { host: host.to_owned(), port: None });
        FarEnd { host, port: None, origin: Origin::default() }
    }

    pub(super) fn check(&self) -> Result<(), Failure> {
        if let (Some(inside), Some(port)) = (self.host.port, self.port)
            && inside != port
        {
            return Err(Failure::usage(
                format!("HOST:{inside} and --port {port} name different ports"),
                "give the port once",
            ));
        }
        self.origin.check()
    }

    /// The one address that will be used. `port` is the default.
    pub(super) fn target(&self, port: u16, host: &Host) -> Result<Target, Failure> {
        let port = self.host.port.or(self.port).unwrap_or(port);
        let address = host.address(&self.host.host, port, self.origin.family())?;
        Ok(Target { host: self.host.host.clone(), address })
    }

    /// The addresses of further hosts that are reached from the same origin.
    pub(super) fn others(&self, others: &[HostPort], host: &Host) -> Result<Vec<Target>, Failure> {
        let target = |other: &HostPort| {
            let port = other.port.unwrap_or(native::PORT);
            let address = host.address(&other.host, port, self.origin.family())?;
            Ok(Target { host: other.host.clone(), address })
        };
        others.iter().map(target).collect()
    }
}

/// A speed that is given is one.
pub(super) fn check_link(link: Option<BitRate>) -> Result<(), Failure> {
    match link {
        Some(BitRate(0)) => Err(Failure::usage("--link 0: a link has a speed", "give it as in --link 25G")),
        _ => Ok(()),
    }
}

const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(5);
