//! The text of `-h` and `-v`, and the usage after a refusal.

use super::options::{BOTH, CLIENT, SERVER};
use crate::getopt::Fault;

/// Printed after a refusal.
const USAGE: &str = "\
Usage: iperf [-s|-c host] [options]
Try `iperf --help' for more information.
";

/// The text on standard error after a refusal.
pub(crate) fn refusal(fault: &Fault) -> String {
    match fault {
        Fault::Syntax(what) => format!("iperf: {what}\n{USAGE}"),
        Fault::Parameter(what) => format!("ERROR: {what}\n"),
    }
}

/// `-v`: iPerf2's version first, for scripts that read it.
pub(crate) fn version_text() -> String {
    format!("{} (pathmeter {})\n", crate::iperf2::output::VERSION, env!("CARGO_PKG_VERSION"))
}

/// `-h`.
pub(crate) fn help_text() -> String {
    let mut text =
        "Usage: iperf [-s|-c host] [options]\n       iperf [-h|--help] [-v|--version]\n".to_owned();
    text.push_str("\niPerf2's command line, protocol and output, on pathmeter's engine.\n");
    for (title, rows) in [("Client/Server", BOTH), ("Server specific", SERVER), ("Client specific", CLIENT)] {
        text.push_str(&format!("\n{title}:\n"));
        rows.iter().filter(|row| !row.help.is_empty()).for_each(|row| text.push_str(&row.entry()));
    }
    text.push_str("\nN[kmgKMG]: k, m, g are powers of 1000 and K, M, G powers of 1024, in rates too.\n");
    text
}
