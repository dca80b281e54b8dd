//! A text taken apart into what is read as a whole: outputs of tools, line by line, and documents of JSON.

use super::block::{Block, Line, Lines, MOST_FOREIGN, Mark};
use super::clean::count_ends;
use super::command::Command;
use super::embedded::Found;
use super::heads::{Heads, Part};
use super::json::{self, Document, Split};
use super::results::Results;
use super::row::IperfRow;
use super::{Item, Known, READERS, Tool, What, iperf3, mixed, own, ping, read_whole, reader, wrapped};
use model::units::Nanos;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// One output, or one document.
#[derive(Debug)]
pub(super) enum Unit {
    /// The lines of an output, and the facts of those before them.
    Block(Block, Before),
    /// A document of iPerf3, and how often it stands here.
    Iperf3(Document<Box<Results>>, usize),
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
    /// The first line, counted from 1 in this text, of what the text ends in and more of it may follow; 0: it began above the text.
    pub(super) open: Option<usize>,
    /// Outputs that the text ends in, each of another source, whose lines need not stay.
    pub(super) running: Vec<Running>,
    /// Up to which line of the whole text each of several sources has been read.
    pub(super) done: Vec<(String, usize)>,
}

/// The facts of an output of ping whose lines are not kept.
type Before = Option<Arc<ping::Output>>;

/// An output of ping that more lines may follow than are held at once.
#[derive(Clone, Debug)]
pub(super) struct Running {
    /// The source whose lines it has.
    source: String,
    block: Block,
    before: Before,
}

impl Running {
    /// Keeps the facts of the lines, and no line.
    pub(super) fn digest(&mut self) {
        let Block { lines, stamps, begin, .. } = &mut self.block;
        Arc::make_mut(self.before.get_or_insert_default()).take_lines(lines, stamps);
        (*lines, *stamps, *begin) = (Lines::default(), Vec::new(), 0);
    }
}

impl Unit {
    /// The line that it begins in.
    pub(super) fn line(&self) -> usize {
        match self {
            Unit::Block(block, _) => block.line,
            Unit::Iperf3(document, _) => document.line,
            Unit::Own(document) => document.line,
            Unit::Events(documents) => documents.first().map_or(1, |document| document.line),
            Unit::Text { line, .. } => *line,
        }
    }

    /// Whether it is of the test of another document of iPerf3, by the cookie of the test.
    fn is_same_test(&self, other: &Document<Box<Results>>) -> bool {
        let Unit::Iperf3(document, _) = self else { return false };
        document.value.cookie().is_some_and(|own| other.value.cookie() == Some(own))
    }

    /// The first line that it needs.
    fn begin(&self) -> usize {
        match self {
            Unit::Block(block, _) => block.begin,
            other => other.line(),
        }
    }

    /// The same of a text that `lines` stand above.
    fn below(mut self, lines: usize) -> Unit {
        match &mut self {
            Unit::Block(block, _) if block.begin == 0 => {}
            Unit::Block(block, _) => (block.line, block.begin) = (block.line + lines, block.begin + lines),
            Unit::Iperf3(document, _) => document.line += lines,
            Unit::Own(document) => document.line += lines,
            Unit::Events(documents) => documents.iter_mut().for_each(|document| document.line += lines),
            Unit::Text { line, .. } => *line += lines,
        }
        self
    }

    /// Everything that it holds.
    pub(super) fn read(&self, name: &str, known: Known) -> Vec<Item> {
        match self {
            Unit::Block(block, Some(before)) => {
                let run = ping::read_on(name, block, before);
                run.map(|one| Item::of_run(one.stamped(block))).into_iter().collect()
            }
            Unit::Block(block, None) => {
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

/// A part of a text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Window<'a> {
    pub(super) text: &'a str,
    /// The number of lines above it.
    pub(super) lines: usize,
    /// Nothing follows it.
    pub(super) is_whole: bool,
    /// The outputs that the lines above end in.
    pub(super) running: &'a [Running],
    /// Up to which line each source has been read.
    pub(super) done: &'a [(String, usize)],
}

/// Takes a window apart.
pub(super) fn take_apart(window: Window<'_>, heads: &mut Heads, depth: usize) -> Taken {
    let Window { lines, is_whole, .. } = window;
    let mut above: Vec<Running> = window.running.to_vec();
    let running: Vec<&str> = window.running.iter().map(|running| running.source.as_str()).collect();
    let mut parts = heads.parts(window.text, &running);
    let is_alone = parts.len() == 1;
    let mut all = Taken::default();
    let mut each = Vec::new();
    for part in &mut parts {
        if let Some((_, done)) = window.done.iter().find(|(source, _)| *source == part.source) {
            part.empty_lines(done.saturating_sub(lines));
        }
        let place = above.iter().position(|running| running.source == part.source).or_else(|| {
            // Where heads are seldom, a window may show none.
            let is_only = is_alone && above.len() == 1;
            (is_only && (part.source.is_empty() || above[0].source.is_empty())).then_some(0)
        });
        let running = place.map(|place| above.swap_remove(place));
        each.push(of_part(part, is_whole, depth, running.as_ref()));
    }
    // Where one source is not finished, those of others that begin behind it wait with it.
    all.open = each.iter().filter_map(|taken| taken.open).min();
    let is_due = |unit: &Unit| all.open.is_none_or(|open| unit.begin() < open);
    for (part, taken) in parts.iter().zip(each) {
        let (due, waiting): (Vec<Unit>, Vec<Unit>) = match all.open {
            Some(_) => taken.units.into_iter().partition(is_due),
            None => (taken.units, Vec::new()),
        };
        if !is_alone {
            let next = waiting.iter().map(Unit::begin).chain(taken.open).min();
            let done = next.map_or_else(|| count_ends(window.text), |next| next.saturating_sub(1));
            all.done.push((part.source.clone(), lines + done));
        }
        all.running.extend(taken.running);
        all.units.extend(due.into_iter().map(|unit| unit.below(lines)));
    }
    for running in all.running.iter_mut().filter(|running| running.block.begin > 0) {
        running.block.line += lines;
    }
    // Sources without a line here.
    let silent = above.into_iter();
    if is_whole {
        all.units.extend(silent.map(|Running { block, before, .. }| Unit::Block(block, before)));
    } else {
        all.running.extend(silent);
    }
    all.units.sort_by_key(Unit::line);
    all
}

/// `above`: the output that the lines above the part end in.
fn of_part(part: &Part<'_>, is_whole: bool, depth: usize, above: Option<&Running>) -> Taken {
    let Split { documents, results, rest, open } = json::split(&part.text, is_whole);
    let mut taken = Taken { open, ..Taken::default() };
    let is_line = |value: &Value| iperf3::json::is_line(value) || own::is_event(value);
    let found = Found::from_documents(documents, is_document, is_line);
    if !is_whole {
        taken.keep_open(found.logged);
        taken.keep_open(last_begin(&found.documents));
    }
    taken.documents(results, found.documents);
    let texts = found.texts.into_iter().filter(|_| depth < DEEPEST);
    taken.units.extend(texts.map(|(line, text)| Unit::Text { line, text, depth: depth + 1 }));
    let (mut blocks, command) = blocks(part.lines(&rest), above.map(|running| running.block.clone()));
    let before =
        |block: &Block| above.filter(|_| block.begin == 0).and_then(|running| running.before.clone());
    if !is_whole && let Some(last) = blocks.pop_if(|block| !block.is_over()) {
        let is_first = last.begin < 2;
        if last.tool == Tool::Ping && is_first && command.is_none() && taken.open.is_none() {
            let (source, before) = (part.source.clone(), before(&last));
            taken.running.push(Running { source, block: last, before });
        } else {
            taken.keep_open(Some(last.begin));
        }
    } else if !is_whole {
        taken.keep_open(command);
    }
    let whole = blocks.into_iter().map(|block| {
        let before = before(&block);
        Unit::Block(wrapped::joined(block), before)
    });
    taken.units.extend(whole);
    taken
}

impl Taken {
    fn keep_open(&mut self, line: Option<usize>) {
        self.open = self.open.into_iter().chain(line).min();
    }

    fn documents(&mut self, results: Vec<Document<Box<Results>>>, documents: Vec<(Document, usize)>) {
        let (mut streamed, mut events) = (Vec::new(), Vec::new());
        let mut results: Vec<(Document<Box<Results>>, usize)> =
            results.into_iter().map(|document| (document, 1)).collect();
        for (document, count) in documents {
            match &document.value {
                value if iperf3::json::is_document(value) => {
                    results.push((iperf3::json::of_document(&document), count));
                }
                value if iperf3::json::is_line(value) => streamed.push(document),
                value if own::is_event(value) => events.push(document),
                _ => self.units.push(Unit::Own(document)),
            }
        }
        self.units.extend(counted_once(results));
        let streamed = iperf3::json::of_lines(&streamed).into_iter();
        // `--json-stream-full-output` prints the document of the lines behind them.
        let is_alone =
            |document: &Document<Box<Results>>| !self.units.iter().any(|unit| unit.is_same_test(document));
        let streamed: Vec<Document<Box<Results>>> = streamed.filter(is_alone).collect();
        self.units.extend(streamed.into_iter().map(|document| Unit::Iperf3(document, 1)));
        self.units.extend(own::runs_of_events(events).into_iter().map(Unit::Events));
    }
}

/// Each document once, with how often it stands there.
fn counted_once(mut results: Vec<(Document<Box<Results>>, usize)>) -> impl Iterator<Item = Unit> {
    results.sort_by_key(|(document, _)| document.line);
    let mut once: Vec<(Document<Box<Results>>, usize)> = Vec::new();
    let mut places: HashMap<u64, usize> = HashMap::new();
    for (document, count) in results {
        let place = *places.entry(document.value.fingerprint()).or_insert(once.len());
        match once.get_mut(place).filter(|(known, _)| known.value == document.value) {
            Some((_, known)) => *known += count,
            None => once.push((document, count)),
        }
    }
    once.into_iter().map(|(document, count)| Unit::Iperf3(document, count))
}

/// A document that is read: iPerf3's, or one of our own.
fn is_document(value: &Value) -> bool {
    iperf3::json::is_document(value) || own::is_document(value)
}

/// The line of the last document that others follow which belong to it.
fn last_begin(documents: &[(Document, usize)]) -> Option<usize> {
    let begins = |value: &Value| iperf3::json::begins_lines(value) || own::begins_events(value);
    let is_line = |value: &Value| iperf3::json::is_line(value) || own::is_event(value);
    let last_line = |is: &dyn Fn(&Value) -> bool| {
        documents.iter().rev().find(|(document, _)| is(&document.value)).map(|(document, _)| document.line)
    };
    let last = last_line(&is_line)?;
    let ended = last_line(&|value| own::ends_events(value)).is_some_and(|end| end == last);
    (!ended).then(|| last_line(&begins).unwrap_or(1))
}

/// Cuts a text where an output begins. A line that no tool claims belongs to the output before it. With the line of a command whose
/// output is still to come. `above`: the output that the lines above end in.
fn blocks<'a>(lines: impl Iterator<Item = Line<'a>>, above: Option<Block>) -> (Vec<Block>, Option<usize>) {
    let mut blocks: Vec<Block> = above.into_iter().collect();
    let mut command: Option<(usize, Command)> = None;
    for (line, number) in lines.map(from_heading).zip(1..) {
        let own = blocks
            .last()
            .filter(|block| !block.is_over())
            .and_then(|block| Some((reader(block.tool)?.mark)(&line.text, Some(block))))
            .unwrap_or(Mark::No);
        if own == Mark::Part {
            if let Some(at) = resumed(&blocks, &line.text) {
                let failed = blocks.len() - 1;
                blocks.swap(at, failed);
            }
            blocks.last_mut().expect("it claims the line").push(&line);
            continue;
        }
        if own == Mark::Whole {
            let tool = blocks.last().expect("it claims the line").tool;
            blocks.insert(blocks.len() - 1, Block::new(tool, number, &line));
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

/// The output before the last one, where a row goes on with it behind an attempt that failed.
fn resumed(blocks: &[Block], line: &str) -> Option<usize> {
    let [.., before, last] = blocks else { return None };
    if !last.reading.has_failed_without_rows() || before.tool != last.tool {
        return None;
    }
    let row = IperfRow::from_line(line).filter(|row| row.start > Nanos::ZERO)?;
    let mut rows = before.lines.iter().rev().filter_map(IperfRow::from_line);
    rows.find(|earlier| earlier.id == row.id).filter(|earlier| earlier.end == row.start)?;
    Some(blocks.len() - 2)
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
