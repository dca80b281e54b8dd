//! The options of a client, one row each.

use super::{Row, Taken, both::port, host_port_device, row};
use crate::getopt::Value;
use crate::iperf2::numbers::{amount, real, within};
use crate::iperf2::{CommandLine, Fault};
use crate::numbers::nanos;
use model::plan::Directions;
use model::time::WallTime;
use model::units::{BitRate, Bytes, Nanos};
use wire::iperf2::{MAX_BOUNCE, MIN_REPLY};

/// Options of the client alone.
pub(in crate::iperf2) const CLIENT: &[Row] = &[
    row(
        Some('c'),
        "client",
        Value::Needed("HOST[%DEV]"),
        "run a test with the server at HOST",
        |line, text| {
            let (host, port, device) = host_port_device(text)?;
            if host.is_empty() {
                return Err(Fault::value("-c", text, "a name or an address"));
            }
            line.both.port = port.unwrap_or(line.both.port);
            line.both.device = device.or(line.both.device.take());
            line.client.host = Some(host);
            Ok(())
        },
    ),
    row(
        Some('b'),
        "bandwidth",
        Value::Needed("N[kmgKMG|pps]"),
        "rate of each stream, bits or packets a second; UDP 1M, TCP no limit",
        rate,
    ),
    row(Some('F'), "fileinput", Value::Needed("FILE"), "send this file, and end with it (TCP)", file),
    row(None, "file_input", Value::Needed("FILE"), "", file),
    row(Some('I'), "stdin", Value::None, "send standard input, and end with it (TCP)", standard_input),
    row(None, "stdin_input", Value::None, "", standard_input),
    row(Some('C'), "compatibility", Value::None, "for servers before 2.0.10: send no header", |line, _| {
        line.client.extras.compatible = true;
        only(line, "-C")
    }),
    row(None, "connect-only", Value::Optional("N"), "open N connections and close them", |line, text| {
        let count = if text.is_empty() { 1 } else { within("--connect-only", text, 1, 1_000_000)? };
        line.client.connects = Some(count);
        line.client.extras.connect_only = true;
        only(line, "--connect-only")
    }),
    row(None, "connect-retries", Value::Needed("N"), "try so often again to connect", |line, text| {
        line.client.extras.connect_retries = within("--connect-retries", text, 0, 1_000_000)?;
        only(line, "--connect-retries")
    }),
    row(
        None,
        "connect-retry-time",
        Value::Needed("SECONDS"),
        "try again to connect for so long",
        |line, text| {
            line.client.extras.retry_time = nanos(real("--connect-retry-time", text, 0.0, 86_400.0)?);
            only(line, "--connect-retry-time")
        },
    ),
    row(
        None,
        "connect-retry-timer",
        Value::Needed("SECONDS"),
        "time between two tries to connect (1)",
        |line, text| {
            line.client.extras.retry_pause = nanos(real("--connect-retry-timer", text, 0.01, 3600.0)?);
            only(line, "--connect-retry-timer")
        },
    ),
    row(
        None,
        "no-connect-sync",
        Value::None,
        "accepted; the streams of -P begin at once anyway",
        |line, _| only(line, "--no-connect-sync"),
    ),
    row(
        Some('d'),
        "dualtest",
        Value::None,
        "both directions at once, the return path on connections that the server opens",
        |line, _| set_directions(line, "-d", Directions::Both),
    ),
    row(Some('r'), "tradeoff", Value::None, "one way after the other, likewise", |line, _| {
        set_directions(line, "-r", Directions::Both)
    }),
    row(Some('R'), "reverse", Value::None, "the server sends", |line, _| {
        set_directions(line, "-R", Directions::Down)
    }),
    row(None, "full-duplex", Value::None, "both directions at once on one connection", |line, _| {
        set_directions(line, "--full-duplex", Directions::Both)
    }),
    row(Some('L'), "listenport", Value::Needed("N"), "port of the return path of -d and -r", |line, text| {
        line.client.extras.back_port = Some(port(text)?);
        only(line, "-L")
    }),
    row(None, "skip-rx-copy", Value::None, "receive TCP without copying (MSG_TRUNC)", |line, _| {
        line.client.test.skip_receive_copy = true;
        only(line, "--skip-rx-copy")
    }),
    row(
        None,
        "fq-rate",
        Value::Needed("N[kmgKMG]"),
        "rate at which the kernel paces (SO_MAX_PACING_RATE)",
        |line, text| {
            line.client.test.fq_rate = Some(BitRate(amount("--fq-rate", text)?));
            only(line, "--fq-rate")
        },
    ),
    row(
        None,
        "fq-rate-step",
        Value::Needed("N[kmgKMG]"),
        "raise --fq-rate by so much, again and again",
        |line, text| {
            line.client.rate_step = Some(BitRate(amount("--fq-rate-step", text)?));
            only(line, "--fq-rate-step")
        },
    ),
    row(None, "fq-rate-step-interval", Value::Needed("SECONDS"), "every so often (1)", |line, text| {
        let interval = real("--fq-rate-step-interval", text, 0.001, 86_400.0)?;
        line.client.rate_step_interval = Some(nanos(interval));
        only(line, "--fq-rate-step-interval")
    }),
    row(
        None,
        "tcp-write-prefetch",
        Value::Needed("N[kmKM]"),
        "most bytes that lie unsent in the kernel (TCP_NOTSENT_LOWAT)",
        |line, text| {
            let limit = within("--tcp-write-prefetch", text, 1, 1 << 30)?;
            line.client.extras.unsent_limit = Some(Bytes(limit.into()));
            line.both.enhanced = true;
            only(line, "--tcp-write-prefetch")
        },
    ),
    row(
        None,
        "ignore-shutdown",
        Value::None,
        "accepted; figures end with the last write anyway",
        |line, _| only(line, "--ignore-shutdown"),
    ),
    row(Some('T'), "ttl", Value::Needed("N"), "hops of datagrams to a multicast group (1)", |line, text| {
        line.client.extras.multicast_hops = Some(within("-T", text, 0, 255)? as u8);
        only(line, "-T")
    }),
    row(
        None,
        "isochronous",
        Value::Optional("FPS:MEAN,STDDEV"),
        "frames as of a video: 60:20m,0 by default",
        frames,
    ),
    row(
        None,
        "ipg",
        Value::Needed("SECONDS"),
        "time between datagrams, or those of a frame",
        |line, text| {
            line.client.gap = Some(real("--ipg", text, 0.0, 60.0)?);
            only(line, "--ipg")
        },
    ),
    row(None, "burst-period", Value::Needed("SECONDS"), "TCP in bursts, one every so often", |line, text| {
        line.client.burst_period = Some(real("--burst-period", text, 1e-5, 86_400.0)?);
        only(line, "--burst-period")
    }),
    row(None, "burst-size", Value::Needed("N[kmKM]"), "bytes of a burst (1M)", |line, text| {
        line.client.burst_size = Some(u64::from(within("--burst-size", text, 1, 1 << 30)?));
        only(line, "--burst-size")
    }),
    row(
        Some('n'),
        "num",
        Value::Needed("N[kmgKMG]"),
        "bytes of each stream, and not a time",
        |line, text| {
            let bytes = amount("-n", text)?;
            if bytes == 0 {
                return Err(Fault::value("-n", text, "at least 1"));
            }
            line.client.bytes = Some(Bytes(bytes));
            only(line, "-n")
        },
    ),
    row(None, "no-udp-fin", Value::None, "UDP without an end and a report", |line, _| {
        line.client.extras.no_fin = true;
        only(line, "--no-udp-fin")
    }),
    row(
        Some('P'),
        "parallel",
        Value::Needed("N"),
        "streams, 1 to 128; a server ends after N clients",
        |line, text| {
            line.client.test.streams = within("-P", text, 1, 128)?;
            line.server.clients = Some(line.client.test.streams);
            Ok(())
        },
    ),
    row(None, "trip-times", Value::None, "one-way delays; both clocks must be right", |line, _| {
        line.client.extras.trip_times = true;
        only(line, "--trip-times")
    }),
    row(
        None,
        "txstart-time",
        Value::Needed("SECONDS"),
        "begin at this time of day (seconds since 1970)",
        |line, text| {
            line.client.extras.starts = Some(WallTime(nanos(real("--txstart-time", text, 1.0, 4e9)?).0));
            line.both.enhanced = true;
            only(line, "--txstart-time")
        },
    ),
    row(None, "sync-transfer-id", Value::None, "accepted; the ids of both ends count alike", |line, _| {
        only(line, "--sync-transfer-id")
    }),
    row(None, "tcp-write-times", Value::None, "time each write", |line, _| {
        line.client.extras.timing.writes = true;
        line.both.enhanced = true;
        only(line, "--tcp-write-times")
    }),
    row(
        None,
        "near-congestion",
        Value::Optional("PART"),
        "rest after each write for this part of the RTT (0.5)",
        |line, text| {
            let part = if text.is_empty() { 0.5 } else { real("--near-congestion", text, 0.0, 1000.0)? };
            line.client.extras.timing.rtt_part = Some(part);
            only(line, "--near-congestion")
        },
    ),
    row(Some('X'), "peer-detect", Value::None, "ask the server for its version", |line, _| {
        line.client.extras.peer_detect = true;
        only(line, "-X")
    }),
    row(None, "bounceback", Value::Optional("N"), "round trips over TCP, N in a row (10)", |line, text| {
        let bounceback = line.client.bounceback.get_or_insert_default();
        if !text.is_empty() {
            bounceback.count = within("--bounceback", text, 1, 10_000)?;
        }
        only(line, "--bounceback")
    }),
    row(None, "bounceback-request", Value::Needed("N[kmKM]"), "bytes of a request (100)", |line, text| {
        line.client.bounceback.get_or_insert_default();
        line.client.test.length = within("--bounceback-request", text, 1, MAX_BOUNCE as u32)?;
        only(line, "--bounceback-request")
    }),
    row(
        None,
        "bounceback-txdelay",
        Value::Needed("SECONDS"),
        "begin with the round trips so long after the working load",
        |line, text| {
            let delay = real("--bounceback-txdelay", text, 0.0, 3600.0)?;
            line.client.bounceback.get_or_insert_default().delay = nanos(delay);
            only(line, "--bounceback-txdelay")
        },
    ),
    row(
        None,
        "working-load",
        Value::Optional("up|down|bidir[,N]"),
        "N TCP streams (1) beside the test, both ways by default",
        working_load,
    ),
    row(None, "bounceback-congest", Value::Optional("up|down|bidir[,N]"), "", working_load),
    row(None, "working-load-cca", Value::Needed("NAME"), "TCP congestion control of those", |line, text| {
        line.client.load_congestion = Some(text.into());
        Ok(())
    }),
    row(
        None,
        "bounceback-period",
        Value::Needed("SECONDS"),
        "time between the rows (1); 0: none",
        |line, text| {
            line.client.bounceback.get_or_insert_default().period =
                real("--bounceback-period", text, 0.0, 86_400.0)?;
            only(line, "--bounceback-period")
        },
    ),
    row(None, "bounceback-hold", Value::Needed("MS"), "ask the server to hold each request", |line, text| {
        let millis = real("--bounceback-hold", text, 0.0, 10_000.0)?;
        line.client.bounceback.get_or_insert_default().hold = (millis * 1e3) as u32;
        only(line, "--bounceback-hold")
    }),
    row(
        None,
        "bounceback-reply",
        Value::Needed("N[kmKM]"),
        "bytes of a reply (2.2 and newer)",
        |line, text| {
            let (least, most) = (MIN_REPLY as u32, MAX_BOUNCE as u32);
            line.client.bounceback.get_or_insert_default().reply =
                Some(within("--bounceback-reply", text, least, most)?);
            only(line, "--bounceback-reply")
        },
    ),
    row(None, "bounceback-no-quickack", Value::None, "do not ask for acknowledgements at once", |line, _| {
        line.client.bounceback.get_or_insert_default().quick_ack = false;
        only(line, "--bounceback-no-quickack")
    }),
];

/// An option that a server passes over, with a warning.
fn only(line: &mut CommandLine, option: &'static str) -> Taken {
    line.client_only.push(option);
    Ok(())
}

/// `down,4`, either part of which may be left out.
fn working_load(line: &mut CommandLine, text: &str) -> Taken {
    let (direction, streams) = text.split_once(',').unwrap_or((text, "1"));
    let directions = match direction {
        "up" => Directions::Up,
        "down" => Directions::Down,
        "bidir" | "" => Directions::Both,
        _ => return Err(Fault::value("--working-load", text, "up, down or bidir, and a number of streams")),
    };
    line.client.load = Some((directions, within("--working-load", streams, 1, 128)?));
    Ok(())
}

fn file(line: &mut CommandLine, text: &str) -> Taken {
    line.client.file = Some(text.into());
    only(line, "-F")
}

fn standard_input(line: &mut CommandLine, _: &str) -> Taken {
    line.client.file = Some(STANDARD_INPUT.into());
    only(line, "-I")
}

fn set_directions(line: &mut CommandLine, option: &'static str, directions: Directions) -> Taken {
    if !line.client.directions.contains(&option) {
        line.client.directions.push(option);
    }
    line.client.test.directions = directions;
    only(line, option)
}

fn rate(line: &mut CommandLine, text: &str) -> Taken {
    let packets = text.strip_suffix("pps").or_else(|| text.strip_suffix("PPS"));
    if text.contains(',') {
        return Err(Fault::not_served("-b with a deviation", "give one rate"));
    }
    line.client.rate_given = true;
    match packets {
        Some(packets) => {
            line.client.extras.packet_rate = Some(amount("-b", packets)?).filter(|rate| *rate > 0)
        }
        None => line.client.test.bitrate = Some(BitRate(amount("-b", text)?)).filter(|rate| rate.0 > 0),
    }
    Ok(())
}

/// `60:20m,1m`: each part may be left out.
fn frames(line: &mut CommandLine, text: &str) -> Taken {
    let (rate, rest) = text.split_once(':').unwrap_or((text, ""));
    let (mean, deviation) = rest.split_once(',').unwrap_or((rest, ""));
    let of = |text: &str, otherwise: f64| match text {
        "" => Ok(otherwise),
        text => amount("--isochronous", text).map(|value| value as f64),
    };
    let rate = if rate.is_empty() { 60.0 } else { real("--isochronous", rate, 0.001, 10_000.0)? };
    line.client.frames = Some((rate, of(mean, 20e6)?, of(deviation, 0.0)?));
    line.both.enhanced = true;
    only(line, "--isochronous")
}

/// `-I` as a file (proc(5)).
pub(in crate::iperf2) const STANDARD_INPUT: &str = "/dev/stdin";
/// Nothing is waited for longer than the kernel does.
pub(in crate::iperf2) const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(30);
