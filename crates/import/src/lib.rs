//! Outputs of other tools, and our own documents, read back as runs: so that old results have the same tables, arithmetic
//! and findings as fresh ones.
//!
//! Text in, runs out. What a file is, is recognised by its content; one file can hold many outputs, one after another, with
//! anything between them. Where a tool's own summary is wrong, as iPerf3's server totals of 0.00 Bytes, the figures are
//! rebuilt from its intervals and the run carries a warning that reports it.

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
mod looks;
mod mixed;
#[cfg(test)]
mod mutated;
mod names;
mod netperf;
mod number;
mod own;
mod page;
mod ping;
mod probes;
mod qperf;
mod quoted;
mod results;
mod row;
mod sockperf;
mod source;
mod stream;
mod units;
mod wrapped;

pub use names::{group, names};
pub use source::{Source, open, texts};
pub use stream::{Batch, Outputs};

use block::{Block, Mark};
use heads::Heads;
use model::history::{Kept, Mark as KnownChange, StoredAs};
use model::run::Run;
use model::units::BitRate;
use std::collections::VecDeque;
use std::{fmt, iter};
use thiserror::Error;
use units::{Unit, Window};

/// A run read from a tool's output.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The tool whose output it was.
    pub tool: Tool,
    /// Its version, where the output reports it.
    pub version: Option<String>,
    /// First line of the output in the text, from 1.
    pub line: usize,
    /// The measurement. The warnings of its summary say what was rebuilt, assumed or missing.
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
    /// fping.
    Fping,
    /// hping3.
    Hping,
    /// Nping, of Nmap.
    Nping,
    /// PsPing, of Sysinternals.
    Psping,
    /// Test-Connection and Test-NetConnection of PowerShell.
    PowerShell,
    /// `/ping` and `/tool bandwidth-test` of MikroTik's RouterOS.
    RouterOs,
    /// pathmeter itself.
    Pathmeter,
}

/// Facts that the outputs do not contain and the reader knows.
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
    /// The kind of text that it looks like, in a few words.
    pub looks: String,
}

/// Something that a text holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The line that it begins in, from 1.
    pub line: usize,
    /// The result.
    pub what: What,
    /// How the store had it that it was exported from.
    pub stored: Option<StoredAs>,
}

/// A kind of thing that a text holds.
#[derive(Clone, Debug, PartialEq)]
pub enum What {
    /// A run of a path, ours or of another tool.
    Run(Box<Imported>),
    /// A report of ours of devices or topologies.
    Report(Kept),
    /// A change of a path that a store knows of.
    Mark(KnownChange),
}

/// Reads every run of a path in a text. `name` is what the runs are called after: `NAME:LINE`.
///
/// # Errors
/// When there is none.
pub fn read(name: &str, text: &str, known: Known) -> Result<Vec<Imported>, Unreadable> {
    let items = read_whole(name, &page::text_of(text), known, 0);
    let runs = items.into_iter().filter_map(|item| match item.what {
        What::Run(run) => Some(*run),
        What::Report(_) | What::Mark(_) => None,
    });
    let runs: Vec<Imported> = runs.collect();
    if runs.is_empty() {
        return Err(Unreadable { name: name.into(), looks: looks::like(text) });
    }
    Ok(runs)
}

/// Everything in a text that is none of a page.
fn read_whole(name: &str, text: &str, known: Known, depth: usize) -> Vec<Item> {
    let window = Window { text, lines: 0, is_whole: true, running: &[], done: &[] };
    let taken = units::take_apart(window, &mut Heads::default(), depth);
    items(taken.units, name, known).collect()
}

/// The items of units, which are in the order of their lines, in that order, too. Each is made when it is asked for, so that a
/// reader that is done with one before the next needs the memory of one alone.
fn items(units: Vec<Unit>, name: &str, known: Known) -> impl Iterator<Item = Item> {
    let mut units = units.into_iter().peekable();
    let mut made: VecDeque<Item> = VecDeque::new();
    let mut last = (0, 0);
    iter::from_fn(move || {
        // An item stands behind those of units that begin above it.
        while let Some(unit) = units.next_if(|unit| made.front().is_none_or(|item| unit.line() <= item.line))
        {
            made.extend(unit.read(name, known));
            made.make_contiguous().sort_by_key(|item| item.line);
        }
        let mut item = made.pop_front()?;
        number(&mut item, &mut last);
        Some(item)
    })
}

/// Outputs that begin in one line have a number behind it. `last`: the line of the one before, and its number.
fn number(item: &mut Item, last: &mut (usize, usize)) {
    let What::Run(one) = &mut item.what else { return };
    *last = if one.line == last.0 { (one.line, last.1 + 1) } else { (one.line, 1) };
    if last.1 > 1 && one.tool != Tool::Pathmeter {
        one.run.id = format!("{}.{}", one.run.id, last.1);
    }
}

impl Item {
    fn of_run(run: Box<Imported>) -> Item {
        Item { line: run.line, what: What::Run(run), stored: None }
    }
}

impl Imported {
    /// The same, with the times of the heads of its lines where it has none of its own.
    fn stamped(mut self: Box<Self>, block: &Block) -> Box<Imported> {
        if let (None, Some([first, last])) = (self.run.started, block.span) {
            (self.run.started, self.run.finished) = (Some(first), Some(last));
        }
        self
    }

    /// The same, of an output inside another document.
    fn at(mut self: Box<Self>, name: &str, line: usize) -> Box<Imported> {
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
        || netperf::is_part(line)
        || qperf::is_part(line)
        || probes::is_part(line)
}

/// The reader of one tool's text.
struct Reader {
    tool: Tool,
    /// The role of a line in this tool's output, behind the lines of a block of its own.
    mark: fn(&str, Option<&Block>) -> Mark,
    /// Makes a run of a block; `None` when no figure is in it.
    read: fn(&str, &Block, Known) -> Option<Box<Imported>>,
}

/// Every tool with a text; of equal claims to a line the earlier wins.
static READERS: &[Reader] = &[
    Reader { tool: Tool::Iperf3, mark: iperf3::mark, read: iperf3::read },
    Reader { tool: Tool::Iperf2, mark: iperf2::mark, read: iperf2::read },
    Reader { tool: Tool::Sockperf, mark: sockperf::mark, read: sockperf::read },
    Reader { tool: Tool::Ping, mark: ping::mark, read: ping::read },
    Reader { tool: Tool::Netperf, mark: netperf::mark, read: netperf::read },
    Reader { tool: Tool::Qperf, mark: qperf::mark, read: qperf::read },
    probes::FPING,
    probes::HPING,
    probes::NPING,
    probes::PSPING,
    probes::POWERSHELL,
    probes::ROUTEROS,
];

/// `None` of a tool that has no text.
fn reader(tool: Tool) -> Option<&'static Reader> {
    READERS.iter().find(|reader| reader.tool == tool)
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
            Tool::Fping => "fping",
            Tool::Hping => "hping",
            Tool::Nping => "Nping",
            Tool::Psping => "PsPing",
            Tool::PowerShell => "PowerShell",
            Tool::RouterOs => "RouterOS",
            Tool::Pathmeter => "pathmeter",
        })
    }
}
