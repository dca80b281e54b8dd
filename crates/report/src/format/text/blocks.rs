//! Blocks as text.

use super::super::table::plain;
use super::super::{Paint, Style};
use super::lines::{facts, heading};
use super::{bars, findings, remarks};
use crate::document::{Block, Chart, Table};

/// Blocks below one another.
pub(super) fn blocks(blocks: &[Block], style: &Style) -> String {
    let mut text = String::new();
    let mut before = None;
    for block in blocks {
        let shown = block_text(block, style);
        text.push_str(gap(before, block).filter(|_| !shown.is_empty()).unwrap_or_default());
        text.push_str(&shown);
        before = if shown.is_empty() { before } else { Some(block) };
    }
    text
}

/// The empty line between a table and sentences.
pub(super) fn gap(before: Option<&Block>, block: &Block) -> Option<&'static str> {
    let is_after_table =
        matches!((before, block), (Some(Block::Table(_)), Block::List(_) | Block::Sentences(_)));
    is_after_table.then_some("\n")
}

/// A block, or nothing where it has nothing to show.
pub(super) fn block_text(block: &Block, style: &Style) -> String {
    let prose = &style.prose();
    match block {
        _ if block.is_empty() => String::new(),
        Block::Heading(title) => heading(title, style),
        Block::Paragraph(sentence) => prose.list(std::slice::from_ref(sentence), "  "),
        Block::Facts(pairs) => facts(pairs, prose),
        Block::Sentences(sentences) => prose.list(sentences, "  "),
        Block::List(items) => {
            let lines: Vec<String> = items.iter().map(|item| item.line.clone()).collect();
            prose.list(&lines, "  - ")
        }
        Block::Table(table) => titled(table, style),
        Block::Figures(table) => table.text(prose),
        Block::Findings(found) => format!("\n{}", remarks::list(found, prose)),
        Block::Conclusion(conclusion) => findings::conclusion(conclusion, style),
        Block::Preformatted(text) => format!("\n{text}"),
        Block::Details(title, inner) if style.detail => heading(title, style) + &blocks(inner, style),
        Block::Chart(Chart::Bars(chart)) if style.detail => bars::chart(chart, prose),
        // A drawing's values are in the tables, too; details are for those who look for them.
        Block::Chart(_) | Block::Details(..) => String::new(),
    }
}

/// A table with its title above and its notes below.
fn titled(table: &Table, style: &Style) -> String {
    let title = match table.title.as_str() {
        "" => String::new(),
        title => format!("\n  {}\n", style.paint(Paint::Dim, title)),
    };
    title + &plain(&table.columns, &table.rows, style) + &style.prose().list(&table.notes, "  ")
}
