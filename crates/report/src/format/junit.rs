//! JUnit's XML, which every CI reads: what was expected as test cases, and the verdict as one more.
//!
//! It agrees with the exit code: an expectation that did not hold is a failure, a void result an error, and a verdict alone
//! fails nothing.

use super::Style;
use super::text::phrases;
use crate::document::{Block, Conclusion, Document, Expectation, Head, Judgement};
use crate::xml::escaped;
use model::finding::{Finding, Status};
use std::ops::AddAssign;

/// A suite for each document.
pub(super) fn documents(documents: &[&dyn Document], _style: &Style) -> String {
    let mut total = Counts::default();
    let mut suites = String::new();
    for document in documents {
        let head = document.head();
        let cases = cases(*document, &head);
        let mut counts = Counts { seconds: seconds(&head), ..Counts::default() };
        cases.iter().for_each(|case| counts.add(&case.outcome));
        let started =
            head.started.map(|started| format!(" timestamp=\"{}\"", &started.to_string()[..TO_SECONDS]));
        suites.push_str(&format!(
            "  <testsuite name=\"{}\" {}{}>\n{}  </testsuite>\n",
            attribute(&head.title.replace('`', "")),
            counts.attributes(),
            started.unwrap_or_default(),
            cases.iter().map(Case::xml).collect::<String>()
        ));
        total += counts;
    }
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"pathmeter\" {}>\n{suites}</testsuites>\n",
        total.attributes()
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

#[derive(Default)]
struct Counts {
    tests: u64,
    failures: u64,
    errors: u64,
    skipped: u64,
    seconds: f64,
}

impl Counts {
    fn add(&mut self, outcome: &Outcome) {
        self.tests += 1;
        match outcome {
            Outcome::Passed => {}
            Outcome::Failed(_) => self.failures += 1,
            Outcome::Skipped(_) => self.skipped += 1,
            Outcome::Void(_) => self.errors += 1,
        }
    }

    fn attributes(&self) -> String {
        let Counts { tests, failures, errors, skipped, seconds } = self;
        format!(
            "tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\" skipped=\"{skipped}\" time=\"{seconds:.3}\""
        )
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.tests += other.tests;
        self.failures += other.failures;
        self.errors += other.errors;
        self.skipped += other.skipped;
        self.seconds += other.seconds;
    }
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
