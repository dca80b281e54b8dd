//! The lines of one output.

use super::Tool;
use super::command::Command;
use model::time::WallTime;
use std::borrow::Cow;

/// A line, cleaned and without its head.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Line<'a> {
    pub(super) text: Cow<'a, str>,
    /// When it was printed, where its head has a time.
    pub(super) stamp: Option<WallTime>,
}

impl<'a> From<&'a str> for Line<'a> {
    fn from(text: &'a str) -> Line<'a> {
        Line { text: Cow::Borrowed(text), stamp: None }
    }
}

/// Lines as one text with their ends: none allocates memory.
#[derive(Clone, Debug, Default)]
pub(super) struct Lines {
    text: String,
    /// Where each ends in the text.
    ends: Vec<usize>,
}

impl Lines {
    /// None yet, with room for those of a short output.
    fn with_room() -> Lines {
        Lines { text: String::with_capacity(SHORT), ends: Vec::with_capacity(SHORT / USUAL_LINE) }
    }

    fn push(&mut self, line: &str) {
        self.text.push_str(line);
        self.ends.push(self.text.len());
    }

    pub(super) fn first(&self) -> Option<&str> {
        self.iter().next()
    }

    pub(super) fn iter(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator + Clone {
        (0..self.ends.len()).map(|index| {
            let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
            &self.text[start..self.ends[index]]
        })
    }
}

impl<'a> FromIterator<&'a str> for Lines {
    fn from_iter<I: IntoIterator<Item = &'a str>>(all: I) -> Lines {
        let mut lines = Lines::default();
        all.into_iter().for_each(|line| lines.push(line));
        lines
    }
}

/// The lines of one output of one tool.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) tool: Tool,
    /// Number of the first, from 1.
    pub(super) line: usize,
    pub(super) lines: Lines,
    /// When each line was printed, where its head has a time; empty where none has.
    pub(super) stamps: Vec<Option<WallTime>>,
    /// When the first and the last line with such a time were printed.
    pub(super) span: Option<[WallTime; 2]>,
    /// The command line above it.
    pub(super) command: Option<Command>,
    /// Number of the first line that it needs: its own first, or that of the command line; 0: it began above the text.
    pub(super) begin: usize,
    /// Lines at its end that no tool claims.
    pub(super) foreign: usize,
    /// A line that no tool claims is in it, and is not empty.
    pub(super) has_foreign: bool,
    /// How far the output has come, as its tool's `mark` needs to know.
    pub(super) reading: Reading,
}

/// How far an output has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Reading {
    /// A row with figures was there.
    pub(super) rows: bool,
    /// The far end's output has begun.
    pub(super) nested: bool,
    /// The last line of an output was there.
    pub(super) ended: bool,
    /// ping's summary was there.
    pub(super) counted: bool,
    /// A server reported that it listens, or that a client came.
    pub(super) listening: bool,
    /// A client named the host it connects to.
    pub(super) headed: bool,
    /// The tool was interrupted, or there was an error.
    pub(super) failed: bool,
    /// A client of iPerf2 named the host it connects to.
    pub(super) called: bool,
    /// The tool could not connect.
    pub(super) refused: bool,
    /// The host that iPerf2 was to call has no address: nothing of it follows.
    pub(super) unresolved: bool,
    /// The error is that of a client that did not get as far as a heading.
    pub(super) unconnected: bool,
    /// A server reported why a client's attempt failed.
    pub(super) dropped: bool,
}

/// The role of a line in a tool's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// None of its.
    No,
    /// The first of an output.
    First,
    /// One of an output.
    Part,
    /// A whole output, after which the one before it goes on.
    Whole,
}

impl Block {
    pub(super) fn new(tool: Tool, line: usize, first: &Line<'_>) -> Block {
        let mut block = Block {
            tool,
            line,
            lines: Lines::with_room(),
            stamps: Vec::new(),
            span: None,
            command: None,
            begin: line,
            foreign: 0,
            has_foreign: false,
            reading: Reading::default(),
        };
        block.push(first);
        block
    }

    /// Lines of this output from a line of the text on, as an output of their own.
    pub(super) fn of_own<'a>(&self, line: usize, lines: impl IntoIterator<Item = &'a str>) -> Block {
        let mut lines = lines.into_iter();
        let mut own = Block::new(self.tool, line, &lines.next().unwrap_or_default().into());
        own.command.clone_from(&self.command);
        lines.for_each(|line| own.push(&line.into()));
        own
    }

    /// The same output with some of its lines, by their places and texts; `None` of none.
    pub(super) fn of_lines(&self, is: impl Fn(usize, &str) -> bool) -> Option<Block> {
        let mut own = self.lines.iter().enumerate().filter(|(at, line)| is(*at, line));
        let line =
            |(at, text): (usize, &'_ str)| (at, self.stamps.get(at).copied().flatten(), text.to_owned());
        let (at, stamp, text) = own.next().map(line)?;
        let mut block = Block::new(self.tool, self.line + at, &Line { text: text.into(), stamp });
        block.command.clone_from(&self.command);
        for (_, stamp, text) in own.map(line) {
            block.push(&Line { text: text.into(), stamp });
        }
        Some(block)
    }

    /// The same output with other texts of its lines.
    pub(super) fn with_lines(self, texts: Vec<String>) -> Block {
        let stamps = self.stamps.iter().copied().chain(std::iter::repeat(None));
        let mut lines = texts.into_iter().zip(stamps).map(|(text, stamp)| Line { text: text.into(), stamp });
        let mut block = Block::new(self.tool, self.line, &lines.next().unwrap_or_default());
        lines.for_each(|line| block.push(&line));
        Block { lines: block.lines, stamps: block.stamps, reading: block.reading, ..self }
    }

    pub(super) fn push(&mut self, line: &Line<'_>) {
        if line.stamp.is_some() || !self.stamps.is_empty() {
            self.stamps.resize(self.lines.ends.len(), None);
            self.stamps.push(line.stamp);
        }
        if let Some(stamp) = line.stamp.filter(|stamp| stamp.0 > YEAR_2000) {
            self.span = Some([self.span.map_or(stamp, |[first, _]| first), stamp]);
        }
        let line = &*line.text;
        match self.tool {
            Tool::Iperf2 | Tool::Iperf3 => self.reading.take(line),
            // Between replies it prints what was counted so far (SIGQUIT), with a mean that has this name.
            Tool::Ping => {
                let is_count = line.contains('%') && line.contains([',', '(']);
                self.reading.counted |= is_count && !line.contains("/ewma/");
            }
            _ => {}
        }
        self.lines.push(line);
        self.foreign = 0;
    }

    /// Adds a line that no tool claims. After very many the output has ended, and they are not kept.
    pub(super) fn push_foreign(&mut self, line: &Line<'_>) {
        let foreign = self.foreign + 1;
        if foreign <= MOST_FOREIGN {
            self.push(line);
            self.has_foreign |= !line.text.is_empty();
        }
        self.foreign = foreign;
    }

    /// Whether the lines at its end say that nothing of it follows.
    pub(super) fn is_over(&self) -> bool {
        self.foreign > MOST_FOREIGN
    }
}

impl Reading {
    /// An attempt that failed.
    pub(super) fn has_failed_without_rows(&self) -> bool {
        (self.refused || self.unresolved || self.unconnected) && !self.rows
    }

    fn take(&mut self, line: &str) {
        if line.starts_with('[') {
            self.rows = self.rows || line.contains(" sec ");
            return;
        }
        self.listening |= line.starts_with("Server listening") || line.starts_with("Accepted connection");
        self.headed |= line.starts_with("Connecting to host ");
        self.called |= line.starts_with("Client connecting to ");
        self.refused |= line.contains("connect failed: ");
        self.unresolved |= unresolved(line).is_some();
        self.failed |= line.starts_with("iperf3: ");
        self.unconnected |= is_unconnected(line);
        self.dropped |= self.listening && !self.headed && line.starts_with("iperf3: error - ");
        self.nested |= line.starts_with("Server output");
        self.ended |= line.starts_with("iperf Done");
    }
}

/// Whether a line is the error of a client of iPerf3 before it prints its heading.
pub(super) fn is_unconnected(line: &str) -> bool {
    UNCONNECTED.iter().any(|start| line.starts_with(start))
}

/// The host, where it is named, that has no address for iPerf2: `nosuch.example: Unknown host`, `error: Name or service not known` of 2.0.
pub(super) fn unresolved(line: &str) -> Option<Option<&str>> {
    let line = line.trim_end();
    let named = line
        .strip_suffix(": Unknown host")
        .or_else(|| line.strip_prefix("ERROR: failed to find an ip address for host '")?.strip_suffix('\''));
    if let Some(host) = named.filter(|host| !host.contains(' ')) {
        return Some(Some(host));
    }
    let reason = line.strip_prefix("error: ")?;
    let known = [
        "Name or service not known",
        "Temporary failure in name resolution",
        "nodename nor servname provided",
    ];
    known.iter().any(|known| reason.starts_with(known)).then_some(None)
}

/// Bytes of a short output, as of a test of ten seconds, and of its lines.
const SHORT: usize = 2048;
const USUAL_LINE: usize = 64;
/// The errors.
const UNCONNECTED: [&str; 3] =
    ["iperf3: error - unable to connect", "iperf3: error - the server is busy", "iperf3: parameter error - "];
/// Lines of others in a row behind which an output has ended.
pub(super) const MOST_FOREIGN: usize = 20_000;
/// Earlier times are those of a day without a date.
const YEAR_2000: u64 = 946_684_800_000_000_000;
