//! Opening a path: its socket and, with our own protocol, the session with its server.

use super::control::Control;
use super::session::LatencySession;
use super::twamp::TwampSession;
use super::{LatencyJob, local_options};
use crate::error::{Context, Failure, Result};
use crate::session::connect::{Security, connect_or, opened_late};
use crate::session::foreign_tls::ForeignTls;
use crate::work::echo::encrypted::Encrypted;
use crate::work::echo::server::join;
use crate::work::echo::socket::Socket;
use crate::work::throughput::flows::own_end;
use crate::work::throughput::shared::FlowSocket;
use linux::clock::wall_now;
use linux::error::OsError;
use linux::options;
use linux::sockaddr::plain;
use linux::socket::{TcpOptions, UdpOptions, tcp_connect, udp_bind, udp_connect};
use linux::tcp_info::tcp_info;
use model::event::Warning;
use model::latency::{
    EgressEnds, EgressPath, LatencyMode, LatencyPlan, LatencyProtocol, LatencySpec, Load, WaitMode,
};
use model::plan::{End, Transport};
use model::units::{BitRate, Bytes, Nanos, PacketRate};
use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use wire::{stamp, twamp};

/// An open path.
pub(crate) struct Opened {
    pub(crate) socket: Socket,
    pub(crate) ends: EgressEnds,
    pub(crate) session: Option<Box<dyn Control>>,
    /// Messages that the server allows, which none asked for.
    pub(crate) most: Option<(PacketRate, BitRate)>,
}

/// Opens a path. `far_wait`: how its far end is to wait, where it can be asked.
pub(crate) fn open(job: &LatencyJob<'_>, egress: &EgressPath, far_wait: WaitMode) -> Result<Opened> {
    let (socket, mut session, most) = match job.plan.protocol {
        LatencyProtocol::Native => native(job, egress, far_wait)?,
        LatencyProtocol::Twamp => twamp(job, egress)?,
        LatencyProtocol::Sockperf | LatencyProtocol::Stamp | LatencyProtocol::Iperf2 => {
            (foreign(job, egress)?, None, None)
        }
    };
    let peer = session.as_ref().and_then(|session| session.peer().cloned());
    let observed = session.as_mut().map(|session| session.observed()).transpose()?.flatten();
    let (local, remote) = addresses(&socket)?;
    let ends = EgressEnds {
        local,
        remote,
        seen_as: observed.map(|s| s.client),
        peer,
        far_wait: observed.map(|s| s.wait),
    };
    Ok(Opened { socket, ends, session, most })
}

/// Sets what may be refused; each refusal is reported and the measurement goes on without.
pub(crate) fn configure(socket: &Socket, plan: &LatencyPlan) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if let Some(span) = plan.busy_poll
        && let Err(e) = options::set_busy_poll(socket, span)
    {
        let text = format!("{e}; measured without busy polling (it takes CAP_NET_ADMIN: run as root)");
        warnings.push(Warning::new("busy-poll-refused", text));
    }
    if let Some(rate) = plan.socket.pacing
        && let Err(e) = options::set_max_pacing_rate(socket, rate)
    {
        warnings.push(Warning::new("pacing-refused", format!("{e}; measured without")));
    }
    if plan.tos > 0
        && let Err(e) = options::set_tos(socket, plan.tos)
    {
        warnings.push(Warning::new("dscp-refused", format!("{e}; packets go unmarked")));
    }
    if let Socket::Tcp(tcp) = socket
        && let Ok(info) = tcp_info(tcp)
    {
        warnings.extend(opened_late(usize::from(info.retransmits > 0), 1));
    }
    warnings
}

/// The flow, its session, and the rate that the server allows where none was asked for.
type Found = (Socket, Option<Box<dyn Control>>, Option<(PacketRate, BitRate)>);

fn native(job: &LatencyJob<'_>, egress: &EgressPath, wait: WaitMode) -> Result<Found> {
    let plan = job.plan;
    let phases = |load: &Load| load.time.saturating_mul(load.phases.len() as u64);
    let time = match plan.end {
        End::Time(time) => time + plan.load.as_ref().map_or(Nanos::ZERO, phases),
        // As long as the server lets us.
        End::Bytes(_) | End::Blocks(_) => Nanos::ZERO,
    };
    let spec = LatencySpec {
        transport: plan.transport,
        size: job.largest(),
        tos: plan.tos,
        wait,
        time,
        rate: plan.rate,
    };
    let session =
        LatencySession::open(egress, spec.clone(), plan.connect_timeout, job.security, job.interrupt)?;
    let most = session.max_rate().filter(|_| plan.rate.is_none());
    let most = most.map(|most| (spec.rate_within(most), most));
    let socket = match session.flow()? {
        FlowSocket::Tcp(socket) => Socket::Tcp(socket),
        FlowSocket::Udp(socket) => Socket::Udp(socket),
    };
    Ok((socket, Some(Box::new(session)), most))
}

/// Agrees with a TWAMP server on a test, whose packets go from the control connection's address.
fn twamp(job: &LatencyJob<'_>, egress: &EgressPath) -> Result<Found> {
    let plan = job.plan;
    let local = local_options(egress, plan.connect_timeout);
    let why = |e: &OsError| unreachable(plan.protocol, egress, &e.source);
    let link = connect_or(&egress.target, &local, &Security::default(), job.interrupt, why)?;
    let mut here = plain(link.socket().local_addr()?);
    here.set_port(egress.port.unwrap_or(0));
    let socket = datagrams(plan, egress, here)?;
    // RFC 5357 section 4.1.2: so the far end sees how many hops there are.
    options::set_hops(&socket, u8::MAX)?;
    let here = plain(socket.local_addr()?);
    let mut far = egress.target.address;
    let request = twamp::Request {
        sender: Some(here.ip()),
        sender_port: here.port(),
        receiver: Some(far.ip()),
        receiver_port: here.port(),
        padding: plan.size.saturating_sub(twamp::HEADER_LEN),
        start: stamp::Timestamp::new(stamp::Format::Ntp, wall_now()),
        timeout: TWAMP_TAIL,
        type_p: twamp::Request::of_dscp(plan.tos >> 2),
    };
    let session = TwampSession::open(link, egress, request, job.interrupt)?;
    far.set_port(session.port);
    udp_connect(&socket, far, None).map_err(|e| unreachable(plan.protocol, egress, &e.source))?;
    Ok((Socket::Udp(Arc::new(socket)), Some(Box::new(session)), None))
}

fn foreign(job: &LatencyJob<'_>, egress: &EgressPath) -> Result<Socket> {
    let plan = job.plan;
    let remote = egress.target.address;
    if plan.transport == Transport::Tcp {
        let options = TcpOptions {
            local_address: egress.bind,
            local_port: egress.port,
            device: egress.device.clone(),
            nodelay: plan.socket.nodelay.unwrap_or(plan.mode != LatencyMode::Throughput),
            recv_buffer: plan.socket.buffer,
            send_buffer: plan.socket.buffer,
            tos: (plan.tos > 0).then_some(plan.tos),
            ..TcpOptions::default()
        };
        let socket = tcp_connect(remote, &options, plan.connect_timeout)
            .map_err(|e| unreachable(plan.protocol, egress, &e.source))?;
        if let Some(tls) = job.tls {
            return encrypted(socket, tls, plan);
        }
        socket.set_nonblocking(true)?;
        return Ok(Socket::Tcp(Arc::new(socket.into())));
    }
    let socket = datagrams(plan, egress, own_end(remote, egress.bind, egress.port))?;
    if remote.ip().is_multicast() {
        let interface = plan.socket.multicast_interface.map(IpAddr::V4).or(egress.bind);
        return group(socket, remote, interface, plan);
    }
    udp_connect(&socket, remote, None).map_err(|e| unreachable(plan.protocol, egress, &e.source))?;
    Ok(Socket::Udp(Arc::new(socket)))
}

fn encrypted(socket: TcpStream, tls: &ForeignTls, plan: &LatencyPlan) -> Result<Socket> {
    let opened = Encrypted::open(socket, tls.connection()?, plan.connect_timeout);
    let opened = opened.map_err(|error| {
        let advice = "give both ends the same suite: --tls=TLS_AES_128_GCM_SHA256";
        Failure::unreachable(format!("no TLS with the server: {error}"), advice)
    })?;
    Ok(Socket::Tls(Arc::new(opened)))
}

fn datagrams(plan: &LatencyPlan, egress: &EgressPath, here: SocketAddr) -> Result<UdpSocket> {
    let options = UdpOptions {
        device: egress.device.clone(),
        recv_buffer: plan.socket.buffer.or(Some(UDP_BUFFER)),
        send_buffer: plan.socket.buffer.or(Some(UDP_BUFFER)),
        ..UdpOptions::default()
    };
    let socket = udp_bind(here, &options)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// A socket that sends to a group, and is in it: sockperf's servers answer the group, at the port of the sender.
fn group(
    socket: UdpSocket,
    group: SocketAddr,
    interface: Option<IpAddr>,
    plan: &LatencyPlan,
) -> Result<Socket> {
    join(&socket, group.ip(), interface).map_err(|e| {
        Failure::usage(
            format!("join the multicast group {}: {e}", group.ip()),
            "give the group a route (`ip route add 239.0.0.0/8 dev eth0`), or with --bind the address of an interface",
        )
    })?;
    if let (Some(ttl), true) = (plan.multicast_ttl, group.is_ipv4()) {
        socket.set_multicast_ttl_v4(ttl.into()).context("set the hops of multicast messages")?;
    }
    if let Some(on) = plan.socket.multicast_loop {
        let set =
            if group.is_ipv4() { socket.set_multicast_loop_v4(on) } else { socket.set_multicast_loop_v6(on) };
        set.context("set whether this host hears its own multicast messages")?;
    }
    if let (Some(interface), true) = (plan.socket.multicast_interface, group.is_ipv4()) {
        options::set_multicast_interface(&socket, interface)
            .context("choose the interface of multicast messages")?;
    }
    Ok(Socket::Group(Arc::new(socket), group))
}

/// Both ends of it.
pub(crate) fn addresses(socket: &Socket) -> Result<(SocketAddr, SocketAddr)> {
    let (local, remote) = match socket {
        Socket::Tcp(socket) => (socket.local_addr()?, socket.peer_addr()?),
        Socket::Tls(socket) => (socket.socket().local_addr()?, socket.socket().peer_addr()?),
        Socket::Udp(socket) => (socket.local_addr()?, socket.peer_addr()?),
        Socket::Group(socket, group) => (socket.local_addr()?, *group),
    };
    Ok((plain(local), plain(remote)))
}

/// Why a foreign server could not be reached, and what to try.
fn unreachable(protocol: LatencyProtocol, egress: &EgressPath, error: &std::io::Error) -> Failure {
    let address = egress.target.address;
    let server = server_command(protocol);
    match error.kind() {
        ErrorKind::ConnectionRefused => Failure::unreachable(
            format!(
                "{address} refused the connection: the host is there and nothing listens on TCP port {}",
                address.port()
            ),
            format!("start {server} there, or give its port with -p"),
        ),
        ErrorKind::TimedOut => Failure::unreachable(
            format!("{address} does not answer on TCP port {}", address.port()),
            "check the address, and that firewalls and security groups allow the port",
        ),
        _ => Failure::unreachable(
            format!("{address} cannot be reached: {error}"),
            "check this host's routes and the source address or interface given",
        ),
    }
}

/// The command to start at the far end.
pub(crate) fn server_command(protocol: LatencyProtocol) -> &'static str {
    match protocol {
        LatencyProtocol::Native => "`pathmeter serve`",
        LatencyProtocol::Sockperf => "`sockperf sr` (with --tcp for TCP) or `pathmeter serve --sockperf`",
        LatencyProtocol::Iperf2 => "`iperf -s` (2.1.4 and newer) or `pathmeter serve --iperf2`",
        LatencyProtocol::Stamp => "a STAMP or TWAMP-Light reflector, such as `pathmeter serve --stamp`,",
        LatencyProtocol::Twamp => "a TWAMP server, such as `pathmeter serve --twamp`,",
    }
}

const UDP_BUFFER: Bytes = Bytes(4 << 20);
/// How long a TWAMP server is to answer after the end: packets in flight have been waited for already.
const TWAMP_TAIL: Nanos = Nanos::from_secs(1);
