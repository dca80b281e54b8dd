//! Transfers and their table, and the packets of a capture.

use super::{Found, get, items, number, sum};
use serde_json::Value;

pub(super) fn check(found: &mut Found, run: &Value) {
    let transfers = items(run, "summary.transfer.transfers");
    transfers.iter().for_each(|transfer| check_transfer(found, transfer));
    for row in items(run, "summary.transfer.rows") {
        let at = format!("row {}", row["label"]);
        let own: Vec<&Value> = transfers
            .iter()
            .filter(|one| one["label"] == row["file"] && one["mtu"] == row["mtu"] && one["error"].is_null())
            .collect();
        found.same(&at, "transfers", number(row, "count"), Some(own.len() as f64), 0.0);
        let mean = |path: &str| sum(own.iter().copied(), path).map(|all| all / own.len() as f64);
        found.same(&at, "mean rate", number(row, "rate_bps.mean"), mean("rate_bps"), 1.0);
        found.same(&at, "mean time", number(row, "total_ns.mean"), mean("times.total_ns"), 1.0);
        found.at_most(
            &at,
            "first byte and all",
            number(row, "first_byte_ns.median"),
            number(row, "total_ns.median"),
        );
        found.at_most(&at, "mean payload and MSS", number(row, "mean_payload_bytes"), number(row, "mss"));
        found.at_most(
            &at,
            "mean and largest packet",
            number(row, "packets.mean_bytes"),
            number(row, "packets.largest_bytes"),
        );
        found.at_most(
            &at,
            "largest packet and MTU",
            number(row, "packets.largest_bytes"),
            number(row, "mtu"),
        );
    }
    capture(found, get(run, "summary.packets"));
}

fn check_transfer(found: &mut Found, transfer: &Value) {
    let at = format!("transfer {} {}", transfer["label"], transfer["repetition"]);
    let steps = ["dns_ns", "connect_ns", "tls_ns", "first_byte_ns"];
    let steps: f64 = steps.iter().filter_map(|name| number(&transfer["times"], name)).sum();
    found.at_most(&at, "steps and all", Some(steps), number(transfer, "times.total_ns"));
    if transfer["error"].is_null() {
        let bits = number(transfer, "bytes").zip(number(transfer, "times.total_ns"));
        let rate = bits.filter(|(_, time)| *time > 0.0).map(|(bytes, time)| bytes * 8e9 / time);
        found.same(
            &at,
            "rate of bytes and time",
            number(transfer, "rate_bps"),
            rate,
            rate.unwrap_or(0.0) * 1e-6,
        );
    }
    let payload = number(transfer, "tcp.mean_payload_bytes");
    found.at_most(&at, "mean payload and MSS", payload, number(transfer, "tcp.mss"));
    let packet = number(transfer, "tcp.mss").map(|mss| mss + 40.0);
    found.at_most(&at, "packets and path MTU", packet, number(transfer, "tcp.path_mtu"));
}

/// Packets of all flows, none of which has more than there are.
fn capture(found: &mut Found, packets: &Value) {
    for direction in ["up", "down"] {
        let (at, one_way) = (format!("captured {direction}"), &packets[direction]);
        found.at_most(&at, "payload and bytes", number(one_way, "payload"), number(one_way, "bytes"));
        found.at_most(
            &at,
            "with payload and all",
            number(one_way, "with_payload"),
            number(one_way, "packets"),
        );
        found.at_most(&at, "fragments and all", number(one_way, "fragments"), number(one_way, "packets"));
        let flows = items(packets, "flows").iter().map(|flow| &flow[direction]);
        found.at_most(&at, "packets of flows and all", sum(flows, "packets"), number(one_way, "packets"));
    }
    let written = number(packets, "pcap.packets");
    let observed =
        number(packets, "up.packets").zip(number(packets, "down.packets")).map(|(up, down)| up + down);
    found.at_most(
        "capture",
        "packets written and captured",
        written,
        observed.filter(|observed| *observed > 0.0),
    );
}
