//! The sockets that servers listen on, and what helps where one cannot be had.

use crate::error::{Failure, Result};
use linux::socket::{TcpOptions, UdpOptions, has_mptcp, tcp_listen, udp_bind};
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, TcpListener, UdpSocket};

/// Listens on one TCP port, on every address when none is given.
pub(super) fn listen(bind: Option<IpAddr>, port: u16) -> Result<TcpListener> {
    listen_with(bind, port, &TcpOptions::default())
}

/// The same, for Multipath TCP, too, where the kernel has it: plain connections stay what they are.
pub(super) fn listen_multipath(bind: Option<IpAddr>, port: u16) -> Result<TcpListener> {
    listen_with(bind, port, &TcpOptions { mptcp: has_mptcp(), ..TcpOptions::default() })
}

fn listen_with(bind: Option<IpAddr>, port: u16, options: &TcpOptions) -> Result<TcpListener> {
    let listener = tcp_listen(address(bind, port), options, BACKLOG);
    listener.map_err(|error| refused("port", "ltnp", port, &error).into())
}

/// A UDP socket on one port, on every address when none is given.
pub(super) fn datagrams(bind: Option<IpAddr>, port: u16) -> Result<UdpSocket> {
    let socket = udp_bind(address(bind, port), &UdpOptions::default());
    socket.map_err(|error| refused("UDP port", "lunp", port, &error).into())
}

fn address(bind: Option<IpAddr>, port: u16) -> SocketAddr {
    SocketAddr::new(bind.unwrap_or(Ipv6Addr::UNSPECIFIED.into()), port)
}

fn refused(what: &str, ss: &str, port: u16, error: &linux::OsError) -> Failure {
    let advice = match error.source.kind() {
        ErrorKind::AddrInUse => {
            format!(
                "another program has the port, `ss -{ss} sport = :{port}` shows which; or give another port"
            )
        }
        ErrorKind::AddrNotAvailable => {
            "this host has no such address: `ip address` lists those it has".into()
        }
        ErrorKind::PermissionDenied => "ports below 1024 need root; an option has its port behind it, such as --stamp=8620 or --twamp=8621".into(),
        _ => "give another port, or another address with --bind".into(),
    };
    Failure::usage(format!("listen on {what} {port}: {error}"), advice)
}

const BACKLOG: u16 = 512;
