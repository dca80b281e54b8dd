//! `lab run`: its figures, comparison, chart, capture, foreign tools and refusals.

use super::support::{Scratch, run, start};
use super::topologies::buildable;
use serde_json::Value;

#[test]
fn topologies_are_compared_in_turns_and_drawn() {
    if buildable("topologies_are_compared_in_turns").is_none() {
        return;
    }
    let scratch = Scratch::new("lab-compare");
    let (svg, png) = (scratch.file("chart.svg", None), scratch.file("chart.png", None));
    let args =
        ["lab", "run", "--compare", "direct,ipip6", "--runs", "2", "-t", "300ms", "--tests", "tcp,latency"];
    let report = run(&[&args[..], &["--json", "--chart", &svg, "--chart", &png]].concat()).code(0).json();
    assert_eq!(report["schema"], "pathmeter/lab/1");
    for variant in report["variants"].as_array().unwrap() {
        let series = variant["series"].as_array().unwrap();
        // Each family: TCP up, down, and each direction of both at once; and round trips.
        assert_eq!(series.len(), 2 * 5, "{variant:#}");
        for one in series {
            let runs = one["runs"].as_array().unwrap();
            assert_eq!(runs.len(), 2, "{one:#}");
            assert!(runs.iter().all(|run| run["error"].is_null()), "{one:#}");
        }
    }
    // DS-Lite carries IPv4 in IPv6: 40 bytes more around each packet, and a limit that knows of them.
    let tunnel = &report["variants"][1]["series"][0];
    assert_eq!((tunnel["family"].as_str(), tunnel["packet"]["encaps"].as_str()), (Some("v4"), Some("ipip6")));
    let packet = &tunnel["packet"];
    let headers = packet["frame_bytes"].as_u64().unwrap() - packet["payload_bytes"].as_u64().unwrap();
    assert_eq!(headers, 14 + 40 + 20 + 32);
    assert!(tunnel["share_of_limit"].as_f64().unwrap() > 0.0);
    let compared = report["comparisons"].as_array().unwrap();
    assert!(compared.len() == 10 && compared.iter().all(|row| row["variant"] == "ipip6"), "{compared:#?}");
    let drawn = std::fs::read_to_string(svg).unwrap();
    assert!(drawn.starts_with("<svg") && drawn.contains("ipip6 IPv6:"), "{drawn}");
    assert!(std::fs::read(png).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn frames_of_each_size_are_swept() {
    if buildable("frames_of_each_size_are_swept").is_none() {
        return;
    }
    let scratch = Scratch::new("lab-frames");
    let svg = scratch.file("chart.svg", None);
    let args =
        ["lab", "run", "--compare", "direct,tbf-mtu", "--frames", "-4", "-t", "200ms", "--chart", &svg];
    let report = run(&[&args[..], &["--json"]].concat()).code(0).json();
    for (variant, shaped) in report["variants"].as_array().unwrap().iter().zip([false, true]) {
        assert!(variant["series"].as_array().unwrap().is_empty(), "{variant:#}");
        let sweep = &variant["sweeps"][0];
        assert_eq!((sweep["family"].as_str(), sweep["error"].as_str()), (Some("v4"), None));
        let rows = sweep["rows"].as_array().unwrap();
        assert_eq!(rows.len(), 16, "eight sizes with TCP and with UDP");
        let sent = rows.iter().find(|row| row["protocol"] == "udp" && row["frame"] == 512).unwrap();
        assert!(sent["skipped"].is_null() && sent["payload"].as_f64() == Some(466.0), "{sent:#}");
        assert_eq!(sent["line_rate_pps"].is_u64(), shaped, "{sent:#}");
        // Each datagram is a frame of its own in the device: more than it counts would be super-packets.
        let [frames, packets] = ["frames", "packets"].map(|name| sent["device"][name].as_f64().unwrap());
        assert!(frames > 0.9 * packets, "{sent:#}");
    }
    let drawn = std::fs::read_to_string(svg).unwrap();
    assert!(drawn.contains("UDP, packets, Mpps") && drawn.contains("tbf-mtu, IPv4"), "{drawn}");
}

#[test]
fn a_shaped_link_carries_what_its_file_states() {
    if buildable("a_shaped_link_carries_what_its_file_states").is_none() {
        return;
    }
    let args = ["lab", "run", "tbf-mtu", "-6", "-t", "2s", "--tests", "udp,mtu", "--json"];
    let report = run(&args).code(0).json();
    let held = expectations(&report);
    // The first datagram is too big, and the router reports it: those behind it go in fragments.
    for what in
        ["rate of the link up, UDP over IPv6", "rate of the link down, UDP over IPv6", "path MTU up, IPv6"]
    {
        assert!(held.contains(&(what.into(), Value::Bool(true))), "{what}: {held:#?}");
    }
    // The queue of the shaped link drops an overload, and the place is reported.
    let series =
        report["variants"][0]["series"].as_array().unwrap().iter().find(|one| one["test"] == "udp").unwrap();
    let drops = series["runs"][0]["drops"].as_array().unwrap();
    assert!(drops.iter().any(|one| one["node"] == "r1" && one["device"] == "far"), "{drops:#?}");
    assert_eq!(series["speed"]["basis"], "shaped");
}

#[test]
fn a_rate_is_set_by_the_queue_of_a_node_that_held_it_back() {
    if buildable("a_rate_is_set_by_the_queue_of_a_node").is_none() {
        return;
    }
    let args = ["lab", "run", "bufferbloat", "-4", "-t", "2s", "--tests", "tcp", "--json"];
    let report = run(&args).code(0).json();
    let series = report["variants"][0]["series"].as_array().unwrap();
    // Each direction has the queue by which its own packets leave, also where both were full at once.
    for (test, direction, queue) in [
        ("tcp", "up", "tbf of far at r1 ("),
        ("tcp", "down", "tbf of near at r2 ("),
        ("tcp-both", "up", "tbf of far at r1 ("),
    ] {
        let tested = series.iter().find(|one| one["test"] == test && one["direction"] == direction).unwrap();
        let set_by = &tested["runs"][0]["set_by"];
        assert_eq!(set_by["kind"], "shaper", "{tested:#}");
        let cause = set_by["cause"].as_str().unwrap_or_else(|| panic!("{set_by:#}"));
        assert!(cause.contains(queue), "{test} {direction}: {cause}");
    }
    let both_down =
        series.iter().find(|one| one["test"] == "tcp-both" && one["direction"] == "down").unwrap();
    let cause = both_down["runs"][0]["set_by"]["cause"].as_str().unwrap_or_default();
    assert!(!cause.contains("far at r1"), "the queue of the other direction: {cause}");
}

#[test]
fn a_broken_expectation_is_reported_and_ends_with_1() {
    if buildable("a_broken_expectation_is_reported").is_none() {
        return;
    }
    let scratch = Scratch::new("lab-broken");
    let file = scratch.file("wrong.toml", Some(&PAIR.replace("path-mtu = 1500", "path-mtu = 1400")));
    let ended = run(&["lab", "run", &file, "-4", "--tests", "mtu"]).code(1);
    assert!(
        ended.stdout.starts_with("BROKEN  ") && ended.stdout.contains("2 expectations broken, 1 held"),
        "{}",
        ended.stdout
    );
}

#[test]
fn what_the_kernel_lacks_is_an_error_and_void() {
    let test = "what_the_kernel_lacks_is_an_error_and_void";
    if buildable(test).is_none() {
        return;
    }
    let listed = run(&["lab", "list", "--json"]).code(0).json();
    let vlan = listed.as_array().unwrap().iter().find(|one| one["name"] == "vlan").unwrap();
    let lacks = vlan["lacks"].as_array().map_or(0, Vec::len);
    if lacks == 0 {
        skip::skip(format!("{test}: this kernel has 8021q"));
        return;
    }
    let ended =
        run(&["lab", "run", "vlan", "--quick"]).code(4).prints("error: vlan: not on this host: needs 8021q");
    assert!(ended.stdout.starts_with("VOID  Nothing was measured"), "{}", ended.stdout);
}

/// An expectation on a test that did not run is neither held nor broken.
#[test]
fn an_interrupt_judges_nothing_that_did_not_run() {
    if buildable("an_interrupt_judges_nothing_that_did_not_run").is_none() {
        return;
    }
    let lab = start(&["lab", "run", "black-hole", "-4", "-t", "1s", "--json"]);
    lab.wait_for("TCP up, IPv4");
    lab.signal("INT");
    let report = lab.end().code(4).json();
    for (what, held) in expectations(&report) {
        assert!(held.is_null() || held == true, "{what}: {held}");
        assert!(held.is_null() || !what.starts_with("finding"), "{what}: {held}");
    }
}

#[test]
fn foreign_tools_are_measured_beside_us_and_links_recorded() {
    if buildable("foreign_tools_are_measured_beside_us").is_none() {
        return;
    }
    let scratch = Scratch::new("lab-tools");
    let us = env!("CARGO_BIN_EXE_pathmeter");
    // Ours under the foreign name: the tests of interoperability have the real ones.
    let tool = format!(
        "{PAIR}\n[[tools]]\nname = \"iperf3\"\nserve = \"{us} iperf3 -s\"\nrun = \"{us} iperf3 -c {{to4}} -t 1 -J\"\n"
    );
    let file = scratch.file("tools.toml", Some(&tool));
    let pcap = scratch.file("link.pcapng", None);
    let args = ["lab", "run", &file, "-4", "-t", "300ms", "--tests", "tcp,tools", "--json"];
    let report = run(&[&args[..], &["--capture", "client:eth0", "--pcap", &pcap]].concat()).code(0).json();
    let series = report["variants"][0]["series"].as_array().unwrap();
    let tool = series.iter().find(|one| one["tool"] == "iperf3").unwrap_or_else(|| panic!("{series:#?}"));
    assert_eq!((tool["test"].as_str(), tool["direction"].as_str()), (Some("tool"), Some("up")));
    assert!(tool["runs"][0]["goodput_bps"].as_u64().unwrap() > 0, "{tool:#}");
    let recorded = std::fs::read(pcap).unwrap();
    assert_eq!(&recorded[..4], [0x0a, 0x0d, 0x0d, 0x0a], "a section header of pcapng");
    assert!(recorded.len() > 1000);
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_built() {
    for (args, message) in [
        (&["forward", "--chart", "chart.gif"][..], "neither an .svg nor a .png"),
        (&["forward", "forward"], "is given twice"),
        (&["foward"], "did you mean `forward`"),
        (&["forward", "-t", "1ms"], "too short"),
        (&["forward", "--capture", "switch:eth0", "--pcap", "x"], "has no node switch"),
        (&["forward", "bridge", "--capture", "client:eth0", "--pcap", "x"], "takes one topology"),
    ] {
        let ended = run(&[&["lab", "run"], args].concat()).code(2);
        assert!(ended.stderr.contains(message), "{args:?}: {}", ended.stderr);
    }
    let plan = run(&["lab", "run", "--compare", "direct,forward", "--dry-run"]).code(0).stdout;
    assert!(
        plan.contains("5 × TCP both directions at once, IPv6") && plan.contains("tests, about "),
        "{plan}"
    );
}

/// The text of each expectation of the first topology, and whether it held.
fn expectations(report: &Value) -> Vec<(String, Value)> {
    let all = report["variants"][0]["expectations"].as_array().unwrap().iter();
    all.map(|one| (one["what"].as_str().unwrap().to_owned(), one["held"].clone())).collect()
}

const PAIR: &str = r#"
title = "Two hosts"
about = "A cable."
[nodes.client]
addresses.eth0 = ["192.0.2.1/24", "2001:db8:1::1/64"]
[nodes.server]
addresses.eth0 = ["192.0.2.2/24", "2001:db8:1::2/64"]
[[links]]
ends = ["client:eth0", "server:eth0"]
[expect]
path-mtu = 1500
"#;
