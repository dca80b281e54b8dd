//! iPerf2's text, 2.0 to 2.2, plain and enhanced (`-e`): of a client, of a server, of both directions.

mod ends;
mod lines;

use super::block::{Block, Mark};
use super::row::Row;
use super::{Imported, Known};

/// What a line is to iPerf2.
pub(super) fn mark(line: &str, block: Option<&Block>) -> Mark {
    let begins = lines::begins(line);
    let row = Row::of(line).is_some_and(|row| !row.padded);
    let Some(block) = block else {
        return if begins || row || lines::stream(line).is_some() { Mark::First } else { Mark::No };
    };
    // A server goes on for the next client; a client that listens too (`-d`, `-r`) has no rows yet.
    let serves = !block.lines.iter().any(|line| line.starts_with("Client connecting to "));
    let next_guest = lines::stream(line).is_some() && serves;
    match () {
        () if (begins || next_guest) && block.stage.rows => Mark::First,
        () if begins || row || lines::is_part(line) => Mark::Part,
        () => Mark::No,
    }
}

/// The run of a block.
pub(super) fn read(name: &str, block: &Block, known: Known) -> Option<Imported> {
    let output = lines::Output::of(&block.lines);
    ends::told(&output, block, known).map(|told| told.imported(name))
}
