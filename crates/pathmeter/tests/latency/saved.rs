//! Several egress paths in one run, and several runs in one file: each has its name, and the table has them all.

use super::common::{PATIENT, counts, latency, measured};
use super::support::{Scratch, Server, free_port, run};

#[test]
fn two_hosts_take_turns() {
    let servers = [Server::start(&[]), Server::start(&[])];
    let hosts = servers.each_ref().map(Server::host);
    for args in [&["-n", "100"][..], &["-n", "100", "--tcp"], &["-n", "100", "--mode", "under-load"]] {
        let labels = ["--label", "near", "--label", "far"];
        let run = measured(&hosts[0], &[&[hosts[1].as_str()], args, &labels].concat());
        let egress_paths = run["summary"]["ways"].as_array().unwrap();
        assert_eq!(egress_paths.iter().map(|egress| &egress["label"]).collect::<Vec<_>>(), ["near", "far"]);
        for (egress, host) in egress_paths.iter().zip(&hosts) {
            assert_eq!(egress["ends"]["remote"], host.as_str());
            assert_eq!(counts(egress, ["sent", "received", "far_received"]), [100; 3], "{args:?}");
        }
    }
    // One of them is gone: that is reported, and the other is measured.
    let gone = format!("127.0.0.1:{}", free_port());
    let ended = run(&[&["latency", &hosts[0], &gone, "-n", "50", "--json"][..], &PATIENT].concat()).code(0);
    let reported = ended.json();
    assert_eq!(reported["summary"]["ways"].as_array().unwrap().len(), 1);
    let warnings = reported["summary"]["warnings"].as_array().unwrap();
    assert!(warnings.iter().any(|w| w["id"] == "way-unreachable"), "{warnings:?}");
    for server in servers {
        server.stop();
    }
}

#[test]
fn each_source_is_a_path() {
    let server = Server::start(&[]);
    let sources = ["--via", "127.0.0.2", "--via", "vpn=127.0.0.3", "--via", "lo"];
    let run = measured(&server.host(), &[&["-n", "50"][..], &sources].concat());
    let egress_paths = run["summary"]["ways"].as_array().unwrap();
    assert_eq!(
        egress_paths.iter().map(|egress| &egress["label"]).collect::<Vec<_>>(),
        ["127.0.0.2", "vpn", "lo"]
    );
    for (egress, address) in egress_paths.iter().zip(["127.0.0.2:", "127.0.0.3:", "127.0.0.1:"]) {
        assert_eq!(egress["ends"]["seen_as"], egress["ends"]["local"]);
        assert!(egress["ends"]["seen_as"].as_str().unwrap().starts_with(address), "{egress:#}");
        assert_eq!(counts(egress, ["sent", "received"]), [50; 2]);
    }
    let args = ["-n", "20", "--label", "here", "--via", "vpn=127.0.0.3"];
    assert_eq!(measured(&server.host(), &args)["summary"]["ways"][0]["label"], "here via vpn");
    for place in ["192.0.2.1", "nosuchif0"] {
        for protocol in ["native", "sockperf"] {
            let args = ["--via", place, "-n", "5", "--protocol", protocol];
            latency(&server.host(), &args).code(2).prints(place);
        }
        // Beside one that is there it is reported and left out.
        let args = ["--via", place, "--via", "lo", "-n", "20", "--json"];
        let run = latency(&server.host(), &args).code(0).prints("").json();
        assert_eq!(run["summary"]["ways"].as_array().unwrap().len(), 1, "{place}");
        assert_eq!(run["summary"]["warnings"][0]["id"], "way-unreachable", "{place}");
    }
    server.stop();
}

#[test]
fn what_is_kept_is_compared_in_one_table() {
    let server = Server::start(&[]);
    let scratch = Scratch::new("saved");
    let file = scratch.file("paths.ndjson", None);
    let keep = |label: &str, args: &[&str]| {
        let args = [&["-n", "200", "--label", label, "--save", &file], args, &PATIENT].concat();
        latency(&server.host(), &args).code(0)
    };
    let first = keep("nat-gateway", &[]).stdout;
    assert_eq!(first.matches("Details: -v").count(), 1, "one way is not a table: {first}");
    let second = keep("nat-instance", &["--tcp"]).stdout;
    let table = second.split("Details: -v").nth(1).unwrap_or_else(|| panic!("{second}"));
    assert!(table.contains("nat-gateway") && table.contains("nat-instance"), "{second}");
    assert!(table.to_lowercase().contains("p99") && table.to_lowercase().contains("max"), "{second}");
    // The same name again takes the place of the first.
    let third = keep("nat-gateway", &["--json"]);
    assert_eq!(third.json()["summary"]["ways"].as_array().unwrap().len(), 1, "JSON is this run alone");
    let kept = std::fs::read_to_string(&file).unwrap();
    assert_eq!(kept.lines().count(), 3);
    kept.lines().for_each(|line| drop(serde_json::from_str::<model::run::Run>(line).unwrap()));
    let spoiled = scratch.file("spoiled", Some("not a result\n"));
    let ended = latency(&server.host(), &["-n", "20", "--save", &spoiled]);
    assert!(ended.stdout.contains("Details: -v"), "what was measured is shown: {}", ended.stdout);
    assert_ne!(ended.code, Some(0));
    ended.prints(&spoiled).prints("line 1");
    server.stop();
}
