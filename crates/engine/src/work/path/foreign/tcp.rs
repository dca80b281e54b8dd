//! TCP to an open port: the MSS that the far end announced, as it arrived here.

use crate::work::probe::flow::TIMESTAMPS;
use linux::error::OsError;
use linux::options;
use linux::socket::{TcpOptions, tcp_connect};
use linux::tcp_info::tcp_info;
use model::path::{PathMethod, PathPlan, TcpDirection};
use model::units::Nanos;
use packet::header;
use std::io::ErrorKind;
use std::net::SocketAddr;
use wire::native;

/// The facts that a connection showed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Tcp {
    /// The port that was open.
    pub(super) open: Option<u16>,
    /// The far end reported one port at least as closed.
    pub(super) answered: bool,
    /// The facts about the forward path.
    pub(super) up: TcpDirection,
    /// The facts about the return path.
    pub(super) down: TcpDirection,
    /// Segments sent.
    pub(super) packets: u64,
    /// The MSS is the smaller of the one announced and what this host's path MTU leaves; then it may be the latter.
    pub(super) at_own_limit: bool,
    /// Path MTU that the connection goes by.
    pub(super) path_mtu: Option<u32>,
}

/// Connects to the port of the plan, or to those that are often open, all at once.
pub(super) fn look(plan: &PathPlan) -> Tcp {
    let target = plan.target.address;
    let usual = [443, 80, 22];
    let named = named_port(plan);
    let ports = named.as_ref().map_or(&usual[..], std::slice::from_ref);
    let found: Vec<Tcp> = std::thread::scope(|scope| {
        let ask = |port: &u16| {
            // A link-local address is nothing without its interface, which this keeps.
            let mut address = target;
            address.set_port(*port);
            scope.spawn(move || connect(address, plan))
        };
        let threads: Vec<_> = ports.iter().map(ask).collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let packets = found.iter().map(|one| one.packets).sum();
    let answered = found.iter().any(|one| one.answered);
    let best = found.into_iter().find(|one| one.open.is_some()).unwrap_or_default();
    Tcp { packets, answered, ..best }
}

/// The port that the user named; that of pathmeter itself is there by default.
pub(super) fn named_port(plan: &PathPlan) -> Option<u16> {
    let port = plan.target.address.port();
    let by_default = port == 0 || (plan.method == PathMethod::Auto && port == native::PORT);
    (!by_default).then_some(port)
}

fn connect(address: SocketAddr, plan: &PathPlan) -> Tcp {
    let options = TcpOptions {
        local_address: plan.local.bind,
        device: plan.local.device.clone(),
        ..TcpOptions::default()
    };
    // A port that is only guessed has less time than one that was named.
    let longest = if named_port(plan).is_some() { Nanos(u64::MAX) } else { TIMEOUT };
    let timeout = plan.local.connect_timeout.unwrap_or(TIMEOUT).min(longest);
    match tcp_connect(address, &options, timeout) {
        Ok(stream) => read(&stream, address).unwrap_or_default(),
        Err(error) => Tcp { packets: 1, answered: is_refusal(&error), ..Tcp::default() },
    }
}

fn read(stream: &std::net::TcpStream, address: SocketAddr) -> Option<Tcp> {
    let info = tcp_info(stream).ok()?;
    let timestamps = info.options.timestamps;
    // RFC 6691: the option counts no options, the kernel's figures do.
    let whole = |mss: u64| u32::try_from(mss).ok().map(|mss| mss + if timestamps { TIMESTAMPS } else { 0 });
    let arrived = options::mss(stream).ok().and_then(|mss| whole(mss.0));
    let path_mtu = u32::try_from(info.path_mtu.0).ok();
    let headers = header::of_tcp(address.is_ipv6());
    // Sent at once, so that a server that waits for a request waits no longer.
    options::set_reset_on_close(stream).ok();
    Some(Tcp {
        open: Some(address.port()),
        answered: true,
        up: TcpDirection { mss_sent: whole(info.advertised_mss.0), timestamps, ..TcpDirection::default() },
        down: TcpDirection { mss_received: arrived, timestamps, ..TcpDirection::default() },
        packets: info.segments_out.map_or(2, u64::from) + 1,
        at_own_limit: arrived.zip(path_mtu).is_some_and(|(mss, mtu)| mss + headers >= mtu),
        path_mtu,
    })
}

fn is_refusal(error: &OsError) -> bool {
    // A router that answers in the far end's stead reports nothing of it by ICMP.
    error.source.kind() == ErrorKind::ConnectionRefused && error.rejection.is_none()
}

const TIMEOUT: Nanos = Nanos::from_millis(1_500);
