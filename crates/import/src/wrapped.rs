//! Rows that a terminal or a mail program broke: the rest of a row stands in the line below it.
//!
//! A line is such a rest where no tool claims it, all its words are those of rows, and its first word would have made the row longer
//! than the longest line of the output.

use super::block::{Block, Mark};
use super::{Tool, is_claimed, reader};

/// The same output with its broken rows whole; each rest leaves an empty line, so that numbers of lines stay.
pub(super) fn joined(block: Block) -> Block {
    let has_rows = matches!(block.tool, Tool::Iperf2 | Tool::Iperf3 | Tool::Sockperf | Tool::Ping);
    if !block.has_foreign || !has_rows {
        return block;
    }
    let is_own = |line: &str| {
        let is_of_tool =
            reader(block.tool).is_some_and(|reader| (reader.mark)(line, Some(&block)) != Mark::No);
        is_of_tool || is_claimed(line)
    };
    let own: Vec<bool> = block.lines.iter().map(is_own).collect();
    let lines: Vec<&str> = block.lines.iter().map(unquoted).collect();
    let is_rest = |at: usize| !own[at] && is_rest(lines[at]);
    let of_rows = (0..lines.len()).filter(|at| own[*at] || is_rest(*at));
    let longest = of_rows.map(|at| lines[at].chars().count()).max().unwrap_or_default();
    let mut whole: Vec<String> = Vec::with_capacity(lines.len());
    // The line that a row begins in, and the last one of it.
    let mut row: Option<(usize, usize)> = None;
    for (at, line) in block.lines.iter().enumerate() {
        match row {
            Some((begin, last)) if is_rest(at) && is_broken(lines[last], lines[at], longest) => {
                let glue = if is_glued(lines[last], lines[at], longest) { "" } else { " " };
                whole[begin] += glue;
                whole[begin] += lines[at];
                whole.push(String::new());
                row = Some((begin, at));
            }
            _ => {
                whole.push(line.to_owned());
                if !line.is_empty() {
                    row = (own[at] || may_begin(block.tool, line)).then_some((at, at));
                }
            }
        }
    }
    block.with_lines(whole)
}

/// A line without the marks that a mail program puts before it.
fn unquoted(line: &str) -> &str {
    if line.starts_with('>') { line.trim_start_matches(['>', ' ']) } else { line }
}

/// Whether a line that no tool claims can be the begin of a row whose rest is missing.
fn may_begin(tool: Tool, line: &str) -> bool {
    match tool {
        Tool::Iperf2 | Tool::Iperf3 => line.trim_start().starts_with('['),
        Tool::Ping => line.starts_with(|c: char| c.is_ascii_digit()) || line.contains(" = "),
        _ => false,
    }
}

/// Whether a line has words of rows alone, or is a share in brackets.
fn is_rest(line: &str) -> bool {
    let is_share = || line.trim_start().starts_with('(') && line.contains('%');
    !line.is_empty() && (line.split_whitespace().all(is_of_rows) || is_share())
}

/// Whether the first word of the rest did not fit behind the row, or stands nowhere but in a row.
fn is_broken(row: &str, rest: &str, longest: usize) -> bool {
    let (row, first) = (row.chars().count(), first_word(rest));
    let blanks = if has_digit(first) { MOST_BLANKS } else { 1 };
    row == longest
        || row + blanks + first.chars().count() > longest
        || COLUMNS.contains(&first.trim_matches(MARKS))
}

/// Whether a row was broken inside of a word.
fn is_glued(row: &str, rest: &str, longest: usize) -> bool {
    if rest.starts_with(' ') {
        return false;
    }
    let (last, first) = (row.rsplit(' ').next().unwrap_or_default(), first_word(rest));
    // Terminals break in their last column; a blank there is cut off with the others at the end of a line.
    let is_full = TERMINALS.contains(&longest) && row.chars().count() == longest;
    let are_numbers = has_digit(last) && has_digit(first);
    let is_one_word = || is_known(&format!("{last}{first}"));
    !is_whole(first) || is_one_word() || is_full && (are_numbers || !is_whole(last))
}

fn first_word(line: &str) -> &str {
    line.split_whitespace().next().unwrap_or_default()
}

fn has_digit(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit())
}

/// Whether a word can stand in a row: whole, or the part of one in front of a break or behind it.
fn is_of_rows(word: &str) -> bool {
    let bare = word.trim_matches(MARKS);
    is_whole(word)
        || bare.is_empty()
        || known_words().any(|known| known.ends_with(bare) || known.starts_with(bare))
}

fn is_whole(word: &str) -> bool {
    has_digit(word) || word.contains('%') || is_known(word)
}

fn is_known(word: &str) -> bool {
    known_words().any(|known| *known == word.trim_matches(MARKS))
}

/// Every word that a row can have beside numbers.
fn known_words() -> impl Iterator<Item = &'static &'static str> {
    COLUMNS.iter().chain(&WORDS)
}

/// Marks around words.
const MARKS: [char; 6] = ['(', ')', '[', ']', ',', ';'];
/// Columns of terminals.
const TERMINALS: [usize; 6] = [80, 100, 120, 132, 160, 200];
/// Blanks between the columns of a table.
const MOST_BLANKS: usize = 6;
/// Units and ends of rows, and the names of columns, which begin no line that is whole.
const COLUMNS: [&str; 36] = [
    "sec",
    "Bytes",
    "KBytes",
    "MBytes",
    "GBytes",
    "TBytes",
    "bits/sec",
    "Kbits/sec",
    "Mbits/sec",
    "Gbits/sec",
    "Tbits/sec",
    "Bytes/sec",
    "KBytes/sec",
    "MBytes/sec",
    "GBytes/sec",
    "ms",
    "us",
    "pps",
    "sender",
    "receiver",
    "omitted",
    "Bitrate",
    "Bandwidth",
    "Retr",
    "Rtry",
    "Write/Err",
    "Cwnd",
    "Cwnd/RTT",
    "Cwnd/RTT(var)",
    "NetPwr",
    "Jitter",
    "Lost/Total",
    "Datagrams",
    "avg/min/max/stdev",
    "PPS",
    "DUP!",
];
/// Further words of rows, of headings and of summaries, beside numbers.
const WORDS: [&str; 44] = [
    "s",
    "ns",
    "usec",
    "usec]",
    "Interval",
    "Transfer",
    "Err",
    "Total",
    "Latency",
    "connected",
    "with",
    "to",
    "on",
    "UTC",
    "port",
    "local",
    "MSS",
    "size",
    "bytes",
    "byte",
    "streams",
    "blocks",
    "omitting",
    "seconds",
    "second",
    "test",
    "tos",
    "from",
    "of",
    "data.",
    "packet",
    "packets",
    "transmitted",
    "received",
    "errors",
    "duplicates",
    "loss",
    "time",
    "messages",
    "dropped",
    "duplicated",
    "out-of-order",
    "=",
    "#",
];
