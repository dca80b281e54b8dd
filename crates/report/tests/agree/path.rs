//! Packet sizes of a path: what crossed, what vanished, and what TCP does with it.

use super::{Found, get, items, number, sum};
use serde_json::Value;

pub(super) fn check(found: &mut Found, run: &Value) {
    let path = get(run, "summary.path");
    let mut probes = 0.0;
    for (direction, back) in [("up", "down"), ("down", "up")] {
        let one_way = &path[direction];
        if one_way.is_object() {
            let at = format!("path {direction}");
            sizes(found, &at, one_way);
            black_hole(found, &at, one_way);
            fragments(found, &at, one_way);
            // A SYN that is changed on the path limits the segments that go in the opposite direction.
            segments(found, &at, one_way, &path[back]);
            probes += sum(items(one_way, "sizes"), "sent").unwrap_or_default();
            probes += sum(items(one_way, "fragments.tests"), "sent").unwrap_or_default();
        }
    }
    let service = &path["service"];
    probes += sum(items(service, "sizes"), "sent").unwrap_or_default();
    found.at_most("path", "packets of the probes and in all", Some(probes), number(path, "packets"));
    answers(found, service);
}

fn headers(direction: &Value) -> f64 {
    if direction["ipv6"] == true { 48.0 } else { 28.0 }
}

fn sizes(found: &mut Found, at: &str, direction: &Value) {
    let exact = number(direction, "path_mtu").filter(|_| direction["bound"] == "exact");
    let payload = exact.map(|mtu| mtu - headers(direction));
    found.same(at, "UDP payload of the path MTU", number(direction, "max_udp_payload"), payload, 0.0);
    found.at_most(at, "path and interface MTU", exact, number(direction, "interface_mtu"));
    for probe in items(direction, "sizes") {
        found.at_most(at, "probes received and sent", number(probe, "received"), number(probe, "sent"));
        if number(probe, "received") > Some(0.0) {
            found.at_most(at, "a size that crossed and the path MTU", number(probe, "size"), exact);
        }
    }
    let crossed = items(direction, "sizes")
        .iter()
        .any(|probe| number(probe, "size") == exact && number(probe, "received") > Some(0.0));
    let known = exact.is_some() && !items(direction, "sizes").is_empty();
    found.that(at, crossed || !known, || "no probe of the path MTU's size crossed".into());
}

fn black_hole(found: &mut Found, at: &str, direction: &Value) {
    let first = number(direction, "black_hole.first");
    found.at_most(
        at,
        "path MTU and the first that vanishes",
        number(direction, "path_mtu").map(|mtu| mtu + 1.0),
        first,
    );
    found.at_most(at, "first and last that vanish", first, number(direction, "black_hole.last"));
}

fn fragments(found: &mut Found, at: &str, direction: &Value) {
    for test in items(direction, "fragments.tests") {
        found.at_most(at, "datagrams received and sent", number(test, "received"), number(test, "sent"));
        let pieces = number(test, "sent").zip(number(test, "pieces")).map(|(sent, pieces)| sent * pieces);
        let cut_on_the_path = test["shape"] == "may_be_cut";
        found.at_most(
            at,
            "pieces received and sent",
            number(test, "pieces_received").filter(|_| !cut_on_the_path),
            pieces,
        );
        found.at_most(
            at,
            "largest piece and path MTU",
            number(test, "largest_piece"),
            number(direction, "path_mtu"),
        );
    }
}

fn segments(found: &mut Found, at: &str, direction: &Value, back: &Value) {
    let tcp = &direction["tcp"];
    // Headers of TCP without options, and of IP.
    let packet = number(back, "tcp.mss_received").map(|mss| mss + headers(direction) + 12.0);
    if tcp["stalled"] == true && number(direction, "path_mtu").is_some() {
        let fits = packet.zip(number(direction, "path_mtu")).is_some_and(|(packet, mtu)| packet <= mtu);
        found.that(at, !fits, || format!("TCP stalled with packets of {packet:?} bytes, all of which cross"));
    }
    let exact = number(direction, "path_mtu").filter(|_| direction["bound"] == "exact");
    found.at_most(
        at,
        "largest segment and the peer's MSS",
        number(tcp, "largest_segment"),
        number(back, "tcp.mss_received"),
    );
    let largest = number(tcp, "largest_segment").map(|segment| segment + headers(direction) + 12.0);
    found.at_most(at, "largest segment and path MTU", largest, exact);
    found.at_most(at, "retransmits and segments", number(tcp, "retransmits"), number(tcp, "segments"));
}

fn answers(found: &mut Found, service: &Value) {
    let (answered, silent) = (number(service, "payload"), number(service, "silent"));
    found.at_most("service", "answered and silent", answered, silent);
    for probe in items(service, "sizes") {
        found.at_most("service", "replies and requests", number(probe, "received"), number(probe, "sent"));
        if number(probe, "received") > Some(0.0) {
            found.at_most(
                "service",
                "a size that is answered and the largest",
                number(probe, "size"),
                answered,
            );
        }
    }
}
