//! Markdown tables to paste into a ticket.

mod escaped;

pub(super) use escaped::escaped;

use super::Style;
use super::table::markdown;
use super::text::phrases;
use crate::document::{Block, Document, Expectation, Table};
use model::finding::Finding;

/// One document after the other.
pub(super) fn documents(documents: &[&dyn Document], _style: &Style) -> String {
    documents.iter().map(|document| document_markdown(*document)).collect()
}

fn document_markdown(document: &dyn Document) -> String {
    let head = document.head();
    let mut text = format!("{} {}\n", "#".repeat(head.depth), escaped(&head.title));
    let mut before: Option<Block> = None;
    let blocks = document.blocks().into_iter().filter(|block| !block.is_empty());
    let (verdicts, rest): (Vec<Block>, Vec<Block>) =
        blocks.partition(|block| matches!(block, Block::Conclusion(_)));
    for verdict in &verdicts {
        text.push_str(&format!("\n{}", shown(verdict, head.depth + 1)));
    }
    for block in rest {
        let shown = shown(&block, head.depth + 1);
        if shown.is_empty() {
            continue;
        }
        let goes_on =
            matches!((&before, &block), (Some(Block::Facts(_) | Block::Sentences(_)), Block::List(_)));
        if !goes_on {
            text.push('\n');
        }
        text.push_str(&shown);
        before = Some(block);
    }
    text + &expectations(&document.expectations())
}

fn shown(block: &Block, level: usize) -> String {
    match block {
        Block::Heading(heading) => format!("{} {}\n", "#".repeat(level), escaped(heading)),
        Block::Paragraph(sentence) => format!("{}\n", escaped(sentence)),
        Block::Facts(facts) => {
            facts.iter().map(|(name, value)| format!("- {}: {}\n", escaped(name), escaped(value))).collect()
        }
        Block::Sentences(sentences) => list(sentences.iter().map(String::as_str)),
        Block::List(items) => list(items.iter().map(|item| item.line.as_str())),
        Block::Table(table) => titled(table),
        Block::Figures(table) => titled(&table.plain()),
        Block::Findings(found) => findings(found),
        Block::Conclusion(conclusion) => {
            let subject = if conclusion.of.is_empty() {
                String::new()
            } else {
                format!("{}: ", escaped(&conclusion.of))
            };
            let shown = if conclusion.answer.is_empty() { &conclusion.text } else { &conclusion.answer };
            format!("**{}** {subject}{}\n", conclusion.word().0, escaped(shown))
        }
        Block::Preformatted(text) => {
            // Longer than any that the text could end it with.
            let longest = text.split(|letter| letter != '`').map(str::len).max().unwrap_or_default();
            let fence = "`".repeat(longest.max(2) + 1);
            format!("{fence}\n{text}{fence}\n")
        }
        // A ticket has no room for them; what is drawn is in the tables, too.
        Block::Chart(_) | Block::Details(..) => String::new(),
    }
}

/// The expectations of the whole document.
fn expectations(expected: &[Expectation]) -> String {
    let of_all = expected.iter().filter(|expected| expected.of.is_empty());
    let line = |expected: &Expectation| {
        let found = escaped(&expected.found.to_string());
        format!("- {}: {}, found {found}\n", expected.judgement.word(), code(&expected.what.to_string()))
    };
    let lines: String = of_all.map(line).collect();
    if lines.is_empty() { lines } else { format!("\n{lines}") }
}

fn list<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    lines.map(|line| format!("- {}\n", escaped(line))).collect()
}

/// Text that this program itself has as code.
fn code(text: &str) -> String {
    format!("`{}`", text.replace('`', "'"))
}

fn titled(table: &Table) -> String {
    let title = match (table.title.as_str(), table.apart) {
        ("", _) => String::new(),
        (title, false) => format!("### {}\n\n", escaped(title)),
        (title, true) => format!("## {}\n\n", escaped(title)),
    };
    let notes = match table.notes.is_empty() {
        true => String::new(),
        false => format!("\n{}", list(table.notes.iter().map(String::as_str))),
    };
    title + &markdown(&table.columns, &table.rows) + &notes
}

/// A line for each: what was found, and what to do. The evidence is in JSON.
fn findings(found: &[Finding]) -> String {
    let line = |finding: &Finding| {
        let severity = phrases::severity(finding.severity);
        let advice =
            if finding.advice.is_empty() { String::new() } else { format!(" → {}", finding.advice) };
        format!("- {severity} `{}`: {}.{}\n", finding.id, escaped(&finding.title), escaped(&advice))
    };
    found.iter().map(line).collect()
}
