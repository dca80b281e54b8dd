//! `pathmeter analyse`: tables of several outputs, every format, own documents, and what is none.

use super::{Scratch, run, succeed};

/// An output of a real tool.
fn fixture(name: &str) -> String {
    format!("{}/../report/tests/import/outputs/{name}", env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn line_rate_of_an_old_output() {
    let file = fixture("iperf2-tcp-p10-final.txt");
    let text = succeed(&format!("analyse {file} --link 25G --mss 1448"));
    insta::assert_snapshot!("analyse_line_rate", text);
    let json = succeed(&format!("analyse {file} --link 25G --mss 1448 --json"));
    let analysis: serde_json::Value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(analysis["schema"], "pathmeter/analysis/1");
    assert_eq!(analysis["flows"][0]["segment"]["with_timestamps_bytes"], 1448);
}

#[test]
fn paths_side_by_side_and_own_documents_too() {
    let directions = ["default-snat", "public-ip", "azure-firewall-snat"];
    let files = directions.map(|direction| fixture(&format!("sockperf-tcp-350-{direction}.txt"))).join(" ");
    let text = succeed(&format!("analyse {files}"));
    assert!(text.starts_with("Analysis of 3 runs\n") && text.contains("  public-ip  "), "{text}");
    let scratch = Scratch::new("analyse");
    let own = scratch.0.join("own.json");
    succeed(&format!("import {files} --json -o {}", own.display()));
    let again = succeed(&format!("analyse {} --format csv", own.display()));
    assert_eq!(again.lines().filter(|line| line.starts_with("round-trips,")).count(), 3, "{again}");
    assert!(again.contains(",383460308,"), "{again}");
    let markdown = succeed(&format!("analyse {} --format markdown", own.display()));
    assert!(markdown.contains("## Round trips"), "{markdown}");
}

#[test]
fn what_is_no_output_keeps_nothing_back() {
    let ended = run(&format!("analyse /nowhere/x {}", fixture("iperf3-udp-1472.txt")));
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stdout.starts_with("Analysis of 1 run\n"), "{}", ended.stdout);
    assert!(ended.stderr.contains("`/nowhere/x` is neither a file nor a kept run"), "{}", ended.stderr);
    let none = run("analyse /nowhere/x");
    assert_eq!((none.code, none.stdout.as_str()), (Some(2), ""));
}
