//! Outputs of other tools, and our own documents, read back as runs: so that old results have the same tables, arithmetic
//! and findings as fresh ones.
//!
//! Text in, runs out. What a file is, is told by its content; one file can hold many outputs, one after another, with
//! anything between them. Where a tool's own summary is wrong, as iPerf3's server totals of 0.00 Bytes, the figures are
//! rebuilt from its intervals and the run carries a warning that says so.

mod block;
mod build;
mod clean;
mod date;
mod iperf2;
mod iperf3;
mod json;
mod latency;
mod looks;
mod mixed;
mod names;
mod netperf;
mod number;
mod own;
mod ping;
mod qperf;
mod row;
mod sockperf;

pub use names::{group, names};

use block::{Block, Mark};
use json::Document;
use model::history::Kept;
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
    let (documents, rest) = json::split(text);
    let mut imported = of_documents(name, &documents, known);
    for block in blocks(&rest) {
        let reader = reader(block.tool);
        imported.extend(reader.into_iter().flat_map(|reader| mixed::read(name, &block, known, reader.read)));
    }
    imported.sort_by_key(|one| one.line);
    if imported.is_empty() {
        return Err(Unreadable { name: name.into(), looks: looks::like(text) });
    }
    Ok(imported)
}

/// The documents of devices and topologies in a text, `pathmeter rfc2544 --json` and `pathmeter lab run --json`, and the line
/// that each begins in. Runs of paths are read by [`read`], and are not among them.
#[must_use]
pub fn reports(text: &str) -> Vec<(usize, Kept)> {
    let (documents, _) = json::split(text);
    documents.into_iter().filter_map(|document| Some((document.line, own::report(document)?))).collect()
}

/// The runs of the JSON in a text.
fn of_documents(name: &str, documents: &[Document], known: Known) -> Vec<Imported> {
    let of = |kind: fn(&Value) -> bool| documents.iter().filter(move |document| kind(&document.value));
    let streamed = iperf3::json::of_lines(&of(iperf3::json::is_line).collect::<Vec<_>>());
    let iperf3 = of(iperf3::json::is_document).chain(&streamed);
    let mut imported: Vec<Imported> =
        iperf3.map(|document| iperf3::json::parse_document(document, known).imported(name)).collect();
    imported.extend(documents.iter().filter_map(own::document));
    imported.extend(own::events(&of(own::is_event).collect::<Vec<_>>()));
    imported
}

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
fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for (index, line) in clean::lines(text).enumerate() {
        let own = blocks
            .last()
            .and_then(|block| Some((reader(block.tool)?.mark)(&line, Some(block))))
            .unwrap_or(Mark::No);
        if own == Mark::Part {
            blocks.last_mut().expect("it claims the line").push(line);
            continue;
        }
        let claim = READERS.iter().find(|reader| (reader.mark)(&line, None) != Mark::No);
        let current = blocks.last_mut();
        match (own, claim, current) {
            (Mark::First, _, Some(block)) => {
                let tool = block.tool;
                blocks.push(Block::new(tool, index + 1, line));
            }
            (_, Some(reader), _) => blocks.push(Block::new(reader.tool, index + 1, line)),
            (_, None, Some(block)) => block.push(line),
            (_, None, None) => {}
        }
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
