//! The text of `-h` and `-v`, and the usage after a refusal.

use super::options::{BOTH, CLIENT, SERVER};
use crate::getopt::Fault;

/// Printed after a refusal.
const USAGE: &str = "\
Usage: iperf3 [-s|-c HOST] [options]
       iperf3 [-h|--help] [-v|--version]
";

/// The text on standard error after a refusal, as iPerf3 prints it.
pub(crate) fn refusal(fault: &Fault) -> String {
    match fault {
        Fault::Syntax(what) => format!("iperf3: {what}\n{USAGE}\n"),
        Fault::Parameter(what) => format!("iperf3: parameter error - {what}\n\n{USAGE}"),
    }
}

/// `-v`: iPerf3's version first, for scripts that read it.
pub(crate) fn version_text() -> String {
    format!(
        "{} (pathmeter {})\nOptional features available: CPU affinity setting, IPv6 flow label, TCP congestion \
         algorithm setting, sendfile / zerocopy, socket pacing, authentication, bind to device, support IPv4 don't \
         fragment, many clients at once\n",
        crate::iperf3::output::VERSION,
        env!("CARGO_PKG_VERSION")
    )
}

/// `-h`.
pub(crate) fn help_text() -> String {
    let mut text = USAGE.to_owned();
    text.push_str("\niPerf3's command line, protocol and output, on pathmeter's engine.\n");
    for (title, rows) in [("Both", BOTH), ("Server", SERVER), ("Client", CLIENT)] {
        text.push_str(&format!("\n{title}:\n"));
        rows.iter().filter(|row| !row.help.is_empty()).for_each(|row| text.push_str(&row.entry()));
    }
    text.push_str("\nN[KMGT]: K, M, G, T are powers of 1000 in rates and of 1024 in sizes and counts.\n");
    text
}
