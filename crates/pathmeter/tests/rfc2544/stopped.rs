//! Stopped in the middle, killed, or not started at all: what is kept, and what is left.

use super::device::{Device, Kind, LITTLE, device, shown, steps};
use super::support::{Running, pathmeter};
use serde_json::Value;
use std::time::Duration;

#[test]
fn what_was_measured_until_ctrl_c_is_written() {
    let test = "what_was_measured_until_ctrl_c_is_written";
    let Some(switch) = Device::new(test, Kind::Bridge) else { return };
    let [near, far] = switch.ports();
    let args = ["rfc2544", &near, &far, "--quick", "--max-rate", "1kpps", "--frame", "128", "--json"];
    let running =
        Running::start(pathmeter(None, &[&args[..], &["--tests", "mrr,loss", "--time", "1m"]].concat()));
    running.wait_for("frame loss; at most");
    if !running.output_so_far().contains("rate at the most load;") {
        running.wait_for("rate at the most load;");
    }
    running.signal("INT");
    let device = device(&running.end().code(0));
    let row = &device["rows"][0];
    let left_out = row["left_out"].to_string();
    let measured = |figure: &str| row[figure] != Value::Null;
    assert!(measured("mrr") || measured("loss"), "{row:#}");
    assert!(!(measured("mrr") && measured("loss")) && left_out.contains("ended"), "{row:#}");
    assert!(device["notes"].to_string().contains("Stopped before all was measured"), "{device:#}");
    nothing_attached(&switch);
}

#[test]
fn a_killed_benchmark_leaves_no_program_and_the_next_one_runs() {
    let test = "a_killed_benchmark_leaves_no_program_and_the_next_one_runs";
    let Some(switch) = Device::new(test, Kind::Bridge) else { return };
    let [near, far] = switch.ports();
    let args =
        ["rfc2544", &near, &far, "--max-rate", "1kpps", "--frame", "128", "--tests", "loss", "--time", "1m"];
    let running = Running::start(pathmeter(None, &args));
    for _ in 0..600 {
        if shown(&switch.far, &["-d", "link", "show", "eth0"]).contains("prog/xdp") {
            break;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    assert!(
        shown(&switch.far, &["-d", "link", "show", "eth0"]).contains("prog/xdp"),
        "{}",
        running.output_so_far()
    );
    running.signal("KILL");
    assert_eq!(running.end().code, None);
    nothing_attached(&switch);
    // The addresses that it lent the ports go away by themselves; the next one lends them anew, and takes them away.
    let lent = shown(&switch.near, &["address"]);
    assert!(lent.contains("198.18.0.2/24") && !lent.contains("valid_lft 0sec"), "{lent}");
    let renewed = shown(&switch.near, &["-o", "address", "show", "to", "198.18.0.2"]);
    assert!(renewed.contains("dynamic"), "{renewed}");
    let again = ["--frame", "128", "--tests", "loss", "--json"];
    let device = device(&switch.start(&again).end().code(0));
    assert_eq!(steps(&device["rows"][0]), [(200, 200), (180, 180)], "{device:#}");
    assert!(!shown(&switch.near, &["address"]).contains("198.18.0.2"));
}

#[test]
fn a_benchmark_that_was_cut_off_goes_on() {
    let test = "a_benchmark_that_was_cut_off_goes_on";
    let Some(switch) = Device::new(test, Kind::Bridge) else { return };
    let [near, far] = switch.ports();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("result.json");
    let (file, journal) = (file.to_str().unwrap(), folder.path().join("result.json.journal"));
    let args =
        ["rfc2544", &near, &far, "--quick", "--max-rate", "1kpps", "--frame", "128", "--json", "-o", file];
    let args = [&args[..], &["--tests", "mrr,loss"]].concat();
    let running = Running::start(pathmeter(None, &args));
    let done_so_far =
        || std::fs::read_to_string(&journal).map_or(0, |text| text.lines().count().saturating_sub(1));
    for _ in 0..600 {
        if done_so_far() >= 2 {
            break;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    running.signal("KILL");
    assert_eq!(running.end().code, None);
    let done = done_so_far();
    assert!(done >= 2, "{done}");
    // A torn line is measured again.
    let mut torn = std::fs::OpenOptions::new().append(true).open(&journal).unwrap();
    std::io::Write::write_all(&mut torn, b"{\"device\":").unwrap();
    // An earlier result is not overwritten, and another benchmark does not take it.
    Running::start(pathmeter(None, &args)).end().code(2).prints("--resume");
    let other = [&args[..], &["--ipv6", "--resume"]].concat();
    Running::start(pathmeter(None, &other)).end().code(2).prints("another benchmark");
    let ended = Running::start(pathmeter(None, &[&args[..], &["--resume"]].concat())).end().code(0);
    ended.prints(&format!("{done} orders were carried out before"));
    let report: Value = serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
    let device = &report["devices"][0];
    assert!(
        device["rows"][0]["mrr"] != Value::Null && device["rows"][0]["loss"] != Value::Null,
        "{device:#}"
    );
    assert!(device["notes"].to_string().contains("cut off"), "{device:#}");
    assert!(!journal.exists(), "it is not needed any more");
}

#[test]
fn a_dry_run_reports_the_plan_and_touches_nothing() {
    let test = "a_dry_run_reports_the_plan_and_touches_nothing";
    let Some(switch) = Device::new(test, Kind::Bridge) else { return };
    let [near, far] = switch.ports();
    let addresses =
        || [&switch.near, &switch.far].map(|ns| shown(ns, &["address", "show", "scope", "global"]));
    let before = addresses();
    let args = [&["rfc2544", &near, &far], &LITTLE[..], &["--dry-run", "--frame", "64,1518"]].concat();
    let reported = Running::start(pathmeter(None, &args)).end().code(0).stdout;
    for part in [near.as_str(), "IPv4 64, 1518", "throughput", "latency", "At most"] {
        assert!(reported.contains(part), "{part}: {reported}");
    }
    let plan = Running::start(pathmeter(None, &[&args[..], &["--json"]].concat())).end().code(0).json();
    assert!(
        plan["most_ns"].as_u64() > Some(0) && plan["plan"]["rows"].as_array().unwrap().len() == 8,
        "{plan:#}"
    );
    assert_eq!(addresses(), before);
    nothing_attached(&switch);
}

#[track_caller]
fn nothing_attached(device: &Device) {
    for ns in [&device.near, &device.far] {
        // The kernel takes a dead process's program away, which need not be done when it is reaped.
        for _ in 0..100 {
            if !shown(ns, &["-d", "link", "show", "eth0"]).contains("xdp") {
                break;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let link = shown(ns, &["-d", "link", "show", "eth0"]);
        assert!(!link.contains("xdp"), "{link}");
    }
}
