//! What no test can do, said before anything is sent: options that exclude each other, and values beyond their limits.

mod iperf2;

use crate::cli::{OriginArgs, SessionArgs, TargetArgs, ThroughputArgs};
use engine::error::Failure;
use model::framing::LINUX_MIN_MSS;
use model::plan::ProtocolName;
use model::units::{BitRate, Bytes, Nanos};

/// All of `pathmeter throughput`.
pub(super) fn throughput(args: &ThroughputArgs) -> Result<(), Failure> {
    let protocol = ProtocolName::from(args.protocol);
    target(&args.target)?;
    session(&args.session, protocol)?;
    exclusions(args)?;
    transport(args)?;
    numbers(args)?;
    match protocol {
        ProtocolName::Native | ProtocolName::Foreign => Ok(()),
        ProtocolName::Iperf3 => iperf3(args),
        ProtocolName::Iperf2 => iperf2::check(args),
    }
}

/// The far end and the way to it.
pub(super) fn target(args: &TargetArgs) -> Result<(), Failure> {
    if let (Some(inside), Some(port)) = (args.host.port, args.port)
        && inside != port
    {
        return Err(Failure::usage(
            format!("HOST:{inside} and --port {port} name different ports"),
            "give the port once",
        ));
    }
    origin(&args.origin)
}

/// The way out of this host.
pub(crate) fn origin(args: &OriginArgs) -> Result<(), Failure> {
    if args.ipv4 && args.ipv6 {
        return exclude(
            "-4",
            "-6",
            "each forbids the other's addresses",
            "give one of them, or none for either",
        );
    }
    if let Some(bind) = args.bind {
        let refused = if bind.is_ipv4() { args.ipv6.then_some("-6") } else { args.ipv4.then_some("-4") };
        if let Some(flag) = refused {
            return exclude(
                &format!("--bind {bind}"),
                flag,
                "the address is of the other family",
                "drop one of them",
            );
        }
    }
    positive("--connect-timeout", args.connect_timeout)
}

/// Token, encryption and link speed.
pub(super) fn session(args: &SessionArgs, protocol: ProtocolName) -> Result<(), Failure> {
    if let Some(foreign) = foreign(protocol) {
        let asked = [
            ("--token-file", args.token_file.is_some()),
            ("--tls", args.tls),
            ("--fingerprint", args.fingerprint.is_some()),
        ];
        if let Some((name, _)) = asked.iter().find(|(_, asked)| *asked) {
            let why = "that protocol has neither";
            return exclude(
                name,
                &format!("--protocol {foreign}"),
                why,
                &format!("drop {name}, or use --protocol native"),
            );
        }
    }
    if args.tls && args.fingerprint.is_none() {
        return Err(Failure::usage(
            "--tls without --fingerprint would trust any server",
            "add --fingerprint HEX: `pathmeter serve --tls` prints it when it starts",
        ));
    }
    match args.link {
        Some(BitRate(0)) => Err(Failure::usage("--link 0: a link has a speed", "give it as in --link 25G")),
        _ => Ok(()),
    }
}

/// Streams and time of a row of `pathmeter frames`.
pub(super) fn frames(streams: u32, time: Nanos) -> Result<(), Failure> {
    within("--parallel", u64::from(streams), 1, 128, "streams")?;
    positive("--time", time)?;
    at_most("--time", time, MAX_TIME)
}

/// A protocol that is not ours, as typed.
fn foreign(protocol: ProtocolName) -> Option<ProtocolName> {
    matches!(protocol, ProtocolName::Iperf3 | ProtocolName::Iperf2).then_some(protocol)
}

fn exclusions(args: &ThroughputArgs) -> Result<(), Failure> {
    let (test, socket) = (&args.test, &args.socket);
    if test.reverse && test.bidir {
        return exclude("--reverse", "--bidir", "--bidir measures both ways already", "drop one of them");
    }
    if test.time.is_some() && test.bytes.is_some() {
        return exclude("--time", "--bytes", "a test ends by time or by amount", "give one of them");
    }
    if socket.dscp.is_some() && socket.tos.is_some() {
        return exclude(
            "--dscp",
            "--tos",
            "both set the same byte",
            "give one of them: DSCP is TOS divided by 4",
        );
    }
    Ok(())
}

/// Options of the other transport.
fn transport(args: &ThroughputArgs) -> Result<(), Failure> {
    let socket = &args.socket;
    if !args.test.udp {
        return match socket.no_gso {
            true => Err(Failure::usage(
                "--no-gso is for UDP, and this test is TCP",
                "add --udp, or drop --no-gso",
            )),
            false => Ok(()),
        };
    }
    let of_tcp = [
        ("--mss", socket.mss.is_some(), "set the payload with --length"),
        ("--congestion", socket.congestion.is_some(), "set the rate with --bitrate"),
        ("--nodelay", socket.nodelay, "datagrams are never held back"),
        ("--zero-copy", socket.zero_copy, "segmentation offload serves UDP better, and is on"),
        ("--receive-discard", socket.receive_discard, "every datagram's number is read"),
    ];
    match of_tcp.iter().find(|(_, asked, _)| *asked) {
        Some((name, _, instead)) => {
            let advice = format!("drop {name} ({instead}), or drop --udp");
            exclude(name, "--udp", &format!("{name} is for TCP"), &advice)
        }
        None => Ok(()),
    }
}

fn numbers(args: &ThroughputArgs) -> Result<(), Failure> {
    let (test, socket) = (&args.test, &args.socket);
    within("--parallel", u64::from(test.parallel), 1, 128, "streams")?;
    if let Some(time) = test.time {
        positive("--time", time)?;
        at_most("--time", time, MAX_TIME)?;
    }
    if test.bytes == Some(Bytes::ZERO) {
        return Err(Failure::usage("--bytes 0 sends nothing", "give an amount, or --time"));
    }
    at_most("--omit", test.omit, MAX_OMIT)?;
    if test.interval > Nanos::ZERO && test.interval < MIN_INTERVAL {
        return Err(Failure::usage(
            format!("--interval {} is too short to mean anything", test.interval),
            format!("give {MIN_INTERVAL} or more, or 0 for a report at the end only"),
        ));
    }
    length(test.length, test.udp)?;
    if let Some(mss) = socket.mss {
        let advice = "Linux takes no other (use --udp -l for smaller packets)";
        range("--mss", mss.0, LINUX_MIN_MSS.0, MAX_MSS, "bytes", advice)?;
    }
    match socket.window {
        Some(window) => within("--window", window.0, 1, MAX_WINDOW, "bytes"),
        None => Ok(()),
    }
}

fn length(length: Option<Bytes>, udp: bool) -> Result<(), Failure> {
    match length {
        Some(length) if udp => {
            let why = "a datagram holds our 16-byte header, and 65507 bytes at most over IPv4";
            range("--length", length.0, MIN_UDP, MAX_UDP, "bytes with --udp", why)
        }
        Some(length) => within("--length", length.0, 1, MAX_WRITE, "bytes"),
        None => Ok(()),
    }
}

/// What iPerf3's parameters cannot say or its servers refuse.
fn iperf3(args: &ThroughputArgs) -> Result<(), Failure> {
    let test = &args.test;
    for (name, value) in [("--time", test.time.unwrap_or_default()), ("--omit", test.omit)] {
        if value.0 % Nanos::from_secs(1).0 != 0 {
            return Err(Failure::usage(
                format!("{name} {value} with --protocol iperf3: it knows whole seconds only"),
                "give whole seconds, or use --protocol native",
            ));
        }
        at_most(&format!("{name} with --protocol iperf3"), value, Nanos::from_secs(86_400))?;
    }
    match test.length {
        Some(length) if !test.udp => {
            within("--length with --protocol iperf3", length.0, 1, MAX_IPERF3_BLOCK, "bytes")
        }
        _ => Ok(()),
    }
}

fn exclude(one: &str, other: &str, why: &str, advice: &str) -> Result<(), Failure> {
    Err(Failure::usage(format!("{one} cannot be used with {other}: {why}"), advice))
}

fn within(name: &str, value: u64, least: u64, most: u64, unit: &str) -> Result<(), Failure> {
    range(name, value, least, most, unit, "nothing else can be served")
}

fn range(name: &str, value: u64, least: u64, most: u64, unit: &str, why: &str) -> Result<(), Failure> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Failure::usage(
        format!("{name} {value} is out of range"),
        format!("give {least} to {most} {unit}: {why}"),
    ))
}

pub(super) fn positive(name: &str, time: Nanos) -> Result<(), Failure> {
    match time {
        Nanos::ZERO => {
            Err(Failure::usage(format!("{name} 0 leaves no time"), "give more, as in 10s or 500ms"))
        }
        _ => Ok(()),
    }
}

pub(super) fn at_most(name: &str, time: Nanos, most: Nanos) -> Result<(), Failure> {
    if time <= most {
        return Ok(());
    }
    Err(Failure::usage(format!("{name} {time} is too long"), format!("give {most} at most")))
}

/// A week.
const MAX_TIME: Nanos = Nanos::from_secs(7 * 86_400);
const MAX_OMIT: Nanos = Nanos::from_secs(600);
const MIN_INTERVAL: Nanos = Nanos::from_millis(10);
/// `TCP_MAXSEG` of Linux (`MAX_TCP_WINDOW` in `include/net/tcp.h`).
const MAX_MSS: u64 = 32_767;
/// Twice of it still fits the kernel's signed 32 bits.
const MAX_WINDOW: u64 = 1 << 30;
const MAX_WRITE: u64 = 16 << 20;
/// iPerf3's `MAX_BLOCKSIZE`.
const MAX_IPERF3_BLOCK: u64 = 1 << 20;
/// Our header, and iPerf3's least.
const MIN_UDP: u64 = 16;
/// 65,535 less the headers of IPv4 and UDP.
const MAX_UDP: u64 = 65_507;
