//! The client's end of a test: opens the control connection, chooses the protocol's machine and drives it.

use super::driver::{Driver, Opener, Setting};
use super::host;
use super::interrupt::Interrupt;
use super::iperf2;
use super::link::Link;
use super::reach;
use super::tls::{self, Fingerprint};
use crate::exit::Failure;
use anyhow::Context;
use linux::clock::mono_now;
use linux::socket::{TcpOptions, tcp_connect};
use model::event::Event;
use model::host::Host;
use model::plan::{LocalOptions, Plan, ProtocolName, Target, Transport};
use model::units::Nanos;
use std::net::SocketAddr;
use std::sync::Arc;
use wire::{Session, iperf3, native};

/// How a client proves itself and knows its server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Security {
    /// The shared token.
    pub(crate) token: Option<native::Token>,
    /// Certificate of the server; present: the control connection is TLS.
    pub(crate) fingerprint: Option<Fingerprint>,
}

/// Runs one throughput test. Events go to `sink` as they happen; what was measured before a failure has been told.
pub(crate) fn run(
    plan: &Plan,
    security: &Security,
    extras: &iperf3::Extras,
    interrupt: &Interrupt,
    sink: &mut dyn FnMut(&Event),
) -> anyhow::Result<()> {
    if plan.protocol == ProtocolName::Iperf2 {
        return iperf2::client(plan, &iperf2::Extras::default(), interrupt, &mut |told| {
            if let iperf2::Told::Event(event) = told {
                sink(event);
            }
        });
    }
    let link = connect(&plan.target, plan.protocol, &plan.local, security)?;
    let host = host::describe(Some(plan.target.address.ip()));
    let mut plan = plan.clone();
    if plan.test.transport == Transport::Udp && plan.test.length == 0 {
        plan.test.length = iperf3_payload(&link);
    }
    let mut session = machine(&plan, security, extras, &host, &link)?;
    let setting = Setting {
        opener: Opener::Client { target: plan.target.clone() },
        local: plan.local.clone(),
        host,
        interrupt: interrupt.clone(),
        admit: Box::new(|_| true),
        extras: Box::new(|_| {}),
        sink: Box::new(sink),
        reflected: Box::new(|_| {}),
        framed: Box::new(|_| {}),
        offers: Arc::default(),
        report: Box::new(|_, _| None),
    };
    Driver::new(session.as_mut(), link, setting)?.run()?;
    Ok(())
}

/// The UDP payload iPerf3 chooses: the segment size of the control connection, where it fits a datagram.
fn iperf3_payload(link: &Link) -> u32 {
    let mss = linux::options::mss(link.socket()).map_or(0, |mss| mss.0);
    u32::try_from(mss).ok().filter(|mss| (16..=65_507).contains(mss)).unwrap_or(iperf3::DEFAULT_UDP_LENGTH)
}

/// Opens a control connection.
pub(crate) fn connect(
    target: &Target,
    protocol: ProtocolName,
    local: &LocalOptions,
    security: &Security,
) -> anyhow::Result<Link> {
    let options =
        TcpOptions { local_address: local.bind, device: local.device.clone(), ..TcpOptions::default() };
    let timeout = local.connect_timeout.unwrap_or(CONNECT_TIMEOUT);
    let began = mono_now();
    let socket = tcp_connect(target.address, &options, timeout)
        .map_err(|e| with_other_family(unreachable(target, protocol, &e.source), &e.source, target, local))?;
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
    match (error.kind(), cause) {
        (ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe, _) => {
            Failure::unreachable(
                format!(
                    "{address} closed the connection when TLS was asked for: it most likely runs without"
                ),
                "start `pathmeter serve --tls` there, or drop --tls and --fingerprint here",
            )
        }
        (ErrorKind::TimedOut, _) => Failure::unreachable(
            format!("{address} accepts connections but does not answer when TLS is asked for"),
            "check that `pathmeter serve --tls` runs on this port",
        ),
        (_, Some(rustls::Error::General(other_certificate))) => Failure::unreachable(
            format!("{address} is not the server that was expected: {other_certificate}"),
            "give the --fingerprint that the server printed at its last start (each start makes a new \
             certificate); if it did not start anew, somebody else answers in its place",
        ),
        _ => Failure::unreachable(
            format!("TLS with {address}: {error}"),
            "check that `pathmeter serve --tls` runs on this port",
        ),
    }
}

fn machine(
    plan: &Plan,
    security: &Security,
    extras: &iperf3::Extras,
    host: &Host,
    link: &Link,
) -> anyhow::Result<Box<dyn Session>> {
    let now = mono_now();
    Ok(match plan.protocol {
        ProtocolName::Iperf3 => {
            let cookie = iperf3::Cookie::from_entropy(&host::entropy()?);
            let config = iperf3::ClientConfig { cookie, test: plan.test.clone(), extras: extras.clone() };
            Box::new(iperf3::Client::new(config, now))
        }
        ProtocolName::Native => {
            let config = native_config(security, host, link)?;
            Box::new(native::Client::new(config, plan.test.clone(), plan.local.interval, now))
        }
        ProtocolName::Iperf2 | ProtocolName::Foreign => {
            anyhow::bail!("{}: nothing here speaks this protocol with a dialogue", plan.target.address)
        }
    })
}

/// What this end tells of itself in our own protocol.
pub(crate) fn native_config(
    security: &Security,
    host: &Host,
    link: &Link,
) -> anyhow::Result<native::ClientConfig> {
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

/// Why a server could not be reached, and what to try.
pub(crate) fn unreachable(target: &Target, protocol: ProtocolName, error: &std::io::Error) -> Failure {
    use std::io::ErrorKind;
    let Target { host, address } = target;
    let named =
        if *host == address.ip().to_string() { address.to_string() } else { format!("{host} ({address})") };
    let port = address.port();
    let reason = reach::reason(address.ip(), error.kind());
    let why = reason.as_ref().map(|reason| format!(": {}", reason.what)).unwrap_or_default();
    let advice = |general: String| reason.and_then(|reason| reason.advice).unwrap_or(general);
    match error.kind() {
        ErrorKind::ConnectionRefused => Failure::unreachable(
            format!(
                "{named} refused the connection: the host is there and nothing listens on TCP port {port}"
            ),
            match protocol {
                _ if port == iperf3::PORT => IPERF3_ADVICE.into(),
                ProtocolName::Iperf3 => IPERF3_ADVICE.into(),
                ProtocolName::Iperf2 => IPERF2_ADVICE.into(),
                ProtocolName::Native | ProtocolName::Foreign => format!(
                    "start `pathmeter serve` there (it listens on {}), or give its port as HOST:PORT",
                    native::PORT
                ),
            },
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
        _ => Failure::unreachable(
            format!("connect to {named}: {error}"),
            "check the address and the options given",
        ),
    }
}

const IPERF3_ADVICE: &str = "start `iperf3 -s` or `pathmeter serve --iperf3` there, or give its port with -p";
const IPERF2_ADVICE: &str = "start `iperf -s` or `pathmeter serve --iperf2` there, or give its port with -p";
const CONNECT_TIMEOUT: Nanos = Nanos(5_000_000_000);
