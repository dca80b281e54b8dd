//! Outputs of other tools, and our own documents, read back as runs: so that old results have the same tables, arithmetic
//! and findings as fresh ones.
//!
//! Text in, runs out. What a file is, is told by its content; one file can hold many outputs, one after another, with
//! anything between them. Where a tool's own summary is wrong, as iPerf3's server totals of 0.00 Bytes, the figures are
//! rebuilt from its intervals and the run carries a warning that says so.

mod block;
mod build;
mod clean;
mod command;
mod date;
mod embedded;
mod gaps;
mod heads;
mod iperf2;
mod iperf3;
mod json;
mod latency;
mod line_rate;
mod looks;
mod mixed;
mod names;
mod netperf;
mod number;
mod own;
mod page;
mod ping;
mod possible;
mod qperf;
mod row;
mod sockperf;
mod source;
mod standstill;

pub use names::{group, names};
pub use source::texts;

use block::{Block, Line, Mark};
use command::Command;
use embedded::Found;
use json::Document;
use model::history::{Kept, StoredAs};
use model::run::Run;
use model::units::BitRate;
use serde_json::Value;
use std::fmt;
use thiserror::Error;

/// A run read from a tool's output.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The tool whose output it was.
    pub tool: Tool,
    /// Its version, where the output tells.
    pub version: Option<String>,
    /// First line of the output in the text, from 1.
    pub line: usize,
    /// What it measured. The warnings of its summary say what was rebuilt, assumed or missing.
    pub run: Run,
}

/// A tool whose output can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tool {
    /// iPerf 3.
    Iperf3,
    /// iPerf 2.
    Iperf2,
    /// SockPerf.
    Sockperf,
    /// ping.
    Ping,
    /// netperf.
    Netperf,
    /// qperf.
    Qperf,
    /// pathmeter itself.
    Pathmeter,
}

/// What the outputs do not tell and the reader knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Speed of the link.
    pub link: Option<BitRate>,
    /// Payload of TCP's segments on the wire, bytes, for outputs that do not print it.
    pub mss: Option<u32>,
}

/// Why nothing was read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name} holds no output that can be read: it looks like {looks}")]
pub struct Unreadable {
    /// The name of the text.
    pub name: String,
    /// What it looks like, in a few words.
    pub looks: String,
}

/// Reads every output in a text. `name` is what the runs are called after: `NAME:LINE`.
///
/// # Errors
/// When there is none.
pub fn read(name: &str, text: &str, known: Known) -> Result<Vec<Imported>, Unreadable> {
    let mut imported = read_text(name, &page::text_of(text), known, 0);
    imported.sort_by_key(|one| one.line);
    if imported.is_empty() {
        return Err(Unreadable { name: name.into(), looks: looks::like(text) });
    }
    number(&mut imported);
    Ok(imported)
}

/// The runs of a text, and of the texts in its JSON.
fn read_text(name: &str, text: &str, known: Known, depth: usize) -> Vec<Imported> {
    let mut imported = Vec::new();
    for part in heads::parts(text) {
        let (documents, rest) = json::split(&part.text);
        let is_line = |value: &Value| iperf3::json::is_line(value) || own::is_event(value);
        let found = Found::from_documents(documents, is_document, is_line);
        imported.extend(of_documents(name, &found.documents, known));
        for (line, text) in found.texts.iter().filter(|_| depth < DEEPEST) {
            let inner = read_text(name, text, known, depth + 1);
            imported.extend(inner.into_iter().map(|one| one.at(name, *line)));
        }
        for block in blocks(part.lines(&rest)) {
            let reader = reader(block.tool);
            let runs = reader.into_iter().flat_map(|reader| mixed::read(name, &block, known, reader.read));
            imported.extend(runs.map(|one| one.stamped(&block)));
        }
    }
    imported
}

/// Outputs that begin in one line have a number behind it.
fn number(imported: &mut [Imported]) {
    let mut last = (0, 0);
    for one in imported {
        last = if one.line == last.0 { (one.line, last.1 + 1) } else { (one.line, 1) };
        if last.1 > 1 && one.tool != Tool::Pathmeter {
            one.run.id = format!("{}.{}", one.run.id, last.1);
        }
    }
}

/// A document that is read: iPerf3's, or one of our own.
fn is_document(value: &Value) -> bool {
    iperf3::json::is_document(value) || own::is_document(value)
}

/// The documents of devices and topologies in a text, `pathmeter rfc2544 --json` and `pathmeter lab run --json`, and the line
/// that each begins in. Runs of paths are read by [`read`], and are not among them.
#[must_use]
pub fn reports(text: &str) -> Vec<(usize, Kept)> {
    let (documents, _) = json::split(text);
    documents.into_iter().filter_map(|document| Some((document.line, own::report(document)?))).collect()
}

/// How stores had the documents of a text that `pathmeter export` wrote, and the line that each begins in.
#[must_use]
pub fn stored(text: &str) -> Vec<(usize, StoredAs)> {
    let (documents, _) = json::split(text);
    let stored = |document: &Document| serde_json::from_value(document.value.get("stored")?.clone()).ok();
    documents.iter().filter_map(|document| Some((document.line, stored(document)?))).collect()
}

/// The runs of the JSON in a text.
fn of_documents(name: &str, documents: &[(Document, usize)], known: Known) -> Vec<Imported> {
    let of = |kind: fn(&Value) -> bool| {
        documents.iter().map(|(document, _)| document).filter(move |document| kind(&document.value))
    };
    let streamed = iperf3::json::of_lines(&of(iperf3::json::is_line).collect::<Vec<_>>());
    let mut imported = Vec::new();
    for (document, count) in
        documents.iter().filter(|(document, _)| iperf3::json::is_document(&document.value))
    {
        let mut parsed = iperf3::json::parse_document(document, known);
        if *count > 1 {
            parsed.warn("same-output", format!("The same result stands here {count} times: it counts once."));
        }
        imported.push(parsed.imported(name));
    }
    imported
        .extend(streamed.iter().map(|document| iperf3::json::parse_document(document, known).imported(name)));
    imported.extend(of(own::is_document).filter_map(own::document));
    imported.extend(own::events(&of(own::is_event).collect::<Vec<_>>()));
    imported
}

impl Imported {
    /// The same, with the times of the heads of its lines where it has none of its own.
    fn stamped(mut self, block: &Block) -> Imported {
        let mut stamps = block.stamps.iter().flatten().filter(|stamp| stamp.0 > YEAR_2000);
        if let (None, Some(first)) = (self.run.started, stamps.next()) {
            self.run.started = Some(*first);
            self.run.finished = Some(stamps.next_back().copied().unwrap_or(*first));
        }
        self
    }

    /// The same, of an output inside another document.
    fn at(mut self, name: &str, line: usize) -> Imported {
        if self.tool != Tool::Pathmeter {
            self.run.id = format!("{name}:{line}");
        }
        self.line = line;
        self
    }
}

/// Whether an output can begin or go on with a line, whatever stands before it.
fn is_claimed(line: &str) -> bool {
    READERS.iter().any(|reader| (reader.mark)(line, None) != Mark::No)
        || line.starts_with("[ ID]")
        || iperf3::is_part(line)
        || iperf2::is_part(line)
        || ping::is_part(line)
}

/// Earlier times are those of a day without a date.
const YEAR_2000: u64 = 946_684_800_000_000_000;
/// Texts in JSON in texts in JSON are read so deep.
const DEEPEST: usize = 3;

/// The way to read one tool's text.
struct Reader {
    tool: Tool,
    /// What a line is to this tool, behind the lines of a block of its own.
    mark: fn(&str, Option<&Block>) -> Mark,
    /// Makes a run of a block; `None` when no figure is in it.
    read: fn(&str, &Block, Known) -> Option<Imported>,
}

/// Every tool with a text; of equal claims to a line the earlier wins.
static READERS: &[Reader] = &[
    Reader { tool: Tool::Iperf3, mark: iperf3::mark, read: iperf3::read },
    Reader { tool: Tool::Iperf2, mark: iperf2::mark, read: iperf2::read },
    Reader { tool: Tool::Sockperf, mark: sockperf::mark, read: sockperf::read },
    Reader { tool: Tool::Ping, mark: ping::mark, read: ping::read },
    Reader { tool: Tool::Netperf, mark: netperf::mark, read: netperf::read },
    Reader { tool: Tool::Qperf, mark: qperf::mark, read: qperf::read },
];

/// `None` of a tool that has no text.
fn reader(tool: Tool) -> Option<&'static Reader> {
    READERS.iter().find(|reader| reader.tool == tool)
}

/// Cuts a text where an output begins. A line that no tool claims belongs to the output before it.
fn blocks(lines: impl Iterator<Item = Line>) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut command: Option<Command> = None;
    for (index, line) in lines.enumerate() {
        let own = blocks
            .last()
            .and_then(|block| Some((reader(block.tool)?.mark)(&line.text, Some(block))))
            .unwrap_or(Mark::No);
        if own == Mark::Part {
            blocks.last_mut().expect("it claims the line").push(line);
            continue;
        }
        let claim = READERS.iter().find(|reader| (reader.mark)(&line.text, None) != Mark::No);
        let tool = match (own, claim, blocks.last_mut()) {
            (Mark::First, _, Some(block)) => block.tool,
            (_, Some(reader), _) => reader.tool,
            (_, None, last) => {
                command = Command::from_line(&line.text).or(command);
                last.into_iter().for_each(|block| block.push(line.clone()));
                continue;
            }
        };
        let mut block = Block::new(tool, index + 1, line);
        block.command = command.take().filter(|command| command.tool == tool);
        blocks.push(block);
    }
    blocks
}

impl fmt::Display for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Tool::Iperf3 => "iPerf3",
            Tool::Iperf2 => "iPerf2",
            Tool::Sockperf => "SockPerf",
            Tool::Ping => "ping",
            Tool::Netperf => "netperf",
            Tool::Qperf => "qperf",
            Tool::Pathmeter => "pathmeter",
        })
    }
}
