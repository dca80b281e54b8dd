//! An answer on a screen of 80 columns and 24 lines, with the verdict still there when the prompt is back.

use crate::{all, written};
use insight::finding::rule_ids;
use model::event::Warning;
use model::finding::{Finding, Severity, Status};
use model::limit::{Limit, LimitKind, LimitPlace};
use model::plan::Direction;
use model::run::{Run, Subject};
use model::units::{BitRate, Bytes, Nanos};
use pathmeter_report::format::{RunDocument, Style, text};

/// Runs of `measure`, `throughput`, `latency`, `mtu` and `transfer`, and results that were kept.
fn answers() -> Vec<(String, Run)> {
    let own = all().into_iter().map(|(name, run)| (name.to_owned(), run));
    let kept = ["measure-1", "latency-1", "mtu-1", "transfer-1"].map(|name| {
        let path = format!("{}/tests/fixtures/results/{name}.json", env!("CARGO_MANIFEST_DIR"));
        let json = std::fs::read_to_string(&path).expect(&path);
        let document = serde_json::from_str(&json).expect(&path);
        (name.to_owned(), Run::read(document).expect(&path))
    });
    own.chain(kept).filter(|(_, run)| !matches!(run.subject(), Subject::Hops | Subject::Frames)).collect()
}

fn lines(run: &Run) -> (usize, String) {
    let text = text::document(run, &Style::default());
    (text.lines().count(), text)
}

#[test]
fn an_answer_has_at_most_twenty_lines() {
    for (name, run) in answers() {
        let (lines, text) = lines(&run);
        assert!(lines <= 20, "{name} has {lines} lines:\n{text}");
    }
}

/// A path with everything wrong: the worst findings have a line each, and the ids of the others are there.
#[test]
fn any_number_of_findings_leaves_twenty_lines() {
    let title =
        "A sentence as long as those of findings are, with 12 345 packets (1.23 %): and what follows from it";
    let advice = "Do something about it that takes more than a line to describe, on this host or the other: `ip link`.";
    for (name, mut run) in answers() {
        run.verdict.status = Status::Problem;
        let ids = rule_ids().take(12);
        let finding = |id| Finding::new(id, Severity::Problem, Direction::Up, title.into()).advise(advice);
        run.findings = ids.map(finding).collect();
        let warning = |id: &str| Warning { id: id.into(), text: title.into() };
        run.summary.warnings = ["first-warning", "second-warning"].map(warning).into();
        let (lines, text) = lines(&run);
        assert!(lines <= 20, "{name} has {lines} lines:\n{text}");
        assert!(
            text.contains(" more: ") || text.lines().any(|line| line.contains("first-warning")),
            "{name}:\n{text}"
        );
    }
}

/// The limits of a load, each as long as such sentences are, leave twenty lines, and `-v` has them in full.
#[test]
fn limits_of_a_load_leave_twenty_lines() {
    let (_, mut run) =
        answers().into_iter().find(|(name, _)| name == "latency_loaded").expect("there is one");
    let limit = Limit {
        kind: LimitKind::Shaper,
        rate: Some(BitRate(9_700_000)),
        queue: Some(Nanos::from_millis(110)),
        queue_bytes: Some(Bytes(131_072)),
        place: Some(LimitPlace { first: 2, last: 3 }),
        ruled_out: vec!["the sender's CPU was idle".into(), "the receiver's window was never full".into()],
        ..Limit::default()
    };
    let loaded = run.summary.loaded.as_mut().expect("it has a load");
    let mut limited = 0;
    for phase in loaded.phases.iter_mut().filter(|phase| phase.load.is_some()) {
        phase.limit = Some(Box::new(limit.clone()));
        limited += 1;
    }
    let (lines, text) = lines(&run);
    assert!(lines <= 20, "{lines} lines:\n{text}");
    assert!(text.lines().any(|line| line.trim_start().starts_with("limit    up: ")), "{text}");
    assert!(text.contains("  both "), "the table is whole:\n{text}");
    let detail = text::document(&run, &Style { detail: true, ..Style::default() });
    assert_eq!(detail.matches("  limit    ").count(), limited, "{detail}");
}

/// The figures that people judge by stay, whatever is left out.
#[test]
fn findings_push_no_rate_and_no_loss_off_the_screen() {
    let (_, run) = answers().into_iter().find(|(name, _)| name == "measure").expect("there is one");
    let (_, text) = lines(&run);
    for row in ["TCP", "retransmits", "RTT loaded", "UDP", "lost", "path MTU", "fragments"] {
        assert!(text.lines().any(|line| line.trim_start().starts_with(row)), "{row}:\n{text}");
    }
    let detail = text::document(&run, &Style { detail: true, ..Style::default() });
    for row in ["offered", "slowest stream", "UDP payload", "one-way delay"] {
        assert!(detail.lines().any(|line| line.trim_start().starts_with(row)), "{row}:\n{detail}");
    }
}

#[test]
fn a_longer_text_ends_with_its_verdict() {
    let mut long = 0;
    for (name, run) in all() {
        let text = written(&RunDocument::from_run(&run), "text");
        let (first, last) =
            (text.lines().next().expect("a line"), text.trim_end().rsplit("\n\n").next().expect("a part"));
        let word = first.split("  ").next().expect("a word");
        let is_long = text.trim_end().lines().count() - last.lines().count() > 22;
        assert_eq!(last.starts_with(&format!("{word}  ")), is_long, "{name}:\n{text}");
        long += usize::from(is_long);
    }
    assert!(long > 0, "one of hops or frames is longer than a screen");
}
