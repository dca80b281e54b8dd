//! Documents as text, block after block.

use super::super::table::plain;
use super::super::{Paint, Style, brief};
use super::{findings, result};
use crate::document::{Block, Conclusion, Document, Table};
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

fn blocks(blocks: &[Block], style: &Style) -> String {
    let mut text = String::new();
    let mut before: Option<&Block> = None;
    for block in blocks.iter().filter(|block| !block.is_empty()) {
        let shown = block_text(block, style);
        if shown.is_empty() {
            continue;
        }
        if matches!((before, block), (Some(Block::Table(_)), Block::List(_))) {
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
        Block::Facts(facts) => facts.iter().map(|(name, value)| result::fact(name, value, style)).collect(),
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

/// Lines of which the first is still there, with the command above it, when the prompt is back on a screen of 24.
const SCREEN: usize = 22;

/// Backticks mark code where letters can look otherwise.
fn without_marks(text: &str) -> String {
    text.replace('`', "")
}
