//! Opening sockets: TCP connections with a deadline, listeners and UDP sockets of one or both address families.

use crate::clock::mono_now;
use crate::error::{Named, OsError, Rejection, Result};
use crate::error_queue::{self, NetworkError, Origin, QueueEntry};
use crate::message;
use crate::options::{self, MtuDiscovery, Opt, describe};
use crate::poll::{Interest, Waker, wait};
use crate::sockaddr;
use rustix::net::{self, AddressFamily, Protocol, SocketFlags, SocketType, ipproto};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, TcpListener, TcpStream, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use units::{Bytes, Nanos};

/// How a TCP socket is to be set up; the default leaves everything to the system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// The local address to connect from.
    pub local_address: Option<IpAddr>,
    /// The local port to connect from.
    pub local_port: Option<u16>,
    /// The network device to use.
    pub device: Option<String>,
    /// The maximum segment size to announce.
    pub mss: Option<Bytes>,
    /// A fixed send buffer instead of the automatic one.
    pub send_buffer: Option<Bytes>,
    /// A fixed receive buffer (window) instead of the automatic one.
    pub recv_buffer: Option<Bytes>,
    /// The congestion control.
    pub congestion: Option<String>,
    /// The type-of-service byte, or traffic class.
    pub tos: Option<u8>,
    /// Send small writes at once.
    pub nodelay: bool,
    /// The IPv6 flow label of a connection.
    pub flow_label: Option<u32>,
    /// How long sent data may stay unacknowledged.
    pub user_timeout: Option<Nanos>,
    /// Use multipath TCP (RFC 8684), where the kernel has it.
    pub mptcp: bool,
    /// A listener on `[::]` shall refuse IPv4.
    pub v6_only: bool,
}

/// How a UDP socket is to be set up; the default leaves everything to the system.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UdpOptions {
    /// Other sockets may bind the same port, as [`udp_bind`] describes.
    pub reuse_address: bool,
    /// The network device to use.
    pub device: Option<String>,
    /// The type-of-service byte, or traffic class.
    pub tos: Option<u8>,
    /// The receive buffer to request; [`options::recv_buffer`] returns the effective size.
    pub recv_buffer: Option<Bytes>,
    /// The send buffer to ask for.
    pub send_buffer: Option<Bytes>,
    /// Handling of the path MTU by the socket; [`MtuDiscovery::Do`] never fragments.
    pub mtu_discovery: Option<MtuDiscovery>,
    /// A socket on `[::]` shall refuse IPv4.
    pub v6_only: bool,
}

/// Connects to `remote`, for at most `timeout`. The stream returned is blocking and closed on exec.
///
/// All options are set before the first packet leaves.
///
/// # Errors
/// The option or the connection refused, by name; `ETIMEDOUT` when `timeout` passed.
pub fn tcp_connect(remote: SocketAddr, options: &TcpOptions, timeout: Nanos) -> Result<TcpStream> {
    tcp_connect_until(remote, options, timeout, None)
}

/// Connects as [`tcp_connect`] does, unless `stop` is signalled first.
///
/// # Errors
/// Those of [`tcp_connect`]; `ECANCELED` when it was stopped.
pub fn tcp_connect_until(
    remote: SocketAddr,
    options: &TcpOptions,
    timeout: Nanos,
    stop: Option<&Waker>,
) -> Result<TcpStream> {
    let fd = open_tcp(remote, options)?;
    let target = labelled(&fd, remote, options.flow_label)?;
    bind_local(&fd, remote, options)?;
    // The ICMP message shows whether a router or the far host refuses the connection, and why. Where the kernel does not report
    // it, the error number is used.
    options::set_receive_errors(&fd, true).ok();
    connect_within(fd.as_fd(), target, timeout, stop)
        .named("connect to", || format!("tcp {remote}"))
        .map_err(|error| OsError { rejection: rejection(&fd), ..error })?;
    // An open connection bears such messages, as they may be forged.
    options::set_receive_errors(&fd, false).ok();
    let stream = TcpStream::from(fd);
    stream.set_nonblocking(false).named("make blocking", || describe(&stream))?;
    Ok(stream)
}

/// Whether a connection was not opened because it was stopped.
#[must_use]
pub fn is_stopped(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ECANCELED)
}

/// Begins to connect to `remote` with a SYN of this TTL or hop limit, and waits for nothing: the stream becomes writable with
/// the answer, which [`options::take_error`] returns, and its error queue names the sender of an ICMP message. Non-blocking. A
/// stream that is dropped resets its connection.
///
/// # Errors
/// The option or the connection refused, by name; a refusal that came at once is one of these.
pub fn tcp_attempt(remote: SocketAddr, options: &TcpOptions, hops: u8) -> Result<TcpStream> {
    let fd = open_tcp(remote, options)?;
    bind_local(&fd, remote, options)?;
    options::set_hops(&fd, hops)?;
    options::set_receive_errors(&fd, true)?;
    message::set_receive_notes(&fd)?;
    options::set_reset_on_close(&fd)?;
    match sockaddr::connect(fd.as_fd(), remote) {
        Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => {
            Err(error).named("connect to", || format!("tcp {remote}"))
        }
        _ => Ok(TcpStream::from(fd)),
    }
}

/// Opens and binds a socket as [`tcp_connect`] does, and closes it again: what this host refuses is known before the
/// first packet.
///
/// # Errors
/// The option or the local address refused, by name.
pub fn tcp_try(remote: SocketAddr, options: &TcpOptions) -> Result<()> {
    bind_local(&open_tcp(remote, options)?, remote, options)
}

/// Listens on `address` with room for `backlog` connections not yet accepted. The options that a connection
/// inherits (buffers, MSS, congestion control, type of service) are set on the listener.
///
/// `[::]` accepts IPv4 too, unless `v6_only`; on a host without IPv6 it becomes `0.0.0.0`.
///
/// # Errors
/// The option or the address refused, by name.
pub fn tcp_listen(address: SocketAddr, options: &TcpOptions, backlog: u16) -> Result<TcpListener> {
    with_v4_fallback(address, options.v6_only, |address| {
        let fd = open_tcp(address, options)?;
        options::set_reuse_address(&fd, true)?;
        set_family(&fd, address, options.v6_only)?;
        net::bind(&fd, &address).named("bind", || format!("tcp {address}"))?;
        net::listen(&fd, backlog.into()).named("listen on", || format!("tcp {address}"))?;
        let listener = TcpListener::from(fd);
        listener.set_nonblocking(false).named("make blocking", || describe(&listener))?;
        Ok(listener)
    })
}

/// Binds a UDP socket to `address`; blocking and closed on exec.
///
/// `[::]` receives IPv4 too, unless `v6_only`; on a host without IPv6 it becomes `0.0.0.0`.
///
/// With `reuse_address`, several sockets may share the port. The kernel hands a datagram to the socket connected to its sender,
/// and one from any other sender to the unconnected one bound last. A server therefore serves a new client by connecting the
/// socket on which the client was heard, then binding a new one for other senders; their datagrams in between stay in the
/// connected socket's queue, so the payload must identify the sender.
///
/// # Errors
/// The option or the address refused, by name.
pub fn udp_bind(address: SocketAddr, options: &UdpOptions) -> Result<UdpSocket> {
    with_v4_fallback(address, options.v6_only, |address| {
        let fd = open(address, SocketType::DGRAM, SocketFlags::empty(), None)
            .named("open", || format!("udp socket for {address}"))?;
        options::set_reuse_address(&fd, options.reuse_address)?;
        set_family(&fd, address, options.v6_only)?;
        apply_udp(&fd, options)?;
        net::bind(&fd, &address).named("bind", || format!("udp {address}"))?;
        Ok(UdpSocket::from(fd))
    })
}

/// Connects a UDP socket, with an IPv6 flow label when one is given.
///
/// # Errors
/// The label or the route refused, by name.
pub fn udp_connect(socket: &UdpSocket, remote: SocketAddr, flow_label: Option<u32>) -> Result<()> {
    let target = labelled(socket, remote, flow_label)?;
    sockaddr::connect(socket.as_fd(), target).named("connect to", || format!("udp {remote}"))
}

/// `remote` with the flow label that is wanted of a connection of IPv6, and the lease of it.
fn labelled(fd: &impl AsFd, remote: SocketAddr, label: Option<u32>) -> Result<SocketAddr> {
    let (Some(label), SocketAddr::V6(v6)) = (label, remote) else { return Ok(remote) };
    options::lease_flow_label(fd, *v6.ip(), label)?;
    Ok(with_flow_label(v6, label).into())
}

/// `address` with the flow label in the place and byte order the kernel expects.
#[must_use]
pub fn with_flow_label(address: SocketAddrV6, label: u32) -> SocketAddrV6 {
    SocketAddrV6::new(*address.ip(), address.port(), (label & 0xf_ffff).to_be(), address.scope_id())
}

/// Has this kernel Multipath TCP (`CONFIG_MPTCP`, and `net.mptcp.enabled`)?
#[must_use]
pub fn has_mptcp() -> bool {
    let any = SocketAddr::from(([0, 0, 0, 0], 0));
    open(any, SocketType::STREAM, SocketFlags::NONBLOCK, Some(ipproto::MPTCP)).is_ok()
}

fn open_tcp(address: SocketAddr, options: &TcpOptions) -> Result<OwnedFd> {
    let protocol = options.mptcp.then_some(ipproto::MPTCP);
    let name = if options.mptcp { "mptcp" } else { "tcp" };
    let fd = open(address, SocketType::STREAM, SocketFlags::NONBLOCK, protocol)
        .named("open", || format!("{name} socket for {address}"))?;
    apply_tcp(&fd, options)?;
    Ok(fd)
}

fn open(
    address: SocketAddr,
    kind: SocketType,
    flags: SocketFlags,
    protocol: Option<Protocol>,
) -> io::Result<OwnedFd> {
    let family = if address.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 };
    Ok(net::socket_with(family, kind, flags | SocketFlags::CLOEXEC, protocol)?)
}

fn apply_tcp(fd: &OwnedFd, wanted: &TcpOptions) -> Result<()> {
    wanted.device.as_deref().map_or(Ok(()), |device| options::set_device(fd, device))?;
    wanted.mss.map_or(Ok(()), |mss| options::set_mss(fd, mss))?;
    wanted.send_buffer.map_or(Ok(()), |size| options::set_send_buffer(fd, size).map(drop))?;
    wanted.recv_buffer.map_or(Ok(()), |size| options::set_recv_buffer(fd, size).map(drop))?;
    wanted.congestion.as_deref().map_or(Ok(()), |name| options::set_congestion(fd, name))?;
    wanted.tos.map_or(Ok(()), |tos| options::set_tos(fd, tos))?;
    wanted.user_timeout.map_or(Ok(()), |span| options::set_user_timeout(fd, span))?;
    if wanted.nodelay { options::set_nodelay(fd, true) } else { Ok(()) }
}

fn apply_udp(fd: &OwnedFd, wanted: &UdpOptions) -> Result<()> {
    wanted.device.as_deref().map_or(Ok(()), |device| options::set_device(fd, device))?;
    wanted.tos.map_or(Ok(()), |tos| options::set_tos(fd, tos))?;
    wanted.send_buffer.map_or(Ok(()), |size| options::set_send_buffer(fd, size).map(drop))?;
    wanted.recv_buffer.map_or(Ok(()), |size| options::set_recv_buffer(fd, size).map(drop))?;
    wanted.mtu_discovery.map_or(Ok(()), |mode| options::set_mtu_discovery(fd, mode))
}

/// The system's default of `IPV6_V6ONLY` is an administrator's choice, so it is always stated.
fn set_family(fd: &OwnedFd, address: SocketAddr, v6_only: bool) -> Result<()> {
    if address.is_ipv6() { options::set_v6_only(fd, v6_only) } else { Ok(()) }
}

fn bind_local(fd: &OwnedFd, remote: SocketAddr, options: &TcpOptions) -> Result<()> {
    if options.local_address.is_none() && options.local_port.is_none() {
        return Ok(());
    }
    let any = if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let local = SocketAddr::new(options.local_address.unwrap_or(any), options.local_port.unwrap_or(0));
    if local.port() == 0 {
        options::set_int(fd, IP_BIND_ADDRESS_NO_PORT, 1)?;
    } else {
        options::set_reuse_address(fd, true)?;
    }
    net::bind(fd, &local).named("bind", || format!("tcp {local}"))
}

fn connect_within(
    fd: BorrowedFd<'_>,
    remote: SocketAddr,
    timeout: Nanos,
    stop: Option<&Waker>,
) -> io::Result<()> {
    match sockaddr::connect(fd, remote) {
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => {}
        outcome => return outcome,
    }
    let deadline = mono_now() + timeout;
    let mut fds = vec![Interest::writable(&fd)];
    fds.extend(stop.map(Interest::readable));
    while wait(&mut fds, Some(deadline))? == 0 {
        if mono_now() >= deadline {
            return Err(io::Error::from_raw_os_error(libc::ETIMEDOUT));
        }
    }
    if !fds[0].is_ready() {
        return Err(io::Error::from_raw_os_error(libc::ECANCELED));
    }
    let pending = options::take_error(&fd).map_err(|error| error.source)?;
    pending.map_or(Ok(()), Err)
}

/// The ICMP message that ended an attempt to connect (Linux 5.8).
fn rejection(fd: &OwnedFd) -> Option<Rejection> {
    let Ok(Some(QueueEntry::Error(error))) = error_queue::take(fd, &mut []) else { return None };
    let NetworkError { origin, offender: from, icmp_type, icmp_code, .. } = error;
    let is_v6 = origin == Origin::Icmp6;
    (is_v6 || origin == Origin::Icmp).then_some(Rejection { from, is_v6, icmp_type, icmp_code })
}

/// Opens at `address`, and at `0.0.0.0` when that was `[::]` and the host has no IPv6.
fn with_v4_fallback<T>(
    address: SocketAddr,
    v6_only: bool,
    open: impl Fn(SocketAddr) -> Result<T>,
) -> Result<T> {
    let any_v6 = address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) && !v6_only;
    match open(address) {
        Err(error) if any_v6 && lacks_v6(&error) => {
            open(SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port()))
        }
        outcome => outcome,
    }
}

fn lacks_v6(error: &OsError) -> bool {
    matches!(error.errno(), Some(libc::EAFNOSUPPORT | libc::EADDRNOTAVAIL))
}

const IP_BIND_ADDRESS_NO_PORT: Opt =
    Opt(libc::SOL_IP, libc::IP_BIND_ADDRESS_NO_PORT, "IP_BIND_ADDRESS_NO_PORT");

#[cfg(test)]
mod tests;
