//! Hops: probes and answers of flows, routers and hops.

use super::{Found, get, items, number, sum};
use serde_json::Value;

pub(super) fn check(found: &mut Found, run: &Value) {
    let hops = get(run, "summary.hops");
    agree_direction(found, hops);
    if hops["back"].is_object() {
        agree_direction(found, &hops["back"]);
    }
}

/// One direction.
fn agree_direction(found: &mut Found, hops: &Value) {
    let arrivals = hops["counted_on_arrival"] == true;
    let mut before = 0.0;
    for hop in items(hops, "hops") {
        let ttl = number(hop, "ttl").unwrap_or_default();
        let at = format!("hop {ttl}");
        found.that(&at, ttl > before, || format!("it follows hop {before}"));
        before = ttl;
        let (sent, answered) = (number(hop, "sent"), number(hop, "answered"));
        found.at_most(&at, "probes answered and sent", answered, sent);
        found.same(&at, "probes of all flows", sum(items(hop, "flows"), "sent"), sent, 0.0);
        found.same(&at, "answers of all flows", sum(items(hop, "flows"), "answered"), answered, 0.0);
        found.same(&at, "answers of all routers", sum(items(hop, "routers"), "answered"), answered, 0.0);
        // What arrives and is counted there makes no round trip.
        if !(arrivals && hop["rtt_ns"].is_null()) {
            found.same(&at, "round trips", number(hop, "rtt_ns.count"), answered, 0.0);
        }
        found.that(&at, (hop["missing"] == "none") == (sent == answered), || {
            "a reason without missing answers".into()
        });
    }
    found.at_most(
        "hops",
        "probes of hops and packets",
        sum(items(hops, "hops"), "sent"),
        number(hops, "packets"),
    );
    let loss = &hops["loss"];
    let share =
        number(loss, "sent").zip(number(loss, "answered")).map(|(sent, answered)| 1.0 - answered / sent);
    found.same("hops", "share lost", number(loss, "share"), share, 1e-9);
    found.at_most("hops", "clean and first lossy hop", number(loss, "clean"), number(loss, "seen"));
}
