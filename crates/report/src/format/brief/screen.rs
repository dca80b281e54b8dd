//! The answer within a screen: spare rows of a table, sections and the texts of findings are left out until it fits. `-v` has all.

use super::super::Style;
use crate::document::FigureTable;

/// Lines of an answer, which leave the prompt and the command its place on a screen of 24.
pub(super) const LINES: usize = 20;

/// The figures of a run.
#[derive(Default)]
pub(super) struct Body {
    /// The table of figures; without rows: there is none.
    pub(super) table: FigureTable,
    /// The sections below it, the most important first.
    pub(super) sections: Vec<String>,
    /// Remarks on these figures, before all others.
    pub(super) remarks: Vec<Remark>,
}

impl Body {
    /// A text that stays whole.
    pub(super) fn whole(text: &str) -> Body {
        Body { sections: vec![text.trim_start_matches('\n').to_owned()], ..Body::default() }
    }

    /// A text whose sections are set apart by empty lines.
    pub(super) fn of_sections(text: &str) -> Body {
        let sections = text.trim_matches('\n').split("\n\n").filter(|section| !section.is_empty());
        Body { sections: sections.map(|section| format!("{section}\n")).collect(), ..Body::default() }
    }

    /// The sections that fit into `room` lines below the table, and the table in what they leave. The table without its spare
    /// rows stays in any case, and so does the first section where there is no table.
    pub(super) fn text(&self, room: usize, style: &Style) -> String {
        let least = count_lines(&self.table.least_text(style));
        let mut used = least;
        let mut kept: Vec<&str> = Vec::new();
        for section in self.sections.iter().filter(|section| !section.is_empty()) {
            let more = count_lines(section) + usize::from(used > 0);
            if used == 0 || used + more <= room {
                used += more;
                kept.push(section);
            }
        }
        let table = self.table.text_within(room.saturating_sub(used - least), style);
        let parts: Vec<&str> = [table.as_str()].into_iter().chain(kept).collect();
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n")
    }
}

/// A remark below the figures: what limits, what was found, a warning.
pub(super) struct Remark {
    /// The id of the finding or warning; of a limit its word.
    pub(super) id: String,
    /// All of it.
    pub(super) full: String,
    /// The same in one line; empty where the answer says it above.
    pub(super) line: String,
}

impl Remark {
    fn more_lines(&self) -> usize {
        count_lines(&self.full).saturating_sub(count_lines(&self.line))
    }
}

/// Lines that the figures leave to remarks.
pub(super) fn least_lines(remarks: &[Remark]) -> usize {
    remarks.iter().filter(|remark| !remark.line.is_empty()).count().min(FEW)
}

/// Remarks in `room` lines: each has a line, and those that come first are in full as far as the others leave room. Where even
/// single lines do not fit, the last one names the ids of those left out.
pub(super) fn remarks_within(remarks: &[Remark], room: usize, style: &Style) -> String {
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
    let text = |remark: &Remark| match spare.checked_sub(remark.more_lines()) {
        Some(rest) => {
            spare = rest;
            remark.full.clone()
        }
        None => remark.line.clone(),
    };
    remarks.iter().map(text).collect()
}

/// A text in one line of `room` characters: whole, or its clauses that fill a third of it, or its first words and an ellipsis.
pub(super) fn in_one_line(text: &str, room: usize) -> String {
    if length(text) <= room {
        return text.to_owned();
    }
    let clauses =
        text.match_indices([':', ';']).map(|(at, _)| at).filter(|at| text[at + 1..].starts_with(' '));
    clauses
        .map(|at| &text[..at])
        .rfind(|clause| (room / 3..=room).contains(&length(clause)))
        .map_or_else(|| cut(text, room), str::to_owned)
}

/// The first words of a text, with an ellipsis where it is longer than `room`.
fn cut(text: &str, room: usize) -> String {
    if length(text) <= room { text.to_owned() } else { shortened(text, room) }
}

/// Returns as many first words of a text as fit into `room` with an ellipsis behind them.
pub(super) fn shortened(text: &str, room: usize) -> String {
    let mut cut = String::new();
    for word in text.split(' ') {
        if length(&cut) + length(word) + "…".chars().count() > room {
            break;
        }
        cut.push_str(word);
        cut.push(' ');
    }
    format!("{}…", cut.trim_end_matches([' ', ',', ':', ';', '(']))
}

fn length(text: &str) -> usize {
    text.chars().count()
}

/// The lines of a text.
pub(super) fn count_lines(text: &str) -> usize {
    text.lines().count()
}

/// Columns before the text of a remark: two, a mark of eight, and a space.
pub(super) const INDENT: usize = 11;
/// Remarks that spare rows and sections are left out for.
const FEW: usize = 5;
/// Lines that remarks have however long the table is.
const LEAST: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::FigureRow;

    fn remark(id: &str, lines: usize) -> Remark {
        Remark { id: id.into(), full: format!("{id} in full\n").repeat(lines), line: format!("{id}\n") }
    }

    #[test]
    fn the_worst_remarks_are_in_full_as_far_as_the_others_leave_room() {
        let remarks = [remark("a", 3), remark("b", 3), remark("c", 1)];
        let text = |room| remarks_within(&remarks, room, &Style::default());
        assert_eq!(count_lines(&text(usize::MAX)), 7);
        assert_eq!(text(5), "a in full\na in full\na in full\nb\nc in full\n");
        assert_eq!(text(3), "a\nb\nc in full\n");
        assert_eq!(text(0), text(3), "each has a line");
        let many: Vec<Remark> = (0..9).map(|index| remark(&format!("r{index}"), 2)).collect();
        let text = remarks_within(&many, 0, &Style::default());
        assert_eq!(text, "r0\nr1\n           and 7 more: r2, r3, r4, r5, r6, r7, r8\n");
    }

    #[test]
    fn a_line_has_whole_clauses_or_says_that_it_goes_on() {
        assert_eq!(in_one_line("short: enough", 20), "short: enough");
        assert_eq!(
            in_one_line("TCP up runs at line rate: 9.40 Gbit/s of 9.41", 30),
            "TCP up runs at line rate"
        );
        assert_eq!(in_one_line("a b: c d; e f g h i j k", 10), "a b: c d");
        assert_eq!(in_one_line("not known: the path took no more", 30), "not known: the path took no…");
        assert_eq!(in_one_line("one two three, four five", 16), "one two three…");
        assert_eq!(in_one_line("unbreakable-word-of-some-length", 10), "…");
    }

    #[test]
    fn a_table_sheds_spare_rows_before_a_section_goes() {
        let row = |name: &str, spare| FigureRow { spare, ..FigureRow::new(name, [Some("1".into())]) };
        let table = FigureTable {
            heads: vec!["up".into()],
            rows: vec![row("rate", false), row("wire", true), row("lost", false), row("share", true)],
        };
        let body = Body {
            table,
            sections: vec!["section\n".into(), "long\nsection\n".into(), "tail\n".into()],
            remarks: Vec::new(),
        };
        let text = |room| body.text(room, &Style::default());
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
        assert_eq!(Body::of_sections("\na\nb\n\nc\n").text(2, &Style::default()), "a\nb\n");
    }
}
