//! `--format`: the names are those of the table, and each of them writes every document.

use super::{Scratch, run, succeed};
use report::format::FORMATS;
use serde_json::Value;

/// Commands that need neither a far end nor rights.
const COMMANDS: [&str; 5] = [
    "linerate --link 25G",
    "linerate --link 25G --pps 1.9M",
    "doctor",
    "lab list",
    "lab show bufferbloat direct",
];

#[test]
fn every_document_is_written_in_every_format() {
    for command in COMMANDS {
        for format in FORMATS {
            let written = succeed(&format!("{command} --format {}", format.name));
            assert!(written.ends_with('\n') && !written.contains('\u{1b}'), "{command} as {}", format.name);
            let begin = match format.name {
                "html" => "<!DOCTYPE html>\n",
                "junit" => "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
                _ => "",
            };
            assert!(written.starts_with(begin), "{command} as {}: {written}", format.name);
        }
    }
}

#[test]
fn the_names_are_those_of_the_table() {
    let refused = run("linerate --link 25G --format nonsense");
    assert_eq!(refused.code, Some(2));
    for format in FORMATS {
        assert!(refused.stderr.contains(format.name), "{}: {}", format.name, refused.stderr);
        assert!(succeed("linerate --help").contains(format.name), "{}", format.name);
    }
}

#[test]
fn several_outputs_of_other_tools_are_one_page() {
    let fixture =
        |name: &str| format!("{}/../report/tests/import/outputs/{name}", env!("CARGO_MANIFEST_DIR"));
    let files = format!("{} {}", fixture("iperf3-udp-1472.txt"), fixture("iperf3-tcp-p20-summary.txt"));
    let scratch = Scratch::new("formats");
    let page = scratch.0.join("page.html");
    assert_eq!(succeed(&format!("import {files} --format html -o {}", page.display())), "");
    let page = std::fs::read_to_string(page).expect("the file of -o");
    assert_eq!((page.matches("<article>").count(), page.matches("</html>").count()), (2, 1), "{page}");
    let suites = succeed(&format!("import {files} --format junit"));
    assert_eq!(
        (suites.matches("<testsuite ").count(), suites.matches("<testsuites ").count()),
        (2, 1),
        "{suites}"
    );
    let analysis = succeed(&format!("analyse {files} --format html"));
    assert!(analysis.contains("<h2>Throughput</h2>") && analysis.contains("class=\"finding"), "{analysis}");
}

/// A plan is written in the requested format, or that is refused; the printed plan has its units.
#[test]
fn a_plan_is_written_as_asked() {
    let plans = [
        "throughput 127.0.0.9 --dry-run",
        "measure 127.0.0.9 --dry-run",
        // The choice of `--wait auto` depends on how busy this host is.
        "latency 127.0.0.9 --wait block --dry-run",
        "mtu 127.0.0.9 --dry-run",
        "frames 127.0.0.9 --link 1G --dry-run",
        "rfc2544 no-such0 no-such1 --quick --dry-run",
        "lab run direct --dry-run",
    ];
    for plan in plans {
        let json =
            serde_json::from_str::<Value>(&run(&format!("{plan} --format json")).stdout).expect("JSON");
        let lines = run(&format!("{plan} --format ndjson")).stdout;
        let line: Value = serde_json::from_str(lines.trim_end()).expect("a line of JSON");
        assert_eq!((lines.lines().count(), &line), (1, &json), "{plan}");
        for format in ["csv", "markdown", "html", "junit"] {
            let refused = run(&format!("{plan} --format {format}"));
            assert_eq!((refused.code, refused.stdout.as_str()), (Some(2), ""), "{plan} as {format}");
            assert!(refused.stderr.contains("--format json"), "{}", refused.stderr);
        }
    }
    let plan: Value = serde_json::from_str(&succeed(plans[0])).expect("JSON");
    assert_eq!((&plan["units"]["omit"], &plan["units"]["bitrate"]), (&"ns".into(), &"bit/s".into()));
}
