//! From a sockperf job to a plan of the engine.

use super::end::{End, Told};
use super::note;
use crate::dialect::sockperf::{Both, Client, Place};
use crate::planner::{Family, resolve};
use model::latency::{LatencyMode, LatencyPlan, LatencyProtocol, WaitMode, Way};
use model::plan::{End as Ending, Target, Transport};
use model::units::{Nanos, PacketRate};
use report::format::sockperf::window::{COOL_DOWN_MESSAGES, WARM_UP_MESSAGES};
use report::format::sockperf::{Asked, End as AskedEnd, Mode};

/// The plan of a client, with so many messages written out beforehand: those of a playback, or of an uneven load.
pub(super) fn plan(both: &Both, client: &Client, places: &[Place], written: usize) -> Told<LatencyPlan> {
    check(both, client, places)?;
    let place = places.first().ok_or_else(|| End::bad("there is no socket"))?;
    let ways = places
        .iter()
        .enumerate()
        .map(|(number, place)| way(client, place, number))
        .collect::<Told<Vec<_>>>()?;
    // All sockets together keep the rate.
    let share = |rate: u32| PacketRate((u64::from(rate) / ways.len() as u64).max(1));
    let asked = &client.asked;
    let transport = if place.tcp { Transport::Tcp } else { Transport::Udp };
    Ok(LatencyPlan {
        protocol: LatencyProtocol::Sockperf,
        mode: match asked.mode {
            Mode::PingPong => LatencyMode::PingPong,
            Mode::UnderLoad if written > 0 => LatencyMode::Playback,
            Mode::UnderLoad => LatencyMode::UnderLoad,
            Mode::Throughput => LatencyMode::Throughput,
            Mode::Playback => LatencyMode::Playback,
        },
        transport,
        size: asked.size,
        sizes: None,
        burst: 1,
        compare: false,
        rate: asked.rate.map(share),
        ways,
        reply_every: asked.reply_every,
        end: ending(asked, written),
        warm_up: Some(Nanos::ZERO),
        timeout: Some(PATIENCE),
        interval: Nanos::ZERO,
        wait: if both.spin { WaitMode::Spin } else { WaitMode::Block },
        wait_reason: String::new(),
        tos: both.tos,
        busy_poll: both.busy_poll,
        cpu: client.sender_cpus.as_ref().and_then(|cpus| cpus.0.first().copied()),
        wire_times: false,
        multicast_ttl: Some(both.multicast.ttl),
        connect_timeout: client.connect_timeout,
        load: None,
    })
}

fn ending(asked: &Asked, written: usize) -> Ending {
    match asked.end {
        _ if asked.mode == Mode::Playback => Ending::Blocks(written as u64),
        AskedEnd::Seconds(seconds) => Ending::Time(Nanos::from_secs(seconds.into())),
        AskedEnd::Observations(count) => Ending::Blocks(
            (WARM_UP_MESSAGES as u64).saturating_add(count).saturating_add(COOL_DOWN_MESSAGES as u64),
        ),
    }
}

fn way(client: &Client, place: &Place, number: usize) -> Told<Way> {
    let (bind, _) = &client.bind;
    let bind = bind.as_deref().map(|host| address(host, 0)).transpose()?.map(|address| address.ip());
    let host = place.host.clone().unwrap_or_else(|| "localhost".into());
    let family = Family::of(false, false, bind);
    let resolved = resolve(&host, place.port, family)
        .map_err(|e| End::bad(format!("'-i/-p': invalid host:port value: {e}")))?;
    Ok(Way {
        label: format!("[{number}] {resolved}"),
        target: Target { host, address: resolved },
        bind,
        port: client.bind.1,
        device: None,
    })
}

/// The first address of a name.
pub(super) fn address(host: &str, port: u16) -> Told<std::net::SocketAddr> {
    resolve(host, port, Family::Any).map_err(|e| End::bad(e.to_string()))
}

/// What the engine has no part in: refused where it would change the figures, else told.
fn check(both: &Both, client: &Client, places: &[Place]) -> Told<()> {
    let asked = &client.asked;
    let several = places.len() > 1;
    let mixed = places.windows(2).any(|pair| pair[0].tcp != pair[1].tcp);
    let (played, uneven) = (asked.mode == Mode::Playback, asked.burst > 1 || asked.range > 0);
    let counted = matches!(asked.end, AskedEnd::Observations(_));
    for (wanted, what) in [
        (several && mixed, "a feed file of both UDP and TCP (measure them one by one)"),
        (
            several && (played || uneven || counted),
            "a feed file of several sockets and playback, -n, -b or -r",
        ),
        (asked.burst > 1 && asked.mode == Mode::PingPong, "-b above 1 with ping-pong (use under-load)"),
        (
            asked.range > 0 && asked.mode != Mode::UnderLoad,
            "-r, but with under-load, (measure each size by itself)",
        ),
        (client.integrity, "--data-integrity (every reply's number and length are checked in any case)"),
        (client.bind.1.is_some(), "--client_port"),
        (both.multicast.send.is_some(), "--mc-tx-if (choose the interface with --client_ip)"),
        (both.multicast.loopback, "--mc-loopback-enable"),
    ] {
        if wanted {
            return Err(End::bad(format!("a client with {what} is not served by pathmeter")));
        }
    }
    let tcp = places.iter().any(|place| place.tcp);
    let streams = asked.mode == Mode::Throughput;
    for (wanted, what) in [
        (tcp && both.nodelay == streams, "--tcp-avoid-nodelay"),
        (both.skip_blocking_send, "--tcp-skip-blocking-send"),
        (both.buffer.is_some(), "--buffer-size"),
        (both.pacing.is_some(), "--rate-limit"),
        (both.activity.is_some(), "-a and -A"),
        (asked.burst > 1 && streams, "-b (the messages of throughput are evenly spaced)"),
        (client.receiver_cpus.is_some(), "--receiver-affinity (one thread sends and receives)"),
    ] {
        if wanted {
            note(&format!("{what} is ignored: a client of pathmeter does without"));
        }
    }
    Ok(())
}

/// A reply that takes longer is lost: the test goes on. Sockperf waits for ever.
const PATIENCE: Nanos = Nanos(1_000_000_000);
