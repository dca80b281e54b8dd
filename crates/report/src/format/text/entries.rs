//! Names with lines beside and below them.

use super::super::Style;
use crate::document::{Line, NamedLines};

/// The entries, the names in a column of their own.
pub(super) fn text(entries: &[NamedLines], style: &Style) -> String {
    let length = |text: &str| text.chars().count();
    let widest = |part: fn(&NamedLines) -> &Line| entries.iter().map(|entry| length(&part(entry).text)).max();
    let (mark, name) = (widest(|entry| &entry.mark).unwrap_or(0), widest(|entry| &entry.name).unwrap_or(0));
    let mark = if mark > 0 { mark + GAP } else { 0 };
    let beside = mark + name + GAP;
    let below = if mark > 0 { mark } else { beside };
    let entry = |entry: &NamedLines| {
        let head = style.paint(entry.mark.paint, &format!("{:<mark$}", entry.mark.text))
            + &style.paint(entry.name.paint, &format!("{:<name$}", entry.name.text))
            + &" ".repeat(GAP);
        let mut text = String::new();
        for (index, line) in entry.lines.iter().enumerate() {
            let indent = if index == 0 { beside } else { below };
            for (row, part) in broken(line, indent, style).iter().enumerate() {
                let lead = if (index, row) == (0, 0) { head.clone() } else { " ".repeat(indent) };
                text.push_str(&format!("{lead}{}\n", style.paint(line.paint, part)));
            }
        }
        text
    };
    entries.iter().map(entry).collect()
}

/// A line as lines that fit. A command goes on below after each `&&`, and else at words, so that a shell reads it as one.
fn broken(line: &Line, indent: usize, style: &Style) -> Vec<String> {
    if !line.is_command {
        return style.prose().wrap(&line.text, indent);
    }
    if indent + line.text.chars().count() <= style.width {
        return vec![line.text.clone()];
    }
    let narrower = Style { width: style.width.saturating_sub(ON.len()), ..*style };
    let last = line.text.split(" && ").count() - 1;
    let commands = line.text.split(" && ").enumerate().flat_map(|(at, command)| {
        let command = if at < last { format!("{command} &&") } else { command.to_owned() };
        let more = if at > 0 { MORE } else { "" };
        let lines = narrower.wrap(&command, indent + more.len()).into_iter();
        lines.map(move |line| format!("{more}{line}"))
    });
    let mut lines: Vec<String> = commands.collect();
    let rest = lines.len().saturating_sub(1);
    lines.iter_mut().take(rest).for_each(|line| line.push_str(ON));
    lines
}

/// Columns behind marks and names.
const GAP: usize = 2;
/// The space before a command that goes on, and the end of a line that does.
const MORE: &str = "    ";
const ON: &str = " \\";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Paint;

    #[test]
    fn a_command_goes_on_below_where_a_shell_reads_on() {
        let command = "sudo install -m 750 pathmeter /usr/local/bin/pathmeter-privileged && sudo setcap cap_net_raw+ep x";
        let mark = Line::new(Paint::Warning, "warn");
        let lines = vec![Line::new(Paint::Plain, "missing"), Line::command(Paint::Bold, command)];
        let entry = NamedLines { mark, name: Line::new(Paint::Plain, "rights"), lines };
        let shown = |width| text(std::slice::from_ref(&entry), &Style { width, ..Style::default() });
        assert_eq!(shown(200), format!("warn  rights  missing\n      {command}\n"));
        assert!(shown(80).contains("privileged && \\\n          sudo setcap"), "{}", shown(80));
        let narrow = shown(60);
        assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
        let joined: String =
            narrow.lines().skip(1).map(|line| line.trim_start().trim_end_matches('\\')).collect();
        assert_eq!(joined, command);
    }
}
