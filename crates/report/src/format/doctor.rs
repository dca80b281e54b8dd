//! How the doctor's checks are shown.

use crate::document::{
    Block, Column, Conclusion, Csv, Document, Head, Line, NamedLines, Paint, Part, Table, json_line,
    json_value,
};
use model::doctor::{Check, Status};
use model::finding::{self, Finding, Severity};
use serde_json::Value;

/// The checks as a document.
#[derive(Debug)]
pub struct Checks<'a>(pub &'a [Check]);

impl Document for Checks<'_> {
    fn head(&self) -> Head {
        Head { kind: "doctor".into(), title: "What this host can do".into(), depth: 1, ..Head::default() }
    }

    fn blocks(&self) -> Vec<Block> {
        let Checks(checks) = self;
        let columns = ["check", "status", "found"].map(Column::left);
        let row = |c: &Check| vec![c.name.into(), c.status.word().into(), c.found.clone()];
        vec![
            Block::Conclusion(conclusion(checks)),
            Block::Findings(sorted(checks).into_iter().filter_map(finding).collect()),
            Block::Table(Table::new(columns.into(), checks.iter().map(row).collect())),
        ]
    }

    /// One row for each check.
    fn csv(&self) -> Csv {
        let row = |c: &Check| {
            [c.name.into(), c.status.word().into(), c.found.clone(), c.fix.clone().unwrap_or_default()]
        };
        Csv::new(["name", "status", "found", "fix"], self.0.iter().map(row))
    }

    fn value(&self) -> Value {
        json_value(self.0)
    }

    /// A line for each.
    fn ndjson(&self) -> String {
        self.0.iter().map(json_line).collect()
    }

    /// The worst first, each fix once.
    fn parts(&self, _detail: bool) -> Vec<Part> {
        let checks = sorted(self.0);
        let entry = |(index, check): (usize, &&Check)| {
            let same = |other: &&&Check| other.status != Status::Ok && other.fix == check.fix;
            entry(check, checks[..index].iter().find(same).copied())
        };
        vec![Part::Named(checks.iter().enumerate().map(entry).collect())]
    }
}

/// The worst first.
fn sorted(checks: &[Check]) -> Vec<&Check> {
    let mut sorted: Vec<&Check> = checks.iter().collect();
    sorted.sort_by_key(|check| std::cmp::Reverse(check.status));
    sorted
}

fn conclusion(checks: &[Check]) -> Conclusion {
    let count = |status: Status| checks.iter().filter(|check| check.status == status).count();
    let (warned, failed) = (count(Status::Warn), count(Status::Fail));
    let status = match (failed, warned) {
        (0, 0) => finding::Status::Ok,
        (0, _) => finding::Status::Degraded,
        _ => finding::Status::Problem,
    };
    let faulty = sorted(checks).into_iter().filter(|check| check.status != Status::Ok);
    let names = faulty.map(|check| check.name).collect::<Vec<_>>().join(", ");
    let names = if names.is_empty() { names } else { format!(": {names}") };
    let text = format!("{} checks: {failed} failed, {warned} with a warning{names}.", checks.len());
    Conclusion { of: String::new(), status, answer: text.clone(), text }
}

/// The fault, and the command that fixes it.
fn finding(check: &Check) -> Option<Finding> {
    let severity = match check.status {
        Status::Ok => return None,
        Status::Warn => Severity::Warning,
        Status::Fail => Severity::Problem,
    };
    let fix = check.fix.as_ref().map(|fix| format!(" `{fix}`")).unwrap_or_default();
    Some(Finding {
        id: check.name.into(),
        severity,
        direction: None,
        egress: None,
        title: check.found.clone(),
        evidence: [].into(),
        advice: format!("{}{fix}", check.why_it_matters),
    })
}

/// A check; `before`: another with the same fix, which stands above.
fn entry(check: &Check, before: Option<&Check>) -> NamedLines {
    let (paint, word) = match check.status {
        Status::Ok => (Paint::Good, "ok"),
        Status::Warn => (Paint::Warning, "warn"),
        Status::Fail => (Paint::Problem, "FAIL"),
    };
    let plain = |text: &str| Line::new(Paint::Plain, text);
    let mut lines = vec![plain(&check.found)];
    if check.status != Status::Ok {
        let fix = check.fix.as_ref().map(|fix| match before {
            Some(before) => plain(&format!("the command of {} is the fix", before.name)),
            None => Line::command(Paint::Bold, format!("$ {fix}")),
        });
        lines.extend([plain(check.why_it_matters)].into_iter().chain(fix));
    }
    NamedLines { mark: Line::new(paint, word), name: plain(check.name), lines }
}

#[cfg(test)]
mod tests {
    use super::Checks;
    use crate::document::Style;
    use crate::format::{by_name, render};
    use model::doctor::{Check, Status};

    #[test]
    fn a_long_command_goes_on_below_and_stands_once() {
        let fix = "sudo install -m 750 pathmeter /usr/local/bin/pathmeter-privileged && sudo setcap cap_net_raw+ep x";
        let check = |name| Check {
            name,
            status: Status::Warn,
            found: "missing".into(),
            why_it_matters: "it matters",
            fix: Some(fix.into()),
        };
        let text =
            |checks: &[Check], style: &Style| render(&Checks(checks), by_name("text").expect("text"), style);
        let wide = text(&[check("rights")], &Style { width: 200, ..Style::default() });
        assert!(wide.contains(fix), "{wide}");
        let text = text(&[check("rights"), check("capture")], &Style::default());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(text.matches("sudo install").count(), 1, "{text}");
        assert!(text.contains("privileged && \\\n          sudo setcap"), "{text}");
        assert!(text.contains("the command of rights is the fix"), "{text}");
    }

    #[test]
    fn what_ails_a_host_is_a_finding_with_its_fix() {
        let check = |name, status, fix: Option<&str>| Check {
            name,
            status,
            found: format!("found by {name}"),
            why_it_matters: "it matters",
            fix: fix.map(Into::into),
        };
        let fix = "sudo sysctl -w net.core.rmem_max=268435456";
        let checks = [
            check("privileges", Status::Ok, None),
            check("receive-buffer", Status::Warn, Some(fix)),
            check("user-namespaces", Status::Fail, None),
        ];
        let written = |name| render(&Checks(&checks), by_name(name).expect(name), &Style::default());
        let page = written("html");
        assert!(page.contains("class=\"verdict problem\""), "{page}");
        assert_eq!(page.matches("<li class=\"finding").count(), 2, "{page}");
        assert!(page.contains(&format!("<code>{fix}</code>")), "{page}");
        let suites = written("junit");
        assert!(suites.contains("name=\"verdict\"") && suites.contains("failures=\"0\""), "{suites}");
        assert_eq!(written("csv").lines().count(), checks.len() + 1);
    }
}
