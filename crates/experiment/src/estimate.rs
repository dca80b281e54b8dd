//! Estimates of a run: its time, and the bytes that it moves, as far as they are known before.

use engine::request::{Body, Request};
use engine::run::PairCount;
use model::latency::LatencyMode;
use model::plan::{Direction, End, Transport};
use model::units::{Bytes, Nanos};

/// About how long a run takes; absent: it lasts as long as the path needs.
#[must_use]
pub fn time(request: &Request) -> Option<Nanos> {
    let time = match request {
        Request::Throughput(asked) => match asked.test.end {
            End::Time(time) => time.saturating_add(asked.test.omit).saturating_add(AROUND),
            _ => return None,
        },
        Request::Latency(asked) => match (asked.count, &asked.load) {
            (Some(_), None) => return None,
            (_, Some(_)) => asked.time.unwrap_or(LATENCY).saturating_mul(4).saturating_add(AROUND),
            _ => asked.time.unwrap_or(LATENCY).saturating_add(AROUND),
        },
        Request::Frames(asked) => {
            let tests = (asked.sizes.len().max(1) * asked.transports.len().max(1)) as u64;
            asked.time.unwrap_or(FRAMES).saturating_add(AROUND).saturating_mul(tests)
        }
        Request::Path(_) => Nanos::from_secs(4),
        Request::Hops(asked) => {
            asked.interval.saturating_mul(asked.probes().into()).saturating_add(asked.timeout)
        }
        Request::Measure(asked) => Nanos::from_secs(if asked.quick { 9 } else { 30 }),
        _ => return None,
    };
    Some(time)
}

/// Payload that a run moves; absent: as much as the path carries.
pub(crate) fn bytes(request: &Request) -> Option<Bytes> {
    match request {
        Request::Throughput(asked) => {
            let directions = asked.test.directions.each().count() as u64;
            let pairs = match asked.pairs {
                Some(PairCount::Fixed(pairs)) => u64::from(pairs),
                Some(PairCount::Auto) => return None,
                None => 1,
            };
            match (asked.test.end, asked.test.bitrate) {
                (End::Bytes(bytes), _) => Some(times(bytes, directions * pairs)),
                (End::Time(time), Some(rate)) if rate.0 > 0 => {
                    let streams = u64::from(asked.test.streams) * directions * pairs;
                    let bytes = u128::from(rate.0) * u128::from(time.0) / 8_000_000_000;
                    Some(times(Bytes(u64::try_from(bytes).unwrap_or(u64::MAX)), streams))
                }
                _ => None,
            }
        }
        Request::Latency(asked) if asked.load.is_none() && asked.mode == LatencyMode::PingPong => {
            Some(Bytes::ZERO)
        }
        Request::Path(_) | Request::Hops(_) => Some(Bytes::ZERO),
        Request::Transfer(asked) => match asked.body {
            Some(Body::Size(size)) => Some(times(size, asked.repetitions.into())),
            _ => None,
        },
        _ => None,
    }
}

/// A multiple of an amount.
pub(crate) fn times(bytes: Bytes, factor: u64) -> Bytes {
    Bytes(bytes.0.saturating_mul(factor))
}

/// `TCP up, 10 s`: what is done, in a few words.
pub(crate) fn description(request: &Request) -> String {
    match request {
        Request::Throughput(asked) => {
            let end = match asked.test.end {
                End::Time(time) => time.to_string(),
                End::Bytes(bytes) => bytes.to_string(),
                End::Blocks(blocks) => format!("{blocks} blocks"),
            };
            let streams = if asked.test.streams > 1 {
                format!(", {} streams", asked.test.streams)
            } else {
                String::new()
            };
            let directions: Vec<String> = asked.test.directions.each().map(|one| one.to_string()).collect();
            format!("{} {}{streams}, {end}", asked.test.transport, directions.join(" and "))
        }
        Request::Latency(asked) => {
            let transport = if asked.transport == Transport::Tcp { "TCP" } else { "UDP" };
            let end = asked.count.map_or_else(
                || asked.time.unwrap_or(LATENCY).to_string(),
                |count| format!("{count} messages"),
            );
            let load = if asked.load.is_some() { ", idle and under load" } else { "" };
            format!("{transport} round trips, {end}{load}")
        }
        Request::Frames(asked) => {
            let direction = if asked.direction == Direction::Down { "down" } else { "up" };
            let transports: Vec<String> = asked.transports.iter().map(ToString::to_string).collect();
            format!("{} {direction}, frames of one size", transports.join(" and "))
        }
        Request::Path(_) => "packet sizes in each direction".into(),
        Request::Hops(asked) => format!("{} probes a hop", asked.probes()),
        Request::Transfer(asked) => asked.urls.join(" "),
        Request::Measure(asked) if asked.quick => "the quick check".into(),
        Request::Measure(_) => "reach, packet sizes, TCP and UDP in both directions".into(),
        _ => String::new(),
    }
}

/// A test opens connections and waits for the last replies.
const AROUND: Nanos = Nanos::from_millis(1_200);
const LATENCY: Nanos = Nanos::from_secs(5);
const FRAMES: Nanos = Nanos::from_secs(2);
