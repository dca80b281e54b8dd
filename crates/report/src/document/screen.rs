//! The text of a document on a terminal: blocks, and parts that a terminal alone lays out.

use super::{Block, FigureTable, Paint};
use model::finding::{Finding, Severity, Status};

/// A part of the text.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// A block, as every format has it.
    Block(Block),
    /// Parts that a text without details has.
    Brief(Vec<Part>),
    /// Parts that a text with details has.
    Full(Vec<Part>),
    /// The first of these that the screen is wide enough for, or the last.
    Fitting(Vec<Vec<Block>>),
    /// The answer and its figures, in the lines of a screen.
    Screen(Box<Screen>),
    /// Remarks below one another, after an empty line.
    Remarks(Vec<Remark>),
    /// Names, and lines beside and below each.
    Named(Vec<NamedLines>),
    /// Lines that no screen breaks.
    Lines(Vec<Line>),
    /// Sentences of less importance.
    Small(Vec<String>),
    /// Sentences after a mark, each with a shorter form for a line without room.
    Marked(&'static str, Vec<[String; 2]>),
    /// Bars that lie, below a title.
    Bars(String, Vec<TextBar>),
    /// The counts of a histogram as bars.
    Histogram(Vec<TextBar>),
    /// Values over time, below a title; nothing on a screen that draws no bars.
    OverTime(String, Vec<Spark>),
    /// Whence it comes, and where there is more.
    Foot(String, String),
}

impl From<Block> for Part {
    fn from(block: Block) -> Part {
        Part::Block(block)
    }
}

impl Part {
    /// An empty line.
    #[must_use]
    pub fn gap() -> Part {
        Part::Lines(vec![Line::default()])
    }

    /// The blocks in it, for formats that have all of them.
    #[must_use]
    pub fn blocks(self) -> Vec<Block> {
        match self {
            Part::Block(block) => vec![block],
            Part::Full(parts) => parts.into_iter().flat_map(Part::blocks).collect(),
            Part::Fitting(choices) => choices.into_iter().next().unwrap_or_default(),
            Part::Small(sentences) => vec![Block::Sentences(sentences)],
            _ => Vec::new(),
        }
    }
}

/// The answer of a run. A screen without room leaves out spare rows of the table, sections, and the full texts of remarks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Screen {
    /// The verdict in one word.
    pub status: Status,
    /// The answer in a line.
    pub line: String,
    /// The next thing to do; empty: nothing.
    pub action: String,
    /// The two ends; empty: not known.
    pub ends: String,
    /// The table of figures; without rows: there is none.
    pub table: FigureTable,
    /// The sections below it, the most important first.
    pub sections: Vec<Vec<Part>>,
    /// Remarks on the figures, before all others.
    pub limits: Vec<Remark>,
    /// Its findings, worst first.
    pub findings: Vec<Finding>,
    /// The id of the finding that the answer and the table have already.
    pub above: Option<String>,
    /// Warnings of the engine.
    pub notes: Vec<Remark>,
    /// The expectations, and whether each held.
    pub expected: Vec<Remark>,
    /// Whence it comes.
    pub foot: String,
}

/// A sentence behind a word of eight columns at most.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Remark {
    /// The word, and how it is painted.
    pub mark: (Paint, &'static str),
    /// The subject, before a colon; empty: the sentence has it.
    pub lead: String,
    /// The sentence.
    pub text: String,
}

impl Remark {
    /// A remark without a colour.
    pub fn new(mark: (Paint, &'static str), lead: impl Into<String>, text: impl Into<String>) -> Remark {
        Remark { mark, lead: lead.into(), text: text.into() }
    }

    /// The whole sentence.
    #[must_use]
    pub fn sentence(&self) -> String {
        if self.lead.is_empty() { self.text.clone() } else { format!("{}: {}", self.lead, self.text) }
    }

    /// The word of a severity, and how it is painted.
    #[must_use]
    pub fn severity(severity: Severity) -> (Paint, &'static str) {
        match severity {
            Severity::Info => (Paint::Dim, "note"),
            Severity::Warning => (Paint::Warning, "warning"),
            Severity::Problem => (Paint::Problem, "problem"),
        }
    }
}

/// A name with lines: the first beside it, the others below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedLines {
    /// The word before the name; empty: none, and the lines below stand under the first.
    pub mark: Line,
    /// The name.
    pub name: Line,
    /// The lines, which a narrow screen breaks.
    pub lines: Vec<Line>,
}

/// A line in its colour.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The colour.
    pub paint: Paint,
    /// The text.
    pub text: String,
    /// Whether it is for a shell, which must be able to read it wherever it is broken.
    pub is_command: bool,
}

impl Line {
    /// A line of words.
    pub fn new(paint: Paint, text: impl Into<String>) -> Line {
        Line { paint, text: text.into(), is_command: false }
    }

    /// A line for a shell.
    pub fn command(paint: Paint, text: impl Into<String>) -> Line {
        Line { is_command: true, ..Line::new(paint, text) }
    }
}

/// A bar between its name and its value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextBar {
    /// The name.
    pub name: String,
    /// The value in words.
    pub value: String,
    /// Its length, of the longest possible.
    pub share: f64,
    /// The place of a stroke across it, of the longest possible.
    pub limit: Option<f64>,
}

/// Values over time in a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spark {
    /// The name.
    pub name: String,
    /// The values; absent where there is none.
    pub values: Vec<Option<u64>>,
    /// The value at full height.
    pub most: u64,
    /// The meaning of the heights, behind them; empty: the title has it.
    pub note: String,
}
