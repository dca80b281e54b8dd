//! How the doctor's checks are shown.

use super::{Check, Status};
use report::format::{Paint, Style};

/// For people: what is wrong first, with its mend.
pub(super) fn text(checks: &[Check], style: &Style) -> String {
    let mut sorted: Vec<&Check> = checks.iter().collect();
    sorted.sort_by_key(|check| std::cmp::Reverse(check.status));
    let mut text = String::new();
    for check in sorted {
        let (paint, word) = match check.status {
            Status::Ok => (Paint::Good, "ok"),
            Status::Warn => (Paint::Warning, "warn"),
            Status::Fail => (Paint::Problem, "FAIL"),
        };
        let word = style.paint(paint, &format!("{word:<5}"));
        text.push_str(&format!("{word} {:<18} {}\n", check.name, check.found));
        if check.status == Status::Ok {
            continue;
        }
        for line in style.wrap(check.why_it_matters, INDENT.len()) {
            text.push_str(&format!("{INDENT}{line}\n"));
        }
        if let Some(mend) = &check.mend {
            text.push_str(&format!("{INDENT}{}\n", style.paint(Paint::Bold, &format!("$ {mend}"))));
        }
    }
    text
}

/// One row for each check.
pub(super) fn csv(checks: &[Check]) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let row = |c: &Check| {
        let mend = c.mend.as_deref().unwrap_or("");
        format!("{},{},{},{}\n", c.name, c.status.word(), quoted(&c.found), quoted(mend))
    };
    checks.iter().fold("name,status,found,mend\n".into(), |text, c| text + &row(c))
}

/// A table for a ticket.
pub(super) fn markdown(checks: &[Check]) -> String {
    let cell = |text: &str| text.replace('|', "\\|");
    let row = |c: &Check| {
        let mend = c.mend.as_ref().map(|m| format!("`{}`", cell(m))).unwrap_or_default();
        format!("| {} | {} | {} | {mend} |\n", c.name, c.status.word(), cell(&c.found))
    };
    checks
        .iter()
        .fold("| check | status | found | mend |\n|---|---|---|---|\n".into(), |text, c| text + &row(c))
}

impl Status {
    fn word(self) -> &'static str {
        match self {
            Status::Ok => "ok",
            Status::Warn => "warn",
            Status::Fail => "fail",
        }
    }
}

const INDENT: &str = "      ";
