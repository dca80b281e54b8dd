//! Markdown tables to paste into a ticket.

use super::Style;
use super::table::markdown;
use super::text::phrases;
use crate::document::{Block, Conclusion, Document, Expectation, Table};
use model::finding::Finding;

/// One document after the other.
pub(super) fn documents(documents: &[&dyn Document], _style: &Style) -> String {
    let text =
        |document: &&dyn Document| document.own_markdown().unwrap_or_else(|| document_markdown(*document));
    documents.iter().map(text).collect()
}

fn document_markdown(document: &dyn Document) -> String {
    let head = document.head();
    let mut text = format!("{} {}\n", "#".repeat(head.depth), escaped(&head.title));
    let mut before: Option<Block> = None;
    let blocks = document.blocks().into_iter().filter(|block| !block.is_empty());
    let (verdicts, rest): (Vec<Block>, Vec<Block>) =
        blocks.partition(|block| matches!(block, Block::Conclusion(_)));
    for verdict in &verdicts {
        text.push_str(&format!("\n{}", shown(verdict)));
    }
    for block in rest {
        let shown = shown(&block);
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

fn shown(block: &Block) -> String {
    match block {
        Block::Heading(heading) => format!("## {}\n", escaped(heading)),
        Block::Paragraph(sentence) => format!("{}\n", escaped(sentence)),
        Block::Facts(facts) => {
            facts.iter().map(|(name, value)| format!("- {}: {}\n", escaped(name), escaped(value))).collect()
        }
        Block::Sentences(sentences) => list(sentences.iter().map(String::as_str)),
        Block::List(items) => list(items.iter().map(|item| item.line.as_str())),
        Block::Table(table) => titled(table),
        Block::Figures(table) => titled(&table.plain()),
        Block::Findings(found) => findings(found),
        Block::Conclusion(Conclusion { wordless: true, text, .. }) => format!("**{}**\n", escaped(text)),
        Block::Conclusion(conclusion) => {
            let of = if conclusion.of.is_empty() {
                String::new()
            } else {
                format!("{}: ", escaped(&conclusion.of))
            };
            let said = if conclusion.answer.is_empty() { &conclusion.text } else { &conclusion.answer };
            format!("**{}** {of}{}\n", conclusion.word().0, escaped(said))
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

/// Text of which Markdown makes nothing but code between single backticks: no emphasis, link, image, HTML or cell of a table. A far
/// end may have chosen it.
pub(super) fn escaped(text: &str) -> String {
    // Runs of backticks are code of another length: of such a text none is code.
    let ticks = if text.contains("``") { 0 } else { text.matches('`').count() / 2 * 2 };
    let mut shown = String::with_capacity(text.len());
    let (mut rest, mut passed) = (text, 0);
    while let Some(letter) = rest.chars().next() {
        let is_code = passed % 2 == 1 && passed <= ticks;
        if let Some(word) = linked(&shown, rest).filter(|_| !is_code) {
            shown.push_str(&format!("`{}`", word.replace('|', "\\|")));
            rest = &rest[word.len()..];
            continue;
        }
        rest = &rest[letter.len_utf8()..];
        let is_special = match letter {
            '`' => {
                passed += 1;
                passed > ticks
            }
            '|' => true,
            _ if is_code => false,
            // Before other characters a backslash is one, and no tag begins.
            '\\' => rest.chars().next().is_none_or(|next| next.is_ascii_punctuation()),
            '<' => rest.starts_with(|next: char| next.is_ascii_alphabetic() || "/!?".contains(next)),
            '>' => shown.is_empty(),
            letter => "*[]".contains(letter),
        };
        if is_special {
            shown.push('\\');
        }
        shown.push(letter);
    }
    shown
}

/// A word at the begin of a text of which GitHub and others make a link or a mention: `http://far.example`, `www.far.example`,
/// `a@far.example`, `@team`, `#12`. As code it is neither. `before` is what stands before it.
fn linked<'a>(before: &str, text: &'a str) -> Option<&'a str> {
    let is_begin = text.starts_with(|first: char| first.is_alphanumeric() || "@#".contains(first));
    if !is_begin || before.ends_with(|last: char| last.is_alphanumeric() || "-_/.@#:".contains(last)) {
        return None;
    }
    let end = text.find(|c: char| c.is_whitespace() || "`<>\"".contains(c)).unwrap_or(text.len());
    let word = text[..end].trim_end_matches(|c: char| ".,:;!?)]*".contains(c));
    let mentions = |mark: char, is_name: fn(char) -> bool| {
        word.match_indices(mark).any(|(at, _)| word[at + 1..].starts_with(is_name))
    };
    let lower = word.to_ascii_lowercase();
    let begins = ["www.", "mailto:", "xmpp:", "gh-"].iter().any(|start| lower.starts_with(start));
    let is_linked = begins
        || lower.contains("://")
        || mentions('@', |c| c.is_alphanumeric())
        || mentions('#', |c| c.is_ascii_digit());
    (is_linked && !word.is_empty()).then_some(word)
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

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn nothing_becomes_a_link_or_a_mention() {
        for (text, shown) in [
            ("see http://evil.example/x?y, now", "see `http://evil.example/x?y`, now"),
            ("HTTPS://EVIL (https://a.b)", "`HTTPS://EVIL` (`https://a.b`)"),
            ("@team and @org/team: ping", "`@team` and `@org/team`: ping"),
            ("mail a@b.example or www.b.example.", "mail `a@b.example` or `www.b.example`."),
            ("fixes #12, owner/name#3, GH-7", "fixes `#12`, `owner/name#3`, `GH-7`"),
            ("`http://known` stays", "`http://known` stays"),
            ("a|http://x|y", "`a\\|http://x\\|y`"),
            ("a ` @team", "a \\` `@team`"),
            ("5 @ 3, # 4, a/b, 10.0.0.1:5201", "5 @ 3, # 4, a/b, 10.0.0.1:5201"),
        ] {
            assert_eq!(escaped(text), shown);
        }
    }

    #[test]
    fn only_code_between_single_backticks_is_markdown() {
        for (text, shown) in [
            ("Throughput to `far.example`: -> 5 < 6", "Throughput to `far.example`: -> 5 < 6"),
            ("`a*b|c` *d* [e](f) ![g](h)", "`a*b\\|c` \\*d\\* \\[e\\](f) !\\[g\\](h)"),
            ("<img src=x> </b> <!-- p50<200us", "\\<img src=x> \\</b> \\<!-- p50<200us"),
            ("> quoted \\ and \\*", "\\> quoted \\ and \\\\\\*"),
            ("a ` alone <b>", "a \\` alone \\<b>"),
            ("`code` and ` <b>", "`code` and \\` \\<b>"),
            ("`` ` <img> ```", "\\`\\` \\` \\<img> \\`\\`\\`"),
        ] {
            assert_eq!(escaped(text), shown);
        }
    }
}
