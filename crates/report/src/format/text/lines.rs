//! Lines of text: titles, names with their values, and the last ones.

use super::super::{Paint, Style};
use crate::document::Line;

/// Lines as they are.
pub(super) fn lines(lines: &[Line], style: &Style) -> String {
    let mut text = String::new();
    lines.iter().for_each(|line| push_line(&mut text, [&style.paint(line.paint, &line.text)]));
    text
}

/// Adds a line of these parts.
pub(super) fn push_line<const N: usize>(text: &mut String, parts: [&str; N]) {
    text.reserve(parts.iter().map(|part| part.len()).sum::<usize>() + 1);
    parts.iter().for_each(|part| text.push_str(part));
    text.push('\n');
}

/// A title in lines as wide as the screen.
pub(super) fn heading(title: &str, style: &Style) -> String {
    let lines = style.wrap(&without_marks(title), 0);
    lines.iter().fold("\n".into(), |text, line| text + &style.paint(Paint::Bold, line) + "\n")
}

/// Backticks mark code where letters can look otherwise.
pub(super) fn without_marks(text: &str) -> String {
    text.replace('`', "")
}

/// Named lines, their values below one another.
pub(super) fn facts(facts: &[(String, String)], style: &Style) -> String {
    let lengths = facts.iter().map(|(name, _)| name.chars().count());
    let width = NAME_WIDTH.max(lengths.filter(|length| *length <= LONGEST_NAME).max().unwrap_or(0) + 2);
    facts.iter().map(|(name, value)| fact(name, value, width, style)).collect()
}

pub(super) fn fact(name: &str, value: &str, width: usize, style: &Style) -> String {
    let is_long = name.chars().count() > LONGEST_NAME;
    let mut text = if is_long { format!("  {}\n", style.paint(Paint::Dim, name)) } else { String::new() };
    for (index, line) in style.wrap(value, width + 2).iter().enumerate() {
        let name = format!("{:<width$}", if index == 0 && !is_long { name } else { "" });
        text.push_str(&format!("  {}{line}\n", style.paint(Paint::Dim, &name)));
    }
    text
}

/// The last lines, with where there is more where details are left out.
pub(super) fn foot(whence: &str, more: &str, style: &Style) -> String {
    let mut lines = if whence.is_empty() { Vec::new() } else { style.wrap(whence, 2) };
    if !style.detail {
        // One word: it is what is looked for.
        match lines.last_mut().filter(|last| last.chars().count() + more.chars().count() + 3 <= style.width) {
            Some(last) => last.extend([" ", more]),
            None => lines.push(more.into()),
        }
    }
    dimmed(&lines, style)
}

/// Dimmed lines.
pub(super) fn small(sentence: &str, style: &Style) -> String {
    dimmed(&style.wrap(sentence, 2), style)
}

fn dimmed(lines: &[String], style: &Style) -> String {
    let mut text = String::new();
    lines.iter().for_each(|line| push_line(&mut text, ["  ", &style.paint(Paint::Dim, line)]));
    text
}

/// Columns of a name.
const NAME_WIDTH: usize = 16;
/// A longer name has a line of its own.
const LONGEST_NAME: usize = 28;
