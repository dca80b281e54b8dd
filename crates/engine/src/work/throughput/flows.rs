//! Opening data flows from the client's side, and describing open flows of either side.

use crate::error::{Context, Failure, Result, refused};
use crate::work::throughput::shared::{Flow, FlowSocket};
use linux::clock::mono_now;
use linux::errno::EMSGSIZE;
use linux::options::{self, MtuDiscovery};
use linux::poll::{Interest, wait};
use linux::socket::{TcpOptions, UdpOptions, tcp_connect, udp_bind, udp_connect};
use linux::tcp_info::tcp_info;
use model::event::Warning;
use model::framing::LARGEST_UDP_PAYLOAD;
use model::path::headers;
use model::plan::{Direction, LocalOptions, TestSpec, Transport};
use model::sample::{Role, StreamInfo};
use model::time::MonoTime;
use model::units::{BitRate, Bytes, Nanos};
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;
use wire::native::flow::{self, FlowAnswer};
use wire::native::udp::{UdpOpen, UdpStep};
use wire::{FlowHello, FlowPlan, iperf3};

/// Data flows that are open.
pub(crate) struct OpenFlows {
    /// In order of their numbers.
    pub(crate) flows: Vec<Flow>,
    /// Local ports of UDP that got no answer, where another port did.
    pub(crate) dead_ports: u32,
}

/// Opens every data flow of the plan.
pub(crate) fn connect_all(plan: &FlowPlan, remote: SocketAddr, local: &LocalOptions) -> Result<OpenFlows> {
    let mut opened = OpenFlows { flows: Vec::new(), dead_ports: 0 };
    for stream in 0..plan.test.all_streams() {
        let socket = match plan.test.transport {
            Transport::Tcp => FlowSocket::Tcp(Arc::new(connect_tcp(plan, stream, remote, local)?.into())),
            Transport::Udp => {
                let (socket, dead) = connect_udp(plan, stream, remote, local)?;
                opened.dead_ports += dead;
                FlowSocket::Udp(Arc::new(socket))
            }
        };
        opened.flows.push(describe(&plan.test, stream, socket, Direction::Up));
    }
    Ok(opened)
}

/// Local ports of UDP that got no answer for a second or more, while another one did.
pub(crate) fn unanswered_ports(dead: u32) -> Option<Warning> {
    (dead > 0).then(|| {
        let ports = if dead == 1 { "one local port".into() } else { format!("{dead} local ports") };
        let text = format!(
            "UDP from {ports} got no answer, and from another port it did: of several equal paths (ECMP, a bond, the members of a load \
             balancer) one drops everything, or the path lost the first datagrams"
        );
        Warning::new("dead-flows", text)
    })
}

/// Describes an open flow. `sends`: the direction in which this end sends.
pub(crate) fn describe(test: &TestSpec, stream: u32, socket: FlowSocket, sends: Direction) -> Flow {
    let direction = test.direction_of(stream);
    let role = if direction == sends { Role::Sender } else { Role::Receiver };
    let path_mtu = match &socket {
        FlowSocket::Tcp(tcp) => tcp_info(tcp.as_ref()).ok().map(|info| info.path_mtu),
        FlowSocket::Udp(udp) => options::path_mtu(udp.as_ref()).ok(),
    };
    let info = StreamInfo {
        stream,
        direction,
        role,
        local: socket.local(),
        remote: socket.remote(),
        socket: socket.as_fd().as_raw_fd(),
        mss: socket.tcp().and_then(mss),
        path_mtu: path_mtu.and_then(|mtu| u32::try_from(mtu.0).ok()),
        send_buffer: options::send_buffer(&socket).unwrap_or_default(),
        receive_buffer: options::recv_buffer(&socket).unwrap_or_default(),
        congestion: socket.tcp().and_then(|tcp| options::congestion(tcp).ok()),
    };
    Flow { info, socket, own: None }
}

/// The segment size of a connection, bytes of payload.
pub(crate) fn mss(socket: &TcpStream) -> Option<u32> {
    options::mss(socket).ok().and_then(|mss| u32::try_from(mss.0).ok())
}

/// Options of a TCP data flow that follow from the test.
pub fn tcp_options(test: &TestSpec, local: &LocalOptions) -> TcpOptions {
    let window = test.window.map(|w| Bytes(w.into()));
    TcpOptions {
        local_address: local.bind,
        device: local.device.clone(),
        mss: test.mss.map(|m| Bytes(m.into())),
        send_buffer: window,
        recv_buffer: window,
        congestion: test.congestion.clone(),
        tos: (test.tos > 0).then_some(test.tos),
        nodelay: test.nodelay,
        flow_label: test.flow_label,
        mptcp: test.mptcp,
        ..TcpOptions::default()
    }
}

/// Sets the options of its test on an accepted TCP flow, which a listener could not know. The first refusal is returned. The
/// test is the client's choice: no buffer grows beyond this host's limits for it, and no kernel module is loaded.
pub(crate) fn configure_accepted(socket: &TcpStream, test: &TestSpec) -> Result<(), linux::error::OsError> {
    if let Some(window) = test.window {
        options::set_buffers_within_limits(socket, Bytes(window.into()))?;
    }
    if test.tos > 0 {
        options::set_tos(socket, test.tos)?;
    }
    if test.nodelay {
        options::set_nodelay(socket, true)?;
    }
    if let Some(mss) = test.mss {
        options::set_mss(socket, Bytes(mss.into()))?;
    }
    if let Some(rate) = test.fq_rate {
        options::set_max_pacing_rate(socket, rate)?;
    }
    let Some(algorithm) = &test.congestion else { return Ok(()) };
    let loaded = options::available_congestion_controls()?;
    if loaded.contains(algorithm) {
        return options::set_congestion(socket, algorithm);
    }
    let object = format!("{algorithm}: it is not loaded here, and not loaded for a client");
    let none = std::io::Error::from(std::io::ErrorKind::NotFound);
    Err(linux::error::OsError::new("use congestion control", object, none))
}

/// The end that chose the options of a test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wish {
    /// This end's user's: what this process may do is done.
    Own,
    /// The far end's: this host's limits hold.
    Peers,
}

/// Sets buffers and marks of a UDP flow: large ones, or the requested ones.
pub(crate) fn configure_udp(
    socket: &UdpSocket,
    test: &TestSpec,
    wish: Wish,
) -> Result<(), linux::error::OsError> {
    match (test.window, wish) {
        (Some(window), Wish::Peers) => options::set_buffers_within_limits(socket, Bytes(window.into()))?,
        (window, _) => {
            let or = |default: Bytes| window.map_or(default, |window| Bytes(window.into()));
            options::set_recv_buffer(socket, or(UDP_BUFFER))?;
            options::set_send_buffer(socket, or(UDP_SEND_BUFFER))?;
        }
    }
    if test.tos > 0 {
        options::set_tos(socket, test.tos)?;
    }
    if let Some(rate) = test.fq_rate {
        options::set_max_pacing_rate(socket, rate)?;
    }
    if test.dont_fragment {
        options::set_mtu_discovery(socket, MtuDiscovery::Do)?;
    }
    Ok(())
}

/// Makes the kernel hand joined datagrams to a receiver as they came. This is done before the sender may begin: earlier
/// datagrams are split, and a socket whose messages hold a varying number of datagrams cannot report how many it dropped.
pub(crate) fn join_datagrams(flow: &Flow) {
    if let (FlowSocket::Udp(socket), Role::Receiver) = (&flow.socket, flow.info.role) {
        // When it is refused, every datagram comes by itself; the receiver notes that in its facts.
        options::set_udp_gro(socket.as_ref(), true).ok();
    }
}

/// One write of a paced TCP stream, bytes: about a millisecond of data, so that it is smooth.
pub fn paced_block(rate: BitRate) -> u32 {
    u32::try_from(rate.0 / 8 / 1000).unwrap_or(u32::MAX).clamp(1448, BEST_BLOCK)
}

/// One write of an unpaced stream, bytes: the fastest measured, with nothing to win above it.
pub(crate) const BEST_BLOCK: u32 = 1 << 20;

/// The largest UDP payload that needs no fragments on a path of this MTU.
pub(crate) fn udp_payload(mtu: u32, remote: IpAddr) -> u32 {
    mtu.saturating_sub(headers(!is_v4(remote))).clamp(16, LARGEST_UDP_PAYLOAD)
}

/// The path MTU that this host's kernel believes in.
pub fn believed_mtu(remote: SocketAddr, local: &LocalOptions) -> Result<u32> {
    let socket = bind_udp(remote, local, None)?;
    udp_connect(&socket, remote, None)?;
    Ok(u32::try_from(options::path_mtu(&socket)?.0).unwrap_or(u32::MAX))
}

/// Is this the kernel's refusal to send so large a datagram whole?
pub(crate) fn is_too_big(error: &std::io::Error) -> bool {
    error.raw_os_error() == Some(EMSGSIZE)
}

/// IPv4, mapped into IPv6 or not?
pub(crate) fn is_v4(address: IpAddr) -> bool {
    address.to_canonical().is_ipv4()
}

/// Opens a TCP data flow, up to the bytes that identify it.
pub(crate) fn connect_tcp(
    plan: &FlowPlan,
    stream: u32,
    remote: SocketAddr,
    local: &LocalOptions,
) -> Result<TcpStream> {
    let mut options = tcp_options(&plan.test, local);
    options.local_port = local_port(local, stream)?;
    let timeout = local.connect_timeout.unwrap_or(OPEN_TIMEOUT);
    let mut socket = tcp_connect(remote, &options, timeout)?;
    if let Some(rate) = plan.test.fq_rate {
        options::set_max_pacing_rate(&socket, rate)?;
    }
    socket.set_write_timeout(Some(timeout.to_duration()))?;
    let named = || format!("open data stream {stream} to {remote}");
    match &plan.hello {
        FlowHello::Iperf3 { cookie } => {
            let mut hello = cookie.as_bytes().to_vec();
            hello.push(0);
            socket.write_all(&hello).with_context(named)?;
        }
        FlowHello::Iperf2 => {}
        FlowHello::Native { session, key } => {
            let hello = flow::FlowHello::new(*session, Transport::Tcp, stream, key);
            socket.write_all(&hello.bytes()).with_context(named)?;
            socket.set_read_timeout(Some(timeout.to_duration()))?;
            let mut answer = [0];
            socket.read_exact(&mut answer).with_context(named)?;
            let refusal = match FlowAnswer::read(answer[0]) {
                Some(FlowAnswer::Welcome) => return Ok(socket),
                Some(refusal) => format!("data stream {stream} was refused: {refusal:?}"),
                None => format!("data stream {stream}: the far end does not speak pathmeter's protocol"),
            };
            return Err(refused(refusal));
        }
    }
    Ok(socket)
}

/// Opens a UDP data flow, up to the datagrams that identify it. With it comes the number of local ports that got no answer, where another
/// port did.
pub(crate) fn connect_udp(
    plan: &FlowPlan,
    stream: u32,
    remote: SocketAddr,
    local: &LocalOptions,
) -> Result<(UdpSocket, u32)> {
    let bind = || {
        let socket = bind_udp(remote, local, local_port(local, stream)?)?;
        configure_udp(&socket, &plan.test, Wish::Own)?;
        udp_connect(&socket, remote, plan.test.flow_label)?;
        socket.set_nonblocking(true)?;
        Ok(socket)
    };
    let (socket, dead) = match &plan.hello {
        FlowHello::Iperf3 { .. } => (open_iperf3(bind()?, stream, remote)?, 0),
        FlowHello::Iperf2 => (bind()?, 0),
        FlowHello::Native { session, key } => {
            let most = if local.client_port.is_some() { 1 } else { PORTS };
            open_native((&bind, most), || UdpOpen::new(*session, stream, key, mono_now()))?
                .ok_or_else(|| refused(no_udp(remote, stream)))?
        }
    };
    socket.set_nonblocking(false)?;
    Ok((socket, dead))
}

/// Opens a flow from a local port, and where that gets no answer from more of them side by side: of equal paths one may drop everything,
/// and the ports decide which is taken. `None`: none was answered.
fn open_native(
    (bind, most): (&dyn Fn() -> Result<UdpSocket>, usize),
    begin: impl Fn() -> UdpOpen,
) -> Result<Option<(UdpSocket, u32)>> {
    let mut tried = vec![(bind()?, begin(), mono_now())];
    let mut next = mono_now() + ALONE;
    let mut buffer = [0; 2048];
    loop {
        let now = mono_now();
        if tried.len() < most && now >= next {
            for _ in 0..PORTS_AT_ONCE.min(most - tried.len()) {
                tried.push((bind()?, begin(), now));
            }
            next = now + ALONE;
        }
        let mut until = if tried.len() < most { next } else { MonoTime(u64::MAX) };
        let mut opened = None;
        for (at, (socket, opening, _)) in tried.iter_mut().enumerate() {
            while let Ok(length) = socket.recv(&mut buffer) {
                opening.input(&buffer[..length], mono_now());
            }
            match opening.step(mono_now()) {
                UdpStep::Open => opened = opened.or(Some(at)),
                // The others have had a second or more less.
                UdpStep::NoAnswer => return Ok(None),
                // A refused datagram is repeated like a lost one.
                UdpStep::Send(datagram) => {
                    drop(socket.send(&datagram));
                    until = mono_now();
                }
                UdpStep::Wait(wanted) => until = until.min(wanted),
            }
        }
        if let Some(at) = opened {
            let (socket, ..) = tried.swap_remove(at);
            let dead = tried.iter().filter(|(_, _, began)| mono_now() >= *began + ALONE).count();
            return Ok(Some((socket, dead as u32)));
        }
        let mut sockets: Vec<_> = tried.iter().map(|(socket, ..)| Interest::readable(socket)).collect();
        wait(&mut sockets, Some(until))?;
    }
}

/// iPerf3's four bytes, repeated until answered: harmless to its servers, and a lost datagram costs no test.
fn open_iperf3(socket: UdpSocket, stream: u32, remote: SocketAddr) -> Result<UdpSocket> {
    let deadline = mono_now() + OPEN_TIMEOUT;
    let mut buffer = [0; 65536];
    while mono_now() < deadline {
        socket.send(&iperf3::UDP_HELLO).ok();
        let until = mono_now() + IPERF3_RETRY;
        while mono_now() < until {
            wait(&mut [Interest::readable(&socket)], Some(until))?;
            match socket.recv(&mut buffer) {
                Ok(length) if iperf3::is_udp_reply(&buffer[..length]) || length > 4 => return Ok(socket),
                Ok(_) => {}
                Err(e) if e.kind() == std::io::ErrorKind::WouldBlock => {}
                // "Port unreachable": the server may not have opened the port yet. Do not ask at once again.
                Err(_) => std::thread::sleep(REFUSED_PAUSE),
            }
        }
    }
    Err(refused(no_udp(remote, stream)))
}

fn no_udp(remote: SocketAddr, stream: u32) -> String {
    format!(
        "UDP to {remote} gets no answer (stream {stream}): TCP to the same port works, so a firewall or NAT \
         rule probably blocks UDP; allow UDP port {} there and here",
        remote.port()
    )
}

fn bind_udp(remote: SocketAddr, local: &LocalOptions, port: Option<u16>) -> Result<UdpSocket> {
    let options = UdpOptions { device: local.device.clone(), ..UdpOptions::default() };
    Ok(udp_bind(own_end(remote, local.bind, port), &options)?)
}

/// The local end to bind towards `remote`: on every address and at any port where none is given.
pub(crate) fn own_end(remote: SocketAddr, bind: Option<IpAddr>, port: Option<u16>) -> SocketAddr {
    let any: IpAddr =
        if remote.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    SocketAddr::new(bind.unwrap_or(any), port.unwrap_or(0))
}

fn local_port(local: &LocalOptions, stream: u32) -> Result<Option<u16>> {
    let Some(first) = local.client_port else { return Ok(None) };
    let port = u16::try_from(u32::from(first) + stream).map_err(|_| {
        Failure::usage(
            format!("the local port of stream {stream} is above 65535: {first} and on"),
            "give a smaller first port",
        )
    });
    Ok(Some(port?))
}

const OPEN_TIMEOUT: Nanos = Nanos::from_secs(10);
/// Local ports from which a flow is tried, how many at once after the first, and how long they are tried before the next.
const PORTS: usize = 13;
const PORTS_AT_ONCE: usize = 4;
const ALONE: Nanos = Nanos::from_millis(1_100);
const IPERF3_RETRY: Nanos = Nanos::from_millis(250);
const REFUSED_PAUSE: std::time::Duration = std::time::Duration::from_millis(20);
/// Receive buffer of UDP sockets: 4 % loss in the socket without it at 100 Gbit/s, none with it.
const UDP_BUFFER: Bytes = Bytes(16 << 20);
/// Send buffer of UDP sockets: a few GSO super-buffers.
const UDP_SEND_BUFFER: Bytes = Bytes(1 << 20);

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// The kernel states twice the limit: the other half is its own.
    fn limit(name: &str) -> Bytes {
        let text = std::fs::read_to_string(format!("/proc/sys/net/core/{name}")).expect("it is Linux");
        Bytes(2 * text.trim().parse::<u64>().expect("a number"))
    }

    /// Root could have more.
    #[test]
    fn a_peers_window_stays_within_this_hosts_limits() {
        let wish = |transport| TestSpec { window: Some(1 << 30), ..TestSpec::new(transport) };
        let (most_received, most_sent) = (limit("rmem_max"), limit("wmem_max"));
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        configure_udp(&udp, &wish(Transport::Udp), Wish::Peers).expect("a limit is no error");
        assert_eq!(options::recv_buffer(&udp).expect("it is open"), most_received);
        assert_eq!(options::send_buffer(&udp).expect("it is open"), most_sent);
        let (client, server) = connected();
        configure_accepted(&server, &wish(Transport::Tcp)).expect("a limit is no error");
        assert_eq!(options::recv_buffer(&server).expect("it is open"), most_received);
        assert_eq!(options::send_buffer(&server).expect("it is open"), most_sent);
        drop(client);
    }

    #[test]
    fn a_peers_congestion_control_is_one_that_is_loaded() {
        let wish = |name: &str| TestSpec { congestion: Some(name.into()), ..TestSpec::new(Transport::Tcp) };
        let (client, server) = connected();
        let loaded = options::available_congestion_controls().expect("the kernel lists them");
        for name in &loaded {
            configure_accepted(&server, &wish(name)).expect("it is loaded");
        }
        let refused = configure_accepted(&server, &wish("westwood_of_a_peer")).expect_err("no kernel has it");
        // The kernel was not called: it would look for a module of this name.
        assert!(refused.to_string().contains("not loaded for a client"), "{refused}");
        assert_eq!(options::congestion(&server).ok().as_ref(), loaded.last());
        drop(client);
    }

    fn connected() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
        let client = TcpStream::connect(listener.local_addr().expect("it is bound")).expect("it listens");
        (client, listener.accept().expect("it is there").0)
    }
}
