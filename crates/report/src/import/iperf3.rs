//! iPerf3's text, 3.0 to 3.21: of a client, of a server, and of a client with the server's output behind its own.

mod complete;
mod ends;
pub(super) mod json;
mod lines;

use super::block::{Block, Mark};
use super::row::Row;
use super::{Imported, Known};

/// What a line is to iPerf3.
pub(super) fn mark(line: &str, block: Option<&Block>) -> Mark {
    let line = lines::untitled(line);
    let begins = lines::begins(line);
    let Some(block) = block else {
        let row = line.starts_with('[') && Row::from_line(line).is_some_and(|row| row.padded);
        let own = begins || row || lines::is_header(line) || line.starts_with("iperf3: error");
        return if own { Mark::First } else { Mark::No };
    };
    let reading = block.reading;
    let client_again = line.starts_with("Connecting to host") && (reading.rows || reading.ended);
    let server_again = begins && reading.rows && (!reading.nested || reading.ended);
    match () {
        () if client_again || server_again => Mark::First,
        () if begins || lines::is_part(line) => Mark::Part,
        // Where iPerf3's intervals grow long their blanks go, as iPerf2's have none.
        () if Row::from_line(line).is_some() && !reading.ended => Mark::Part,
        () => Mark::No,
    }
}

/// The run of a block.
pub(super) fn read(name: &str, block: &Block, known: Known) -> Option<Imported> {
    let output = lines::Output::from_lines(&block.lines);
    ends::parse_ends(&output, block, known).map(|parsed| parsed.imported(name))
}
