//! Other tools' command lines and outputs on our engine: iPerf3's, iPerf2's and SockPerf's, read as they read them, refused
//! where they are silent, and printed as they print. Each ends with the code that its tool ends with.

mod daemon;
mod getopt;
pub mod iperf2;
pub mod iperf3;
mod numbers;
mod out;
pub mod sockperf;
mod units;

use engine::error::Result;
use engine::host::interrupt::Interrupt;
use engine::server::Confined;
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// The part this end plays in a test of either iPerf.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IperfRole {
    /// `-c`.
    #[default]
    Client,
    /// `-s`.
    Server,
}

/// The calls by which a tool uses the process that it runs in. Its work begins with them: not before a server has gone into the
/// background.
#[derive(Clone, Copy, Debug)]
pub struct Process {
    /// Makes the interrupt that signals raise.
    pub interrupt: fn() -> Result<Interrupt>,
    /// Gives up the rights that a server does not need: its sockets are open, its files are read, it has one thread.
    pub confine: fn() -> Result<Confined>,
}

/// The exit code after work that was done.
const DONE: u8 = 0;

/// The words of a foreign tool's command line, when this is one: called by its name (a link), or with its name as the
/// first word. They are taken apart before our own options are looked for, as both have a `-v` and a `--json`.
#[must_use]
pub fn args_of_tool(tool: &str, args: &[OsString]) -> Option<Vec<OsString>> {
    let named = args.first().map(Path::new).and_then(Path::file_name) == Some(OsStr::new(tool));
    let skipped = if named { 1 } else { 2 };
    (named || args.get(1).is_some_and(|word| word == tool)).then(|| args[skipped..].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_and_a_word_mean_the_tool() {
        let args = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        for (line, rest) in [
            ("/usr/bin/iperf3 -s", Some("-s")),
            ("pathmeter iperf3 -c host -v", Some("-c host -v")),
            ("pathmeter measure iperf3", None),
            ("/opt/iperf3/pathmeter measure h", None),
        ] {
            assert_eq!(args_of_tool("iperf3", &args(line)), rest.map(args), "{line}");
        }
        assert_eq!(args_of_tool("iperf3", &args("pathmeter iperf3")), Some(Vec::new()));
        assert_eq!(args_of_tool("iperf3", &[]), None);
        assert_eq!(args_of_tool("sockperf", &args("/usr/bin/sockperf pp")), Some(args("pp")));
        assert_eq!(args_of_tool("sockperf", &args("pathmeter sockperf sr -g")), Some(args("sr -g")));
        assert_eq!(args_of_tool("sockperf", &args("pathmeter iperf3 -s")), None);
    }
}
