//! iPerf2's text, 2.0 to 2.2, plain and enhanced (`-e`): of a client, of a server, of both directions.

mod bounceback;
mod csv;
mod ends;
mod lines;

use super::block::{Block, Mark, Reading, unresolved};
use super::row::IperfRow;
use super::{Imported, Known, Tool};

/// The role of a line in an output of iPerf2.
pub(super) fn mark(line: &str, block: Option<&Block>) -> Mark {
    if !line.starts_with('[') && csv::is_row(line) {
        return of_csv(line, block);
    }
    let row = IperfRow::padded(line).is_some_and(|padded| !padded);
    if row && block.is_some_and(|block| !is_csv(block)) {
        return Mark::Part;
    }
    let begins = lines::begins(line);
    let Some(block) = block else {
        let own = begins || row || lines::stream(line).is_some() || lines::failure(line).is_some();
        return if own { Mark::First } else { Mark::No };
    };
    // A server goes on for the next client; a client that listens too (`-d`, `-r`) has no rows yet.
    let serves = || !block.lines.iter().any(|line| line.starts_with("Client connecting to "));
    let next_client = || lines::stream(line).is_some() && serves();
    let reading = block.reading;
    let fails = lines::failure(line).is_some();
    let is_again = begins || unresolved(line).is_some();
    let is_new_attempt = (reading.unresolved || reading.refused && reading.called) && is_again;
    // A server's connection back to its client (`-d`, `-r`) can fail behind rows.
    let next_fails = fails && reading.rows && !reading.listening;
    match () {
        () if reading.rows && (begins || next_client()) || is_new_attempt || next_fails => Mark::First,
        () if is_csv(block) && (begins || row) => Mark::First,
        () if begins || row || lines::is_part(line) => Mark::Part,
        () => Mark::No,
    }
}

/// A line that belongs to an output of iPerf2 and to nothing else.
pub(super) fn is_part(line: &str) -> bool {
    lines::is_part(line)
}

/// A row of CSV, which is like nothing else.
pub(super) fn is_csv_row(line: &str) -> bool {
    csv::is_row(line)
}

/// The line of a block in which an attempt begins that succeeded, behind one that failed before it printed a heading.
pub(super) fn second_attempt(block: &Block) -> Option<usize> {
    let Reading { rows, refused, unresolved, .. } = block.reading;
    if block.tool != Tool::Iperf2 || !rows || !(refused || unresolved) {
        return None;
    }
    let heading = block.lines.iter().position(|line| line.starts_with("Client connecting to "))?;
    let fails = block.lines.iter().take(heading).any(|line| lines::failure(line).is_some());
    let succeeds = |line: &str| lines::stream(line).is_some_and(|stream| !stream.local.ip().is_unspecified());
    let rule = block.lines.iter().take(heading).next_back().is_some_and(|line| line.starts_with("-----"));
    let is_second = fails && block.lines.iter().skip(heading).any(succeeds);
    is_second.then_some(heading - usize::from(rule))
}

/// Rows of CSV have no heading: a test ends where a stream begins anew that has ended.
fn of_csv(line: &str, block: Option<&Block>) -> Mark {
    let Some(block) = block.filter(|block| is_csv(block)) else { return Mark::First };
    if csv::begins_anew(line, &block.lines) { Mark::First } else { Mark::Part }
}

fn is_csv(block: &Block) -> bool {
    block.lines.first().is_some_and(csv::is_row)
}

/// The run of a block.
pub(super) fn read(name: &str, block: &Block, known: Known) -> Option<Box<Imported>> {
    if let Some(parsed) = csv::parse_rows(block, known) {
        return Some(parsed.imported(name));
    }
    let output = lines::Output::from_lines(&block.lines);
    let trips = bounceback::parse_bounceback(&output, block);
    if let Some(parsed) = trips.or_else(|| bounceback::parse_served(&output, block)) {
        return Some(parsed.imported(name));
    }
    ends::parse_ends(&output, block, known).map(|parsed| parsed.imported(name))
}
