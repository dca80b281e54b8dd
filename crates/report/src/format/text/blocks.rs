//! Documents as text, block after block.

use super::super::table::plain;
use super::super::{Paint, Style, brief};
use super::{bars, findings};
use crate::document::{Block, Chart, Conclusion, Document, Table};
use insight::answer::first_sentence;
use model::finding::Severity;

/// One document after the other.
pub(in crate::format) fn documents(documents: &[&dyn Document], style: &Style) -> String {
    let text = |document: &&dyn Document| {
        let text = document.own_text(style).unwrap_or_else(|| {
            let all = document.blocks();
            let (verdicts, rest): (Vec<Block>, Vec<Block>) =
                all.into_iter().partition(|block| matches!(block, Block::Conclusion(_)));
            let verdicts = blocks(&verdicts, style);
            let gap = if verdicts.is_empty() { "" } else { "\n" };
            let title = style.paint(Paint::Bold, &without_marks(&document.head().title));
            format!("{verdicts}{gap}{title}\n{}", blocks(&rest, style))
        });
        let end = if text.lines().count() > SCREEN { closing(*document, style) } else { String::new() };
        text + &end
    };
    documents.iter().map(text).collect()
}

/// The verdicts once more, to stand above the prompt: the answer, else the worst finding, else a sentence.
fn closing(document: &dyn Document, style: &Style) -> String {
    let blocks = document.blocks();
    let conclusions = blocks.iter().filter_map(|block| match block {
        Block::Conclusion(conclusion) => Some(conclusion),
        _ => None,
    });
    let is_alone = conclusions.clone().count() == 1;
    let mut found = blocks.iter().flat_map(|block| match block {
        Block::Findings(found) => found.as_slice(),
        _ => &[],
    });
    let worst = found.find(|finding| finding.severity > Severity::Info).filter(|_| is_alone);
    let verdict = |conclusion: &Conclusion| {
        let text = match (conclusion.answer.as_str(), worst) {
            ("", Some(finding)) => format!("{}.", finding.title),
            ("", None) => first_sentence(&conclusion.text),
            (answer, _) => first_sentence(answer),
        };
        findings::conclusion(&Conclusion { text, ..conclusion.clone() }, style)
    };
    let verdicts: String = conclusions.map(verdict).collect();
    if verdicts.is_empty() { verdicts } else { format!("\n{verdicts}") }
}

/// Blocks below one another.
pub(in crate::format) fn blocks(blocks: &[Block], style: &Style) -> String {
    let mut text = String::new();
    let mut before: Option<&Block> = None;
    for block in blocks.iter().filter(|block| !block.is_empty()) {
        let shown = block_text(block, style);
        if shown.is_empty() {
            continue;
        }
        if matches!((before, block), (Some(Block::Table(_)), Block::List(_) | Block::Sentences(_))) {
            text.push('\n');
        }
        text.push_str(&shown);
        before = Some(block);
    }
    text
}

fn block_text(block: &Block, style: &Style) -> String {
    match block {
        Block::Heading(heading) => format!("\n{}\n", style.paint(Paint::Bold, &without_marks(heading))),
        Block::Paragraph(sentence) => style.list(std::slice::from_ref(sentence), "  "),
        Block::Facts(pairs) => facts(pairs, style),
        Block::Sentences(sentences) => style.list(sentences, "  "),
        Block::List(items) => {
            let lines: Vec<String> = items.iter().map(|item| item.line.clone()).collect();
            style.list(&lines, "  - ")
        }
        Block::Table(table) => titled(table, style),
        Block::Figures(table) => table.text(style),
        Block::Findings(found) => format!("\n{}", brief::findings::list(found, String::new(), style)),
        Block::Conclusion(conclusion) => findings::conclusion(conclusion, style),
        Block::Preformatted(text) => format!("\n{text}"),
        Block::Details(title, inner) if style.detail => {
            format!("\n{}\n{}", style.paint(Paint::Bold, &without_marks(title)), blocks(inner, style))
        }
        Block::Chart(Chart::Bars(chart)) if style.detail => bars::bars_text(chart, style),
        // A drawing's values are in the tables, too; details are for those who look for them.
        Block::Chart(_) | Block::Details(..) => String::new(),
    }
}

/// A table with its title above and its notes below.
pub(in crate::format) fn titled(table: &Table, style: &Style) -> String {
    let title = match table.title.as_str() {
        "" => String::new(),
        title => format!("\n  {}\n", style.paint(Paint::Dim, title)),
    };
    title + &plain(&table.columns, &table.rows, style) + &style.list(&table.notes, "  ")
}

/// Named lines, their values below one another.
pub(in crate::format) fn facts<N: AsRef<str>>(facts: &[(N, String)], style: &Style) -> String {
    let lengths = facts.iter().map(|(name, _)| name.as_ref().chars().count());
    let width = NAME_WIDTH.max(lengths.filter(|length| *length <= LONGEST_NAME).max().unwrap_or(0) + 2);
    facts.iter().map(|(name, value)| fact_lines(name.as_ref(), value, width, style)).collect()
}

/// A named line, its value wrapped beside the name, or below one that is long.
pub(in crate::format) fn fact(name: &str, value: &str, style: &Style) -> String {
    fact_lines(name, value, NAME_WIDTH, style)
}

fn fact_lines(name: &str, value: &str, width: usize, style: &Style) -> String {
    let is_long = name.chars().count() > LONGEST_NAME;
    let mut text = if is_long { format!("  {}\n", style.paint(Paint::Dim, name)) } else { String::new() };
    for (index, line) in style.wrap(value, width + 2).iter().enumerate() {
        let name = format!("{:<width$}", if index == 0 && !is_long { name } else { "" });
        text.push_str(&format!("  {}{line}\n", style.paint(Paint::Dim, &name)));
    }
    text
}

/// Columns of a name.
const NAME_WIDTH: usize = 16;
/// A longer name has a line of its own.
const LONGEST_NAME: usize = 28;
/// Lines of which the first is still there, with the command above it, when the prompt is back on a screen of 24.
const SCREEN: usize = 22;

/// Backticks mark code where letters can look otherwise.
pub(super) fn without_marks(text: &str) -> String {
    text.replace('`', "")
}
