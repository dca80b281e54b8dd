//! How the doctor's checks are shown.

use crate::document::{
    Block, Column, Conclusion, Csv, Document, Head, Paint, Style, Table, json_line, json_value,
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

    fn own_text(&self, style: &Style) -> Option<String> {
        Some(text(self.0, style))
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
    let text = format!("{} checks: {failed} failed, {warned} with a warning.", checks.len());
    Conclusion { of: String::new(), status, answer: String::new(), text }
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

/// For people: what is wrong first, with its fix.
fn text(checks: &[Check], style: &Style) -> String {
    // Prose beyond this is hard to read; a command may be as long as it is.
    let prose = style.prose();
    let mut text = String::new();
    let mut said: Vec<(&str, &str)> = Vec::new();
    for check in sorted(checks) {
        let (paint, word) = match check.status {
            Status::Ok => (Paint::Good, "ok"),
            Status::Warn => (Paint::Warning, "warn"),
            Status::Fail => (Paint::Problem, "FAIL"),
        };
        let word = style.paint(paint, &format!("{word:<5}"));
        for (index, line) in prose.wrap(&check.found, FOUND).iter().enumerate() {
            match index {
                0 => text.push_str(&format!("{word} {:<18} {line}\n", check.name)),
                _ => text.push_str(&format!("{:FOUND$}{line}\n", "")),
            }
        }
        if check.status == Status::Ok {
            continue;
        }
        for line in prose.wrap(check.why_it_matters, INDENT.len()) {
            text.push_str(&format!("{INDENT}{line}\n"));
        }
        if let Some(fix) = &check.fix {
            match said.iter().find(|(_, known)| known == fix) {
                Some((name, _)) => text.push_str(&format!("{INDENT}the command of {name} is the fix\n")),
                None => text.push_str(&command(fix, style)),
            }
            said.push((check.name, fix));
        }
    }
    text
}

/// A command as a shell takes it: one that is too long goes on below after each `&&`.
fn command(fix: &str, style: &Style) -> String {
    let whole = format!("$ {fix}");
    let is_long = INDENT.len() + whole.chars().count() > style.width;
    let lines: Vec<&str> = if is_long { whole.split(" && ").collect() } else { vec![&whole] };
    let last = lines.len() - 1;
    let line = |(index, line): (usize, &&str)| {
        let (more, on) = (if index > 0 { "    " } else { "" }, if index < last { " && \\" } else { "" });
        format!("{INDENT}{}\n", style.paint(Paint::Bold, &format!("{more}{line}{on}")))
    };
    lines.iter().enumerate().map(line).collect()
}

const INDENT: &str = "      ";
/// Columns before what was found.
const FOUND: usize = 25;

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
        let text = super::text(&[check("rights"), check("capture")], &Style::default());
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert_eq!(text.matches("sudo install").count(), 1, "{text}");
        assert!(text.contains("privileged && \\\n          sudo setcap"), "{text}");
        assert!(text.contains("the command of rights is the fix"), "{text}");
        let wide = super::text(&[check("rights")], &Style { width: 200, ..Style::default() });
        assert!(wide.contains(fix), "{wide}");
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
