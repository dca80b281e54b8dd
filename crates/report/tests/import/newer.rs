//! What iPerf3 3.21, iPerf2 2.2.1 and SockPerf 3.10 printed, read back: the figures are those that stand in the files.

use super::{fixture, near, only, warned};
use model::finding::Status;
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
    // File, direction, bytes sent, bytes received, 0: that end is not reported.
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
        ("iperf3-3.21-udp-r-unseen.json", "down", 851.0 * 1472.0, 850.0 * 1472.0),
        ("iperf3-3.21-udp-gsro-bidir-unseen.json", "up", 1794.0 * 1400.0, 1794.0 * 1400.0),
        ("iperf3-3.21-udp-gsro-bidir-unseen.json", "down", 1932.0 * 1400.0, 1794.0 * 1400.0),
        ("iperf2-2.2.1-udp-d.client.txt", "up", 853.0 * 1470.0, 853.0 * 1470.0),
        ("iperf2-2.2.1-udp-d.client.txt", "down", 853.0 * 1470.0, 853.0 * 1470.0),
        ("iperf2-2.1.8-udp-r.client.txt", "up", 854.0 * 1470.0, 854.0 * 1470.0),
        ("iperf2-2.1.8-udp-r.client.txt", "down", 852.0 * 1470.0, 852.0 * 1470.0),
        ("iperf2-2.2.1-tcp-r.client.txt", "up", 1_506_803_776.0, 1_506_803_776.0),
        ("iperf2-2.2.1-tcp-r.client.txt", "down", 0.0, 320_864_256.0),
        ("iperf2-2.2.1-working-load.client.txt", "up", 88.0 * 1470.0, 88.0 * 1470.0),
        ("iperf2-2.2.1-working-load.server.txt", "up", 88.0 * 1470.0, 88.0 * 1470.0),
        ("iperf2-2.2.1-tcp.client.txt", "up", 5.0 * MIB, 5.0 * MIB),
        ("iperf2-2.2.1-tcp.server.txt", "up", 0.0, 5.0 * MIB),
        ("iperf2-2.2.1-tcp-e-p2.client.txt", "up", 10.0 * MIB, 10.0 * MIB),
        ("iperf2-2.2.1-tcp-e-p2.server.txt", "up", 0.0, 10.0 * MIB),
        ("iperf2-2.2.1-tcp.csv", "up", 2_621_504.0, 2_621_504.0),
        ("iperf2-2.2.1-tcp-e.csv", "up", 2_752_592.0, 2_752_592.0),
        ("iperf2-2.2.1-udp-e.csv", "up", 853.0 * 1470.0, 0.0),
        ("iperf2-2.2.1-full-duplex.client.txt", "up", 2.63 * MIB, 2.63 * MIB),
        ("iperf2-2.2.1-full-duplex.client.txt", "down", 0.0, 2.50 * MIB),
        ("iperf2-2.2.1-udp.client.txt", "up", 1701.0 * 1470.0, 1701.0 * 1470.0),
        ("iperf2-2.2.1-udp.server.txt", "up", 1701.0 * 1470.0, 1701.0 * 1470.0),
        ("iperf2-2.2.1-udp-e.client.txt", "up", 1690.0 * 1470.0, 1690.0 * 1470.0),
        ("iperf2-2.2.1-udp-e.server.txt", "up", 1690.0 * 1470.0, 1690.0 * 1470.0),
        ("iperf2-2.2.1-isochronous.client.txt", "up", 574.0 * KIB, 574.0 * KIB),
        ("iperf2-2.2.1-isochronous.server.txt", "up", 574.0 * KIB, 574.0 * KIB),
        ("iperf2-2.2.1-isochronous-times.server.txt", "up", 594.0 * KIB, 594.0 * KIB),
        ("iperf2-2.2.1-isochronous-tcp.server.txt", "up", 0.0, 590.0 * KIB),
        ("iperf2-2.2.1-bursts.server.txt", "up", 0.0, 1.25 * MIB),
        ("iperf2-2.1.8-bursts.server.txt", "up", 0.0, 1.25 * MIB),
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
        ("iperf2-2.2.1-isochronous-times.server.txt", "up", 438, 0),
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

/// A server of round trips states how much was asked and answered, and no times.
#[test]
fn round_trips_at_a_server() {
    for (name, count) in [
        ("iperf2-2.2.1-bounceback.server.txt", 20),
        ("iperf2-2.2.1-bounceback-reply.server.txt", 10),
        ("iperf2-2.1.8-bounceback.server.txt", 10),
    ] {
        let imported = only(&fixture(name));
        let egress = &imported.run.summary.egress_paths[0];
        assert_eq!((egress.counted.received, egress.rtt), (count, None), "{name}: {egress:?}");
        assert!(warned(&imported, "times-unknown"), "{name}");
        assert!(document(&imported)["summary"]["up"].is_null(), "{name}: they are no throughput");
        assert_ne!(imported.run.verdict.status, Status::Problem, "{name}: {:?}", imported.run.verdict);
        // Ends as a client has them: the server is the remote one.
        let text = fixture(name);
        let (_, server) = text.split_once("] local 127.0.0.1").expect("a connection");
        let port = server.split(' ').nth(2).expect("a port");
        assert_eq!(egress.ends.remote.port().to_string(), port, "{name}");
    }
}

/// What a run has no figures for is reported in a note, and is in no interval.
#[test]
fn frames_and_bursts_are_reported() {
    for (name, id, reported) in [
        (
            "iperf2-2.2.1-isochronous.client.txt",
            "frames",
            "29 frames were sent, 1 were passed over, in 1 slips",
        ),
        ("iperf2-2.2.1-isochronous-times.server.txt", "frames", "29 frames came, 3 were lost"),
        (
            "iperf2-2.2.1-isochronous-tcp.client.txt",
            "frames",
            "30 frames were sent, 2 were passed over, in 1 slips",
        ),
        ("iperf2-2.2.1-bursts.server.txt", "bursts", "5 bursts came, each in 0.025 to 0.049 ms, 0.034 ms"),
        (
            "iperf2-2.1.8-bursts.server.txt",
            "bursts",
            "5 bursts came; the times that are printed of them cannot be",
        ),
    ] {
        let imported = only(&fixture(name));
        let notes = &imported.run.summary.warnings;
        let note = notes.iter().find(|note| note.id == id).unwrap_or_else(|| panic!("{name}: {notes:?}"));
        assert!(note.text.contains(reported), "{name}: {}", note.text);
        assert_eq!(imported.run.intervals.len(), 0, "{name}");
    }
}

/// A receiver's sum lacks the datagrams behind the last one that it read; the rows of its streams have them all.
#[test]
fn datagrams_that_no_end_knows_are_not_received() {
    for (name, unseen) in [
        ("iperf3-3.21-udp-r-unseen.json", "last 1 datagrams"),
        ("iperf3-3.21-udp-gsro-bidir-unseen.json", "last 138 datagrams"),
    ] {
        let imported = only(&fixture(name));
        let notes = &imported.run.summary.warnings;
        assert!(
            notes.iter().any(|note| note.id == "unseen-end" && note.text.contains(unseen)),
            "{name}: {notes:?}"
        );
    }
}

/// The streams of TCP beside a test of UDP have no datagrams, and are no part of it.
#[test]
fn a_working_load_is_reported_and_not_counted() {
    for name in ["iperf2-2.2.1-working-load.client.txt", "iperf2-2.2.1-working-load.server.txt"] {
        let imported = only(&fixture(name));
        assert!(warned(&imported, "working-load"), "{name}");
        assert!(document(&imported)["summary"]["down"].is_null(), "{name}");
    }
}
