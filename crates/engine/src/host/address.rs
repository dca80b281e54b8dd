//! From a host's name to the one address that will be used.

use crate::error::Failure;
use std::io;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

/// Which addresses may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// The first that the resolver gives.
    Any,
    /// IPv4, because of this option.
    V4(&'static str),
    /// IPv6, because of this option.
    V6(&'static str),
}

impl Family {
    /// The family that `-4`, `-6` or else the address of `--bind` leaves.
    pub fn chosen(ipv4: bool, ipv6: bool, bind: Option<IpAddr>) -> Family {
        match (ipv4, ipv6, bind) {
            (true, _, _) => Family::V4("-4"),
            (_, true, _) => Family::V6("-6"),
            (_, _, Some(IpAddr::V4(_))) => Family::V4("an IPv4 address to bind to"),
            (_, _, Some(IpAddr::V6(_))) => Family::V6("an IPv6 address to bind to"),
            (false, false, None) => Family::Any,
        }
    }

    /// The family of a local address to bind to.
    pub(crate) fn of_bind(address: IpAddr) -> Family {
        Family::chosen(false, false, Some(address))
    }

    fn admits(self, address: SocketAddr) -> bool {
        match self {
            Family::Any => true,
            Family::V4(_) => address.is_ipv4(),
            Family::V6(_) => address.is_ipv6(),
        }
    }

    fn name_and_reason(self) -> (&'static str, &'static str) {
        match self {
            Family::Any => ("IP", "no option"),
            Family::V4(reason) => ("IPv4", reason),
            Family::V6(reason) => ("IPv6", reason),
        }
    }
}

/// The first address of a host that the family admits. Asks the system's resolver, which has its own deadline.
///
/// # Errors
/// `Kind::Unreachable` when the name does not resolve, or has no address of the family; `Kind::Usage` when the host is an
/// address of the other family.
pub fn lookup(host: &str, port: u16, family: Family) -> Result<SocketAddr, Failure> {
    // inet_aton(3) reads a bare number as an address: `5210` is 0.0.20.90 to the resolver.
    if !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_digit()) {
        let advice = format!("a port is written HOST:{host}, or -p {host}");
        return Err(Failure::usage(format!("`{host}` is a number and no host"), advice));
    }
    let addresses: Vec<SocketAddr> =
        (host, port).to_socket_addrs().map_err(|error| not_found(host, &error))?.collect();
    first(host, &addresses, family)
}

/// The first of a host's addresses that the family admits.
pub(crate) fn first(host: &str, addresses: &[SocketAddr], family: Family) -> Result<SocketAddr, Failure> {
    let admitted = addresses.iter().copied().find(|&address| family.admits(address));
    admitted.ok_or_else(|| none_left(host, addresses, family))
}

fn not_found(host: &str, error: &io::Error) -> Failure {
    let reason = error.to_string();
    let reason = reason.strip_prefix("failed to lookup address information: ").unwrap_or(&reason);
    Failure::unreachable(
        format!("resolve {host}: {reason}"),
        format!("check the spelling, ask `getent hosts {host}`, or give the address itself"),
    )
}

fn none_left(host: &str, addresses: &[SocketAddr], family: Family) -> Failure {
    let (name, reason) = family.name_and_reason();
    if host.parse::<IpAddr>().is_ok() {
        return Failure::usage(
            format!("{host} is not an {name} address, which {reason} requires"),
            format!("drop {reason}, or give the host's {name} address"),
        );
    }
    let found = match addresses {
        [] => "no address at all".to_owned(),
        _ => addresses.iter().map(|address| address.ip().to_string()).collect::<Vec<_>>().join(", "),
    };
    Failure::unreachable(
        format!("resolve {host}: it has no {name} address, as {reason} demands; it has {found}"),
        format!("drop {reason}, or give the host's {name} address"),
    )
}
