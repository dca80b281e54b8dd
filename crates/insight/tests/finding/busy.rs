//! Runs over a clean path beside two loops that kept both CPUs busy: what the hosts do is no fault of the path.

use model::finding::{Severity, Status};
use model::run::Run;
use model::stats::percentile::Standing;
use pathmeter_insight::judge;

/// A veth pair between two namespaces, 2 CPUs, two endless loops and four measurements at once: `latency` in several modes, `throughput`.
const RECORDED: &str = include_str!("../fixtures/busy-hosts.ndjson");

fn runs() -> impl Iterator<Item = Run> {
    RECORDED.lines().map(|line| judge(Run::read(serde_json::from_str(line).expect("JSON")).expect("a run")))
}

#[test]
fn a_clean_path_between_busy_hosts_is_not_degraded() {
    for run in runs() {
        let found: Vec<&str> = run.findings.iter().map(|finding| finding.id.as_str()).collect();
        assert_eq!(run.verdict.status, Status::Ok, "{found:?}: {}", run.verdict.text);
    }
}

#[test]
fn what_busy_hosts_add_is_a_note_and_in_no_percentile() {
    let late = |run: &Run| {
        run.findings.iter().any(|finding| finding.id == "sent-late" && finding.severity == Severity::Info)
    };
    let late: Vec<Run> = runs().filter(late).collect();
    assert!(late.len() >= 10, "{} runs show it", late.len());
    for egress in late.iter().flat_map(|run| &run.summary.egress_paths) {
        assert_eq!(egress.standing(99.0), Standing::Spoiled, "{:?}", egress.spoiled_from_percent);
    }
}
