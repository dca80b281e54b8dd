//! Checks of a throughput test: options of the other transport or protocol, and numbers beyond their limits.

use super::Throughput;
use super::limits::{self, at_most, exclude, range, within};
use crate::error::Failure;
use model::framing::LARGEST_UDP_PAYLOAD;
use model::framing::LINUX_MIN_MSS;
use model::plan::{Directions, End, ProtocolName, Transport};
use model::units::{Bytes, Nanos};

pub(super) fn check(asked: &Throughput) -> Result<(), Failure> {
    transport(asked)?;
    numbers(asked)?;
    if !asked.observe.is_empty() && (asked.pairs.is_some() || !asked.more.is_empty()) {
        let why = "a host is observed beside one session";
        return exclude("--observe", "--pairs or several hosts", why, "drop one of them");
    }
    match asked.protocol {
        ProtocolName::Native | ProtocolName::Foreign => Ok(()),
        ProtocolName::Iperf3 => iperf3(asked),
        ProtocolName::Iperf2 => iperf2(asked),
    }
}

/// Options of the other transport.
fn transport(asked: &Throughput) -> Result<(), Failure> {
    let test = &asked.test;
    if test.transport == Transport::Tcp {
        return match test.offload {
            false => Err(Failure::usage(
                "--no-gso is for UDP, and this test is TCP",
                "add --udp, or drop --no-gso",
            )),
            true => Ok(()),
        };
    }
    let of_tcp = [
        ("--mss", test.mss.is_some(), "set the payload with --length"),
        ("--congestion", test.congestion.is_some(), "set the rate with --bitrate"),
        ("--nodelay", test.nodelay, "datagrams are never held back"),
        ("--zero-copy", test.zero_copy, "segmentation offload serves UDP better, and is on"),
        ("--receive-discard", test.receive_discard, "every datagram's number is read"),
    ];
    match of_tcp.iter().find(|(_, asked, _)| *asked) {
        Some((name, _, instead)) => {
            let advice = format!("drop {name} ({instead}), or drop --udp");
            exclude(name, "--udp", &format!("{name} is for TCP"), &advice)
        }
        None => Ok(()),
    }
}

fn numbers(asked: &Throughput) -> Result<(), Failure> {
    let test = &asked.test;
    limits::streams(test.streams)?;
    match test.end {
        End::Time(time) => limits::time(time)?,
        End::Bytes(Bytes(0)) => {
            return Err(Failure::usage("--bytes 0 sends nothing", "give an amount, or --time"));
        }
        End::Bytes(_) | End::Blocks(_) => {}
    }
    at_most("--omit", test.omit, MAX_OMIT)?;
    if asked.interval > Nanos::ZERO && asked.interval < MIN_INTERVAL {
        return Err(Failure::usage(
            format!("--interval {} is too short to mean anything", asked.interval),
            format!("give {MIN_INTERVAL} or more, or 0 for a report at the end only"),
        ));
    }
    length(test.length, test.transport)?;
    if let Some(mss) = test.mss {
        let advice = "Linux takes no other (use --udp -l for smaller packets)";
        range("--mss", mss.into(), LINUX_MIN_MSS.0, MAX_MSS, "bytes", advice)?;
    }
    match test.window {
        Some(window) => within("--window", window.into(), 1, MAX_WINDOW, "bytes"),
        None => Ok(()),
    }
}

fn length(length: Option<u32>, transport: Transport) -> Result<(), Failure> {
    match length {
        Some(length) if transport == Transport::Udp => {
            let why = "a datagram holds our 16-byte header, and 65507 bytes at most over IPv4";
            range("--length", length.into(), MIN_UDP, LARGEST_UDP_PAYLOAD.into(), "bytes with --udp", why)
        }
        Some(length) => within("--length", length.into(), 1, MAX_WRITE, "bytes"),
        None => Ok(()),
    }
}

/// Refuses tests that iPerf3's parameters cannot express or its servers refuse.
fn iperf3(asked: &Throughput) -> Result<(), Failure> {
    let test = &asked.test;
    let time = if let End::Time(time) = test.end { time } else { Nanos::ZERO };
    for (name, value) in [("--time", time), ("--omit", test.omit)] {
        if value.0 % Nanos::from_secs(1).0 != 0 {
            return Err(Failure::usage(
                format!("{name} {value} with --protocol iperf3: it knows whole seconds only"),
                "give whole seconds, or use --protocol native",
            ));
        }
        at_most(&format!("{name} with --protocol iperf3"), value, Nanos::from_secs(86_400))?;
    }
    match test.length {
        Some(length) if test.transport == Transport::Tcp => {
            within("--length with --protocol iperf3", length.into(), 1, MAX_IPERF3_BLOCK, "bytes")
        }
        _ => Ok(()),
    }
}

/// Refuses tests that iPerf2's protocol cannot express.
fn iperf2(asked: &Throughput) -> Result<(), Failure> {
    let test = &asked.test;
    let (back, only_back) = (test.directions.down(), test.directions == Directions::Down);
    let unknown = [
        ("--omit", test.omit > Nanos::ZERO, "it has no omitted time"),
        ("--receive-discard", test.receive_discard && !back, "only the receiver can do that"),
        (
            "--congestion",
            test.congestion.is_some() && only_back,
            "the protocol cannot pass it to the sending server",
        ),
        ("--nodelay", test.nodelay && only_back, "the protocol cannot pass it to the sending server"),
        ("--zero-copy", test.zero_copy && only_back, "the protocol cannot pass it to the sending server"),
    ];
    if let Some((name, _, why)) = unknown.iter().find(|(_, asked, _)| *asked) {
        let advice = format!("drop {name}, or use --protocol native");
        return exclude(name, "--protocol iperf2", why, &advice);
    }
    match test.end {
        End::Time(time) if time < IPERF2_SHORTEST => {
            return Err(Failure::usage(
                format!("--time {time} with --protocol iperf2: it counts in hundredths of a second"),
                format!("give {IPERF2_SHORTEST} or more"),
            ));
        }
        End::Bytes(bytes) if back => {
            let why = "so much can a server be asked for; of more it would send a part";
            let most = u64::from(test.streams.max(1)) * IPERF2_MAX_AMOUNT;
            range("--bytes with --protocol iperf2", bytes.0, 1, most, "bytes", why)?;
        }
        _ => {}
    }
    match test.length {
        Some(length) if test.transport == Transport::Udp => {
            let why = "each datagram holds the 76 bytes of the test header";
            range(
                "--length with --protocol iperf2",
                length.into(),
                IPERF2_MIN_UDP,
                LARGEST_UDP_PAYLOAD.into(),
                "bytes",
                why,
            )
        }
        Some(length) => within("--length with --protocol iperf2", length.into(), 1, MAX_WRITE, "bytes"),
        None => Ok(()),
    }
}

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
/// iPerf2's time travels in hundredths of a second.
const IPERF2_SHORTEST: Nanos = Nanos::from_millis(10);
/// iPerf2 transmits an amount in 31 bits.
const IPERF2_MAX_AMOUNT: u64 = 0x7fff_ffff;
/// iPerf2's number, time and header.
const IPERF2_MIN_UDP: u64 = 76;
