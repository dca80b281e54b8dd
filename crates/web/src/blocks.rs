//! Documents as JSON that the page lays out: the same blocks as in every format.

use model::finding::Status;
use report::document::{Block, Chart, Column, Conclusion, Document, Expectation, Item, Table};
use serde_json::{Value, json};

/// A document: its title, its blocks, what was expected.
pub(crate) fn document(document: &dyn Document) -> Value {
    let expected: Vec<Value> = document.expectations().iter().map(expectation).collect();
    json!({
        "title": document.head().title,
        "blocks": block_values(&document.blocks()),
        "expectations": expected,
    })
}

/// Every chart of these blocks, in the order of the page.
pub(crate) fn charts(blocks: &[Block]) -> Vec<&Chart> {
    let mut found = Vec::new();
    for block in blocks {
        match block {
            Block::Chart(chart) => found.push(chart),
            Block::Details(_, inner) => found.extend(charts(inner)),
            _ => {}
        }
    }
    found
}

fn block_values(blocks: &[Block]) -> Vec<Value> {
    blocks.iter().filter(|block| !block.is_empty()).map(value).collect()
}

fn value(block: &Block) -> Value {
    match block {
        Block::Heading(text) => json!({ "type": "heading", "text": text }),
        Block::Paragraph(text) => json!({ "type": "paragraph", "text": text }),
        Block::Preformatted(text) => json!({ "type": "preformatted", "text": text }),
        Block::Facts(facts) => json!({ "type": "facts", "facts": facts }),
        Block::Sentences(lines) => {
            json!({ "type": "list", "items": lines.iter().map(|line| json!({ "line": line })).collect::<Vec<_>>() })
        }
        Block::List(items) => json!({ "type": "list", "items": items.iter().map(item).collect::<Vec<_>>() }),
        Block::Table(one) => table(one),
        Block::Figures(one) => table(&one.plain()),
        Block::Chart(chart) => {
            json!({ "type": "chart", "title": chart.title(), "svg": chart.drawing().svg(), "is_single": is_single(chart) })
        }
        Block::Findings(findings) => json!({ "type": "findings", "findings": findings }),
        Block::Conclusion(one) => conclusion(one),
        Block::Details(title, inner) => {
            json!({ "type": "details", "title": title, "blocks": block_values(inner) })
        }
    }
}

/// One bar shows nothing that its number does not, nor do bars without length.
fn is_single(chart: &Chart) -> bool {
    let Chart::Bars(chart) = chart else { return false };
    let rows = chart.panels.iter().flat_map(|panel| &panel.rows);
    let bars = || rows.clone().flat_map(|row| row.bars.iter().flatten());
    bars().count() == 1 || bars().all(|bar| bar.value == 0.0)
}

fn item(item: &Item) -> Value {
    json!({ "line": item.line, "finding": item.finding })
}

fn table(table: &Table) -> Value {
    let column = |column: &Column| json!({ "heading": column.heading, "right": column.right });
    json!({
        "type": "table",
        "title": table.title,
        "columns": table.columns.iter().map(column).collect::<Vec<_>>(),
        "rows": table.rows,
        "notes": table.notes,
    })
}

fn conclusion(conclusion: &Conclusion) -> Value {
    let Conclusion { of, status, answer, text, .. } = conclusion;
    json!({ "type": "conclusion", "of": of, "status": word(*status), "answer": answer, "text": text })
}

/// The word of a verdict, in small letters.
pub(crate) fn word(status: Status) -> String {
    status.word().to_lowercase()
}

fn expectation(expected: &Expectation) -> Value {
    json!({
        "of": expected.of,
        "what": expected.what,
        "expected": expected.expected,
        "found": expected.found,
        "judgement": expected.judgement.word(),
    })
}
