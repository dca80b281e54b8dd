//! `no-reply`: an egress path without any reply. Never a zero.

use super::super::contradiction::reported;
use super::super::text::count;
use super::super::{Finding, Severity};
use super::{name, one_way};
use model::latency::EgressResult;
use model::run::Run;

/// Messages that requested a reply got none; of one-way messages the far end received none.
pub(in super::super) fn no_reply(run: &Run, egress: &EgressResult) -> Option<Finding> {
    silent(run, egress).then(|| finding(run, egress))
}

/// Errors of routers, hosts and this host's kernel about the packets, as an import reads them.
pub(super) fn icmp_errors(run: &Run) -> Option<String> {
    reported(run, "icmp-errors")
}

/// Ping has no server and no port.
fn advice_of_ping(run: &Run, egress: &EgressResult) -> String {
    let reported = icmp_errors(run).unwrap_or_default().to_ascii_lowercase();
    let known = SAYINGS.iter().find(|(what, _)| what.iter().any(|what| reported.contains(what)));
    match known {
        Some((_, advice)) => (*advice).to_owned(),
        None => {
            let host = &egress.host;
            format!(
                "Check that {host} is up and answers pings: many hosts and firewalls drop them. `pathmeter hops {host}` shows how far packets come."
            )
        }
    }
}

/// Nothing is known to have crossed.
pub(super) fn silent(run: &Run, egress: &EgressResult) -> bool {
    let counted = &egress.counted;
    match one_way(run) {
        true => counted.sent > 0 && counted.far_received == Some(0),
        false => counted.asked > 0 && counted.received == 0 && counted.late == 0,
    }
}

fn finding(run: &Run, egress: &EgressResult) -> Finding {
    let counted = &egress.counted;
    let name = name(run, egress);
    let title = match one_way(run) {
        true => format!("The far end received none of {} {name}", count(counted.sent, "message")),
        false => match icmp_errors(run) {
            Some(reported) => {
                format!("No reply came to any of {} {name}: {reported}", count(counted.asked, "message"))
            }
            None => format!("No reply came to any of {} {name}", count(counted.asked, "message")),
        },
    };
    let finding = Finding::new("no-reply", Severity::Problem, None, title)
        .with("sent_count", counted.sent)
        .with("asked_count", counted.asked)
        .with("received_count", counted.received)
        .with("strays_count", counted.strays);
    let port = egress.ends.remote.port();
    let half = match (counted.lost_up, counted.lost_down) {
        (_, Some(down)) if down > 0 => {
            " Messages reach the far end, its replies do not come back: look at the return path."
        }
        _ => "",
    };
    if run.kind == "ping" {
        return finding.advise(advice_of_ping(run, egress));
    }
    finding.advise(format!(
        "Check that the server runs at {}, that firewalls on this path let port {port} through in both directions, and that the message is not too large for the path.{half}",
        egress.ends.remote
    ))
}

/// Texts of errors about packets, in small letters, and the advice that follows.
const SAYINGS: &[(&[&str], &str)] = &[
    (
        &["operation not permitted"],
        "This host's own firewall drops what it sends: look at its output rules (`nft list ruleset`, `iptables -L OUTPUT`).",
    ),
    (
        &["network is unreachable", "no route to host", "general failure"],
        "This host has no route there: look at `ip route get` with the address, and at the interface (`ip -br address`).",
    ),
    (
        &["packet filtered", "prohibited", "filtered"],
        "A firewall on the router that reports this refuses the packets: ask for a rule there that lets them through.",
    ),
    (
        &["time to live exceeded", "ttl expired"],
        "Packets go in a circle, or the path is longer than their TTL: `pathmeter hops` shows the routers that repeat.",
    ),
    (
        &["host unreachable"],
        "The router that reports this, which may be this host, gets no answer from the target on its own link (ARP or neighbour discovery): check that it is up, its address and its cable or VLAN.",
    ),
    (
        &["net unreachable", "network unreachable"],
        "The router that reports this has no route there: look at its routing table and at the announcements that it takes.",
    ),
    (
        &["port unreachable", "protocol unreachable"],
        "The host is up, and nothing listens there: check the port and the program.",
    ),
];
