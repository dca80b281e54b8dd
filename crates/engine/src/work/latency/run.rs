//! A whole latency run: opens the paths, measures the baseline, runs the mode, reports the result.

use super::LatencyJob;
use super::control::Control;
use super::flow::EgressFlow;
use super::housekeeping::Housekeeping;
use super::open::{Opened, addresses, configure, open, server_command};
use super::raw::RawFile;
use super::schedule;
use super::tally::{Gather, Tally};
use super::{floor, loaded, ping_pong, result, wire_times};
use crate::error::{Failure, Result, sentence};
use crate::host;
use crate::work::echo::server::wall_clock;
use crate::work::echo::wait::Waiter;
use linux::clock::{mono_now, set_timer_slack, wall_now};
use linux::cpu::pin_current_thread;
use model::event::{Event, Finished, Outcome, Warning};
use model::framing::LARGEST_UDP_PAYLOAD;
use model::latency::{
    EgressEnds, EgressPath, EgressResult, LatencyMode, LatencyPlan, LatencyProtocol, LatencyResult,
    LatencyStarted, WaitMode, WireTimes,
};
use model::time::MonoTime;
use model::units::{BitRate, Nanos, PacketRate};
use wire::echo::Exchange;
use wire::native::LatencyObservation;
use wire::{iperf2, sockperf, stamp};

/// Runs it. Events go to `sink` as they happen; a path that cannot be opened beside others that can is reported and left
/// out.
///
/// # Errors
/// No path could be opened, or none gave a reply.
pub fn run(job: &LatencyJob<'_>, sink: &mut dyn FnMut(&Event)) -> Result<()> {
    set_timer_slack(Nanos::from_nanos(1)).ok();
    let cpus = linux::cpu::affinity().unwrap_or_default();
    if let Some(cpu) = job.plan.cpu {
        pin_current_thread(cpu as usize)?;
    }
    if let Some(floor) = floor::measure(job.plan, &cpus)? {
        sink(&Event::Floor(floor));
    }
    let (plan, opened) = open_all(job, sink)?;
    let job = &LatencyJob { plan: &plan, raw: job.raw.clone(), ..*job };
    let largest = job.largest() as usize;
    match plan.protocol {
        LatencyProtocol::Native => measure(job, opened, |_| sockperf::Client::native(largest), sink),
        LatencyProtocol::Sockperf if plan.compare => {
            measure(job, opened, |_| sockperf::Comparing::new(largest), sink)
        }
        LatencyProtocol::Sockperf => measure(job, opened, |_| sockperf::Client::new(largest), sink),
        LatencyProtocol::Stamp | LatencyProtocol::Twamp => {
            let clock = wall_clock();
            measure(job, opened, |egress| stamp::Sender::new(stamp_options(job, clock, egress)), sink)
        }
        LatencyProtocol::Iperf2 => {
            let clock = wall_clock();
            measure(job, opened, |_| iperf2::Bouncer::new(clock, plan.tos), sink)
        }
    }
}

fn open_all(job: &LatencyJob<'_>, sink: &mut dyn FnMut(&Event)) -> Result<(LatencyPlan, Vec<Opened>)> {
    let (plan, opened) = open_waiting(job, job.plan.wait, sink)?;
    let mut waits = opened.iter().map(|egress| egress.ends.far_wait);
    let first = waits.next();
    if waits.all(|wait| Some(wait) == first) {
        return Ok((plan, opened));
    }
    // Paths are compared: a far end that spins for one and sleeps for another would make a difference of its own.
    opened.into_iter().filter_map(|egress| egress.session).for_each(|session| session.close());
    open_waiting(job, WaitMode::Hybrid, sink)
}

fn open_waiting(
    job: &LatencyJob<'_>,
    far_wait: WaitMode,
    sink: &mut dyn FnMut(&Event),
) -> Result<(LatencyPlan, Vec<Opened>)> {
    let mut plan = job.plan.clone();
    let several = plan.egress_paths.len() > 1;
    let (mut opened, mut failed) = (Vec::new(), None);
    plan.egress_paths.retain(|egress| match open(job, egress, far_wait) {
        Ok(egress) => {
            opened.push(egress);
            true
        }
        Err(e) => {
            if several {
                let text = format!("{}: {}; measured without this path", egress.label, sentence(&e));
                sink(&Event::Warning(Warning::new("way-unreachable", text)));
            }
            failed.get_or_insert(e);
            false
        }
    });
    if let Some((rate, limit)) = opened.iter().filter_map(|egress: &Opened| egress.most).min() {
        plan.rate = Some(rate);
        sink(&Event::Warning(limited(rate, limit, job.largest())));
    }
    match failed {
        Some(e) if opened.is_empty() => Err(e),
        _ => Ok((plan, opened)),
    }
}

/// Reports that the server's limit is the rate.
fn limited(rate: PacketRate, limit: BitRate, size: u32) -> Warning {
    let text = format!(
        "The server allows a session {limit} in each direction (--max-rate): at most {rate} of {size}-byte messages were sent."
    );
    Warning::new("limited-by-server", text)
}

fn measure<E: Exchange>(
    job: &LatencyJob<'_>,
    opened: Vec<Opened>,
    mut exchange: impl FnMut(usize) -> E,
    sink: &mut dyn FnMut(&Event),
) -> Result<()> {
    let plan = job.plan;
    let warnings = opened.iter().flat_map(|egress| configure(&egress.socket, plan)).take(2);
    warnings.for_each(|warning| sink(&Event::Warning(warning)));
    let ends: Vec<EgressEnds> = opened.iter().map(|egress| egress.ends.clone()).collect();
    let host = host::describe(ends.first().map(|ends| ends.remote.ip()));
    let started = LatencyStarted { wall: wall_now(), plan: plan.clone(), ends: ends.clone(), host };
    sink(&Event::LatencyStarted(Box::new(started)));
    let mut waiter = Waiter::new(plan.wait);
    let (mut flows, mut wire_times, mut sessions) = (Vec::new(), Vec::new(), Vec::new());
    for (egress, Opened { socket, session, .. }) in opened.into_iter().enumerate() {
        let tally = Tally::new(gather(job, egress, mono_now()));
        let mut flow = EgressFlow::new(socket, exchange(egress), job.largest() as usize, tally);
        wire_times.push(wire(plan, &mut flow, &mut waiter));
        flows.push(flow);
        sessions.push(session);
    }
    let earlier: Vec<u64> = sessions.iter_mut().map(received_before).collect();
    let started = mono_now();
    flows.iter_mut().enumerate().for_each(|(egress, flow)| flow.begin(gather(job, egress, started)));
    let before = result::HostBefore::now();
    let mut waiter = Waiter::since(plan.wait, started);
    let mut housekeeping = Housekeeping::new(plan, started, job.interrupt, &mut sessions, sink);
    let follows = loaded::follow(plan, &mut flows);
    match plan.mode {
        LatencyMode::PingPong => ping_pong::run(&mut flows, &mut waiter, &mut housekeeping),
        LatencyMode::UnderLoad | LatencyMode::Throughput | LatencyMode::Playback => {
            schedule::run(&mut flows, job.playback, &mut waiter, &mut housekeeping);
        }
    }
    let noise = before.since(&waiter.watch, plan.wait == WaitMode::Spin);
    if let Some(current_phase) = follows {
        loaded::run(job, current_phase, &mut flows, &mut waiter, &mut housekeeping);
    }
    let ended = mono_now();
    let sent_until = housekeeping.sent_until.unwrap_or(ended);
    housekeeping.last_sample(ended, &mut flows);
    housekeeping.warn_of_dead(&flows);
    let silent = flows.iter().all(|flow| !flow.tally.heard()) && plan.mode != LatencyMode::Throughput;
    let broken = broken_off(plan, &flows).filter(|_| !silent && !job.interrupt.is_raised());
    let attribute = silent.then(|| silence(job, &flows)).or_else(|| broken.clone());
    let reported = flows.into_iter().zip(ends).zip(sessions).zip(wire_times).zip(earlier);
    let done = |((((flow, ends), session), wire), earlier)| Done { flow, ends, session, wire, earlier };
    let reported = reported.map(done).collect();
    let times =
        Times { counted: sent_until.saturating_since(started), elapsed: ended.saturating_since(started) };
    conclude(job, reported, times, noise, broken, sink)?;
    match attribute {
        Some(failure) if !job.interrupt.is_raised() => Err(failure.into()),
        _ => Ok(()),
    }
}

fn conclude<E: Exchange>(
    job: &LatencyJob<'_>,
    done: Vec<Done<E>>,
    times: Times,
    noise: result::HostFigures,
    broken: Option<Failure>,
    sink: &mut dyn FnMut(&Event),
) -> Result<()> {
    // Beside a load, the figures of the path are those of the idle phase.
    let idle = loaded::idle(job.plan);
    let counted = idle.map_or(times.counted, |idle| idle.min(times.counted));
    let mut waiter = Waiter::new(job.plan.wait);
    let mut egress_paths = Vec::new();
    for (index, Done { mut flow, ends, session, wire, earlier }) in done.into_iter().enumerate() {
        if flow.dead.is_some() && idle.is_none() {
            // Messages in flight are not waited for any more.
            flow.tally.expire(MonoTime(u64::MAX));
        }
        if flow.tally.counted.lost > 0 && idle.is_none() && !job.interrupt.is_raised() {
            flow.settle_count(true, job.plan.size as usize, &mut waiter);
        }
        let sent = flow.tally.counted.sent + earlier;
        let observed = session.map(|mut session| {
            // The server's counts may be lost with it: then they are not reported.
            let observed =
                if flow.dead.is_none() { session.observed_since(sent).ok().flatten() } else { None };
            session.close();
            observed
        });
        let egress = &job.plan.egress_paths[index];
        let since = |observed: LatencyObservation| LatencyObservation {
            received: observed.received.saturating_sub(earlier),
            ..observed
        };
        let observed = observed.flatten().filter(|_| idle.is_none()).map(since);
        let observed = believed(observed, flow.tally.counted.sent, egress, sink);
        let result = result::egress_result(egress, job.plan.mode, flow, ends, counted, observed, &noise);
        egress_paths.push(EgressResult { wire, ..result });
    }
    // The figures stand without the file.
    if let Some(Err(error)) = job.raw.as_ref().map(RawFile::finish) {
        sink(&Event::Warning(Warning::new("raw-incomplete", sentence(&error))));
    }
    let result = LatencyResult { egress_paths, floor: None, noise: noise.noise, cpu_share: noise.cpu_share };
    sink(&Event::Latency(Box::new(result)));
    let outcome = match broken {
        Some(failure) => Outcome::Failed { reason: failure.message },
        None if job.interrupt.is_raised() => Outcome::Interrupted,
        None => Outcome::Completed,
    };
    sink(&Event::Finished(Finished { wall: wall_now(), elapsed: times.elapsed, outcome }));
    Ok(())
}

/// How long a run took.
#[derive(Clone, Copy)]
struct Times {
    /// Until the last message was sent.
    counted: Nanos,
    /// Until the last reply was taken.
    elapsed: Nanos,
}

/// A far end cannot have received more than was sent: such counts are left out.
fn believed(
    observed: Option<LatencyObservation>,
    sent: u64,
    egress: &EgressPath,
    sink: &mut dyn FnMut(&Event),
) -> Option<LatencyObservation> {
    let observed = observed?;
    if observed.received <= sent {
        return Some(observed);
    }
    let text = format!(
        "{}: the far end reports that {} messages came, of {sent}; its counts are left out",
        egress.label, observed.received
    );
    sink(&Event::Warning(Warning::new("far-counts-impossible", text)));
    None
}

/// Sees to the kernel's times of packets.
fn wire<E: Exchange>(plan: &LatencyPlan, flow: &mut EgressFlow<E>, waiter: &mut Waiter) -> Option<WireTimes> {
    let replies = matches!(plan.mode, LatencyMode::PingPong | LatencyMode::UnderLoad);
    if !plan.wire_times || !replies {
        return None;
    }
    let times = wire_times::measure(flow, plan.size as usize, waiter);
    if plan.wait != WaitMode::Spin {
        flow.take_times();
    }
    times
}

/// A path that is done.
struct Done<E> {
    flow: EgressFlow<E>,
    ends: EgressEnds,
    session: Option<Box<dyn Control>>,
    wire: Option<WireTimes>,
    /// Messages that the server had received before the counted ones.
    earlier: u64,
}

fn received_before(session: &mut Option<Box<dyn Control>>) -> u64 {
    session.as_mut().and_then(|session| session.observed().ok()?).map_or(0, |observed| observed.received)
}

fn gather(job: &LatencyJob<'_>, egress: usize, started: MonoTime) -> Gather {
    let plan = job.plan;
    let rate = match (plan.rate, plan.mode) {
        // One after the other, whatever the rate.
        (_, LatencyMode::PingPong) => 0,
        (Some(rate), _) => rate.0,
        (None, LatencyMode::UnderLoad) => UNPACED,
        (None, _) => 0,
    };
    // Older ones that wait are kept beside.
    let seconds = plan.timeout.map_or(2, |timeout| timeout.0.div_ceil(1_000_000_000));
    Gather {
        started,
        last_number: 0,
        room: usize::try_from(rate.saturating_mul(seconds).max(plan.burst.into())).unwrap_or(usize::MAX),
        warm_up: plan.warm_up.or((plan.mode == LatencyMode::Playback).then_some(Nanos::ZERO)),
        scheduled: matches!(plan.mode, LatencyMode::UnderLoad | LatencyMode::Playback) && plan.load.is_none(),
        raw: job.raw.as_ref().map(|raw| raw.log(&plan.egress_paths[egress].label)),
    }
}

fn stamp_options(job: &LatencyJob<'_>, clock: stamp::Clock, egress: usize) -> stamp::SenderOptions {
    let twamp = job.plan.protocol == LatencyProtocol::Twamp;
    stamp::SenderOptions {
        clock,
        format: stamp::Format::Ntp,
        synced: false,
        error: Nanos::from_millis(1),
        // Any name that distinguishes the paths; 0 is none, as in TWAMP.
        ssid: if twamp { 0 } else { u16::try_from(egress + 1).unwrap_or(u16::MAX) },
        key: job.key.cloned(),
        // RFC 5357 section 4.2: numbers of replies are the reflector's own.
        far_counts: twamp,
    }
}

/// Every path ended before its time: what was measured until then stands, and is not all that was asked for.
fn broken_off<E>(plan: &LatencyPlan, flows: &[EgressFlow<E>]) -> Option<Failure> {
    let reported = |(flow, egress): (&EgressFlow<E>, &EgressPath)| {
        flow.dead.as_ref().map(|reason| format!("{}: {reason}", egress.target.address))
    };
    let reasons: Vec<String> = flows.iter().zip(&plan.egress_paths).map(reported).collect::<Option<_>>()?;
    Some(Failure::unreachable(
        reasons.join("; "),
        "the far end, its host or the path failed, or its limits were reached; what was measured until then is shown, and \
         its log may say more",
    ))
}

/// Nothing came back at all: never a zero, always a reason to look for.
fn silence<E>(job: &LatencyJob<'_>, flows: &[EgressFlow<E>]) -> Failure {
    let plan = job.plan;
    let names: Vec<String> =
        plan.egress_paths.iter().map(|egress| egress.target.address.to_string()).collect();
    let (names, server) = (names.join(", "), server_command(plan.protocol));
    let remote = flows.first().and_then(|flow| addresses(&flow.socket).ok()).map(|(_, remote)| remote);
    let port = remote.map_or(0, |remote| remote.port());
    if let Some(reason) =
        flows.iter().find_map(|flow| flow.dead.clone()).filter(|r| !r.starts_with("no reply"))
    {
        let large =
            plan.protocol == LatencyProtocol::Sockperf && plan.size as usize > LARGEST_UDP_PAYLOAD as usize;
        let large =
            if large { "; `sockperf sr` takes messages of this size with its own -m alone" } else { "" };
        return Failure::unreachable(
            format!("{names}: {reason}"),
            format!("check that {server} runs there{large}"),
        );
    }
    if flows.iter().any(|flow| flow.refused) {
        return Failure::unreachable(
            format!(
                "{names}: the host is there and nothing listens on UDP port {port} (ICMP port unreachable)"
            ),
            format!("start {server} there, or give its port with -p"),
        );
    }
    let keys = match (plan.protocol, job.key) {
        (LatencyProtocol::Stamp, Some(_)) => {
            "; a reflector with another key, or without one, is silent or not believed: --key-file has to hold the key \
             that it has (`pathmeter serve --stamp-key-file FILE`)"
        }
        (LatencyProtocol::Stamp, None) => {
            "; a reflector with a key answers no sender without it: give the key with --key-file"
        }
        _ => "",
    };
    Failure::unreachable(
        format!("{names}: no reply came to any message{}", stray(flows)),
        format!(
            "check that {server} runs there, that firewalls allow UDP port {port}, and that messages of {} bytes \
             are not too large for the path or the server{keys}",
            plan.size
        ),
    )
}

/// The datagrams that arrived instead of replies.
fn stray<E>(flows: &[EgressFlow<E>]) -> String {
    match flows.iter().map(|flow| flow.tally.counted.strays).sum::<u64>() {
        0 => String::new(),
        strays => format!("; {strays} messages came that were none"),
    }
}

/// Messages per second that are followed where they go as fast as they can.
const UNPACED: u64 = 100_000;
