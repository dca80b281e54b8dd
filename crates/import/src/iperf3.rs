//! iPerf3's text, 3.0 to 3.21: of a client, of a server, and of a client with the server's output behind its own.

mod complete;
mod ends;
pub(super) mod json;
mod lines;

use super::block::{Block, Mark, is_unconnected};
use super::row::IperfRow;
use super::{Imported, Known};

/// The role of a line in an output of iPerf3.
pub(super) fn mark(line: &str, block: Option<&Block>) -> Mark {
    let is_row = line.starts_with('[');
    let Some(block) = block else {
        let row = is_row && IperfRow::padded(line).is_some_and(|padded| padded);
        let own = row || lines::begins(line) || lines::is_header(line) || line.starts_with("iperf3: ");
        return if own { Mark::First } else { Mark::No };
    };
    let reading = block.reading;
    // Where iPerf3's intervals grow long their blanks go, as iPerf2's have none.
    if is_row && !reading.ended && IperfRow::padded(line).is_some() {
        return Mark::Part;
    }
    let begins = lines::begins(line);
    // Standard error, written at once, stands before standard output where both go into a file.
    let is_other = reading.rows || reading.ended || reading.unconnected || reading.headed && reading.failed;
    let is_idle = reading.listening && !reading.nested && !reading.rows;
    let client_again = line.starts_with(CLIENT) && (is_other || is_idle);
    let version_again = lines::is_version(line) && (is_idle || reading.failed && reading.unconnected);
    let is_tested = reading.rows && (!reading.nested || reading.ended);
    let server_again =
        begins && (is_tested || reading.dropped || reading.unconnected && !line.starts_with(CLIENT));
    let is_over = reading.ended || reading.failed && (reading.rows || reading.unconnected);
    // A client that failed to connect, in the log of a server or between the rows of another client, is of neither test beside it.
    let is_running = reading.rows && !reading.ended && !reading.failed;
    let is_aside = (reading.listening && !reading.headed || is_running) && is_unconnected(line);
    let error_again = line.starts_with("iperf3: ") && is_over;
    match () {
        () if is_aside => Mark::Whole,
        () if client_again || server_again || version_again || error_again => Mark::First,
        () if begins || lines::is_part(line) => Mark::Part,
        () if IperfRow::padded(line).is_some() && !reading.ended => Mark::Part,
        () => Mark::No,
    }
}

/// The begin of a client's heading.
const CLIENT: &str = lines::CONNECTING;

/// A line that belongs to an output of iPerf3 and to nothing else.
pub(super) fn is_part(line: &str) -> bool {
    lines::is_part(line)
}

/// Where the heading of a client stands behind other words of its line: a host, a port and nothing more.
pub(super) fn heading_behind(line: &str) -> Option<usize> {
    // Most lines lack the begin of it already, which is found fastest.
    if !line.contains("Connect") || !line.contains(lines::CONNECTING) {
        return None;
    }
    let at = line.rfind(lines::CONNECTING).filter(|at| *at > 0)?;
    let (host, port) = line[at + lines::CONNECTING.len()..].split_once(", port ")?;
    let is_host = !host.is_empty() && !host.contains(char::is_whitespace);
    (is_host && port.parse::<u16>().is_ok()).then_some(at)
}

/// The run of a block.
pub(super) fn read(name: &str, block: &Block, known: Known) -> Option<Box<Imported>> {
    let output = lines::Output::from_lines(&block.lines);
    ends::parse_ends(&output, block, known).map(|parsed| parsed.imported(name))
}
