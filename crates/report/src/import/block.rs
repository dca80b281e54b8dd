//! The lines of one output.

use super::Tool;

/// The lines of one output of one tool, cleaned.
#[derive(Clone, Debug)]
pub(super) struct Block {
    pub(super) tool: Tool,
    /// Number of the first, from 1.
    pub(super) line: usize,
    pub(super) lines: Vec<String>,
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
}

/// What a line is to a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mark {
    /// None of its.
    No,
    /// The first of an output.
    First,
    /// One of an output.
    Part,
}

impl Block {
    pub(super) fn new(tool: Tool, line: usize, first: String) -> Block {
        let mut block = Block { tool, line, lines: Vec::new(), reading: Reading::default() };
        block.push(first);
        block
    }

    pub(super) fn push(&mut self, line: String) {
        self.reading.rows |= line.starts_with('[') && line.contains(" sec ");
        self.reading.nested |= line.starts_with("Server output");
        self.reading.ended |= line.starts_with("iperf Done");
        self.lines.push(line);
    }
}
