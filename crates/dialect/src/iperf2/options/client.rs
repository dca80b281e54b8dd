//! The options of a client, one row each.

use super::{Iperf2Option, Taken, both::port, host_port_device};
use crate::getopt::{row, set};
use crate::iperf2::numbers::{amount, real, within};
use crate::iperf2::{CommandLine, Fault};
use crate::numbers::nanos;
use model::plan::Directions;
use model::time::WallTime;
use model::units::{BitRate, Bytes, Nanos};
use wire::iperf2::{MAX_BOUNCE, MIN_REPLY};

/// Options of the client alone.
pub(in crate::iperf2) const CLIENT: &[Iperf2Option] = &[
    row("-c --client HOST[%DEV]", "run a test with the server at HOST", |line, text| {
        let (host, port, device) = host_port_device(text)?;
        if host.is_empty() {
            return Err(Fault::value("-c", text, "a name or an address"));
        }
        line.both.port = port.unwrap_or(line.both.port);
        line.both.device = device.or(line.both.device.take());
        line.client.host = Some(host);
        Ok(())
    }),
    row("-F --fileinput FILE", "send this file, and end with it (TCP)", file),
    row("--file_input FILE", "", file),
    row("-I --stdin", "send standard input, and end with it (TCP)", standard_input),
    row("--stdin_input", "", standard_input),
    row("-C --compatibility", "for servers before 2.0.10: send no header", |line, _| {
        set(&mut line.client.extras.compatible, true)
    }),
    row("--connect-only[=N]", "open N connections and close them", |line, text| {
        let count = if text.is_empty() { 1 } else { within("--connect-only", text, 1, 1_000_000)? };
        line.client.connects = Some(count);
        line.client.extras.connect_only = true;
        Ok(())
    }),
    row("--connect-retries N", "try so often again to connect", |line, text| {
        set(&mut line.client.extras.connect_retries, within("--connect-retries", text, 0, 1_000_000)?)
    }),
    row("--connect-retry-time SECONDS", "try again to connect for so long", |line, text| {
        set(&mut line.client.extras.retry_time, nanos(real("--connect-retry-time", text, 0.0, 86_400.0)?))
    }),
    row("--connect-retry-timer SECONDS", "time between two tries to connect (1)", |line, text| {
        set(
            &mut line.client.extras.retry_pause,
            Some(nanos(real("--connect-retry-timer", text, 0.01, 3600.0)?)),
        )
    }),
    row("--no-connect-sync", "accepted; the streams of -P begin at once anyway", |_, _| Ok(())),
    row(
        "-d --dualtest",
        "both directions at once, the return path on connections that the server opens",
        |line, _| set_directions(line, "-d", Directions::Both),
    ),
    row("-r --tradeoff", "one way after the other, likewise", |line, _| {
        set_directions(line, "-r", Directions::Both)
    }),
    row("-R --reverse", "the server sends", |line, _| set_directions(line, "-R", Directions::Down)),
    row("--full-duplex", "both directions at once on one connection", |line, _| {
        set_directions(line, "--full-duplex", Directions::Both)
    }),
    row("-L --listenport N", "port of the return path of -d and -r", |line, text| {
        set(&mut line.client.extras.back_port, Some(port(text)?))
    }),
    row("--skip-rx-copy", "receive TCP without copying (MSG_TRUNC)", |line, _| {
        set(&mut line.client.test.receive_discard, true)
    }),
    row("--fq-rate N[kmgKMG]", "rate at which the kernel paces (SO_MAX_PACING_RATE)", |line, text| {
        set(&mut line.client.test.fq_rate, Some(BitRate(amount("--fq-rate", text)?)))
    }),
    row("--fq-rate-step N[kmgKMG]", "raise --fq-rate by so much, again and again", |line, text| {
        set(&mut line.client.rate_step, Some(BitRate(amount("--fq-rate-step", text)?)))
    }),
    row("--fq-rate-step-interval SECONDS", "every so often (1)", |line, text| {
        let interval = real("--fq-rate-step-interval", text, 0.001, 86_400.0)?;
        line.client.rate_step_interval = Some(nanos(interval));
        Ok(())
    }),
    row(
        "--tcp-write-prefetch N[kmKM]",
        "most bytes that lie unsent in the kernel (TCP_NOTSENT_LOWAT)",
        |line, text| {
            let limit = within("--tcp-write-prefetch", text, 1, 1 << 30)?;
            line.client.extras.unsent_limit = Some(Bytes(limit.into()));
            line.both.shown.enhanced = true;
            Ok(())
        },
    ),
    row("--ignore-shutdown", "accepted; figures end with the last write anyway", |_, _| Ok(())),
    row("-T --ttl N", "hops of datagrams to a multicast group (1)", |line, text| {
        set(&mut line.client.extras.multicast_hops, Some(within("-T", text, 0, 255)? as u8))
    }),
    row("--isochronous[=FPS:MEAN,STDDEV]", "frames as of a video: 60:20m,0 by default", frames),
    row("--ipg SECONDS", "time between datagrams, or those of a frame", |line, text| {
        set(&mut line.client.gap, Some(real("--ipg", text, 0.0, 60.0)?))
    }),
    row("--burst-period SECONDS", "TCP in bursts, one every so often", |line, text| {
        set(&mut line.client.burst_period, Some(real("--burst-period", text, 1e-5, 86_400.0)?))
    }),
    row("--burst-size N[kmKM]", "bytes of a burst (1M)", |line, text| {
        set(&mut line.client.burst_size, Some(u64::from(within("--burst-size", text, 1, 1 << 30)?)))
    }),
    row("-n --num N[kmgKMG]", "bytes of each stream, and not a time", |line, text| {
        let bytes = amount("-n", text)?;
        if bytes == 0 {
            return Err(Fault::value("-n", text, "at least 1"));
        }
        line.client.bytes = Some(Bytes(bytes));
        Ok(())
    }),
    row("--no-udp-fin", "UDP without an end and a report", |line, _| {
        set(&mut line.client.extras.no_fin, true)
    }),
    row("--trip-times", "one-way delays; both clocks must be right", |line, _| {
        set(&mut line.client.extras.trip_times, true)
    }),
    row("--txstart-time SECONDS", "begin at this time of day (seconds since 1970)", |line, text| {
        line.client.extras.starts = Some(WallTime(nanos(real("--txstart-time", text, 1.0, 4e9)?).0));
        line.both.shown.enhanced = true;
        Ok(())
    }),
    row("--sync-transfer-id", "accepted; the ids of both ends count alike", |_, _| Ok(())),
    row("--tcp-write-times", "time each write", |line, _| {
        line.client.extras.timing.writes = true;
        line.both.shown.enhanced = true;
        Ok(())
    }),
    row("--near-congestion[=PART]", "rest after each write for this part of the RTT (0.5)", |line, text| {
        let part = if text.is_empty() { 0.5 } else { real("--near-congestion", text, 0.0, 1000.0)? };
        line.client.extras.timing.rtt_part = Some(part);
        Ok(())
    }),
    row("-X --peer-detect", "ask the server for its version", |line, _| {
        set(&mut line.client.extras.peer_detect, true)
    }),
    row("--bounceback[=N]", "round trips over TCP, N in a row (10)", |line, text| {
        let bounceback = line.client.bounceback.get_or_insert_default();
        if !text.is_empty() {
            bounceback.count = within("--bounceback", text, 1, 10_000)?;
        }
        Ok(())
    }),
    row("--bounceback-request N[kmKM]", "bytes of a request (100)", |line, text| {
        line.client.bounceback.get_or_insert_default();
        line.client.test.length = Some(within("--bounceback-request", text, 1, MAX_BOUNCE as u32)?);
        Ok(())
    }),
    row(
        "--bounceback-txdelay SECONDS",
        "begin with the round trips so long after the working load",
        |line, text| {
            let delay = real("--bounceback-txdelay", text, 0.0, 3600.0)?;
            line.client.bounceback.get_or_insert_default().delay = nanos(delay);
            Ok(())
        },
    ),
    row(
        "--working-load[=up|down|bidir[,N]]",
        "N TCP streams (1) beside the test, both directions by default",
        working_load,
    ),
    row("--bounceback-congest[=up|down|bidir[,N]]", "", working_load),
    row("--working-load-cca NAME", "TCP congestion control of those", |line, text| {
        set(&mut line.client.load_congestion, Some(text.into()))
    }),
    row("--bounceback-period SECONDS", "time between the rows (1); 0: none", |line, text| {
        line.client.bounceback.get_or_insert_default().period =
            real("--bounceback-period", text, 0.0, 86_400.0)?;
        Ok(())
    }),
    row("--bounceback-hold MS", "ask the server to hold each request", |line, text| {
        let millis = real("--bounceback-hold", text, 0.0, 10_000.0)?;
        line.client.bounceback.get_or_insert_default().hold = (millis * 1e3) as u32;
        Ok(())
    }),
    row("--bounceback-reply N[kmKM]", "bytes of a reply (2.2 and newer)", |line, text| {
        let (least, most) = (MIN_REPLY as u32, MAX_BOUNCE as u32);
        line.client.bounceback.get_or_insert_default().reply =
            Some(within("--bounceback-reply", text, least, most)?);
        Ok(())
    }),
    row("--bounceback-no-quickack", "do not ask for acknowledgements at once", |line, _| {
        line.client.bounceback.get_or_insert_default().quick_ack = false;
        Ok(())
    }),
];

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
    Ok(())
}

fn standard_input(line: &mut CommandLine, _: &str) -> Taken {
    line.client.file = Some(STANDARD_INPUT.into());
    Ok(())
}

fn set_directions(line: &mut CommandLine, option: &'static str, directions: Directions) -> Taken {
    if !line.client.directions.contains(&option) {
        line.client.directions.push(option);
    }
    line.client.test.directions = directions;
    Ok(())
}

/// `60:20m,1m`: each part may be left out.
fn frames(line: &mut CommandLine, text: &str) -> Taken {
    let (rate, rest) = text.split_once(':').unwrap_or((text, ""));
    let (mean, deviation) = rest.split_once(',').unwrap_or((rest, ""));
    let amount_or = |text: &str, otherwise: f64| match text {
        "" => Ok(otherwise),
        text => amount("--isochronous", text).map(|value| value as f64),
    };
    let rate = if rate.is_empty() { 60.0 } else { real("--isochronous", rate, 0.001, 10_000.0)? };
    line.client.frames = Some((rate, amount_or(mean, 20e6)?, amount_or(deviation, 0.0)?));
    line.both.shown.enhanced = true;
    Ok(())
}

/// `-I` as a file (proc(5)).
pub(in crate::iperf2) const STANDARD_INPUT: &str = "/dev/stdin";
/// Nothing is waited for longer than the kernel does.
pub(in crate::iperf2) const CONNECT_TIMEOUT: Nanos = Nanos::from_secs(30);
