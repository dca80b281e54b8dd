//! From a sockperf job to a plan of the engine.

use super::end::{End, Stepped};
use super::note;
use crate::sockperf::output::window::{COOL_DOWN_MESSAGES, WARM_UP_MESSAGES};
use crate::sockperf::output::{End as AskedEnd, Mode, RequestedTest};
use crate::sockperf::{Both, Client, SocketSpec};
use engine::host::address::{Family, lookup};
use model::latency::{EgressPath, LatencyPlan, LatencyProtocol, SizeRange, SocketSetup, WaitMode};
use model::plan::{End as Ending, Target, Transport};
use model::units::{BitRate, Bytes, Nanos, PacketRate};

/// The plan of a client; a playback has so many messages.
pub(super) fn plan(
    both: &Both,
    client: &Client,
    places: &[SocketSpec],
    played: usize,
) -> Stepped<LatencyPlan> {
    check(both, client, places)?;
    let place = places.first().ok_or_else(|| End::bad("there is no socket"))?;
    let egress_paths = places
        .iter()
        .enumerate()
        .map(|(number, place)| egress_path(client, place, number))
        .collect::<Stepped<Vec<_>>>()?;
    // All sockets together keep the rate.
    let share = |rate: u32| PacketRate((u64::from(rate) / egress_paths.len() as u64).max(1));
    let requested = &client.asked;
    let transport = if place.tcp { Transport::Tcp } else { Transport::Udp };
    Ok(LatencyPlan {
        protocol: LatencyProtocol::Sockperf,
        mode: requested.mode,
        transport,
        size: requested.size,
        sizes: sizes(client),
        burst: requested.burst,
        compare: client.integrity,
        rate: requested.rate.map(share),
        reply_every: requested.reply_every,
        end: ending(requested, played, egress_paths.len() as u64),
        egress_paths,
        warm_up: Some(Nanos::ZERO),
        timeout: Some(TIMEOUT),
        interval: Nanos::ZERO,
        wait: if both.spin { WaitMode::Spin } else { WaitMode::Block },
        wait_reason: String::new(),
        tos: both.tos,
        busy_poll: both.busy_poll,
        socket: socket(both)?,
        cpu: client.sender_cpus.as_ref().and_then(|cpus| cpus.0.first().copied()),
        wire_times: false,
        multicast_ttl: Some(both.multicast.ttl),
        connect_timeout: client.connect_timeout,
        load: None,
        explain: Nanos::ZERO,
    })
}

/// Like sockperf: uniform in the range that `-m` and `-r` allow.
fn sizes(client: &Client) -> Option<SizeRange> {
    let RequestedTest { size, range, .. } = client.asked;
    let least = size.saturating_sub(range).max(SHORTEST);
    let most = size.saturating_add(range).min(client.largest);
    (range > 0).then_some(SizeRange { least, most })
}

/// The settings of each socket. By default, as with sockperf, the own host hears no message to a group.
fn socket(both: &Both) -> Stepped<SocketSetup> {
    let send = both.multicast.send.as_deref().map(str::parse).transpose();
    let interface = send
        .map_err(|_| End::bad("'--mc-tx-if' takes the IPv4 address of an interface here, not its number"))?;
    Ok(SocketSetup {
        nodelay: Some(both.nodelay),
        buffer: both.buffer.map(|bytes| Bytes(bytes.into())),
        pacing: both.pacing.map(|bytes| BitRate(u64::from(bytes) * 8)),
        multicast_loop: Some(both.multicast.loopback),
        multicast_interface: interface,
    })
}

/// When the test is over. Several sockets send their share of a number of messages each.
fn ending(asked: &RequestedTest, played: usize, directions: u64) -> Ending {
    match asked.end {
        _ if asked.mode == Mode::Playback => Ending::Blocks(played as u64),
        AskedEnd::Seconds(seconds) => Ending::Time(Nanos::from_secs(seconds.into())),
        AskedEnd::Observations(count) => {
            let all =
                (WARM_UP_MESSAGES as u64).saturating_add(count).saturating_add(COOL_DOWN_MESSAGES as u64);
            Ending::Blocks(all.div_ceil(directions))
        }
    }
}

fn egress_path(client: &Client, place: &SocketSpec, number: usize) -> Stepped<EgressPath> {
    let (bind, port) = &client.bind;
    let bind = bind.as_deref().map(|host| address(host, 0)).transpose()?.map(|address| address.ip());
    let host = place.host.clone().unwrap_or_else(|| "localhost".into());
    let family = Family::chosen(false, false, bind);
    let resolved = lookup(&host, place.port, family)
        .map_err(|e| End::bad(format!("'-i/-p': invalid host:port value: {e}")))?;
    Ok(EgressPath {
        label: format!("[{number}] {resolved}"),
        target: Target { host, address: resolved },
        bind,
        port: *port,
        device: None,
    })
}

/// The first address of a name.
pub(super) fn address(host: &str, port: u16) -> Stepped<std::net::SocketAddr> {
    lookup(host, port, Family::Any).map_err(|e| End::bad(e.to_string()))
}

/// Checks for options that the engine does not support: they are refused where they would change the figures, else noted.
fn check(both: &Both, client: &Client, places: &[SocketSpec]) -> Stepped<()> {
    let requested = &client.asked;
    let several = places.len() > 1;
    let mixed = places.windows(2).any(|pair| pair[0].tcp != pair[1].tcp);
    let played = requested.mode == Mode::Playback;
    for (wanted, what) in [
        (several && mixed, "a feed file of both UDP and TCP (measure them one by one)"),
        (several && played, "a feed file of several sockets and playback"),
    ] {
        if wanted {
            return Err(End::bad(format!("a client with {what} is not served by pathmeter")));
        }
    }
    let (send, receive) = (&both.multicast.send, &both.multicast.receive);
    for (wanted, what) in [
        (receive.is_some() && receive != send, "--mc-rx-if (give the interface with --mc-tx-if)"),
        (both.skip_blocking_send, "--tcp-skip-blocking-send"),
        (both.activity.is_some(), "-a and -A"),
        (client.receiver_cpus.is_some(), "--receiver-affinity (one thread sends and receives)"),
    ] {
        if wanted {
            note(&format!("{what} is ignored: a client of pathmeter does without"));
        }
    }
    Ok(())
}

/// The shortest message, bytes.
const SHORTEST: u32 = 14;
/// A reply that takes longer is lost: the test goes on. Sockperf waits for ever.
const TIMEOUT: Nanos = Nanos::from_secs(1);
