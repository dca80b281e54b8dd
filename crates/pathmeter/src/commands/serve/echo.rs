//! The servers of protocols without a dialogue, beside our own: SockPerf and STAMP.

use super::{Log, listen};
use crate::cli::ServeArgs;
use crate::files::key;
use engine::echo::server::{Note, Servers, join};
use engine::error::Failure;
use engine::server::Observer;
use linux::socket::{UdpOptions, udp_bind};
use model::latency::WaitMode;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use wire::sockperf::{MAX_TCP_LEN, MAX_UDP_LEN, Responder};

/// Starts those that were asked for.
pub(super) fn start(args: &ServeArgs, log: &Log) -> anyhow::Result<Servers> {
    let mut servers = Servers::default();
    let note: Note = Arc::new(|text| Log.note(text));
    if let Some(port) = args.sockperf_port() {
        let datagrams = bind(args.bind, port)?;
        for group in &args.group {
            // A socket at one address of this host hears nothing that is sent to a group.
            let own = args.bind.map(|_| bind(Some(*group), port)).transpose()?;
            join(own.as_ref().unwrap_or(&datagrams), *group, args.bind).map_err(|e| no_group(*group, &e))?;
            if let Some(own) = own {
                servers.sockperf_datagrams(own, Responder::new(MAX_UDP_LEN), WaitMode::Hybrid, &note)?;
            }
        }
        log.note(&format!("listening on {} (TCP and UDP), SockPerf", datagrams.local_addr()?));
        servers.sockperf_datagrams(datagrams, Responder::new(MAX_UDP_LEN), WaitMode::Hybrid, &note)?;
        let listener = listen(args.bind, port)?;
        servers.sockperf_streams(listener, Responder::new(MAX_TCP_LEN), WaitMode::Hybrid, &note)?;
    } else if !args.group.is_empty() {
        let advice = "add --sockperf, whose clients can send to a group";
        return Err(Failure::usage("--group has no server to join it", advice).into());
    }
    if let Some(port) = args.stamp_port() {
        let socket = bind(args.bind, port)?;
        let key = args.stamp_key_file.as_deref().map(key).transpose()?;
        let mode = if key.is_some() { "authenticated" } else { "open" };
        let counting = if args.stamp_stateless { "stateless" } else { "stateful" };
        log.note(&format!("listening on {} (UDP), STAMP, {mode}, {counting}", socket.local_addr()?));
        servers.stamp(socket, key, !args.stamp_stateless, &note)?;
    }
    let any = args.sockperf_port().is_some() || args.stamp_port().is_some();
    if any && (args.max_rate.is_some() || args.max_time.is_some() || args.max_tests.is_some()) {
        log.note(
            "SockPerf and STAMP have no tests that could be limited: --max-rate, --max-time and --max-tests do not \
             hold there; each message has one reply",
        );
    }
    Ok(servers)
}

fn no_group(group: IpAddr, error: &std::io::Error) -> Failure {
    let advice = if group.is_multicast() {
        "give the group a route (`ip route add 239.0.0.0/8 dev eth0`), or with --bind the address of an interface"
    } else {
        "groups are 224.0.0.0 to 239.255.255.255, and those that begin with ff"
    };
    Failure::usage(format!("join the multicast group {group}: {error}"), advice)
}

/// A UDP socket on one port, on every address when none is given.
fn bind(address: Option<IpAddr>, port: u16) -> anyhow::Result<UdpSocket> {
    let address = SocketAddr::new(address.unwrap_or(Ipv6Addr::UNSPECIFIED.into()), port);
    udp_bind(address, &UdpOptions::default()).map_err(|error| {
        let advice = match error.source.kind() {
            ErrorKind::AddrInUse => {
                format!("another program has the port, `ss -lunp sport = :{port}` tells which")
            }
            ErrorKind::PermissionDenied => {
                format!("ports below 1024 need root, or give one above it, as --stamp=1{port:04}")
            }
            _ => "give another port, or another address with --bind".into(),
        };
        Failure::usage(format!("listen on UDP port {port}: {error}"), advice).into()
    })
}
