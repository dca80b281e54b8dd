//! Every document of every fixture agrees with itself, and one that is bent in one place does not.

use crate::agree::contradictions;
use serde_json::{Value, json};

/// The documents of all fixtures.
fn documents() -> Vec<(&'static str, Value)> {
    let runs = super::all().into_iter().map(|(name, run)| (name, json_of(&run)));
    let labs = super::labs::all().into_iter().map(|(name, lab)| (name, json_of(&lab)));
    let devices = super::rfc2544::all().into_iter().map(|(name, report)| (name, json_of(&report)));
    runs.chain(labs).chain(devices).collect()
}

fn json_of(document: &impl serde::Serialize) -> Value {
    serde_json::to_value(document).expect("documents are JSON")
}

#[test]
fn every_document_agrees_with_itself() {
    let contradicts = |(name, document): (&str, Value)| {
        contradictions(&document).into_iter().map(move |what| format!("{name}: {what}")).collect::<Vec<_>>()
    };
    let found: Vec<String> = documents().into_iter().flat_map(contradicts).collect();
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn a_bent_figure_contradicts_another() {
    let documents = documents();
    let unseen = |(name, place, value, contradiction): (&str, &str, Value, &str)| {
        let mut document = documents.iter().find(|(other, _)| *other == name).unwrap().1.clone();
        let figure = document.pointer_mut(place).unwrap_or_else(|| panic!("{name} has {place}"));
        assert_ne!(*figure, value, "{name} {place} is bent");
        *figure = value;
        let found = contradictions(&document);
        let observed = found.iter().any(|one| one.contains(contradiction));
        (!observed).then(|| format!("{name} {place} does not contradict {contradiction}: {found:?}"))
    };
    let unseen: Vec<String> = bends().into_iter().filter_map(unseen).collect();
    assert!(unseen.is_empty(), "{}", unseen.join("\n"));
}

/// A document, a place in it, another value, and what that contradicts.
fn bends() -> Vec<(&'static str, &'static str, Value, &'static str)> {
    let runs = [
        ("tcp_up", "/summary/up/goodput_bps", json!(9_400_000_000_u64), "goodput of bytes and time"),
        ("udp_down", "/summary/down/seconds", json!(1.9), "goodput of bytes and time"),
        ("udp_down", "/summary/down/packets_per_second", json!(83_840), "packets of goodput and payload"),
        ("udp_down", "/summary/down/wire_bps", json!(1_000_000_000), "wire rate of its frames"),
        ("udp_down", "/summary/down/line_rate_share", json!(0.0998), "share of the link"),
        ("udp_down", "/summary/down/received/datagrams", json!(164_944), "bytes of the datagrams"),
        ("udp_down", "/summary/down/loss/path", json!(145), "loss by place and by stream"),
        ("udp_down", "/summary/down/loss/share", json!(0.0287), "share lost"),
        ("udp_down", "/summary/down/one_way/error_ns", json!(150_000), "clock's error and delay"),
        ("udp_down", "/intervals/1/streams/0/udp/lost", json!(1_498), "udp.lost of all intervals"),
        ("udp_down", "/intervals/2/streams/1/bytes", json!(1), "bytes of all intervals"),
        ("udp_down", "/intervals/2/start_ns", json!(0), "begin and last end"),
        ("bidir", "/summary/up/streams/1/retransmits", json!(1), "retransmits of all streams"),
        ("bidir", "/summary/down/streams/1/bytes", json!(1), "bytes of all streams"),
        ("bidir", "/summary/peer/streams/2/bytes", json!(1), "sent bytes of the peer end's rows"),
        ("tcp_up", "/summary/up/sent/bytes", json!(2_349_999_999_u64), "received and sent"),
        ("tcp_up", "/summary/up/segments/received", json!(1_622_934), "segments received and sent"),
        ("tcp_up", "/summary/up/cpu/sender/busiest_thread", json!(0.5), "busiest thread"),
        ("frames_sweep", "/summary/rows/2/packets_per_second", json!(4_100_000), "goodput of packets"),
        ("frames_sweep", "/summary/rows/4/loss_share", json!(0.05), "left of those offered"),
    ];
    let times = [
        ("latency_loaded", "/summary/rtt_ns/stddev", json!(900), "standard deviation"),
        ("latency_loaded", "/summary/rtt_ns/stddev", json!(2_600_000), "standard deviation"),
        ("latency_loaded", "/summary/rtt_ns/p90", json!(13_000_000), "p90"),
        ("latency_loaded", "/summary/rtt_ns/mean", json!(14_100_000), "mean"),
        ("latency_loaded", "/summary/loaded/phases/0/rtt_ns/p99", json!(12_500_000), "idle phase"),
        ("latency_loaded", "/summary/loaded/phases/1/responsiveness/rpm", json!(500), "responsiveness"),
        ("latency_loaded", "/summary/loaded/phases/1/responsiveness/tcp_ns", json!(1), "new connections"),
        (
            "latency_loaded",
            "/summary/loaded/phases/1/responsiveness/loaded_ns",
            json!(1),
            "loaded connections",
        ),
        ("latency_lan", "/summary/ways/0/counted/lost", json!(2), "received and lost of those asked"),
        ("latency_lan", "/summary/ways/0/sent_pps", json!(2_000), "messages sent per second"),
        ("latency_lan", "/latency_intervals/0/ways/0/sent", json!(20_005), "sent and in all"),
        ("latency_lan", "/summary/ways/0/one_way/up_ns/min", json!(90_000), "one-way delays and round trip"),
        ("latency_fixed_rate", "/summary/ways/0/counted/lost_up", json!(11), "lost up and down"),
        ("mtu_clean", "/summary/path/up/max_udp_payload", json!(1_473), "UDP payload of the path MTU"),
        ("mtu_black_hole", "/summary/path/down/tcp/mss_received", json!(1_338), "TCP stalled"),
        ("mtu_black_hole", "/summary/path/up/black_hole/first", json!(1_400), "the first that vanishes"),
        ("mtu_service", "/summary/path/packets", json!(12), "packets of the probes"),
        ("transfer_files", "/summary/transfer/transfers/0/rate_bps", json!(1), "rate of bytes and time"),
        ("transfer_files", "/summary/transfer/rows/0/rate_bps/mean", json!(1), "mean rate"),
        ("captured_tcp", "/summary/packets/up/payload", json!(9_999_999), "payload and bytes"),
    ];
    let reports = [
        ("lab-compared", "/variants/2/series/10/runs/0/path_mtu", json!(1_459), "packets and path MTU"),
        ("lab-compared", "/variants/1/series/2/runs/0/drops/0/sent", json!(999_999), "dropped and lost"),
        ("lab-compared", "/variants/0/series/2/runs/0/lost", json!(0), "goodput of what arrived"),
        ("rfc2544-full", "/devices/0/rows/0/mrr/loss_ratio", json!(0.38), "lost at the most load"),
        ("rfc2544-full", "/devices/0/rows/0/loss/rows/1/loss_percent", json!(23.4), "percent lost"),
        ("rfc2544-full", "/devices/0/rows/0/rates/0/lower_pps", json!(9e9), "lower and upper bound"),
        ("rfc2544-full", "/devices/0/rows/0/back_to_back/outcome/mean", json!(1_201.0), "mean burst"),
        ("rfc2544-full", "/devices/0/hops/1/drops/rx_dropped", json!(180_000), "drops of the hops"),
    ];
    runs.into_iter().chain(times).chain(reports).collect()
}
