//! Every mode, transport and size against our own server: each message is counted, at both ends.

use super::common::{count, counts, measured, number, only_egress};
use super::support::{Scratch, Server, on_a_small_disk};
use model::stats::histogram::Histogram;
use serde_json::Value;

#[test]
fn ping_pong_of_every_size_counts_each_message() {
    let server = Server::start(&[]);
    let host = server.host();
    for (transport, sizes) in [
        ("--udp", &["14", "15", "29", "30", "64", "1472", "65507"][..]),
        ("--tcp", &["14", "15", "29", "30", "64", "1472", "65507", "1048575"]),
    ] {
        for size in sizes {
            let run = measured(&host, &[transport, "-m", size, "-n", "60"]);
            let egress = only_egress(&run);
            let names = ["sent", "asked", "received", "far_received"];
            assert_eq!(counts(egress, names), [60; 4], "{transport} {size}: {:#}", egress["counted"]);
            let rest = ["lost", "late", "duplicates", "reordered", "strays", "lost_up", "lost_down"];
            assert_eq!(counts(egress, rest), [0; 7], "{transport} {size}");
            let counted = number(&egress["rtt_ns"], "count") + number(egress, "warm_up_count");
            assert_eq!(counted, 60, "{transport} {size}");
            assert_eq!(egress["ends"]["seen_as"], egress["ends"]["local"], "nothing translates on loopback");
            let room_for_times = size.parse::<u32>().unwrap() >= 30;
            assert_eq!(egress["one_way"].is_object(), room_for_times, "{transport} {size}: {egress:#}");
            assert_eq!(run["work"]["latency"]["size"].to_string(), *size);
        }
    }
    server.stop();
}

#[test]
fn under_load_measures_each_message_from_when_it_was_due() {
    let server = Server::start(&[]);
    let host = server.host();
    for transport in ["--udp", "--tcp"] {
        for (every, asked) in [("1", 200), ("7", 28)] {
            let args = ["--mode", "under-load", "--rate", "2000", "-n", "200", "--reply-every", every];
            let run = measured(&host, &[&args[..], &[transport, "--warm-up", "0s"]].concat());
            let egress = only_egress(&run);
            let names = ["sent", "far_received", "asked", "received", "lost"];
            assert_eq!(
                counts(egress, names),
                [200, 200, asked, asked, 0],
                "{transport}: {:#}",
                egress["counted"]
            );
            assert_eq!(number(&egress["rtt_ns"], "count"), asked);
            // From the send call it cannot take longer than from when it was due.
            for figure in ["min", "mean", "max"] {
                assert!(
                    number(&egress["service_ns"], figure) <= number(&egress["rtt_ns"], figure),
                    "{egress:#}"
                );
            }
        }
    }
    server.stop();
}

#[test]
fn throughput_is_counted_by_the_receiver() {
    let server = Server::start(&[]);
    let host = server.host();
    for args in [&["--udp", "--rate", "5000"][..], &["--tcp"], &["--tcp", "-m", "100000"]] {
        let args = [&["--mode", "throughput", "-n", "500"], args].concat();
        let run = measured(&host, &args);
        let egress = only_egress(&run);
        let names = ["sent", "asked", "received", "lost"];
        assert_eq!(counts(egress, names), [500, 0, 0, 0], "{args:?}: {:#}", egress["counted"]);
        assert_eq!(egress["rtt_ns"], Value::Null, "{args:?}: no reply, no round trip");
        if args.contains(&"--tcp") {
            assert_eq!(counts(egress, ["far_received", "lost_up"]), [500, 0], "{args:?}");
        }
        assert_eq!(count(egress, "far_received") + count(egress, "lost_up"), 500, "{args:?}");
        assert!(egress["received_pps"].as_u64().unwrap() > 0, "{args:?}: {egress:#}");
    }
    server.stop();
}

#[test]
fn playback_sends_what_the_file_states() {
    let server = Server::start(&[]);
    let host = server.host();
    let scratch = Scratch::new("playback");
    let lines = (1..=50).map(|n| format!("{:.4}, {}\n", f64::from(n) * 0.002, 14 + n * 20));
    let file = scratch.file("good", Some(&("# a comment\n".to_owned() + &lines.collect::<String>())));
    for transport in ["--udp", "--tcp"] {
        let run = measured(&host, &["--playback", &file, transport]);
        let egress = only_egress(&run);
        let names = ["sent", "asked", "received", "far_received", "lost"];
        assert_eq!(counts(egress, names), [50, 50, 50, 50, 0], "{transport}: {:#}", egress["counted"]);
        assert_eq!(
            (run["work"]["latency"]["mode"].as_str(), number(egress, "warm_up_count")),
            (Some("playback"), 0)
        );
        assert_eq!(number(&egress["rtt_ns"], "count"), 50);
    }
    server.stop();
}

#[test]
fn the_raw_file_gives_the_same_figures_as_the_result() {
    let server = Server::start(&[]);
    let host = server.host();
    let scratch = Scratch::new("raw");
    for mode in ["ping-pong", "under-load"] {
        let file = scratch.file(mode, None);
        let args = ["--mode", mode, "-n", "300", "--warm-up", "0s", "--raw", &file, "--label", "a, \"b\""];
        let args = if mode == "ping-pong" { args.to_vec() } else { [&args[..], &["--rate", "5k"]].concat() };
        let run = measured(&host, &args);
        let text = std::fs::read_to_string(&file).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("way,message,at_ns,late_ns,rtt_ns"));
        let rows: Vec<[u64; 4]> = lines.map(row).collect();
        let rtt: Vec<u64> = rows.iter().map(|row| row[3]).collect();
        assert!(rows.is_sorted_by(|a, b| a[0] < b[0] && a[1] <= b[1]), "{mode}: numbers and times rise");
        let (sum, count) = (rtt.iter().sum::<u64>(), rtt.len() as u64);
        assert_eq!(count, 300, "{mode}");
        let reported = &only_egress(&run)["rtt_ns"];
        assert_eq!(number(reported, "count"), count, "{mode}");
        assert_eq!(number(reported, "min"), *rtt.iter().min().unwrap(), "{mode}");
        assert_eq!(number(reported, "max"), *rtt.iter().max().unwrap(), "{mode}");
        assert!(
            number(reported, "mean").abs_diff(sum / count) <= 1,
            "{mode}: {reported} and {}",
            sum / count
        );
    }
    server.stop();
}

#[test]
fn a_full_disk_cuts_the_raw_file_at_a_line_and_leaves_the_result() {
    let test = "a_full_disk_cuts_the_raw_file_at_a_line_and_leaves_the_result";
    let (server, scratch) = (Server::start(&[]), Scratch::new("raw-full"));
    let line = format!("latency {} -n 20000 --warm-up 0s --json --raw small/raw.csv", server.host());
    let script = format!("\"$PATHMETER\" {line}; code=$?; cp small/raw.csv raw.csv; exit $code");
    let Some(ended) = on_a_small_disk(test, &scratch, "64k", &script) else { return };
    let run = ended.code(0).json();
    let warnings = run["summary"]["warnings"].as_array().unwrap();
    let warning = warnings.iter().find(|one| one["id"] == "raw-incomplete").expect("the disk was full");
    assert!(warning["text"].as_str().unwrap().contains("No space left"), "{warning}");
    assert_eq!(counts(only_egress(&run), ["received"]), [20_000], "the figures stand");
    let rows = std::fs::read_to_string(scratch.file("raw.csv", None)).unwrap();
    assert!(rows.ends_with('\n') && rows.lines().count() > 100, "{} lines", rows.lines().count());
    assert!(rows.lines().all(|line| line.split(',').count() == 5), "each line is whole");
    server.stop();
}

#[test]
fn the_histogram_in_the_result_is_hdrhistograms_and_agrees() {
    let server = Server::start(&[]);
    let run = measured(&server.host(), &["-n", "500"]);
    let egress = only_egress(&run);
    let histogram = Histogram::from_v2_base64(egress["histogram"].as_str().unwrap()).unwrap();
    let reported = &egress["rtt_ns"];
    assert_eq!(histogram.count(), number(reported, "count"));
    for (value, name) in [
        (histogram.min().unwrap(), "min"),
        (histogram.value_at_quantile(0.5).unwrap(), "p50"),
        (histogram.value_at_quantile(0.99).unwrap(), "p99"),
        (histogram.max().unwrap(), "max"),
    ] {
        let reported = number(reported, name);
        assert!(value.abs_diff(reported) <= histogram.width_at(reported), "{name}: {value} and {reported}");
    }
    server.stop();
}

/// A line of the raw file without its label, which is quoted.
#[track_caller]
fn row(line: &str) -> [u64; 4] {
    let numbers = line.strip_prefix("\"a, \"\"b\"\"\",").unwrap_or_else(|| panic!("{line}"));
    let numbers: Vec<u64> = numbers.split(',').map(|number| number.parse().unwrap()).collect();
    numbers.try_into().unwrap_or_else(|_| panic!("{line}"))
}
