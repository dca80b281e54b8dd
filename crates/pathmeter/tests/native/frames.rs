//! `frames`: a sweep over frame sizes, its figures against one another and against the device's counters.

use super::net::{Net, SERVER};
use super::support::{Running, Scratch, Server, free_port, pathmeter, run, start};
use serde_json::Value;

fn rows(run: &Value) -> &[Value] {
    run["summary"]["rows"].as_array().unwrap_or_else(|| panic!("{run:#}"))
}

fn number(row: &Value, name: &str) -> f64 {
    row[name].as_f64().unwrap_or_else(|| panic!("{name}: {row:#}"))
}

/// Packets per second times their payload are the goodput, and fill their share of the link.
fn agrees(row: &Value, link: f64, overhead: f64) {
    let (goodput, payload, rate) =
        (number(row, "goodput_bps"), number(row, "payload"), number(row, "packets_per_second"));
    assert!((goodput - rate * payload * 8.0).abs() <= payload * 8.0, "{row:#}");
    let wire = rate * (payload + overhead) * 8.0 / link;
    let share = number(row, "share");
    assert!((share - wire).abs() < 0.001 + wire * 0.01, "{share} and {wire}: {row:#}");
}

#[test]
fn rows_agree_with_themselves_and_with_the_device() {
    let Some(net) = Net::new("rows_agree_with_themselves_and_with_the_device") else { return };
    let _server = net.serve(&[]);
    let argv = [
        "frames",
        SERVER,
        "--frame",
        "64,512,1518,1600",
        "-t",
        "1s",
        "--no-offload",
        "--link",
        "10G",
        "--json",
    ];
    let run = net.client(&argv).code(0).json();
    let rows = rows(&run);
    assert_eq!(run["kind"], "frames");
    assert_eq!(rows.len(), 8);
    let find = |protocol: &str, frame: u64| {
        rows.iter().find(|row| row["protocol"] == protocol && row["frame"] == frame).unwrap()
    };
    let skipped = |protocol, frame| find(protocol, frame)["skipped"].as_str().unwrap_or_default();
    assert!(skipped("tcp", 64).contains("Linux takes 88 at least"), "{rows:#?}");
    assert!(skipped("tcp", 1600).contains("MTU is 1500"), "{rows:#?}");
    assert!(skipped("udp", 1600).contains("1518 bytes at most"), "{rows:#?}");
    for (frame, pps) in [(64, 14_880_952), (512, 2_349_624), (1518, 812_744)] {
        let row = find("udp", frame);
        agrees(row, 1e10, 66.0);
        assert_eq!(row["payload"], (frame - 46) as f64);
        assert_eq!(row["line_rate_pps"], pps);
        let (frames, packets) = (number(&row["device"], "frames"), number(&row["device"], "packets"));
        assert!(packets > 1000.0 && (frames / packets - 1.0).abs() < 0.02, "{row:#}");
        assert!(row["notes"].is_null(), "{row:#}");
    }
    for frame in [512_u32, 1518] {
        let row = find("tcp", frame.into());
        agrees(row, 1e10, 90.0);
        assert_eq!(row["mss"], frame - 58);
        // Timestamps take 12 bytes; the last segments of a write may be shorter.
        assert!((number(row, "payload") / f64::from(frame - 70) - 1.0).abs() < 0.01, "{row:#}");
        // Retransmits and segments without payload come on top.
        let [frames, packets] = ["frames", "packets"].map(|name| number(&row["device"], name));
        assert!(frames > 0.98 * packets, "each segment is a frame of its own: {row:#}");
    }
}

#[test]
fn offloads_are_switched_back_however_it_ends() {
    let Some(net) = Net::new("offloads_are_switched_back_however_it_ends") else { return };
    let server = net.serve(&[]);
    let offloads = || {
        let argv = ["netns", "exec", &net.client, "ethtool", "-k", "eth0"];
        let output = std::process::Command::new("ip").args(argv).output().expect("ethtool runs");
        String::from_utf8(output.stdout).expect("text")
    };
    let before = offloads();
    assert!(before.contains("tcp-segmentation-offload: on"), "{before}");
    let argv = ["frames", SERVER, "--frame", "512", "--tests", "tcp", "-t", "20s", "--no-offload"];
    let until = |wanted: &str| {
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(60);
        while !offloads().contains(wanted) && std::time::Instant::now() < deadline {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        offloads()
    };
    let without = || {
        let sweep = Running::start(pathmeter(Some(&net.client), &argv));
        assert!(until("tcp-segmentation-offload: off").contains("tcp-segmentation-offload: off"));
        sweep
    };
    let sweep = without();
    sweep.signal("KILL");
    // Its guard does it, and no process waits for the guard.
    until("tcp-segmentation-offload: on");
    assert_eq!(until("generic-segmentation-offload: on"), before, "killed");
    let sweep = without();
    sweep.signal("INT");
    sweep.end();
    assert_eq!(offloads(), before, "interrupted");
    let sweep = without();
    server.process.signal("KILL");
    assert_ne!(sweep.end().code, Some(0), "its server has gone");
    assert_eq!(offloads(), before, "failed");
}

#[test]
fn pairs_are_added_until_the_rate_grows_no_more() {
    let server = Server::start(&[]);
    let host = server.host();
    let argv =
        ["frames", &host, "--frame", "1518", "--tests", "udp", "--pairs", "auto", "-t", "500ms", "--json"];
    let run = run(&argv).code(0).json();
    let row = &rows(&run)[0];
    let pairs = row["pairs"].as_u64().expect("a count");
    assert!(pairs >= 1 && number(row, "goodput_bps") > 0.0, "{row:#}");
    let steps = run["tests"][0]["summary"]["pairs"]["steps"].as_array().unwrap_or_else(|| panic!("{run:#}"));
    assert!(steps.len() >= 2, "{steps:#?}");
}

#[test]
fn pairs_are_summed_and_a_chart_is_drawn() {
    let server = Server::start(&[]);
    let scratch = Scratch::new("frames");
    let (svg, png) = (scratch.file("sweep.svg", None), scratch.file("sweep.png", None));
    let host = server.host();
    let argv =
        ["frames", &host, "--frame", "1518,9018", "--tests", "udp", "--pairs", "2", "-t", "500ms", "-R"];
    let run = run(&[&argv[..], &["--json", "--chart", &svg, "--chart", &png]].concat()).code(0).json();
    for row in rows(&run) {
        assert_eq!((&row["pairs"], &row["direction"]), (&2.into(), &"down".into()));
        assert!(number(row, "goodput_bps") > 0.0 && row["share"].is_null(), "{row:#}");
    }
    assert_eq!(run["summary"]["warnings"][0]["id"], "link-unknown");
    let drawn = std::fs::read_to_string(&svg).expect("the chart");
    assert!(drawn.contains("9018") && !drawn.contains(">line rate<"), "{drawn}");
    assert!(std::fs::read(&png).expect("the chart").starts_with(b"\x89PNG"));
    // A picture that cannot be written any more costs the picture alone.
    let gone = scratch.file("gone", None);
    std::fs::create_dir(&gone).unwrap();
    let picture = format!("{gone}/sweep.svg");
    let argv =
        ["frames", &host, "--frame", "512,1518", "--tests", "udp", "-t", "1s", "--json", "--chart", &picture];
    let sweep = start(&argv);
    sweep.wait_for("   512  UDP");
    std::fs::remove_dir(&gone).unwrap();
    let kept = sweep.end().code(2).prints("sweep.svg").json();
    assert!(number(&rows(&kept)[0], "goodput_bps") > 0.0, "{kept:#}");
}

#[test]
fn an_interrupt_keeps_the_rows_that_are_done() {
    let server = Server::start(&[]);
    let host = server.host();
    let sweep = start(&["frames", &host, "--frame", "512,1024,1518", "--tests", "udp", "-t", "1s", "--json"]);
    sweep.wait_for("   512  UDP");
    sweep.signal("INT");
    let run = sweep.end().code(0).json();
    let rows = rows(&run);
    assert_eq!(rows.len(), 3);
    assert!(number(&rows[0], "goodput_bps") > 0.0, "{rows:#?}");
    assert!(rows[2]["skipped"].as_str().is_some_and(|why| why.contains("stopped")), "{rows:#?}");
}

#[test]
fn what_cannot_be_is_refused() {
    let absent = format!("127.0.0.1:{}", free_port());
    run(&["frames", &absent, "--frame", "512", "-t", "1s"]).code(3).prints(&absent);
    run(&["frames", "127.0.0.1", "-P", "0"]).code(2).prints("--parallel 0");
    run(&["frames", "127.0.0.1", "-t", "0"]).code(2).prints("--time 0");
    run(&["frames", "127.0.0.1", "--encap", "nonsense"]).code(2).prints("nonsense");
    run(&["frames", "127.0.0.1", "--chart", "x.pdf"]).code(2).prints("x.pdf");
    run(&["frames", "127.0.0.1", "--chart", "/no/such/x.svg"]).code(2).prints("/no/such/x.svg");
    run(&["frames", "127.0.0.1", "--tests", "sctp"]).code(2).prints("sctp");
    run(&["frames", "127.0.0.1", "--frame", "40"]).code(2).prints("least frame has 64 bytes");
    run(&["frames", "127.0.0.1", "-t", "-5"]).code(2).prints("'-5' for '--time <TIME>'");
    // Every size is impossible: nothing is measured, and the reason is the result.
    let ended = run(&["frames", "127.0.0.1", "--frame", "64", "--tests", "tcp"]).code(4);
    assert!(ended.stdout.contains("it cannot"), "{}", ended.stdout);
}

#[test]
fn people_see_the_table_and_the_bars() {
    let server = Server::start(&[]);
    let host = server.host();
    let ended = run(&["frames", &host, "--frame", "64,1518", "--quick", "--link", "100G", "-v"]).code(0);
    for part in ["127.0.0.1", "Device", "it cannot", "Goodput, Gbit/s (| line rate)"] {
        assert!(ended.stdout.contains(part), "{part}: {}", ended.stdout);
    }
    let plan = pathmeter(None, &["frames", &host, "--dry-run"]).output().expect("it runs");
    let steps: Value = serde_json::from_slice(&plan.stdout).expect("JSON");
    assert_eq!(steps.as_array().map(Vec::len), Some(16));
    assert_eq!(steps[7]["plan"]["test"]["mss"], 1460);
}
