//! What iPerf3 3.21, iPerf2 2.2.1 and SockPerf 3.10 printed, read back: the figures are those that stand in the files.

use super::{fixture, near, only};
use pathmeter_report::import::Imported;
use serde_json::Value;

/// Bytes that one end of one direction counted, of so many streams.
fn bytes(imported: &Imported, direction: &str, end: &str) -> f64 {
    document(imported)["summary"][direction][end]["bytes"].as_f64().unwrap_or(-1.0)
}

fn document(imported: &Imported) -> Value {
    serde_json::to_value(&imported.run).expect("a document")
}

const MIB: f64 = 1_048_576.0;
const KIB: f64 = 1024.0;

#[test]
fn bytes_of_both_ends() {
    // File, direction, bytes sent, bytes received, 0: that end is not told.
    for (name, direction, sent, received) in [
        ("iperf3-3.21-tcp.client.txt", "up", 4.88 * MIB, 4.88 * MIB),
        ("iperf3-3.21-tcp.server.txt", "up", 0.0, 4.88 * MIB),
        ("iperf3-3.21-bidir-p2.client.txt", "up", 9.75 * MIB, 9.75 * MIB),
        ("iperf3-3.21-bidir-p2.client.txt", "down", 9.75 * MIB, 9.75 * MIB),
        ("iperf3-3.21-omit.client.txt", "up", 4.75 * MIB, 4.75 * MIB),
        ("iperf3-3.21-udp-gsro.client.txt", "up", 1794.0 * 1400.0, 1794.0 * 1400.0),
        ("iperf3-3.21-udp-r.client.txt", "down", 2.41 * MIB, 2.41 * MIB),
        ("iperf3-3.21-udp-r.server.txt", "down", 2.41 * MIB, 0.0),
        ("iperf3-3.21-tcp.json", "up", 2_621_440.0, 2_621_440.0),
        ("iperf3-3.21-mptcp.json", "up", 2_490_368.0, 2_490_368.0),
        ("iperf3-3.21-udp-bidir.json", "up", 1_277_952.0, 1_277_952.0),
        ("iperf3-3.21-udp-bidir.json", "down", 1_277_952.0, 1_277_952.0),
        ("iperf2-2.2.1-tcp.client.txt", "up", 5.0 * MIB, 5.0 * MIB),
        ("iperf2-2.2.1-tcp.server.txt", "up", 0.0, 5.0 * MIB),
        ("iperf2-2.2.1-tcp-e-p2.client.txt", "up", 10.0 * MIB, 10.0 * MIB),
        ("iperf2-2.2.1-tcp-e-p2.server.txt", "up", 0.0, 10.0 * MIB),
        ("iperf2-2.2.1-tcp.csv", "up", 2_621_504.0, 2_621_504.0),
        ("iperf2-2.2.1-full-duplex.client.txt", "up", 2.63 * MIB, 2.63 * MIB),
        ("iperf2-2.2.1-full-duplex.client.txt", "down", 0.0, 2.50 * MIB),
        ("iperf2-2.2.1-udp.client.txt", "up", 1701.0 * 1470.0, 1701.0 * 1470.0),
        ("iperf2-2.2.1-udp.server.txt", "up", 1701.0 * 1470.0, 1701.0 * 1470.0),
        ("iperf2-2.2.1-udp-e.client.txt", "up", 1690.0 * 1470.0, 1690.0 * 1470.0),
        ("iperf2-2.2.1-udp-e.server.txt", "up", 1690.0 * 1470.0, 1690.0 * 1470.0),
        ("iperf2-2.2.1-isochronous.client.txt", "up", 574.0 * KIB, 574.0 * KIB),
        ("iperf2-2.2.1-isochronous.server.txt", "up", 574.0 * KIB, 574.0 * KIB),
    ] {
        let imported = only(&fixture(name));
        let found = (bytes(&imported, direction, "sent"), bytes(&imported, direction, "received"));
        // Printed in three digits.
        let agrees = |found: f64, printed: f64| (found - printed).abs() <= printed * 0.004;
        assert!(agrees(found.0, sent) && agrees(found.1, received), "{name} {direction}: {found:?}");
    }
}

#[test]
fn datagrams_and_intervals() {
    for (name, direction, datagrams, intervals) in [
        ("iperf3-3.21-udp-gsro.client.txt", "up", 1794, 2),
        ("iperf3-3.21-udp-r.client.txt", "down", 77, 2),
        ("iperf3-3.21-udp-bidir.json", "up", 39, 2),
        ("iperf2-2.2.1-udp.client.txt", "up", 1701, 2),
        ("iperf2-2.2.1-udp-e.server.txt", "up", 1690, 2),
        ("iperf2-2.2.1-isochronous.client.txt", "up", 423, 0),
    ] {
        let imported = only(&fixture(name));
        let received = document(&imported)["summary"][direction]["received"]["datagrams"].as_u64();
        assert_eq!((received, imported.run.intervals.len()), (Some(datagrams), intervals), "{name}");
    }
}

#[test]
fn round_trips() {
    // Printed milliseconds; SockPerf's latency is half a round trip.
    for (name, count, mean, max) in [
        ("iperf2-2.2.1-bounceback.client.txt", 20, 1.412, 27.567),
        ("iperf2-2.2.1-bounceback-p2.client.txt", 20, 0.0905, 0.829),
        ("sockperf-3.10-pp.txt", 31_332, 2.0 * 0.008_783, -1.0),
        ("sockperf-3.10-ul.txt", 4, 2.0 * 0.008_129, -1.0),
    ] {
        let imported = only(&fixture(name));
        let direction = &document(&imported)["summary"]["ways"][0];
        assert_eq!(direction["counted"]["received"].as_u64(), Some(count), "{name}: {direction}");
        let millis = |key: &str| direction["rtt_ns"][key].as_f64().unwrap_or(-1.0) / 1e6;
        near(millis("mean"), mean, 0.001);
        if max > 0.0 {
            near(millis("max"), max, 0.001);
        }
    }
}
