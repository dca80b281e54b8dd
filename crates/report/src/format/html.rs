//! HTML: one page that holds all it needs, to be sent, kept or printed.
//!
//! It is XML, too, so that a test can hold it well-formed. Names of hosts, contents of files and words of other tools go
//! through [`escaped`], and a policy in the head keeps the page from loading or running anything even so.

use super::Style;
use super::text::findings::evidence;
use super::text::phrases;
use crate::document::{Block, Chart, Conclusion, Document, Expectation, Item, Judgement, Table};
use crate::xml::escaped;
use model::finding::{Finding, Status};

/// A page with an article for each document.
pub(super) fn documents(documents: &[&dyn Document], _style: &Style) -> String {
    let titles: Vec<String> =
        documents.iter().map(|document| document.head().title.replace('`', "")).collect();
    let title = titles.first().map(String::as_str).unwrap_or_default();
    let more = match titles.len() {
        0 | 1 => String::new(),
        several => format!(" and {} more", several - 1),
    };
    let articles: String = documents.iter().map(|document| article(*document)).collect();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta charset=\"utf-8\"/>\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\"/>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>{}{more}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n{articles}</body>\n</html>\n",
        escaped(title)
    )
}

/// The verdict first, then what was expected, then everything else.
fn article(document: &dyn Document) -> String {
    let blocks = document.blocks();
    let mut text = format!("<article>\n<h1>{}</h1>\n", code(&document.head().title));
    text.extend(blocks.iter().filter_map(Block::conclusion).map(verdict));
    text.push_str(&expectations(&document.expectations()));
    let rest = blocks.iter().filter(|block| !block.is_empty() && !matches!(block, Block::Conclusion(_)));
    text.extend(rest.map(shown));
    text + "</article>\n"
}

fn verdict(conclusion: &Conclusion) -> String {
    if conclusion.text.is_empty() {
        return String::new();
    }
    let word = conclusion.status.word();
    let class = match conclusion.status {
        Status::Ok => "good",
        Status::Degraded => "warning",
        Status::Broken | Status::Problem | Status::Void => "problem",
    };
    let subject = match conclusion.of.as_str() {
        "" => String::new(),
        subject => format!("<strong>{}</strong>: ", code(subject)),
    };
    format!(
        "<p class=\"verdict {class}\"><strong class=\"mark\">{word}</strong> {subject}{}</p>\n",
        code(&conclusion.text)
    )
}

fn expectations(expected: &[Expectation]) -> String {
    if expected.is_empty() {
        return String::new();
    }
    let mut columns = COLUMNS.to_vec();
    columns.retain(|(_, cell)| expected.iter().any(|one| !cell(one).is_empty()));
    let row = |one: &Expectation| {
        let class = match one.judgement {
            Judgement::Held => "good",
            Judgement::Broken => "problem",
            Judgement::Open => "info",
        };
        let word = one.judgement.word();
        let cells: String = columns.iter().map(|(_, cell)| format!("<td>{}</td>", code(cell(one)))).collect();
        format!("<tr>{cells}<td><strong class=\"mark {class}\">{word}</strong></td></tr>\n")
    };
    let names = columns.iter().map(|(name, _)| *name).chain(["Result"]);
    let names: String = names.map(|name| format!("<th scope=\"col\">{name}</th>")).collect();
    let rows: String = expected.iter().map(row).collect();
    format!(
        "<h2>Expectations</h2>\n<div class=\"wide\"><table>\n<thead><tr>{names}</tr></thead>\n<tbody>\n{rows}</tbody>\n\
         </table></div>\n"
    )
}

type ColumnText = fn(&Expectation) -> &str;

/// Columns of the expectations; one without a value is left out.
const COLUMNS: [(&str, ColumnText); 4] = [
    ("Of", |one| &one.of),
    ("What", |one| &one.what),
    ("Expected", |one| &one.expected),
    ("Found", |one| &one.found),
];

fn shown(block: &Block) -> String {
    match block {
        Block::Heading(heading) => format!("<h2>{}</h2>\n", code(heading)),
        Block::Paragraph(sentence) => format!("<p>{}</p>\n", code(sentence)),
        Block::Facts(facts) => {
            let row = |(name, value): &(String, String)| {
                format!("<dt>{}</dt><dd>{}</dd>\n", code(name), code(value))
            };
            format!("<dl>\n{}</dl>\n", facts.iter().map(row).collect::<String>())
        }
        Block::Sentences(sentences) => list(sentences.iter()),
        Block::List(items) => format!("<ul>\n{}</ul>\n", items.iter().map(item).collect::<String>()),
        Block::Table(table) => titled(table),
        Block::Figures(table) => titled(&table.plain()),
        Block::Chart(chart) => figure(chart),
        Block::Findings(found) => {
            let sentence = |one: &Finding| format!("{} <code>{}</code>", code(&one.title), escaped(&one.id));
            let rows: String = found.iter().map(|one| finding(one, &sentence(one))).collect();
            format!("<h2>Findings</h2>\n<ul class=\"findings\">\n{rows}</ul>\n")
        }
        Block::Conclusion(conclusion) => verdict(conclusion),
        Block::Preformatted(text) => format!("<pre>{}</pre>\n", escaped(text)),
        Block::Details(title, blocks) => {
            let inner = blocks.iter().filter(|block| !block.is_empty()).map(shown);
            format!(
                "<section class=\"details\">\n<h2>{}</h2>\n{}</section>\n",
                code(title),
                inner.collect::<String>()
            )
        }
    }
}

fn list<'a>(lines: impl Iterator<Item = &'a String>) -> String {
    let lines = lines.map(|line| format!("<li>{}</li>\n", code(line)));
    format!("<ul>\n{}</ul>\n", lines.collect::<String>())
}

/// A line, or the finding that it has in short, its name included.
fn item(item: &Item) -> String {
    match &item.finding {
        Some(found) => finding(found, &code(&item.line)),
        None => format!("<li>{}</li>\n", code(&item.line)),
    }
}

/// `sentence` is escaped.
fn finding(found: &Finding, sentence: &str) -> String {
    let severity = phrases::severity(found.severity);
    let part = |class: &str, text: &str| match text {
        "" => String::new(),
        text => format!("\n<p class=\"{class}\">{}</p>", code(text)),
    };
    format!(
        "<li class=\"finding {severity}\"><strong class=\"mark\">{severity}</strong> {sentence}{}{}</li>\n",
        part("advice", &found.advice),
        part("evidence", &evidence(&found.evidence))
    )
}

fn titled(table: &Table) -> String {
    let class = |right: bool| if right { " class=\"number\"" } else { "" };
    let head = table.columns.iter();
    let head = head.map(|one| format!("<th scope=\"col\"{}>{}</th>", class(one.right), code(&one.heading)));
    let row = |row: &Vec<String>| {
        let cells = row.iter().zip(&table.columns);
        let cells = cells.map(|(cell, one)| format!("<td{}>{}</td>", class(one.right), code(cell)));
        format!("<tr>{}</tr>\n", cells.collect::<String>())
    };
    let title = match table.title.as_str() {
        "" => String::new(),
        title => format!("<caption>{}</caption>\n", code(title)),
    };
    let rows: String = table.rows.iter().map(row).collect();
    let notes = match table.notes.is_empty() {
        true => String::new(),
        false => list(table.notes.iter()),
    };
    format!(
        "<div class=\"wide\"><table>\n{title}<thead><tr>{}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table></div>\n{notes}",
        head.collect::<String>()
    )
}

/// The drawing stands in the page itself, so that its colours follow those of the page.
fn figure(chart: &Chart) -> String {
    let named = format!("<svg role=\"img\" aria-label=\"{}\" ", escaped(chart.title()));
    format!("<figure>{}</figure>\n", chart.drawing().svg().trim_end().replacen("<svg ", &named, 1))
}

/// Escaped text, in which what stands between backticks is code. A backtick without another is one.
fn code(text: &str) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    if parts.len().is_multiple_of(2) {
        return escaped(text);
    }
    let part = |(index, part): (usize, &&str)| match index % 2 {
        0 => escaped(part),
        _ => format!("<code>{}</code>", escaped(part)),
    };
    parts.iter().enumerate().map(part).collect()
}

/// Nothing is loaded and nothing runs; the page has its own style.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";
const STYLE: &str = include_str!("html/style.css");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_stands_between_backticks() {
        assert_eq!(code("to `a<b`: 1"), "to <code>a&lt;b</code>: 1");
        assert_eq!(code("a ` <b>"), "a ` &lt;b&gt;");
    }
}
