//! A result in each of its forms: documents for programs, charts, a comparison, an expectation.

use super::device::{Device, Kind};
use super::support::Scratch;
use serde_json::Value;

const MRR: [&str; 4] = ["--frame", "128", "--tests", "mrr"];

#[test]
fn a_result_is_drawn_compared_and_held_to_what_was_expected() {
    let test = "a_result_is_drawn_compared_and_held_to_what_was_expected";
    let Some(switch) = Device::new(test, Kind::Bridge) else { return };
    let scratch = Scratch::new("rfc2544-written");
    let [before, svg, png] = ["before.json", "dut.svg", "dut.png"].map(|name| scratch.file(name, None));
    let expect = ["--expect", "mrr>=1pps", "--expect", "mrr.loss<=50%"];
    let drawn = ["--chart", &svg, "--chart", &png, "--json", "-o", &before];
    let search = ["--frame", "128", "--tests", "throughput,mrr"];
    switch.start(&[&search[..], &expect, &drawn].concat()).end().code(0);
    let drawing = std::fs::read_to_string(&svg).unwrap();
    assert!(drawing.starts_with("<svg") && drawing.trim_end().ends_with("</svg>"), "{drawing}");
    assert!(std::fs::read(&png).unwrap().starts_with(b"\x89PNG\r\n\x1a\n"));
    let stored: Value = serde_json::from_str(&std::fs::read_to_string(&before).unwrap()).unwrap();
    assert_eq!(stored["schema"], "pathmeter/rfc2544/1");

    // The same device at half of the load forwards half as much.
    let half = ["--max-rate", "500pps", "--expect", "128.mrr>=900pps", "--against", &before, "--json"];
    let [near, far] = switch.ports();
    let args = [&["rfc2544", &near, &far, "--quick", "--time", "200ms"], &MRR[..], &half].concat();
    let ended = super::support::run(&args).code(1).prints("expectation broken: 128.mrr>=900pps");
    let comparison = &ended.json()["comparisons"][0];
    let mrr = &comparison["rows"][0];
    assert_eq!((&mrr["figure"], &mrr["stream"]["frames"]["name"]), (&"mrr".into(), &"128".into()));
    let percent = mrr["change"]["percent"].as_f64().unwrap_or_else(|| panic!("{comparison:#}"));
    assert!((-100.0..0.0).contains(&percent), "{comparison:#}");
    // No expectation is broken: what is left is that it was faster.
    let args = args.iter().copied().filter(|word| !word.contains("expect") && !word.starts_with("128."));
    super::support::run(&args.collect::<Vec<_>>()).code(5).prints("regression: mrr of 128 bytes: ");
}

#[test]
fn every_format_is_what_it_claims() {
    let Some(switch) = Device::new("every_format_is_what_it_claims", Kind::Bridge) else { return };
    let written =
        |format: &str| switch.start(&[&MRR[..], &["--format", format]].concat()).end().code(0).stdout;
    let csv = written("csv");
    let mut lines = csv.lines();
    let columns = lines.next().unwrap().split(',').count();
    assert!(
        csv.starts_with("run,started,host,target,kind,status,device,network,frame,ways,test,figure,"),
        "{csv}"
    );
    assert!(lines.clone().count() > 1 && lines.all(|line| line.split(',').count() == columns), "{csv}");
    let markdown = written("markdown");
    assert!(markdown.contains("| Frame |") && markdown.contains("  128 |"), "{markdown}");
    let lines = written("ndjson");
    let documents: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(documents.last().unwrap()["schema"], "pathmeter/rfc2544/1", "{lines}");
}
