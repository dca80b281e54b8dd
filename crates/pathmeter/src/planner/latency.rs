//! The plan of `pathmeter latency`.

use super::{Family, check, fits_u32, resolve};
use crate::cli::{LatencyArgs, LatencyWaitArg, OriginArgs, TargetArgs};
use engine::error::Failure;
use engine::latency::choose;
use model::latency::{LatencyMode, LatencyPlan, LatencyProtocol, Load, SocketSetup, WaitMode, Way};
use model::plan::{Directions, End, Target, Transport};
use model::units::{Nanos, PacketRate};
use std::net::IpAddr;
use wire::{iperf2, native, sockperf, stamp};

/// The plan of `pathmeter latency`.
///
/// # Errors
/// `Kind::Usage` for options that exclude each other or exceed what can be; `Kind::Unreachable` for a host without a usable address.
pub(crate) fn latency(args: &LatencyArgs) -> Result<LatencyPlan, Failure> {
    let protocol = LatencyProtocol::from(args.protocol);
    let mode = mode(args);
    // iPerf2's round trips know no other.
    let tcp = args.test.tcp || protocol == LatencyProtocol::Iperf2;
    let transport = if tcp { Transport::Tcp } else { Transport::Udp };
    exclusions(args, protocol, mode)?;
    let size = size(args, protocol, transport)?;
    let (wait, wait_reason) = wait(args);
    Ok(LatencyPlan {
        ways: ways(args, protocol)?,
        protocol,
        mode,
        transport,
        size,
        sizes: None,
        burst: 1,
        compare: false,
        rate: rate(args, mode)?,
        reply_every: args.test.reply_every,
        end: match args.test.count {
            Some(count) => End::Blocks(count),
            // Beside a load, the idle phase.
            None if args.load.loaded => End::Time(time(args).min(DEFAULT_TIME)),
            None => End::Time(time(args)),
        },
        warm_up: args.test.warm_up,
        timeout: args.test.timeout.or(args.load.loaded.then_some(LOADED_TIMEOUT)),
        interval: args.test.interval,
        wait,
        wait_reason,
        tos: args.host.dscp.map(crate::cli::Dscp::tos).or(args.host.tos.map(|tos| tos.0)).unwrap_or(0),
        busy_poll: args.host.busy_poll,
        socket: SocketSetup::default(),
        cpu: args.host.affinity.as_ref().and_then(|cpus| cpus.0.first().copied()),
        wire_times: !args.host.no_wire_times,
        multicast_ttl: args.host.multicast_ttl,
        connect_timeout: args.ways.origin.connect_timeout,
        load: load(args),
    })
}

fn mode(args: &LatencyArgs) -> LatencyMode {
    match args.test.mode.into() {
        _ if args.test.playback.is_some() => LatencyMode::Playback,
        // Messages at a fixed rate, whatever the queues do to the ones before.
        LatencyMode::PingPong if args.load.loaded => LatencyMode::UnderLoad,
        mode => mode,
    }
}

fn time(args: &LatencyArgs) -> Nanos {
    args.test.time.unwrap_or(DEFAULT_TIME)
}

fn wait(args: &LatencyArgs) -> (WaitMode, String) {
    let mode = match args.host.wait {
        LatencyWaitArg::Auto => return choose::automatic(args.load.loaded),
        LatencyWaitArg::Spin => WaitMode::Spin,
        LatencyWaitArg::Hybrid => WaitMode::Hybrid,
        LatencyWaitArg::Block => WaitMode::Block,
    };
    (mode, choose::reason(mode).into())
}

fn rate(args: &LatencyArgs, mode: LatencyMode) -> Result<Option<PacketRate>, Failure> {
    match (args.test.rate, mode) {
        (Some(PacketRate(0)), _) => {
            Err(Failure::usage("--rate 0 sends nothing", "leave it out to send as fast as the mode goes"))
        }
        (Some(rate), _) if rate > FASTEST => Err(Failure::usage(
            format!("--rate {rate} is more than one thread can send"),
            format!("ask for at most {FASTEST}"),
        )),
        (None, LatencyMode::UnderLoad) if args.load.loaded => Ok(Some(LOADED_RATE)),
        (None, LatencyMode::UnderLoad) => Ok(Some(UNDER_LOAD_RATE)),
        (rate, _) => Ok(rate),
    }
}

fn load(args: &LatencyArgs) -> Option<Load> {
    args.load.loaded.then(|| Load {
        phases: vec![Directions::Up, Directions::Down, Directions::Both],
        time: time(args),
        streams: args.load.parallel,
        congestion: args.load.congestion.clone(),
    })
}

fn size(args: &LatencyArgs, protocol: LatencyProtocol, transport: Transport) -> Result<u32, Failure> {
    let keyed = args.test.key_file.is_some();
    let base = if keyed { stamp::Mode::Authenticated } else { stamp::Mode::Open };
    let default = match protocol {
        LatencyProtocol::Stamp => base.base_len() as u32,
        LatencyProtocol::Iperf2 => iperf2::DEFAULT_BOUNCE as u32,
        LatencyProtocol::Native | LatencyProtocol::Sockperf => DEFAULT_SIZE,
    };
    let size = args.test.size.map_or(default, fits_u32);
    let most = if transport == Transport::Udp { sockperf::MAX_UDP_LEN } else { sockperf::MAX_TCP_LEN };
    let least = if protocol == LatencyProtocol::Iperf2 { iperf2::MIN_BOUNCE } else { sockperf::HEADER_LEN };
    if !(least..=most).contains(&(size as usize)) {
        return Err(Failure::usage(
            format!("messages of {size} bytes cannot be sent over {transport} with --protocol {protocol}"),
            format!("give --size from {least} to {most}"),
        ));
    }
    if protocol == LatencyProtocol::Stamp {
        stamp::Sender::check_size(base, size as usize)
            .map_err(|e| Failure::usage(e.to_string(), "give one of these with --size"))?;
    }
    Ok(size)
}

/// What a protocol does not have.
fn by_protocol(args: &LatencyArgs, protocol: LatencyProtocol, mode: LatencyMode) -> Result<(), Failure> {
    let no = |what: &str, advice: &str| Err(Failure::usage(what, advice));
    match protocol {
        LatencyProtocol::Stamp if args.test.tcp => no("STAMP goes over UDP alone", "drop --tcp"),
        LatencyProtocol::Stamp if matches!(mode, LatencyMode::Throughput | LatencyMode::Playback) => {
            no("STAMP answers every message of one size", "use --mode ping-pong or under-load")
        }
        LatencyProtocol::Stamp if args.test.reply_every > 1 => {
            no("STAMP answers every message", "drop --reply-every")
        }
        LatencyProtocol::Iperf2 if matches!(mode, LatencyMode::Throughput | LatencyMode::Playback) => {
            no("iPerf2 answers every message of one size", "use --mode ping-pong or under-load")
        }
        LatencyProtocol::Iperf2 if args.test.reply_every > 1 => {
            no("iPerf2 answers every message", "drop --reply-every")
        }
        LatencyProtocol::Native => Ok(()),
        _ if args.session.token_file.is_some() || args.session.fingerprint.is_some() => {
            no("a token or TLS goes with --protocol native alone", "drop it, or measure `pathmeter serve`")
        }
        _ if args.load.loaded => {
            no("--loaded puts our own streams beside the round trips", "use --protocol native")
        }
        _ => Ok(()),
    }
}

fn exclusions(args: &LatencyArgs, protocol: LatencyProtocol, mode: LatencyMode) -> Result<(), Failure> {
    let no = |what: &str, advice: &str| Err(Failure::usage(what, advice));
    by_protocol(args, protocol, mode)?;
    if args.test.timeout.is_some_and(|timeout| timeout == Nanos::ZERO || timeout > LONGEST_TIMEOUT) {
        return no("--timeout is out of range", "give a time above 0 and up to 8s");
    }
    if protocol != LatencyProtocol::Stamp && args.test.key_file.is_some() {
        return no(
            "--key-file goes with --protocol stamp",
            "drop it, or give --token-file for our own protocol",
        );
    }
    if mode == LatencyMode::Playback && args.test.playback.is_none() {
        return no(
            "--mode playback needs the messages",
            "give --playback FILE, with lines of `seconds, bytes`",
        );
    }
    if args.load.loaded && mode != LatencyMode::UnderLoad {
        return no(
            "--loaded sends its messages at a fixed rate",
            "drop --mode and --playback; --rate sets the rate",
        );
    }
    if args.load.loaded && (args.test.count.is_some() || args.test.reply_every > 1) {
        return no(
            "--loaded has phases of a time, and every message asks for a reply",
            "drop -n and --reply-every; -t sets the length of a phase",
        );
    }
    if args.load.loaded && time(args) < SHORTEST_PHASE {
        return no(
            "so short a load fills no path",
            "give -t 1s or more; -t 40s for responsiveness that can be relied on",
        );
    }
    if args.load.loaded && (args.hosts.len() > 1 || !args.ways.via.is_empty()) {
        return no("--loaded measures one way at a time", "give one host, and --bind or --device at most");
    }
    Ok(())
}

/// Each host, from each source.
fn ways(args: &LatencyArgs, protocol: LatencyProtocol) -> Result<Vec<Way>, Failure> {
    let labels = &args.ways.label;
    if !labels.is_empty() && labels.len() != args.hosts.len() {
        return Err(Failure::usage(
            format!("{} labels for {} hosts", labels.len(), args.hosts.len()),
            "give one --label for each host",
        ));
    }
    let sources = sources(args)?;
    let mut ways = Vec::new();
    for (index, host) in args.hosts.iter().enumerate() {
        for source in &sources {
            let target = target(args, protocol, host, source.bind)?;
            let own = labels.get(index).cloned();
            let label = match (own, &source.label) {
                (Some(label), None) => label,
                (Some(label), Some(via)) => format!("{label} via {via}"),
                (None, Some(via)) if args.hosts.len() == 1 => via.clone(),
                (None, Some(via)) => format!("{} via {via}", host.host),
                (None, None) => host.host.clone(),
            };
            ways.push(Way { label, target, bind: source.bind, port: None, device: source.device.clone() });
        }
    }
    Ok(ways)
}

fn target(
    args: &LatencyArgs,
    protocol: LatencyProtocol,
    host: &crate::cli::HostPort,
    bind: Option<IpAddr>,
) -> Result<Target, Failure> {
    let default = match protocol {
        LatencyProtocol::Native => native::PORT,
        LatencyProtocol::Sockperf => sockperf::PORT,
        LatencyProtocol::Stamp => stamp::PORT,
        LatencyProtocol::Iperf2 => iperf2::PORT,
    };
    let origin = OriginArgs { bind, device: None, ..args.ways.origin.clone() };
    check::target(&TargetArgs { host: host.clone(), port: args.port, origin: origin.clone() })?;
    let port = host.port.or(args.port).unwrap_or(default);
    let address = resolve(&host.host, port, Family::from(&origin))?;
    if address.ip().is_multicast() && (protocol != LatencyProtocol::Sockperf || args.test.tcp) {
        return Err(Failure::usage(
            format!("{} is a multicast group, which has no connections and no sessions", address.ip()),
            "use --protocol sockperf over UDP, with `sockperf sr -i GROUP` or `pathmeter serve --sockperf \
             --group GROUP` in the group",
        ));
    }
    Ok(Target { host: host.host.clone(), address })
}

/// A source of packets.
struct Source {
    label: Option<String>,
    bind: Option<IpAddr>,
    device: Option<String>,
}

fn sources(args: &LatencyArgs) -> Result<Vec<Source>, Failure> {
    if args.ways.via.is_empty() {
        return Ok(vec![Source {
            label: None,
            bind: args.ways.origin.bind,
            device: args.ways.origin.device.clone(),
        }]);
    }
    args.ways.via.iter().map(|text| source(text)).collect()
}

fn source(text: &str) -> Result<Source, Failure> {
    let (label, place) = text.split_once('=').unwrap_or((text, text));
    if label.is_empty() || place.is_empty() {
        return Err(Failure::usage(
            format!("--via {text} names nothing"),
            "give a local address or an interface, with a label as --via vpn=10.8.0.2",
        ));
    }
    let label = Some(label.to_owned());
    Ok(match place.parse::<IpAddr>() {
        Ok(address) => Source { label, bind: Some(address), device: None },
        Err(_) => Source { label, bind: None, device: Some(place.into()) },
    })
}

const DEFAULT_TIME: Nanos = Nanos::from_secs(5);
/// A server of ours takes a client for gone that is silent for 10 s.
const LONGEST_TIMEOUT: Nanos = Nanos::from_secs(8);
const DEFAULT_SIZE: u32 = 64;
const UNDER_LOAD_RATE: PacketRate = PacketRate(10_000);
/// Beside a load: often enough to see queues come and go, and nothing to the load.
const LOADED_RATE: PacketRate = PacketRate(100);
/// Connections start in this time where the path is short.
const SHORTEST_PHASE: Nanos = Nanos::from_millis(100);
/// Queues of seconds are what a load is there to find.
const LOADED_TIMEOUT: Nanos = Nanos::from_secs(3);
const FASTEST: PacketRate = PacketRate(10_000_000);
