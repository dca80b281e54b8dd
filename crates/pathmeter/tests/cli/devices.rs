//! Reports of devices among kept runs: put in, listed, compared, held against, and taken elsewhere.

use super::{Scratch, run, succeed};
use serde_json::Value;

/// The report of a snapshot, measured another time and with other rates.
fn report(number: u64, factor: f64) -> Value {
    let snapshot =
        include_str!("../../../report/tests/formats/snapshots/formats__rfc2544__rfc2544-quick.json.snap");
    let text = snapshot.splitn(3, "---\n").nth(2).expect("what follows the head");
    let mut report: Value = serde_json::from_str(text).expect("a report");
    report["id"] = format!("0199c7d2-0000-7000-8000-{number:012}").into();
    report["started"] = (1_790_000_000_000_000_000 + number * 60_000_000_000).into();
    for row in report["devices"][0]["rows"].as_array_mut().expect("rows") {
        for rate in row["rates"].as_array_mut().expect("rates") {
            if let Some(lower) = rate["lower_pps"].as_f64() {
                rate["lower_pps"] = (lower * factor * (1.0 + number as f64 / 1000.0)).into();
            }
        }
    }
    report
}

/// A store with eight reports before and eight after, which are a tenth slower.
fn stored(scratch: &Scratch) -> String {
    let store = scratch.0.join("runs.db").display().to_string();
    for (label, first, factor) in [("before", 0, 1.0), ("after", 8, 0.9)] {
        let lines: String =
            (first..first + 8).map(|number| format!("{}\n", report(number, factor))).collect();
        let file = scratch.0.join(format!("{label}.ndjson"));
        std::fs::write(&file, lines).expect("write");
        let kept =
            run(&format!("import {} --save --label {label} --store {store} --format csv", file.display()));
        assert_eq!(kept.code, Some(0), "{}", kept.stderr);
        assert!(kept.stderr.contains("kept: 8 of 8 were new"), "{}", kept.stderr);
    }
    store
}

#[test]
fn reports_are_listed_with_their_figures_and_compared_by_frame_size() {
    let scratch = Scratch::new("devices");
    let store = stored(&scratch);
    let listed = succeed(&format!("history --kind rfc2544 --limit 100 --store {store} --json"));
    let listed: Vec<Value> = serde_json::from_str(&listed).expect("JSON");
    assert_eq!(listed.len(), 16);
    let expected = report(15, 0.9);
    let lower = &expected["devices"][0]["rows"][0]["rates"][0]["lower_pps"];
    let figure =
        listed[0]["figures"].as_array().unwrap().iter().find(|f| f["name"] == "64.throughput").unwrap();
    assert_eq!(&figure["value"], lower);
    assert!(figure["text"].as_str().unwrap().ends_with("pps"), "{figure}");
    let compared = run(&format!("compare before after --baseline --store {store} --json"));
    assert_eq!(compared.code, Some(5), "{}", compared.stderr);
    let compared: Value = serde_json::from_str(&compared.stdout).expect("JSON");
    let row = |name: &str| {
        let rows = compared["figures"].as_array().unwrap();
        rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{name}: {compared:#}"))
    };
    assert_eq!(row("64.throughput")["judgement"]["word"], "worse");
    assert_eq!(row("64.mrr")["judgement"]["word"], "same");
    // A file of the same reports is the same set.
    let file = scratch.0.join("after.ndjson");
    let of_file = succeed(&format!("compare before {} --store {store} --json", file.display()));
    let of_file: Value = serde_json::from_str(&of_file).expect("JSON");
    let reported = |compared: &Value| -> Vec<Value> {
        let rows = compared["figures"].as_array().unwrap().iter();
        rows.flat_map(|row| ["name", "shift", "q", "judgement"].map(|part| row[part].clone())).collect()
    };
    assert_eq!(reported(&of_file), reported(&compared));
    let metrics = succeed(&format!("history --limit 100 --store {store} --format prometheus"));
    let metric = "pathmeter_device_throughput_packets_per_second{target=\"eth1 - eth2\",kind=\"rfc2544\",label=\"after\",frames=\"64\"} ";
    assert!(metrics.contains(metric), "{metrics}");
}

#[test]
fn reports_go_from_store_to_store_and_a_device_is_held_against_a_kept_one() {
    let scratch = Scratch::new("devices-moved");
    let store = stored(&scratch);
    let (lines, other) = (scratch.0.join("all.ndjson"), scratch.0.join("other.db"));
    succeed(&format!("export --store {store} -o {}", lines.display()));
    let put = format!("import {} --save --store {} --format csv", lines.display(), other.display());
    assert!(run(&put).stderr.contains("kept: 16 of 16 were new"));
    assert!(run(&put).stderr.contains("kept: 0 of 16 were new"));
    let against = |name: &str| {
        run(&format!("rfc2544 no-such0 no-such1 --quick --dry-run --against {name} --store {store}"))
    };
    for name in ["after", "kind=rfc2544,last=1", "0199c7d2-0000-7000-8000-000000000003"] {
        assert_eq!(against(name).code, Some(0), "{name}: {}", against(name).stderr);
    }
    let none = against("nothing");
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.contains("no kept run has the label or name `nothing`"), "{}", none.stderr);
}
