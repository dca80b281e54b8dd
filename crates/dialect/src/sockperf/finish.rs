//! From options as they stand to a job: defaults, and what cannot go together.

use super::{
    Both, Client, Command, Fault, Multicast, Places, Request, Role, Server, SocketSpec, SockperfJob,
};
use crate::sockperf::output::{End, Mode, RequestedTest, Version};
use model::framing::LARGEST_UDP_PAYLOAD;
use model::units::Nanos;
use std::path::PathBuf;

/// The options, as they stand on the command line.
#[derive(Clone, Debug, Default)]
pub(super) struct Line {
    pub(super) help: bool,
    pub(super) both: Both,
    pub(super) client: Client,
    pub(super) server: Server,
    pub(super) tcp: bool,
    pub(super) host: Option<String>,
    pub(super) port: Option<u16>,
    pub(super) feed: Option<PathBuf>,
    pub(super) call: Option<&'static str>,
    pub(super) avoid_nodelay: bool,
    pub(super) loops: Option<i64>,
    pub(super) connect_timeout: Option<Nanos>,
    pub(super) seconds: Option<u32>,
    pub(super) number: Option<u64>,
    pub(super) burst: Option<u32>,
    pub(super) reply_every: Option<u32>,
    /// `Some(None)`: as many as can be.
    pub(super) rate: Option<Option<u32>>,
    pub(super) threads: Option<u32>,
    pub(super) notes: Vec<String>,
}

impl Line {
    /// No options: what is not zero without them.
    pub(super) fn new() -> Line {
        let multicast = Multicast { ttl: MULTICAST_TTL, ..Multicast::default() };
        Line { both: Both { warm_up: true, multicast, ..Both::default() }, ..Line::default() }
    }
}

/// The job, with every default filled.
pub(super) fn finish(mut line: Line, command: Command) -> Result<Request, Fault> {
    check(&line)?;
    let notes = std::mem::take(&mut line.notes);
    let both = both(&mut line, command);
    let role = match command {
        Command::Client(mode) => Role::Client(client(line, both.version, mode)?),
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
        (line.feed.is_some() && line.client.bind.1.is_some(), "--client_port conflicts with -f option"),
        (line.call.is_some() && line.feed.is_none(), "-F must be used with feed file (option '-f')"),
        (
            line.threads.is_some() && line.feed.is_none(),
            "--threads-num must be used with feed file (option '-f')",
        ),
        (line.number.is_some() && timed, "-n conflicts with -t,--mps options"),
        (line.client.integrity && line.burst.is_some(), "--data-integrity conflicts with -b option"),
        (line.server.silent && line.tcp, "--tcp conflicts with --dont-reply option"),
        (
            line.connect_timeout.is_some() && !line.tcp && line.feed.is_none(),
            "--tcp_nb_connect_timeout_ms requires --tcp or -f",
        ),
        (line.both.tls.is_some() && !line.tcp, "--tls requires --tcp"),
        (line.loops == Some(0), "recv_looping_num cannot be equal to 0."),
        (
            line.loops.is_some_and(|loops| loops != 1) && !line.both.spin,
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
    let both = std::mem::take(&mut line.both);
    let places = match line.feed.take() {
        Some(file) => Places::Feed(file),
        None => {
            let (host, port) = (line.host.take(), line.port.unwrap_or(wire::sockperf::PORT));
            Places::One(SocketSpec { host, port, tcp: line.tcp, source: both.multicast.source.clone() })
        }
    };
    // Only throughput waits for full segments.
    let streams = command == Command::Client(Mode::Throughput);
    let call = line.call.unwrap_or(if matches!(places, Places::Feed(_)) { "epoll" } else { "recvfrom" });
    Both { places, call, nodelay: streams == line.avoid_nodelay, ..both }
}

fn client(line: Line, version: Version, mode: Mode) -> Result<Client, Fault> {
    let max = if line.tcp { wire::sockperf::MAX_TCP_LEN as u32 } else { LARGEST_UDP_PAYLOAD };
    let size = line.client.asked.size;
    if size > max {
        return Err(Fault::bad(format!("'-m' Invalid message size: {size} (max: {max})")));
    }
    if mode == Mode::Playback && line.client.playback.is_none() {
        return Err(Fault::bad("--data-file must be used with playback mode"));
    }
    let (rate, reply_every) = match mode {
        Mode::PingPong => (None, 1),
        Mode::Throughput => (None, NEVER),
        Mode::UnderLoad | Mode::Playback => (Some(RATE), REPLY_EVERY),
    };
    let requested = RequestedTest {
        version,
        mode,
        burst: line.burst.unwrap_or(1),
        rate: line.rate.unwrap_or(rate),
        reply_every: line.reply_every.unwrap_or(reply_every),
        end: line.number.map_or(End::Seconds(line.seconds.unwrap_or(1)), End::Observations),
        ..line.client.asked
    };
    let connect_timeout = line.connect_timeout.unwrap_or(CONNECT_TIMEOUT);
    Ok(Client { asked: requested, largest: max, connect_timeout, ..line.client })
}

fn server(line: Line) -> Result<Server, Fault> {
    if line.call == Some("recvfrom") && line.threads.is_some() {
        return Err(Fault::bad("--threads-num is incompatible with -F recvfrom"));
    }
    // A smaller size changes nothing, as with sockperf.
    let max = line.server.max.max(LARGEST_UDP_PAYLOAD);
    Ok(Server { max, threads: line.threads.unwrap_or(1), ..line.server })
}

/// Messages per second of under-load.
const RATE: u32 = 10_000;
const REPLY_EVERY: u32 = 100;
/// Throughput asks for no reply: 2^30.
const NEVER: u32 = 1 << 30;
const MULTICAST_TTL: u8 = 2;
const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(5);
