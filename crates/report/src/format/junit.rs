//! JUnit's XML, which every CI reads: what was expected as test cases, and the verdict as one more.
//!
//! It agrees with the exit code: an expectation that did not hold is a failure, a void result an error, and a verdict alone
//! fails nothing.

use super::Style;
use super::text::phrases;
use crate::document::{Block, Conclusion, Document, Expectation, Head, Judgement};
use crate::xml::escaped;
use model::finding::{Finding, Status};

/// A suite for each document.
pub(super) fn documents(documents: &[&dyn Document], _style: &Style) -> String {
    let (mut all, mut time, mut suites) = (Vec::new(), 0.0, String::new());
    for document in documents {
        let head = document.head();
        let cases = cases(*document, &head);
        let started =
            head.started.map(|started| format!(" timestamp=\"{}\"", &started.to_string()[..TO_SECONDS]));
        suites.push_str(&format!(
            "  <testsuite name=\"{}\" {}{}>\n{}  </testsuite>\n",
            attribute(&head.title.replace('`', "")),
            attributes(cases.iter(), seconds(&head)),
            started.unwrap_or_default(),
            cases.iter().map(Case::xml).collect::<String>()
        ));
        time += seconds(&head);
        all.extend(cases);
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"pathmeter\" {}>\n{suites}</testsuites>\n",
        attributes(all.iter(), time)
    )
}

/// One test case.
struct Case {
    class: String,
    name: String,
    outcome: Outcome,
    /// Everything else.
    output: String,
}

enum Outcome {
    Passed,
    Failed(String),
    Skipped(String),
    Void(String),
}

/// Every expectation, and every verdict; of a document without either, that it was written.
fn cases(document: &dyn Document, head: &Head) -> Vec<Case> {
    let class = |of: &str| match of {
        "" => format!("pathmeter.{}", head.kind),
        of => format!("pathmeter.{}.{of}", head.kind),
    };
    let expected = document.expectations();
    let mut cases: Vec<Case> = expected
        .iter()
        .map(|one| Case {
            class: class(&one.of),
            name: one.what.clone(),
            outcome: outcome(one),
            output: String::new(),
        })
        .collect();
    let mut found: Vec<&Finding> = Vec::new();
    let blocks = document.blocks();
    for block in &blocks {
        match block {
            Block::Findings(findings) => found.extend(findings),
            Block::List(items) => found.extend(items.iter().filter_map(|item| item.finding.as_ref())),
            Block::Conclusion(conclusion) => {
                cases.push(verdict(conclusion, class(&conclusion.of), &std::mem::take(&mut found)));
            }
            _ => {}
        }
    }
    if cases.is_empty() {
        let output = findings(&found);
        cases.push(Case { class: class(""), name: "written".into(), outcome: Outcome::Passed, output });
    }
    cases
}

fn outcome(one: &Expectation) -> Outcome {
    let expected = match one.expected.as_str() {
        "" => String::new(),
        expected => format!("expected {expected}, "),
    };
    let text = format!("{expected}found {}", one.found);
    match one.judgement {
        Judgement::Held => Outcome::Passed,
        Judgement::Broken => Outcome::Failed(text),
        Judgement::Open => Outcome::Skipped(format!("cannot be judged: {text}")),
    }
}

fn verdict(conclusion: &Conclusion, class: String, found: &[&Finding]) -> Case {
    let outcome = match conclusion.status {
        Status::Void => Outcome::Void(conclusion.text.clone()),
        // A broken expectation is a case of its own.
        Status::Ok | Status::Degraded | Status::Broken | Status::Problem => Outcome::Passed,
    };
    let output = format!("{}: {}\n{}", conclusion.status.word(), conclusion.text, findings(found));
    Case { class, name: "verdict".into(), outcome, output }
}

fn findings(found: &[&Finding]) -> String {
    let line = |one: &&Finding| format!("{} ({}): {}\n", phrases::severity(one.severity), one.id, one.title);
    found.iter().map(line).collect()
}

impl Case {
    fn xml(&self) -> String {
        let outcome = match &self.outcome {
            Outcome::Passed => String::new(),
            Outcome::Failed(text) => {
                format!("      <failure type=\"expectation\" message=\"{}\"/>\n", attribute(text))
            }
            Outcome::Skipped(text) => format!("      <skipped message=\"{}\"/>\n", attribute(text)),
            Outcome::Void(text) => format!("      <error type=\"void\" message=\"{}\"/>\n", attribute(text)),
        };
        let output = match self.output.as_str() {
            "" => String::new(),
            output => format!("      <system-out>{}</system-out>\n", escaped(output)),
        };
        let start = format!(
            "    <testcase classname=\"{}\" name=\"{}\"",
            attribute(&self.class),
            attribute(&self.name)
        );
        match outcome + &output {
            inner if inner.is_empty() => format!("{start}/>\n"),
            inner => format!("{start}>\n{inner}    </testcase>\n"),
        }
    }
}

/// The counts of cases as attributes.
fn attributes<'a>(cases: impl Iterator<Item = &'a Case> + Clone, seconds: f64) -> String {
    let count =
        |is_counted: fn(&Outcome) -> bool| cases.clone().filter(|case| is_counted(&case.outcome)).count();
    let tests = count(|_| true);
    let failures = count(|outcome| matches!(outcome, Outcome::Failed(_)));
    let errors = count(|outcome| matches!(outcome, Outcome::Void(_)));
    let skipped = count(|outcome| matches!(outcome, Outcome::Skipped(_)));
    format!(
        "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{seconds:.3}\""
    )
}

/// From the begin to the end; zero where one of them is not known.
fn seconds(head: &Head) -> f64 {
    head.started.zip(head.finished).map_or(0.0, |(begun, ended)| (ended - begun).as_secs_f64())
}

/// In an attribute a line feed would be read as a space.
fn attribute(text: &str) -> String {
    escaped(&text.replace(['\n', '\t'], " "))
}

/// `2026-08-01T12:30:00`, in UTC: JUnit's schema knows no fractions and no zone.
const TO_SECONDS: usize = 19;
