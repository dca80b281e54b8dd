//! The answer within a screen: spare rows of a table, sections and the texts of findings are left out until it fits. `-v` has all.

use super::super::{Paint, Style};
use super::lines::{foot, push_line, without_marks};
use super::remarks::{self, DETAILS, INDENT, Shown, count_lines, cut, hanging, shortened};
use crate::document::{Conclusion, FigureTable, Screen};

/// The whole of it, with these sections, in the lines of a screen. With `style.detail` nothing is left out, and the evidence stands with the findings.
pub(super) fn text(screen: &Screen, sections: &[String], style: &Style) -> String {
    let lines = if style.detail { usize::MAX } else { LINES };
    let text = |action| fitted(screen, sections, [action, lines], style);
    let whole = text(usize::MAX);
    if count_lines(&whole) <= lines { whole } else { text(LEAST_ACTION) }
}

/// The text with at most so many lines of what to do, in `lines` lines as far as its parts can be left out.
fn fitted(screen: &Screen, sections: &[String], [action, lines]: [usize; 2], style: &Style) -> String {
    let head = first(screen, action, style);
    let whence = if screen.foot.is_empty() { String::new() } else { format!("{}.", screen.foot) };
    let foot = foot(&whence, DETAILS, style);
    let expected: String = screen.expected.iter().map(|remark| hanging(remark, style)).collect();
    let remarks = remarks::of_screen(screen, style);
    let fixed = count_lines(&head) + count_lines(&foot) + count_lines(&expected) + GAPS;
    let room = lines.saturating_sub(fixed);
    let body = body(&screen.table, sections, room.saturating_sub(least_lines(&remarks)), style);
    let remarks = remarks_within(&remarks, room.saturating_sub(count_lines(&body)), style);
    let all = [head, body, remarks + &expected, foot];
    all.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// The word, the answer and the two ends; below it what to do, in at most `most` lines.
fn first(screen: &Screen, most: usize, style: &Style) -> String {
    let (word, paint) = Conclusion::word_of(screen.status);
    let indent = " ".repeat(word.chars().count() + GAP);
    let mut lines = style.wrap(&screen.line, indent.len());
    if let Some(first) = lines.first_mut() {
        let used = indent.len() + first.chars().count();
        let room = style.width.saturating_sub(used);
        let width = screen.ends.chars().count();
        if width > 0 && room >= width + GAP {
            first.push_str(&" ".repeat(room - width));
            first.push_str(&style.paint(Paint::Dim, &screen.ends));
        } else if width > 0 {
            lines.push(style.paint(Paint::Dim, &screen.ends));
        }
    }
    let mut text = String::with_capacity(style.width.min(WIDE));
    for (index, line) in lines.iter().enumerate() {
        let lead = if index == 0 { style.paint(paint, &word) + &" ".repeat(GAP) } else { indent.clone() };
        push_line(&mut text, [&lead, line]);
    }
    for line in action_lines(&without_marks(&screen.action), indent.len(), most, style) {
        push_line(&mut text, [&indent, &line]);
    }
    text
}

/// The action, in at most `most` lines; of a long advice the first clause.
fn action_lines(action: &str, indent: usize, most: usize, style: &Style) -> Vec<String> {
    let lines = style.wrap(action, indent);
    let mut lines = match action.split_once("; ").filter(|_| !style.detail && lines.len() > LEAST_ACTION) {
        Some((clause, _)) => style.wrap(&format!("{clause}."), indent),
        None => lines,
    };
    if lines.len() > most {
        lines.truncate(most);
        let room = style.width.saturating_sub(indent);
        lines.iter_mut().skip(most - 1).for_each(|last| *last = shortened(last, room));
    }
    lines
}

/// The sections that fit into `room` lines below the table, and the table in what they leave. The table without its spare
/// rows stays in any case, and so does the first section where there is no table.
fn body(table: &FigureTable, sections: &[String], room: usize, style: &Style) -> String {
    if sections.is_empty() {
        return table.text_within(room, style);
    }
    let least = count_lines(&table.least_text(style));
    let mut used = least;
    let mut kept: Vec<&str> = Vec::new();
    for section in sections.iter().filter(|section| !section.is_empty()) {
        let more = count_lines(section) + usize::from(used > 0);
        if used == 0 || used + more <= room {
            used += more;
            kept.push(section);
        }
    }
    let table = table.text_within(room.saturating_sub(used - least), style);
    let all: Vec<&str> = [table.as_str()].into_iter().chain(kept).collect();
    all.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Lines that the figures leave to remarks.
fn least_lines(remarks: &[Shown]) -> usize {
    remarks.iter().filter(|remark| !remark.line.is_empty()).count().min(FEW)
}

/// Remarks in `room` lines: each has a line, and those that come first are in full as far as the others leave room. Where even
/// single lines do not fit, the last one names the ids of those left out.
fn remarks_within(remarks: &[Shown], room: usize, style: &Style) -> String {
    let single = remarks.iter().filter(|remark| !remark.line.is_empty()).count();
    let room = room.max(single.min(LEAST));
    if single > room {
        let (shown, rest): (Vec<_>, Vec<_>) = remarks
            .iter()
            .filter(|remark| !remark.line.is_empty())
            .enumerate()
            .partition(|(at, _)| at + 1 < room);
        let ids: Vec<&str> = rest.iter().map(|(_, remark)| remark.id.as_str()).collect();
        let more = format!("and {} more: {}", rest.len(), ids.join(", "));
        let lines: String = shown.into_iter().map(|(_, remark)| remark.line.as_str()).collect();
        return lines
            + &format!("{}{}\n", " ".repeat(INDENT), cut(&more, style.width.saturating_sub(INDENT)));
    }
    let mut spare = room - single;
    let text = |remark: &Shown| match spare.checked_sub(remark.more_lines()) {
        Some(rest) => {
            spare = rest;
            remark.full.clone()
        }
        None => remark.line.clone(),
    };
    remarks.iter().map(text).collect()
}

/// Lines of an answer, which leave the prompt and the command its place on a screen of 24.
const LINES: usize = 20;
/// Bytes of a line on a wide screen.
const WIDE: usize = 256;
/// Columns between the word and the answer.
const GAP: usize = 2;
/// Empty lines between the parts.
const GAPS: usize = 3;
/// Lines that what to do may take in any case.
const LEAST_ACTION: usize = 2;
/// Remarks that spare rows and sections are left out for.
const FEW: usize = 5;
/// Lines that remarks have however long the table is.
const LEAST: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::FigureRow;

    fn remark(id: &str, lines: usize) -> Shown {
        Shown { id: id.into(), full: format!("{id} in full\n").repeat(lines), line: format!("{id}\n") }
    }

    #[test]
    fn the_worst_remarks_are_in_full_as_far_as_the_others_leave_room() {
        let remarks = [remark("a", 3), remark("b", 3), remark("c", 1)];
        let text = |room| remarks_within(&remarks, room, &Style::default());
        assert_eq!(count_lines(&text(usize::MAX)), 7);
        assert_eq!(text(5), "a in full\na in full\na in full\nb\nc in full\n");
        assert_eq!(text(3), "a\nb\nc in full\n");
        assert_eq!(text(0), text(3), "each has a line");
        let many: Vec<Shown> = (0..9).map(|index| remark(&format!("r{index}"), 2)).collect();
        let text = remarks_within(&many, 0, &Style::default());
        assert_eq!(text, "r0\nr1\n           and 7 more: r2, r3, r4, r5, r6, r7, r8\n");
    }

    #[test]
    fn a_table_sheds_spare_rows_before_a_section_goes() {
        let row = |name: &str, spare| FigureRow { spare, ..FigureRow::new(name, [Some("1".into())]) };
        let table = FigureTable {
            heads: vec!["up".into()],
            rows: vec![row("rate", false), row("wire", true), row("lost", false), row("share", true)],
        };
        let sections = ["section\n", "long\nsection\n", "tail\n"].map(String::from);
        let text = |room| body(&table, &sections, room, &Style::default());
        let all = text(usize::MAX);
        assert_eq!(count_lines(&all), 5 + 2 + 3 + 2);
        assert!(
            text(7).contains("section") && text(7).contains("tail") && !text(7).contains("wire"),
            "{}",
            text(7)
        );
        assert!(
            text(6).contains("section") && text(6).contains("wire") && !text(6).contains("share"),
            "{}",
            text(6)
        );
        assert_eq!(count_lines(&text(0)), 3);
        assert_eq!(body(&FigureTable::default(), &sections, 0, &Style::default()), "section\n");
    }
}
