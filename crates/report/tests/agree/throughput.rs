//! Directions of a throughput test, the rows of both ends they come from, and the intervals.

use super::{Found, get, items, number, sum};
use serde_json::Value;

pub(super) fn check(found: &mut Found, run: &Value) {
    for direction in ["up", "down"] {
        let one_way = get(run, &format!("summary.{direction}"));
        if one_way.is_object() {
            let at = format!("{} {direction}", run["kind"].as_str().unwrap_or_default());
            rates(found, &at, run, one_way);
            amounts(found, &at, run, one_way, direction);
            losses(found, &at, one_way);
            processors(found, &at, one_way);
        }
    }
    for side in ["local", "peer"] {
        intervals(found, run, side);
        rows(found, run, side);
    }
    frames(found, run);
    together(found, run);
}

/// Bytes over time, packets of their payload, and the share of the link.
fn rates(found: &mut Found, at: &str, run: &Value, direction: &Value) {
    let goodput = number(direction, "goodput_bps");
    let bits = number(direction, "received.bytes").zip(number(direction, "seconds"));
    let reckoned = bits.filter(|(_, time)| *time > 0.0).map(|(bytes, time)| bytes * 8.0 / time);
    found.same(at, "goodput of bytes and time", goodput, reckoned, 1.0);
    let frames = number(direction, "frames_per_packet");
    let payload = number(direction, "mss").zip(frames).zip(goodput);
    let packets = payload.map(|((payload, frames), goodput)| goodput / payload / 8.0 * frames);
    found.same(at, "packets of goodput and payload", number(direction, "packets_per_second"), packets, 1.0);
    if let (Some(1.0), Some(frame), Some(packets)) = (frames, number(direction, "frame"), packets) {
        let wire = packets * (frame + 20.0) * 8.0;
        found.same(at, "wire rate of its frames", number(direction, "wire_bps"), Some(wire), 1.0);
    }
    let link = number(run, "summary.link.rate_bps").filter(|link| *link > 0.0);
    let share = number(direction, "wire_bps").zip(link).map(|(wire, link)| wire / link);
    found.same(at, "share of the link", number(direction, "line_rate_share"), share, 1e-9);
    found.at_most(at, "goodput and wire rate", goodput, number(direction, "wire_bps"));
}

/// The sums over streams and rows, and nothing received that was not sent.
fn amounts(found: &mut Found, at: &str, run: &Value, one_way: &Value, direction: &str) {
    let streams = items(one_way, "streams");
    let unknown = one_way["receiver_unknown"] == true;
    let counted = if unknown { "sent.bytes" } else { "received.bytes" };
    found.same(at, "bytes of all streams", number(one_way, counted), sum(streams, "bytes"), 0.0);
    found.same(
        at,
        "retransmits of all streams",
        number(one_way, "retransmits"),
        sum(streams, "retransmits"),
        0.0,
    );
    let ends = if direction == "up" { ["local", "peer"] } else { ["peer", "local"] };
    for (end, role, amount) in [(ends[0], "sender", "sent"), (ends[1], "receiver", "received")] {
        let rows: Vec<&Value> = items(run, &format!("summary.{end}.streams"))
            .iter()
            .filter(|row| row["direction"] == direction && row["role"] == role)
            .collect();
        let bytes = number(one_way, &format!("{amount}.bytes")).filter(|_| !unknown);
        found.same(at, &format!("{amount} bytes of the {end} end's rows"), bytes, sum(rows, "bytes"), 0.0);
    }
    let whole = number(run, "plan.test.omit").is_none_or(|omit| omit == 0.0);
    if whole && number(one_way, "sent.bytes") > Some(0.0) {
        found.at_most(
            at,
            "received and sent",
            number(one_way, "received.bytes"),
            number(one_way, "sent.bytes"),
        );
    }
    found.at_most(
        at,
        "segments received and sent",
        number(one_way, "segments.received"),
        number(one_way, "segments.sent"),
    );
    found.at_most(
        at,
        "mean payload and MSS",
        number(one_way, "segments.mean_payload"),
        number(one_way, "mss"),
    );
    found.at_most(
        at,
        "retransmits and segments",
        number(one_way, "retransmits"),
        number(one_way, "segments.sent"),
    );
    let datagrams = number(one_way, "received.datagrams").filter(|_| one_way["transport"] == "udp");
    let bytes = datagrams.zip(number(one_way, "mss")).map(|(count, payload)| count * payload);
    found.same(
        at,
        "bytes of the datagrams",
        number(one_way, "received.bytes").filter(|_| !unknown),
        bytes,
        0.0,
    );
}

fn losses(found: &mut Found, at: &str, direction: &Value) {
    if !direction["loss"].is_object() {
        return;
    }
    let places =
        ["path", "receiver", "sender"].map(|place| number(&direction["loss"], place).unwrap_or_default());
    let lost = places.iter().sum::<f64>();
    found.same(at, "loss by place and by stream", Some(lost), sum(items(direction, "streams"), "lost"), 0.0);
    let known = lost + number(direction, "received.datagrams").unwrap_or_default();
    let sent = number(direction, "sent.datagrams").unwrap_or_default().max(known);
    let share = if sent > 0.0 { lost / sent } else { 0.0 };
    found.same(at, "share lost", number(direction, "loss.share"), Some(share), 1e-9);
    found.at_most(
        at,
        "clock's error and delay",
        number(direction, "one_way.error_ns"),
        number(direction, "one_way.min_ns"),
    );
}

fn processors(found: &mut Found, at: &str, direction: &Value) {
    for end in ["sender", "receiver"] {
        let cpu = get(direction, &format!("cpu.{end}"));
        let at = format!("{at} cpu.{end}");
        let cpus = number(cpu, "cpus").filter(|cpus| *cpus > 0.0);
        found.at_most(&at, "CPUs and those there are", number(cpu, "process"), cpus);
        let parts =
            number(cpu, "user").zip(number(cpu, "system")).filter(|(user, system)| user + system > 0.0);
        let parts = parts.map(|(user, system)| user + system);
        found.same(&at, "user and system", number(cpu, "process"), parts, 0.02);
        let threads = items(cpu, "threads").iter().filter_map(Value::as_f64).reduce(f64::max);
        found.same(&at, "busiest thread", number(cpu, "busiest_thread"), threads, 1e-9);
    }
}

/// The counted intervals of an end are its result, and each begins where the last ended.
fn intervals(found: &mut Found, run: &Value, side: &str) {
    let at = format!("intervals, {side}");
    let own: Vec<&Value> = items(run, "intervals").iter().filter(|sample| sample["side"] == side).collect();
    for pair in own.windows(2).filter(|pair| pair[0]["omitted"] == pair[1]["omitted"]) {
        found.same(&at, "begin and last end", number(pair[1], "start_ns"), number(pair[0], "end_ns"), 0.0);
    }
    let counted: Vec<&&Value> = own.iter().filter(|sample| sample["omitted"] == false).collect();
    for row in items(run, &format!("summary.{side}.streams")) {
        let of_stream = |sample: &&'_ &Value| {
            items(sample, "streams").iter().find(|one| one["stream"] == row["stream"]).cloned()
        };
        let samples: Vec<Value> = counted.iter().filter_map(of_stream).collect();
        for figure in
            ["bytes", "tcp.retransmits", "udp.datagrams", "udp.lost", "udp.reordered", "udp.duplicates"]
        {
            found.same(
                &at,
                &format!("{figure} of all intervals"),
                number(row, figure),
                sum(&samples, figure),
                0.0,
            );
        }
    }
}

fn rows(found: &mut Found, run: &Value, side: &str) {
    for row in items(run, &format!("summary.{side}.streams")) {
        found.at_most(side, "bytes counted and in all", number(row, "bytes"), number(row, "total_bytes"));
        let received = number(row, "udp.datagrams").zip(number(row, "udp.last_sequence"));
        if let Some((datagrams, last)) = received.filter(|(_, last)| *last > 0.0) {
            found.at_most(side, "datagrams and last number", Some(datagrams), Some(last));
        }
    }
}

/// A sweep over frame sizes.
fn frames(found: &mut Found, run: &Value) {
    for row in items(run, "summary.rows") {
        let at = format!("frames of {} {}", row["frame"], row["protocol"]);
        let pps = number(row, "packets_per_second");
        let goodput = pps.zip(number(row, "payload")).map(|(packets, payload)| packets * payload * 8.0);
        let packet_bits = number(row, "payload").map_or(0.0, |payload| payload * 8.0);
        found.same(&at, "goodput of packets and payload", number(row, "goodput_bps"), goodput, packet_bits);
        let share = pps.zip(number(row, "line_rate_pps")).map(|(packets, line)| packets / line);
        // Packets of another payload than the one that fills the frame take another share.
        if row["notes"].as_array().is_none_or(Vec::is_empty) {
            found.same(&at, "share of line rate", number(row, "share"), share, 0.02);
        }
        found.at_most(&at, "packets arrived and offered", pps, number(row, "offered"));
        if let (Some(offered), Some(lost)) = (number(row, "offered"), number(row, "loss_share")) {
            found.same(
                &at,
                "packets left of those offered",
                pps,
                Some(offered * (1.0 - lost)),
                offered * 0.01,
            );
        }
    }
}

fn together(found: &mut Found, run: &Value) {
    let pairs = get(run, "summary.pairs");
    let times = number(pairs, "together.overlap_ns").zip(number(pairs, "together.whole_ns"));
    let share = times.filter(|(_, whole)| *whole > 0.0).map(|(overlap, whole)| overlap / whole);
    found.same("pairs", "overlap", number(pairs, "overlap_share"), share, 1e-9);
}
