//! From options as they stand to a job: defaults, and what cannot go together.

use super::{
    Activity, Both, Client, Command, Fault, Multicast, Places, Request, Role, Server, SocketSpec, SockperfJob,
};
use crate::sockperf::output::{Bins, End, Mode, RequestedTest, Version};
use model::cpus::CpuList;
use model::framing::LARGEST_UDP_PAYLOAD;
use model::units::Nanos;
use std::path::PathBuf;

/// The options, as they stand on the command line.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub(super) help: bool,
    pub(super) version: Option<Version>,
    pub(super) tcp: bool,
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) feed: Option<PathBuf>,
    pub(super) call: Option<&'static str>,
    pub(super) activity: Option<Activity>,
    pub(super) avoid_nodelay: bool,
    pub(super) skip_blocking_send: bool,
    pub(super) tos: u8,
    pub(super) receive_interface: Option<String>,
    pub(super) send_interface: Option<String>,
    pub(super) loopback: bool,
    pub(super) ttl: Option<u8>,
    pub(super) source: Option<String>,
    pub(super) reuse_address: bool,
    pub(super) busy_poll: Option<Nanos>,
    pub(super) buffer: Option<u32>,
    pub(super) pacing: Option<u32>,
    pub(super) spin: bool,
    pub(super) loops: Option<i64>,
    pub(super) no_warm_up: bool,
    pub(super) pause: Nanos,
    pub(super) daemon: bool,
    pub(super) sender_cpus: Option<CpuList>,
    pub(super) receiver_cpus: Option<CpuList>,
    pub(super) full_log: Option<PathBuf>,
    pub(super) full_rtt: bool,
    pub(super) giga: bool,
    pub(super) precise: bool,
    pub(super) connect_timeout: Option<Nanos>,
    pub(super) seconds: Option<u32>,
    pub(super) number: Option<u64>,
    pub(super) client_host: Option<String>,
    pub(super) client_port: Option<u16>,
    pub(super) burst: Option<u32>,
    pub(super) reply_every: Option<u32>,
    /// `Some(None)`: as many as can be.
    pub(super) rate: Option<Option<u32>>,
    pub(super) size: Option<u32>,
    pub(super) range: u32,
    pub(super) integrity: bool,
    pub(super) confidence: Option<u32>,
    pub(super) histogram: Option<Bins>,
    pub(super) data_file: Option<PathBuf>,
    pub(super) threads: Option<u32>,
    pub(super) server_cpus: Option<CpuList>,
    pub(super) silent: bool,
    pub(super) unicast_reply: bool,
    pub(super) gaps: bool,
    pub(super) tls: Option<String>,
    pub(super) notes: Vec<String>,
}

/// The job, with every default filled.
pub(super) fn finish(mut line: Line, command: Command) -> Result<Request, Fault> {
    check(&line)?;
    let notes = std::mem::take(&mut line.notes);
    let both = both(&mut line, command);
    let role = match command {
        Command::Client(mode) => Role::Client(client(line, mode)?),
        Command::Server => Role::Server(server(line)?),
    };
    Ok(Request::Run(Box::new(SockperfJob { both, role }), notes))
}

/// Refuses options that cannot be combined.
fn check(line: &Line) -> Result<(), Fault> {
    let timed = line.seconds.is_some() || line.rate.is_some();
    for (wrong, why) in [
        (
            line.feed.is_some() && (line.host.is_some() || line.port.is_some()),
            "-f conflicts with -i,-p options",
        ),
        (line.feed.is_some() && line.tcp, "--tcp conflicts with -f option"),
        (line.feed.is_some() && line.client_port.is_some(), "--client_port conflicts with -f option"),
        (line.call.is_some() && line.feed.is_none(), "-F must be used with feed file (option '-f')"),
        (
            line.threads.is_some() && line.feed.is_none(),
            "--threads-num must be used with feed file (option '-f')",
        ),
        (line.number.is_some() && timed, "-n conflicts with -t,--mps options"),
        (line.integrity && line.burst.is_some(), "--data-integrity conflicts with -b option"),
        (line.silent && line.tcp, "--tcp conflicts with --dont-reply option"),
        (
            line.connect_timeout.is_some() && !line.tcp && line.feed.is_none(),
            "--tcp_nb_connect_timeout_ms requires --tcp or -f",
        ),
        (line.tls.is_some() && !line.tcp, "--tls requires --tcp"),
        (line.loops == Some(0), "recv_looping_num cannot be equal to 0."),
        (
            line.loops.is_some_and(|loops| loops != 1) && !line.spin,
            "recv_looping_num larger then one must be used in a none-blocked mode only. add --nonblocked.",
        ),
    ] {
        if wrong {
            return Err(Fault::bad(why));
        }
    }
    Ok(())
}

fn both(line: &mut Line, command: Command) -> Both {
    let places = match line.feed.take() {
        Some(file) => Places::Feed(file),
        None => {
            let (host, port) = (line.host.take(), line.port.unwrap_or(wire::sockperf::PORT));
            Places::One(SocketSpec { host, port, tcp: line.tcp, source: line.source.clone() })
        }
    };
    // Only throughput waits for full segments.
    let streams = command == Command::Client(Mode::Throughput);
    let call = line.call.unwrap_or(if matches!(places, Places::Feed(_)) { "epoll" } else { "recvfrom" });
    Both {
        places,
        call,
        nodelay: streams == line.avoid_nodelay,
        spin: line.spin,
        skip_blocking_send: line.skip_blocking_send,
        tos: line.tos,
        busy_poll: line.busy_poll,
        buffer: line.buffer,
        pacing: line.pacing,
        reuse_address: line.reuse_address,
        multicast: Multicast {
            receive: line.receive_interface.take(),
            send: line.send_interface.take(),
            loopback: line.loopback,
            ttl: line.ttl.unwrap_or(MULTICAST_TTL),
            source: line.source.take(),
        },
        warm_up: !line.no_warm_up,
        pause: line.pause,
        daemon: line.daemon,
        activity: line.activity,
        tls: line.tls.take(),
        version: line.version.unwrap_or_default(),
    }
}

fn client(line: Line, mode: Mode) -> Result<Client, Fault> {
    let max = if line.tcp { wire::sockperf::MAX_TCP_LEN } else { LARGEST_UDP_PAYLOAD as usize };
    if let Some(size) = line.size.filter(|size| usize::try_from(*size).is_ok_and(|size| size > max)) {
        return Err(Fault::bad(format!("'-m' Invalid message size: {size} (max: {max})")));
    }
    if mode == Mode::Playback && line.data_file.is_none() {
        return Err(Fault::bad("--data-file must be used with playback mode"));
    }
    let (rate, reply_every) = match mode {
        Mode::PingPong => (None, 1),
        Mode::Throughput => (None, NEVER),
        Mode::UnderLoad | Mode::Playback => (Some(RATE), REPLY_EVERY),
    };
    let requested = RequestedTest {
        version: line.version.unwrap_or_default(),
        mode,
        full_rtt: line.full_rtt,
        burst: line.burst.unwrap_or(1),
        rate: line.rate.unwrap_or(rate),
        reply_every: line.reply_every.unwrap_or(reply_every),
        size: line.size.unwrap_or(SHORTEST),
        range: line.range,
        end: line.number.map_or(End::Seconds(line.seconds.unwrap_or(1)), End::Observations),
        confidence: line.confidence.unwrap_or(CONFIDENCE),
        histogram: line.histogram,
        giga: line.giga,
        precise: line.precise,
    };
    Ok(Client {
        asked: requested,
        largest: u32::try_from(max).unwrap_or(u32::MAX),
        bind: (line.client_host, line.client_port),
        full_log: line.full_log,
        integrity: line.integrity,
        playback: line.data_file,
        sender_cpus: line.sender_cpus,
        receiver_cpus: line.receiver_cpus,
        connect_timeout: line.connect_timeout.unwrap_or(CONNECT_TIMEOUT),
    })
}

fn server(line: Line) -> Result<Server, Fault> {
    if line.call == Some("recvfrom") && line.threads.is_some() {
        return Err(Fault::bad("--threads-num is incompatible with -F recvfrom"));
    }
    Ok(Server {
        // A smaller one changes nothing, as with sockperf.
        max: line.size.unwrap_or(0).max(LARGEST_UDP_PAYLOAD),
        threads: line.threads.unwrap_or(1),
        cpus: line.server_cpus,
        silent: line.silent,
        unicast_reply: line.unicast_reply,
        gaps: line.gaps,
    })
}

const SHORTEST: u32 = 14;
/// Messages per second of under-load.
const RATE: u32 = 10_000;
const REPLY_EVERY: u32 = 100;
/// Throughput asks for no reply: 2^30.
const NEVER: u32 = 1 << 30;
/// Percent.
const CONFIDENCE: u32 = 99;
const MULTICAST_TTL: u8 = 2;
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(5);
