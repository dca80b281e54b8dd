//! What is being done, on standard error: a line that changes on a terminal, and lines that stay. Progress is a courtesy: a
//! closed standard error stops nothing.

use std::io::{IsTerminal, Write};

/// Is there a terminal to change a line on?
pub(crate) fn is_live() -> bool {
    std::io::stderr().is_terminal()
}

/// A line that the next one takes the place of; for a terminal alone.
pub(crate) fn change(line: &str) {
    let _ = write!(std::io::stderr(), "{CLEAR}{line}");
}

/// A line that stays.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}{line}", if is_live() { CLEAR } else { "" });
}

/// To the begin of the line, and away with what stands there.
const CLEAR: &str = "\r\x1b[K";
