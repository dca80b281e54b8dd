//! The CSV of an analysis: a row for each direction and path of each run.

use crate::document::Csv;
use insight::analysis::{Analysis, Flow, Trips};
use model::plan::{Direction, Transport};
use model::units::{BitRate, Bytes, Nanos, PacketRate};
use serde::Serialize;

#[derive(Default, Serialize)]
struct Of {
    row: &'static str,
    run: String,
    change_percent: Option<f64>,
    lost: Option<u64>,
}

#[derive(Default, Serialize)]
struct Rates {
    transport: Option<Transport>,
    direction: Option<Direction>,
    sent_bps: Option<BitRate>,
    goodput_bps: BitRate,
    sent_bytes: Bytes,
    received_bytes: Bytes,
    sent_datagrams: Option<u64>,
    received_datagrams: Option<u64>,
    loss_share: Option<f64>,
    jitter_ns: Option<Nanos>,
    retransmits: Option<u64>,
}

#[derive(Default, Serialize)]
struct Wire {
    payload_bytes: Option<u32>,
    mss_bytes: Option<u32>,
    with_timestamps_bytes: Option<u32>,
    frame_bytes: Option<u32>,
    frames_per_packet: Option<u32>,
    packets_per_second: Option<PacketRate>,
    wire_bps: Option<BitRate>,
    link_bps: Option<BitRate>,
    line_rate_packets_per_second: Option<PacketRate>,
    line_rate_goodput_bps: Option<BitRate>,
    line_rate_share: Option<f64>,
}

#[derive(Default, Serialize)]
struct Fairness {
    streams: Option<u64>,
    jain: Option<f64>,
    least_bps: Option<BitRate>,
    most_bps: Option<BitRate>,
}

#[derive(Default, Serialize)]
struct Times {
    round_trips: u64,
    rtt_min_ns: Nanos,
    rtt_mean_ns: Nanos,
    rtt_p50_ns: Nanos,
    rtt_p99_ns: Nanos,
    rtt_max_ns: Nanos,
}

pub(super) fn rows(analysis: &Analysis) -> Csv {
    let flows = Csv::from_rows(
        analysis.flows.iter().map(|flow| (of_flow(flow), rates(flow), wire(flow), fairness(flow))),
    );
    let trips = Csv::from_rows(analysis.trips.iter().map(trips));
    let filled = [flows, trips].into_iter().filter(|table| !table.rows.is_empty());
    Csv::joined(filled.chain([Csv::from_rows(Vec::<Of>::new())]))
}

fn of_flow(flow: &Flow) -> Of {
    let lost = flow.loss.map(|loss| loss.path + loss.receiver + loss.sender);
    Of { row: "throughput", run: flow.run.clone(), change_percent: flow.change_percent, lost }
}

fn rates(flow: &Flow) -> Rates {
    Rates {
        transport: Some(flow.transport),
        direction: Some(flow.direction),
        sent_bps: flow.sent_rate,
        goodput_bps: flow.goodput,
        sent_bytes: flow.sent.bytes,
        received_bytes: flow.received.bytes,
        sent_datagrams: flow.loss.map(|_| flow.sent.datagrams),
        received_datagrams: flow.loss.map(|_| flow.received.datagrams),
        loss_share: flow.loss.map(|loss| loss.share),
        jitter_ns: flow.jitter,
        retransmits: flow.retransmits,
    }
}

fn wire(flow: &Flow) -> Wire {
    Wire {
        payload_bytes: flow.payload,
        mss_bytes: flow.segment.map(|segment| segment.mss),
        with_timestamps_bytes: flow.segment.map(|segment| segment.with_timestamps),
        frame_bytes: flow.wire.frame,
        frames_per_packet: flow.wire.frames_per_packet,
        packets_per_second: flow.wire.packets_per_second,
        wire_bps: flow.wire.rate,
        link_bps: flow.line_rate.map(|line| line.link),
        line_rate_packets_per_second: flow.line_rate.map(|line| line.packets_per_second),
        line_rate_goodput_bps: flow.line_rate.map(|line| line.goodput),
        line_rate_share: flow.wire.line_rate_share,
    }
}

fn fairness(flow: &Flow) -> Fairness {
    let fair = flow.fairness;
    Fairness {
        streams: fair.map(|fair| fair.streams),
        jain: fair.and_then(|fair| fair.jain),
        least_bps: fair.map(|fair| fair.least),
        most_bps: fair.map(|fair| fair.most),
    }
}

fn trips(one: &Trips) -> (Of, Times) {
    let rtt = &one.rtt;
    let times = Times {
        round_trips: rtt.count,
        rtt_min_ns: rtt.min,
        rtt_mean_ns: rtt.mean,
        rtt_p50_ns: rtt.p50,
        rtt_p99_ns: rtt.p99,
        rtt_max_ns: rtt.max,
    };
    let line = Of {
        row: "round-trips",
        run: one.run.clone(),
        change_percent: one.change_percent,
        lost: Some(one.lost),
    };
    (line, times)
}
