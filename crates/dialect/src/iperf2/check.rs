//! Checks once all options are read: the role, options that exclude each other, and defaults.

use super::options::STANDARD_INPUT;
use super::{CommandLine, Fault, Request};
use engine::work::iperf2::Back;
use model::plan::{Directions, End, Transport};
use model::units::{BitRate, Nanos};
use std::path::Path;
use wire::iperf2::{Fixed, Frames, Shape};

/// The request of a line whose options have all been taken.
pub(super) fn finish(mut line: CommandLine) -> Result<Request, Fault> {
    let udp = line.client.test.transport == Transport::Udp;
    if line.both.key.is_some() && udp {
        return Err(Fault::parameter("option of --permit-key not supported with UDP"));
    }
    if udp {
        line.client.test.length.get_or_insert(if line.both.ipv6 { 1450 } else { 1470 });
    }
    match (line.client.host.is_some(), line.server.asked) {
        (true, true) => Err(Fault::parameter("be a client (-c) or a server (-s), not both")),
        (true, false) => {
            ignored(&mut line.warnings, &line.server_only, "client");
            client(&mut line)?;
            Ok(Request::Client(Box::new(line)))
        }
        (false, true) => {
            ignored(&mut line.warnings, &line.client_only, "server");
            Ok(Request::Server(Box::new(line)))
        }
        (false, false) => Err(Fault::Syntax("be a client (-c HOST) or a server (-s)".into())),
    }
}

fn ignored(warnings: &mut Vec<String>, options: &[String], role: &str) {
    warnings.extend(
        options.iter().map(|option| format!("WARNING: option {option} is not valid for {role} mode")),
    );
}

fn client(line: &mut CommandLine) -> Result<(), Fault> {
    if line.client.directions.len() > 1 {
        return Err(Fault::parameter(
            "options of --full-duplex, --reverse, -d and -r are mutually exclusive",
        ));
    }
    line.client.extras.back = match line.client.directions.first() {
        Some(&"-d") => Back::Dual,
        Some(&"-r") => Back::Tradeoff,
        _ => Back::FullDuplex,
    };
    if let Some(bounceback) = &mut line.client.bounceback {
        bounceback.trip_times = line.client.extras.trip_times;
    }
    line.client.extras.key = line.both.key.as_ref().map(|key| key.clone().into_bytes());
    amount(line);
    line.client.extras.rate_step = match (line.client.rate_step, line.client.rate_step_interval) {
        (None, None) => None,
        _ if line.client.test.fq_rate.is_none() => {
            return Err(Fault::parameter(
                "--fq-rate-step and its interval need --fq-rate, from which they step",
            ));
        }
        (step, interval) => {
            Some((step.unwrap_or(BitRate(1_000_000)), interval.unwrap_or(Nanos::from_secs(1))))
        }
    };
    exclusions(line)?;
    near_congestion(line)?;
    timing(line);
    file(line)?;
    shape(line)?;
    rate(line)
}

fn amount(line: &mut CommandLine) {
    line.client.test.end = match (line.client.bytes, line.both.time) {
        (Some(bytes), _) => {
            // iPerf2 counts each stream by itself.
            End::Bytes(model::units::Bytes(bytes.0.saturating_mul(line.client.test.streams.into())))
        }
        (None, Some(Nanos::ZERO)) => {
            line.warnings.push("WARNING: client will send traffic forever or until an external signal (e.g. SIGINT or SIGTERM) occurs to stop it".into());
            End::Time(FOR_EVER)
        }
        (None, time) => End::Time(time.unwrap_or(Nanos::from_secs(10))),
    };
}

fn exclusions(line: &CommandLine) -> Result<(), Fault> {
    let client = &line.client;
    let (test, extras) = (&client.test, &client.extras);
    let udp = test.transport == Transport::Udp;
    let special = !client.directions.is_empty() || extras.trip_times || client.frames.is_some();
    let refusals = [
        (
            extras.compatible && (special || line.both.shown.enhanced),
            "compatibility mode not supported with the requested with options",
        ),
        (line.both.last_port.is_some(), "a range of ports (-p N-M) is a server's"),
        (udp && extras.peer_detect, "option of -X or --peer-detect not supported with -u UDP"),
        (udp && extras.connect_only, "option of --connect-only not supported with -u UDP"),
        (udp && extras.connect_retries > 0, "option --connect-retries not supported with -u UDP"),
        (udp && client.bounceback.is_some(), "option --bounceback not supported with -u UDP"),
        (
            udp && client.burst_period.is_some(),
            "option --burst-period not supported with -u UDP: use --isochronous",
        ),
        (client.gap.is_some() && client.rate_given, "options of --b and --ipg cannot be applied together"),
        (udp && extras.unsent_limit.is_some(), "option --tcp-write-prefetch not supported with -u UDP"),
        (!udp && extras.multicast_hops.is_some(), "option -T is of multicast, which needs -u UDP"),
        (
            client.bounceback.is_some_and(|b| b.delay > Nanos::ZERO) && client.load.is_none(),
            "option --bounceback-txdelay is a delay after the begin of --working-load, which was not given",
        ),
        (!udp && client.gap.is_some(), "option --ipg requires -u UDP"),
        (!udp && extras.no_fin, "option --no-udp-fin requires -u UDP"),
        (!udp && extras.packet_rate.is_some(), "units of pps not supported with TCP"),
        (
            client.frames.is_some() && client.rate_given,
            "options of --b and --isochronous cannot be applied together",
        ),
        (
            client.frames.is_some() && client.burst_period.is_some(),
            "options of --burst-period and --isochronous cannot be applied together",
        ),
        (
            client.bounceback.is_some() && (!client.directions.is_empty() || client.frames.is_some()),
            "option --bounceback and those of other tests are mutually exclusive",
        ),
        (
            client.bounceback.is_some_and(|b| b.hold > 0),
            "--bounceback-hold is not served by pathmeter: servers of 2.1 and 2.2 do not hold either",
        ),
        (
            test.congestion.is_some() && test.directions == Directions::Down,
            "tcp congestion control -Z and --reverse cannot be applied together",
        ),
    ];
    match refusals.iter().find(|(broken, _)| *broken) {
        Some((_, why)) => Err(Fault::parameter(*why)),
        None => Ok(()),
    }
}

/// Refuses options that cannot be combined with `--near-congestion`.
fn near_congestion(line: &CommandLine) -> Result<(), Fault> {
    let client = &line.client;
    if client.extras.timing.rtt_part.is_none() {
        return Ok(());
    }
    let why = if client.test.transport == Transport::Udp {
        "option of --near-congestion not supported with -u UDP"
    } else if client.burst_period.is_some() {
        "options of --burst-period and --near-congestion cannot be applied together"
    } else if client.rate_given {
        "option of --near-congestion and -b rate limited are mutually exclusive"
    } else {
        return Ok(());
    };
    Err(Fault::parameter(why))
}

/// With bins, a client that only sends over TCP times its writes. Writes that are timed, or rested after, are of iPerf2's
/// length.
fn timing(line: &mut CommandLine) {
    let only_sends = line.client.test.directions == Directions::Up;
    let is_tcp = line.client.test.transport == Transport::Tcp;
    let timing = &mut line.client.extras.timing;
    if let Some(asked) = line.both.histograms {
        timing.delays = Some(asked.shape());
        timing.writes |= only_sends && is_tcp;
    }
    if timing.writes || timing.rtt_part.is_some() {
        line.client.test.length.get_or_insert(TCP_LENGTH);
    }
}

/// Refuses tests that cannot send a file.
fn file(line: &CommandLine) -> Result<(), Fault> {
    let client = &line.client;
    let Some(file) = &client.file else { return Ok(()) };
    let stream = client.test.transport == Transport::Tcp && client.test.directions == Directions::Up;
    let other = client.bounceback.is_some() || client.frames.is_some() || client.burst_period.is_some();
    if !stream || other || client.extras.connect_only {
        let why =
            "-F and -I are served by pathmeter for TCP one way, and not with bursts, frames or round trips";
        return Err(Fault::parameter(why));
    }
    if file == Path::new(STANDARD_INPUT) && client.test.streams > 1 {
        let why = "-I with -P is not served by pathmeter: there is one standard input; -F sends a file on each stream";
        return Err(Fault::parameter(why));
    }
    Ok(())
}

fn shape(line: &mut CommandLine) -> Result<(), Fault> {
    let client = &mut line.client;
    let gap = fixed(client.gap.unwrap_or(0.000_005));
    if let Some((rate, mean, deviation)) = client.frames {
        let frames = Frames { rate: fixed(rate), mean: fixed(mean), variance: fixed(deviation), gap };
        client.extras.shape = Shape::Isochronous(Some(frames));
    }
    if client.burst_period.is_none() && client.burst_size.is_some() {
        line.warnings.push(
            "WARN: option of --burst-size without --burst-period defaults --burst-period to 1 second".into(),
        );
        client.burst_period = Some(1.0);
    }
    if let Some(period) = client.burst_period {
        let size = client.burst_size.unwrap_or(1 << 20);
        let length = client.test.length.unwrap_or(TCP_LENGTH);
        if size < u64::from(length) {
            return Err(Fault::parameter(format!(
                "option of --burst-size {size} must be equal or larger to write length (-l) {length}"
            )));
        }
        let frames = Frames { rate: fixed(1.0 / period), mean: fixed(size as f64), ..Frames::default() };
        client.extras.shape = Shape::Bursts(frames);
        line.both.shown.enhanced = true;
    }
    if line.client.bounceback.is_some() {
        line.both.shown.enhanced = true;
        line.both.interval = line.both.interval.or(Some(Nanos::from_secs(1)));
    }
    Ok(())
}

/// Sets the rate of UDP: 1 Mbit/s of 1024 × 1024 by default. A rate that is timed needs no offload.
fn rate(line: &mut CommandLine) -> Result<(), Fault> {
    let client = &mut line.client;
    if client.test.transport == Transport::Udp {
        if let Some(gap) = client.gap.filter(|gap| *gap > 0.0 && client.frames.is_none()) {
            client.test.bitrate =
                Some(BitRate((f64::from(client.test.length.unwrap_or(0)) * 8.0 / gap) as u64));
        } else if !client.rate_given && client.frames.is_none() {
            client.test.bitrate = Some(BitRate(1 << 20));
        }
        client.test.offload = client.test.bitrate.is_none() && client.extras.packet_rate.is_none();
        return Ok(());
    }
    let length = client.test.length.unwrap_or(TCP_LENGTH);
    match client.test.bitrate {
        Some(rate) if rate.0 / 8 < u64::from(length) => Err(Fault::parameter(format!(
            "option -b and -l of {length} are incompatible, consider setting -l to {} or lower",
            rate.0 / 8
        ))),
        _ => Ok(()),
    }
}

fn fixed(value: f64) -> Fixed {
    let micros = (value.max(0.0) * 1e6).round() as u64;
    let whole = u32::try_from(micros / 1_000_000).unwrap_or(u32::MAX);
    Fixed { whole, millionths: (micros % 1_000_000) as u32 }
}

/// iPerf2's default length of a TCP write.
pub(super) const TCP_LENGTH: u32 = 128 << 10;
/// `-t 0`: as long as travels in hundredths of a second in 31 bits.
const FOR_EVER: Nanos = Nanos::from_secs(21_000_000);
