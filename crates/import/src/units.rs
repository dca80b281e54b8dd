//! A text taken apart into what is read as a whole: outputs of tools, line by line, and documents of JSON.

use super::block::{Block, Line, MOST_FOREIGN, Mark};
use super::command::Command;
use super::embedded::Found;
use super::heads::{Heads, Part};
use super::json::{self, Document, Split};
use super::{Item, Known, READERS, What, iperf3, mixed, own, read_whole, reader};
use serde_json::Value;
use std::borrow::Cow;

/// One output, or one document.
#[derive(Debug)]
pub(super) enum Unit {
    /// The lines of an output.
    Block(Block),
    /// A document of iPerf3, and how often it stands here.
    Iperf3(Document, usize),
    /// A document of ours.
    Own(Document),
    /// Events of ours in a row.
    Events(Vec<Document>),
    /// A text that JSON holds in a string, the line of that, and how deep it is.
    Text { line: usize, text: String, depth: usize },
}

/// The parts of a text.
#[derive(Debug, Default)]
pub(super) struct Taken {
    pub(super) units: Vec<Unit>,
    /// The first line, counted from 1 in this text, of what the text ends in and more of it may follow.
    pub(super) open: Option<usize>,
}

impl Unit {
    /// The line that it begins in.
    pub(super) fn line(&self) -> usize {
        match self {
            Unit::Block(block) => block.line,
            Unit::Iperf3(document, _) | Unit::Own(document) => document.line,
            Unit::Events(documents) => documents.first().map_or(1, |document| document.line),
            Unit::Text { line, .. } => *line,
        }
    }

    /// Whether it is of the test of another document of iPerf3, by the cookie of the test.
    fn is_same_test(&self, other: &Document) -> bool {
        let Unit::Iperf3(document, _) = self else { return false };
        let cookie = |document: &Document| document.value["start"]["cookie"].as_str().map(str::to_owned);
        cookie(document).is_some_and(|own| cookie(other) == Some(own))
    }

    /// The first line that it needs.
    fn begin(&self) -> usize {
        match self {
            Unit::Block(block) => block.begin,
            other => other.line(),
        }
    }

    /// The same of a text that `lines` stand above.
    fn below(mut self, lines: usize) -> Unit {
        match &mut self {
            Unit::Block(block) => (block.line, block.begin) = (block.line + lines, block.begin + lines),
            Unit::Iperf3(document, _) | Unit::Own(document) => document.line += lines,
            Unit::Events(documents) => documents.iter_mut().for_each(|document| document.line += lines),
            Unit::Text { line, .. } => *line += lines,
        }
        self
    }

    /// Everything that it holds.
    pub(super) fn read(&self, name: &str, known: Known) -> Vec<Item> {
        match self {
            Unit::Block(block) => {
                let reader = reader(block.tool);
                let runs = reader.into_iter().flat_map(|reader| mixed::read(name, block, known, reader.read));
                runs.map(|one| Item::of_run(one.stamped(block))).collect()
            }
            Unit::Iperf3(document, count) => {
                let mut parsed = iperf3::json::parse_document(document, known);
                if *count > 1 {
                    let text = format!("The same result stands here {count} times: it counts once.");
                    parsed.warn("same-output", text);
                }
                vec![Item::of_run(parsed.imported(name))]
            }
            Unit::Own(document) => own::item(document).into_iter().collect(),
            Unit::Events(documents) => own::events(documents).into_iter().map(Item::of_run).collect(),
            Unit::Text { line, text, depth } => {
                let inner = read_whole(name, text, known, *depth);
                let at = |item: Item| match item.what {
                    What::Run(run) => Item::of_run(run.at(name, *line)),
                    _ => Item { line: *line, ..item },
                };
                inner.into_iter().map(at).collect()
            }
        }
    }
}

/// Takes a text apart that `lines` stand above. `is_whole`: nothing follows it.
pub(super) fn take_apart(text: &str, lines: usize, is_whole: bool, heads: &mut Heads, depth: usize) -> Taken {
    let mut all = Taken::default();
    for part in heads.parts(text) {
        let mut taken = of_part(&part, is_whole, depth);
        if let Some(open) = taken.open {
            taken.units.retain(|unit| unit.begin() < open);
            all.open = Some(all.open.map_or(open, |other| other.min(open)));
        }
        all.units.extend(taken.units);
    }
    // Where one source is not finished, those of others that begin behind it wait with it.
    if let Some(open) = all.open {
        all.units.retain(|unit| unit.begin() < open);
    }
    all.units = all.units.into_iter().map(|unit| unit.below(lines)).collect();
    all.units.sort_by_key(Unit::line);
    all
}

fn of_part(part: &Part<'_>, is_whole: bool, depth: usize) -> Taken {
    let Split { documents, rest, open } = json::split(&part.text, is_whole);
    let mut taken = Taken { units: Vec::new(), open };
    let is_line = |value: &Value| iperf3::json::is_line(value) || own::is_event(value);
    let found = Found::from_documents(documents, is_document, is_line);
    if !is_whole {
        taken.keep_open(found.logged);
        taken.keep_open(last_begin(&found.documents));
    }
    taken.documents(found.documents);
    let texts = found.texts.into_iter().filter(|_| depth < DEEPEST);
    taken.units.extend(texts.map(|(line, text)| Unit::Text { line, text, depth: depth + 1 }));
    let (blocks, command) = blocks(part.lines(&rest));
    if !is_whole {
        let last = blocks.last().filter(|block| !block.is_over()).map(|block| block.begin);
        taken.keep_open(last.or(command));
    }
    taken.units.extend(blocks.into_iter().map(Unit::Block));
    taken
}

impl Taken {
    fn keep_open(&mut self, line: Option<usize>) {
        self.open = self.open.into_iter().chain(line).min();
    }

    fn documents(&mut self, documents: Vec<(Document, usize)>) {
        let (mut streamed, mut events) = (Vec::new(), Vec::new());
        for (document, count) in documents {
            match &document.value {
                value if iperf3::json::is_document(value) => self.units.push(Unit::Iperf3(document, count)),
                value if iperf3::json::is_line(value) => streamed.push(document),
                value if own::is_event(value) => events.push(document),
                _ => self.units.push(Unit::Own(document)),
            }
        }
        let streamed = iperf3::json::of_lines(&streamed).into_iter();
        // `--json-stream-full-output` prints the document of the lines behind them.
        let is_alone = |document: &Document| !self.units.iter().any(|unit| unit.is_same_test(document));
        let streamed: Vec<Document> = streamed.filter(is_alone).collect();
        self.units.extend(streamed.into_iter().map(|document| Unit::Iperf3(document, 1)));
        self.units.extend(own::runs_of_events(events).into_iter().map(Unit::Events));
    }
}

/// A document that is read: iPerf3's, or one of our own.
fn is_document(value: &Value) -> bool {
    iperf3::json::is_document(value) || own::is_document(value)
}

/// The line of the last document that others follow which belong to it.
fn last_begin(documents: &[(Document, usize)]) -> Option<usize> {
    let begins = |value: &Value| iperf3::json::begins_lines(value) || own::begins_events(value);
    let is_line = |value: &Value| iperf3::json::is_line(value) || own::is_event(value);
    let of = |is: &dyn Fn(&Value) -> bool| {
        documents.iter().rev().find(|(document, _)| is(&document.value)).map(|(document, _)| document.line)
    };
    let last = of(&is_line)?;
    let ended = of(&|value| own::ends_events(value)).is_some_and(|end| end == last);
    (!ended).then(|| of(&begins).unwrap_or(1))
}

/// Cuts a text where an output begins. A line that no tool claims belongs to the output before it. With the line of a command whose
/// output is still to come.
fn blocks<'a>(lines: impl Iterator<Item = Line<'a>>) -> (Vec<Block>, Option<usize>) {
    let mut blocks: Vec<Block> = Vec::new();
    let mut command: Option<(usize, Command)> = None;
    for (line, number) in lines.map(from_heading).zip(1..) {
        let own = blocks
            .last()
            .filter(|block| !block.is_over())
            .and_then(|block| Some((reader(block.tool)?.mark)(&line.text, Some(block))))
            .unwrap_or(Mark::No);
        if own == Mark::Part {
            blocks.last_mut().expect("it claims the line").push(&line);
            continue;
        }
        // No output begins with an empty line, and a document of JSON has left one for each of its own.
        let claim = (!line.text.is_empty())
            .then(|| READERS.iter().find(|reader| (reader.mark)(&line.text, None) != Mark::No))
            .flatten();
        let tool = match (own, claim, blocks.last_mut()) {
            (Mark::First, _, Some(block)) => block.tool,
            (_, Some(reader), _) => reader.tool,
            (_, None, last) => {
                let found = Command::from_line(&line.text).map(|command| (number, command));
                command = found.or(command).filter(|(at, _)| number - at <= MOST_FOREIGN);
                last.into_iter().for_each(|block| block.push_foreign(&line));
                continue;
            }
        };
        let mut block = Block::new(tool, number, &line);
        if let Some((at, command)) = command.take().filter(|(_, command)| command.tool == tool) {
            (block.begin, block.command) = (at, Some(command));
        }
        blocks.push(block);
    }
    (blocks, command.map(|(at, _)| at))
}

/// The line from the heading of a client of iPerf3 on, which can stand behind other words where the lines below have no head: a fence, a
/// name in a chat, a mark of a log.
fn from_heading(line: Line<'_>) -> Line<'_> {
    match iperf3::heading_behind(&line.text) {
        Some(at) => Line { text: Cow::Owned(line.text[at..].to_owned()), ..line },
        None => line,
    }
}

/// Texts in JSON in texts in JSON are read so deep.
const DEEPEST: usize = 3;
