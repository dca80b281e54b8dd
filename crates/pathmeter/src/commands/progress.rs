//! Lines on standard error that stay. They are a courtesy: a closed standard error stops nothing.

use std::io::Write;

/// A line that stays, where nothing is drawn.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}
