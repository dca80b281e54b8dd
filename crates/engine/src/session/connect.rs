//! The connection to a server: a control connection, encrypted or not, and this end's description of itself. Errors explain why
//! there is none.

use crate::error::{Context, Error, Failure, Kind, MORE_FILES, Result, too_early};
use crate::host;
use crate::host::interrupt::Interrupt;
use crate::host::reach;
use crate::session::link::Link;
use crate::session::protocol::Tests;
use crate::session::tls::{self, Fingerprint};
use linux::clock::mono_now;
use linux::error::{OsError, is_out_of_files};
use linux::poll::Waker;
use linux::socket::{TcpOptions, is_stopped, tcp_connect_until};
use model::event::Warning;
use model::host::Host;
use model::plan::{LocalOptions, ProtocolName, Target};
use model::units::Nanos;
use std::net::SocketAddr;
use std::sync::Arc;
use wire::native;

/// How a client proves itself and knows its server.
#[derive(Clone, Debug, Default)]
pub struct Security {
    /// The shared token.
    pub token: Option<native::Token>,
    /// Certificate of the server; present: the control connection is TLS.
    pub fingerprint: Option<Fingerprint>,
}

/// Opens a control connection.
pub(crate) fn connect(
    target: &Target,
    protocol: ProtocolName,
    local: &LocalOptions,
    security: &Security,
    stop: &Interrupt,
) -> Result<Link> {
    let why = |e: &OsError| with_other_family(unreachable(target, protocol, e), &e.source, target, local);
    connect_or(target, local, security, stop, why)
}

/// The same. `why` makes the error of a connection that failed.
pub(crate) fn connect_or(
    target: &Target,
    local: &LocalOptions,
    security: &Security,
    stop: &Interrupt,
    why: impl FnOnce(&OsError) -> Failure,
) -> Result<Link> {
    let options =
        TcpOptions { local_address: local.bind, device: local.device.clone(), ..TcpOptions::default() };
    let timeout = local.connect_timeout.unwrap_or(CONNECT_TIMEOUT);
    let began = mono_now();
    let waker = Arc::new(Waker::new()?);
    stop.watch(&waker);
    let socket =
        tcp_connect_until(target.address, &options, timeout, Some(waker.as_ref())).map_err(|e| match () {
            () if is_stopped(&e.source) => Error::from(too_early()),
            () => Error::Explained { failure: why(&e), refused: Box::new(e) },
        })?;
    let opened = mono_now().saturating_since(began);
    let encrypted = security.fingerprint.map(tls::connect).transpose()?;
    let mut link = Link::new(socket, Vec::new(), encrypted).context("set up the control connection")?;
    link.opened = opened;
    link.handshake(mono_now() + timeout).map_err(|e| no_tls(target.address, &e))?;
    Ok(link)
}

/// Why a control connection could not be encrypted, and what to try.
fn no_tls(address: SocketAddr, error: &std::io::Error) -> Failure {
    use std::io::ErrorKind;
    let cause = error.get_ref().and_then(|e| e.downcast_ref::<rustls::Error>());
    let (what, advice) = match (error.kind(), cause) {
        (ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe, _) => (
            format!("{address} closed the connection when TLS was asked for: it most likely runs without"),
            "start `pathmeter serve --tls` there, or drop --tls and --fingerprint here",
        ),
        (ErrorKind::TimedOut, _) => (
            format!("{address} accepts connections but does not answer when TLS is asked for"),
            "check that `pathmeter serve --tls` runs on this port",
        ),
        (_, Some(rustls::Error::AlertReceived(rustls::AlertDescription::AccessDenied))) => (
            format!(
                "{address} turned this connection away: it has too many connections, of this address or in all, or too many \
                 wrong tokens came from this address"
            ),
            "try again later; the server's log has the reason",
        ),
        (_, Some(rustls::Error::General(other_certificate))) => (
            format!("{address} is not the server that was expected: {other_certificate}"),
            "give the --fingerprint that the server printed at its last start (each start makes a new \
             certificate); if it did not start anew, somebody else answers in its place",
        ),
        _ => (format!("TLS with {address}: {error}"), "check that `pathmeter serve --tls` runs on this port"),
    };
    Failure::unreachable(what, advice)
}

/// This end's description of itself in our own protocol.
pub(crate) fn native_config(security: &Security, host: &Host, link: &Link) -> Result<native::ClientConfig> {
    Ok(native::ClientConfig {
        token: security.token.clone(),
        entropy: host::entropy()?,
        software: host.version.clone(),
        host: host.clone(),
        binding: link.binding()?,
    })
}

/// The same, and over which family the host answers, where it has both and was silent.
fn with_other_family(
    mut failure: Failure,
    error: &std::io::Error,
    target: &Target,
    local: &LocalOptions,
) -> Failure {
    if error.kind() != std::io::ErrorKind::ConnectionRefused
        && let Some(other) = reach::other_family(target, local)
    {
        let advice = failure.advice.take().unwrap_or_default();
        failure.advice = Some(format!("{advice}; {other}"));
    }
    failure
}

/// Warns of connections that opened only after their SYN had been retransmitted, a second or more later.
pub(crate) fn opened_late(late: usize, all: usize) -> Option<Warning> {
    (late > 0).then(|| {
        let text = format!(
            "{late} of {all} connections opened only after their SYN was retransmitted: SYNs or the answers to them are lost, by a firewall \
             that limits new connections, a full queue of the listener (`nstat -az TcpExtListenDrops` there), or a line that loses packets{}",
            if requests_ecn() { ECN } else { "" }
        );
        Warning::new("syn-retransmitted", text)
    })
}

/// The first SYN of this host's connections asks for ECN, and a retransmitted one no more (tcp(7), `tcp_ecn`).
fn requests_ecn() -> bool {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_ecn").is_ok_and(|mode| mode.trim() == "1")
}

/// The host as requested, and its address; with its port, where the request has one.
fn named(Target { host, address }: &Target) -> String {
    let ip = address.ip();
    let shown = if address.port() == 0 { ip.to_string() } else { address.to_string() };
    if *host == ip.to_string() { shown } else { format!("{host} ({shown})") }
}

/// Why a server could not be reached, and what to try.
pub(crate) fn unreachable(target: &Target, protocol: ProtocolName, refused: &OsError) -> Failure {
    use std::io::ErrorKind;
    let (named, address) = (named(target), target.address);
    let port = address.port();
    if let Some(rejection) = reach::of_another(refused.rejection) {
        let reach::Reason { what, advice } = reach::rejected(&rejection, address.ip(), port);
        return Failure {
            kind: Kind::Unreachable,
            message: format!("{named} cannot be reached: {what}"),
            advice,
        };
    }
    let error = &refused.source;
    if is_out_of_files(error) {
        return Failure::usage(format!("connect to {named}: {error}"), MORE_FILES);
    }
    let reason = reach::reason(address.ip(), error.kind());
    let why = reason.as_ref().map(|reason| format!(": {}", reason.what)).unwrap_or_default();
    let advice = |general: String| reason.and_then(|reason| reason.advice).unwrap_or(general);
    // A request without a protocol may mean that of the port.
    let at_port = Tests::at_port(port).filter(|_| protocol == ProtocolName::Native);
    match error.kind() {
        ErrorKind::ConnectionRefused => Failure::unreachable(
            format!(
                "{named} refused the connection: the host is there and nothing listens on TCP port {port}{why}"
            ),
            advice(at_port.unwrap_or_else(|| Tests::for_protocol(protocol)).start.into()),
        ),
        ErrorKind::TimedOut => Failure::unreachable(
            format!("{named} does not answer on TCP port {port}{why}"),
            advice(format!(
                "check the address, and that firewalls and security groups allow TCP and UDP port {port}"
            )),
        ),
        ErrorKind::NetworkUnreachable | ErrorKind::HostUnreachable => Failure::unreachable(
            format!("{named} cannot be reached: {error}{why}"),
            advice("check this host's routes; with -4 or -6 the other family can be tried".into()),
        ),
        ErrorKind::AddrNotAvailable if address.is_ipv6() && !has_ipv6() => Failure::unreachable(
            format!("{named} cannot be reached: IPv6 is off on this host"),
            "switch it on with `sudo sysctl -w net.ipv6.conf.all.disable_ipv6=0`, or use IPv4: -4",
        ),
        ErrorKind::PermissionDenied => Failure::unreachable(
            format!("{named} cannot be reached: this host itself prohibits it"),
            format!(
                "a rule, route or firewall of this host refuses it: look at `ip rule`, `ip route get {}` and `nft list ruleset`",
                address.ip()
            ),
        ),
        _ => Failure::unreachable(
            format!("connect to {named}: {error}"),
            "check the address and the options given",
        ),
    }
}

/// The same of any socket towards a host: an error that means more than a missing route is left as it is.
pub(crate) fn without_route(target: &Target, error: Error) -> Error {
    match error.system() {
        Some(refused) if refused.source.kind() == std::io::ErrorKind::NetworkUnreachable => {
            unreachable(target, ProtocolName::Native, refused).into()
        }
        _ => error,
    }
}

/// Whether this host has an IPv6 address at all: its loopback's goes last.
fn has_ipv6() -> bool {
    std::net::UdpSocket::bind((std::net::Ipv6Addr::LOCALHOST, 0)).is_ok()
}

const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(5);

const ECN: &str =
    ", or a box drops SYNs that ask for ECN, as this host's do (`net.ipv4.tcp_ecn` is 1; with 2 they do not)";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_the_port_that_it_is_asked_at() {
        let at =
            |host: &str, port| named(&Target { host: host.into(), address: ([192, 0, 2, 1], port).into() });
        assert_eq!(at("192.0.2.1", 5210), "192.0.2.1:5210");
        assert_eq!(at("far.example", 5210), "far.example (192.0.2.1:5210)");
        // By ICMP there is none.
        assert_eq!(at("192.0.2.1", 0), "192.0.2.1");
        assert_eq!(at("far.example", 0), "far.example (192.0.2.1)");
    }
}
