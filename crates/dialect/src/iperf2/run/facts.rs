//! Converts reports of the engine to the terms of the output.

use crate::iperf2::CommandLine;
use crate::iperf2::output::{Cut, Iperf2Connection};
use engine::work::iperf2::Back;
use engine::work::observer::{Detail, Spread, TcpStart};
use model::plan::{Directions, Transport};
use model::units::{Bytes, Nanos};
use wire::iperf2::{BounceRequest, Frames, Request, ServerReport, Shape, Traffic, Version};

/// How data of this shape is cut.
pub(super) fn cut(shape: Shape) -> Cut {
    match shape {
        Shape::Stream => Cut::Stream,
        Shape::Isochronous(_) => Cut::Frames,
        Shape::Bursts(frames) => Cut::Bursts(rate(frames)),
    }
}

fn rate(frames: Frames) -> f64 {
    f64::from(frames.rate.whole) + f64::from(frames.rate.millionths) / 1e6
}

/// The delays in a server's report, which does not contain how they spread.
pub(super) fn report(stream: u32, report: &ServerReport) -> Detail {
    let delay = report.transit.map(|transit| Spread {
        count: transit.count.into(),
        min: transit.min_ns,
        mean: transit.mean_ns as f64,
        max: transit.max_ns,
        stddev: None,
    });
    Detail { stream, delay, ..Detail::default() }
}

/// The remarks about the test in the lines of a client's connections.
pub(super) fn asked_for(line: &CommandLine) -> Vec<String> {
    let (test, extras) = (&line.client.test, &line.client.extras);
    let full_duplex = test.directions == Directions::Both && extras.back == Back::FullDuplex;
    let silent = extras.no_fin || full_duplex;
    let mut remarks: Vec<String> =
        extras.unsent_limit.map(|limit| format!("prefetch={}", limit.0)).into_iter().collect();
    remarks.extend(that_apply(&[
        (matches!(extras.shape, Shape::Isochronous(_)), "isoch"),
        (full_duplex, "full-duplex"),
        (test.directions == Directions::Down, "reverse"),
        (extras.starts.is_some(), "epoch-start"),
        (test.transport == Transport::Udp && silent, "no-udp-fin"),
        (extras.trip_times, "trip-times"),
    ]));
    remarks
}

/// A client's connection as the server knows it.
pub(super) fn requested(stream: u32, request: Option<&Request>, start: Option<TcpStart>) -> Iperf2Connection {
    let plain = Iperf2Connection { stream, tcp: start.map(tcp), ..Iperf2Connection::default() };
    let Some(request) = request else { return plain };
    let mut remarks = that_apply(&[(matches!(request.shape, Shape::Isochronous(_)), "isoch")]);
    if let Shape::Bursts(frames) = request.shape {
        let rate = rate(frames);
        remarks.push(format!("burst-period={:.4}s", if rate > 0.0 { 1.0 / rate } else { 0.0 }));
    }
    let udp = request.transport == Transport::Udp;
    remarks.extend(that_apply(&[
        (request.traffic == Traffic::FullDuplex, "full-duplex"),
        (request.traffic == Traffic::Reverse, "reverse"),
        (request.starts_then, "epoch-start"),
        (udp && (request.no_fin || request.traffic == Traffic::Reverse), "no-udp-fin"),
        (request.trip_times, "trip-times"),
    ]));
    let peer = request.version.map(version);
    Iperf2Connection { remarks, tos: request.tos, peer, ..plain }
}

/// The remarks of a client that requests round trips.
pub(super) fn bouncing(request: &BounceRequest) -> Vec<String> {
    let quick = if request.quick_ack { "w/quickack " } else { "" };
    let (size, hold) = (request.size, request.hold);
    // Only 2.2 knows replies with a size of their own; the text is its text.
    let mut remarks = vec![match request.reply {
        Some(reply) if reply != size => format!("bb {quick}req/reply/hold={size}/{reply}/{hold}"),
        _ => format!("bb {quick}len/hold={size}/{hold}"),
    }];
    remarks.extend(that_apply(&[(request.trip_times, "trip-times")]));
    remarks
}

/// `2.1.8`, `2.2.2-master`.
pub(super) fn version(version: Version) -> String {
    let stage = match version.lower & 0xf {
        0 => "-dev",
        1 => "-rc",
        2 => "-rc2",
        3 => "",
        4 => "-private",
        5 => "-master",
        _ => "-unk",
    };
    format!("{}.{}.{}{stage}", version.upper >> 16, version.upper & 0xffff, version.lower >> 16)
}

/// The first congestion window, largest segment and RTT.
pub(super) fn tcp(start: TcpStart) -> (Bytes, u32, Nanos) {
    (start.window, start.mss, start.rtt)
}

fn that_apply(remarks: &[(bool, &str)]) -> Vec<String> {
    remarks.iter().filter(|(there, _)| *there).map(|(_, word)| (*word).to_owned()).collect()
}
