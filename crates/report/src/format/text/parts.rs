//! Documents as text, part after part.

use super::super::Style;
use super::super::table::whole;
use super::blocks::{block_text, blocks, gap};
use super::lines::{foot, heading, lines, small};
use super::{bars, entries, findings, remarks, screen};
use crate::document::{Block, Conclusion, Document, Part};
use insight::answer::first_sentence;
use model::finding::Severity;

/// One document after the other.
pub(in crate::format) fn documents(documents: &[&dyn Document], style: &Style) -> String {
    let text = |document: &&dyn Document| {
        let text = parts(&document.parts(style.detail), style);
        let end = if text.lines().count() > SCREEN { closing(*document, style) } else { String::new() };
        text + &end
    };
    documents.iter().map(text).collect()
}

/// The verdicts once more, to stand above the prompt: the answer, else the worst finding, else a sentence.
fn closing(document: &dyn Document, style: &Style) -> String {
    let blocks = document.blocks();
    let conclusions = blocks.iter().filter_map(Block::conclusion);
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

/// Parts below one another, from the first line on.
pub(in crate::format) fn parts(parts: &[Part], style: &Style) -> String {
    below(parts, style).trim_start_matches('\n').to_owned()
}

fn below(parts: &[Part], style: &Style) -> String {
    let mut text = String::new();
    let mut before = None;
    for part in parts {
        let shown = part_text(part, style);
        if shown.is_empty() {
            continue;
        }
        let block = if let Part::Block(block) = part { Some(block) } else { None };
        text.push_str(block.and_then(|block| gap(before, block)).unwrap_or_default());
        text.push_str(&shown);
        before = block;
    }
    text
}

fn part_text(part: &Part, style: &Style) -> String {
    let prose = &style.prose();
    match part {
        Part::Block(block) => block_text(block, style),
        Part::Brief(_) if style.detail => String::new(),
        Part::Full(_) if !style.detail => String::new(),
        Part::Brief(parts) | Part::Full(parts) => below(parts, style),
        Part::Fitting(choices) => {
            let fits = |blocks: &&Vec<Block>| blocks.iter().all(|block| fits(block, style));
            let chosen = choices.iter().find(fits).or(choices.last());
            chosen.map(|chosen| blocks(chosen, style)).unwrap_or_default()
        }
        Part::Screen(answer) => {
            let section = |section: &Vec<Part>| self::parts(section, prose);
            screen::text(answer, &answer.sections.iter().map(section).collect::<Vec<_>>(), prose)
        }
        Part::Remarks(found) if found.is_empty() => String::new(),
        Part::Remarks(found) => {
            let lines = found.iter().map(|remark| remarks::hanging(remark, prose));
            format!("\n{}", lines.collect::<String>())
        }
        Part::Named(all) => entries::text(all, style),
        Part::Lines(all) => lines(all, style),
        Part::Small(sentences) => sentences.iter().map(|sentence| small(sentence, prose)).collect(),
        Part::Marked(mark, lines) => {
            let has_room = |whole: &String| style.detail || mark.len() + whole.chars().count() <= prose.width;
            let line = |[whole, short]: &[String; 2]| if has_room(whole) { whole } else { short }.clone();
            prose.list(&lines.iter().map(line).collect::<Vec<_>>(), mark)
        }
        Part::Bars(_, rows) if rows.is_empty() => String::new(),
        Part::Bars(title, rows) => heading(title, prose) + &bars::bars(rows, prose),
        Part::Histogram(rows) => bars::histogram(rows, prose),
        Part::OverTime(title, rows) => bars::over_time(title, rows, prose),
        Part::Foot(whence, more) => format!("\n{}", foot(whence, more, prose)),
    }
}

/// Whether a table keeps all of its columns on the screen.
fn fits(block: &Block, style: &Style) -> bool {
    let text = match block {
        Block::Table(table) => whole(&table.columns, &table.rows),
        Block::Figures(table) => table.text(&Style { colour: false, width: usize::MAX, ..*style }),
        _ => return true,
    };
    text.lines().all(|line| line.chars().count() <= style.width)
}

/// Lines of which the first is still there, with the command above it, when the prompt is back on a screen of 24.
const SCREEN: usize = 22;
