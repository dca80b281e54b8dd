//! The blocks that documents are made of.

use super::{FigureTable, Paint, Table};
use crate::plot::{BarChart, Drawing, LineChart};
use insight::answer::Answer;
use model::finding::{Finding, Status};
use model::run::Run;

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// The heading of what follows, up to the next one.
    Heading(String),
    /// Running text.
    Paragraph(String),
    /// Names and values.
    Facts(Vec<(String, String)>),
    /// Sentences, each for itself.
    Sentences(Vec<String>),
    /// A list. Behind facts or sentences it goes on with them.
    List(Vec<Item>),
    /// A table.
    Table(Table),
    /// A table of figures.
    Figures(FigureTable),
    /// A drawing, for formats that show pictures.
    Chart(Chart),
    /// The reasons behind the figures.
    Findings(Vec<Finding>),
    /// The verdict.
    Conclusion(Conclusion),
    /// Text that is laid out already.
    Preformatted(String),
    /// Details behind the figures, under a heading of their own: formats that are to be short leave them out.
    Details(String, Vec<Block>),
}

impl Block {
    /// A list of plain lines.
    pub fn list(lines: impl IntoIterator<Item = String>) -> Block {
        Block::List(lines.into_iter().map(Item::from).collect())
    }

    /// Names and values, the names in words of the program.
    pub fn facts<N: Into<String>>(facts: impl IntoIterator<Item = (N, String)>) -> Block {
        Block::Facts(facts.into_iter().map(|(name, value)| (name.into(), value)).collect())
    }

    /// The verdict, of a block that is one.
    pub(crate) fn conclusion(&self) -> Option<&Conclusion> {
        match self {
            Block::Conclusion(conclusion) => Some(conclusion),
            _ => None,
        }
    }

    /// Whether it would show nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Block::Heading(text) | Block::Paragraph(text) | Block::Preformatted(text) => text.is_empty(),
            Block::Facts(facts) => facts.is_empty(),
            Block::Sentences(sentences) => sentences.is_empty(),
            Block::List(items) => items.is_empty(),
            Block::Table(table) => table.rows.is_empty(),
            Block::Figures(table) => table.rows.is_empty(),
            Block::Chart(_) => false,
            Block::Details(_, blocks) => blocks.iter().all(Block::is_empty),
            Block::Findings(findings) => findings.is_empty(),
            Block::Conclusion(conclusion) => conclusion.text.is_empty(),
        }
    }
}

/// A line of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// The text.
    pub line: String,
    /// The finding that the line has in short.
    pub finding: Option<Finding>,
}

impl From<String> for Item {
    fn from(line: String) -> Item {
        Item { line, finding: None }
    }
}

/// A drawing.
#[derive(Clone, Debug, PartialEq)]
pub enum Chart {
    /// Lines over sizes or time.
    Lines(LineChart),
    /// Bars.
    Bars(BarChart),
}

impl Chart {
    /// The title of the drawing.
    #[must_use]
    pub fn title(&self) -> &str {
        match self {
            Chart::Lines(chart) => &chart.title,
            Chart::Bars(chart) => &chart.title,
        }
    }

    /// The drawing.
    pub fn drawing(&self) -> Drawing {
        match self {
            Chart::Lines(chart) => chart.drawing(),
            Chart::Bars(chart) => chart.drawing(),
        }
    }
}

/// A verdict, and what it is of.
#[derive(Clone, Debug, PartialEq)]
pub struct Conclusion {
    /// The device, where a document has several; empty: the whole document.
    pub of: String,
    /// In one word.
    pub status: Status,
    /// In one line; empty: the sentences are all there is.
    pub answer: String,
    /// In sentences.
    pub text: String,
}

impl Conclusion {
    /// The verdict of a whole document.
    #[must_use]
    pub fn new(status: Status, text: impl Into<String>) -> Conclusion {
        Conclusion { of: String::new(), status, answer: String::new(), text: text.into() }
    }

    /// The verdict of a run, and the answer in a line.
    #[must_use]
    pub fn of_run(run: &Run) -> Conclusion {
        let Answer { line, action } = insight::answer::answer_of_run(run);
        let answer = if action.is_empty() { format!("{line}.") } else { format!("{line}. {action}") };
        Conclusion { answer, ..Conclusion::new(run.verdict.status, &run.verdict.text) }
    }

    /// The status in capitals, and how it is painted.
    #[must_use]
    pub fn word(&self) -> (String, Paint) {
        Conclusion::word_of(self.status)
    }

    /// The same of a status alone.
    pub(crate) fn word_of(status: Status) -> (String, Paint) {
        let paint = match status {
            Status::Ok => Paint::Good,
            Status::Degraded => Paint::Warning,
            Status::Broken | Status::Problem | Status::Void => Paint::Problem,
        };
        (status.word().to_uppercase(), paint)
    }
}

/// Something that was expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// The topology or the device, where a document has several; empty: the whole document.
    pub of: String,
    /// The figure: `path MTU up, IPv4`, or the expectation as it was given.
    pub what: String,
    /// The expected value, where `what` does not have it.
    pub expected: String,
    /// The measured value.
    pub found: String,
    /// Whether it held.
    pub judgement: Judgement,
}

/// Whether an expectation held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// Measured as expected.
    Held,
    /// Otherwise than expected; the exit code reports it, too.
    Broken,
    /// Not to be judged: it was not measured, and need not have been.
    Open,
}

impl Judgement {
    /// In a word or two.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Judgement::Held => "held",
            Judgement::Broken => "broken",
            Judgement::Open => "not judged",
        }
    }
}
