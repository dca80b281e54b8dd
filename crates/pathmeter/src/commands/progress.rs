//! Lines on standard error that stay. They are a courtesy: a closed standard error stops nothing.

use model::units::Nanos;
use std::io::Write;

/// A line that stays, where nothing is drawn. Agents, servers and far ends may have words in it.
pub(crate) fn say(line: &str) {
    print(&report::harmless::text(line));
}

/// Writes a line that this program alone has made.
pub(crate) fn print(line: &str) {
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// Seconds below two minutes, minutes below two hours, then hours.
pub(crate) fn about(time: Nanos) -> String {
    match time.0.div_ceil(1_000_000_000) {
        seconds @ ..120 => format!("{seconds} s"),
        seconds @ ..7_200 => format!("{} min", seconds.div_ceil(60)),
        seconds => format!("{} h", seconds.div_ceil(3_600)),
    }
}
