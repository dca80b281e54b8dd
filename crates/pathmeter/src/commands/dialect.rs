//! Other tools' command lines: by the tool's name, as a link to this program has it, or as a sub-command.

use crate::exit::Exit;
use engine::error::Result;
use model::event::Event;
use std::ffi::OsString;
use wire::Report;

/// Runs as another tool, when the words are those of one. They are taken apart before our own options are looked for, as both
/// have a `-v` and a `--json`.
#[cfg(feature = "dialects")]
pub(crate) fn called_as(args: &[OsString]) -> Option<Result<Exit>> {
    let tools: [(&str, Tool); 3] = [
        ("iperf3", dialect::iperf3::run),
        ("iperf", dialect::iperf2::run),
        ("sockperf", dialect::sockperf::run),
    ];
    tools.into_iter().find_map(|(name, tool)| Some(run(tool, &dialect::args_of_tool(name, args)?)))
}

/// The command line of a tool, which ends with the tool's own exit code.
#[cfg(feature = "dialects")]
type Tool = fn(&[OsString], dialect::Process) -> u8;

/// `pathmeter iperf3`, `pathmeter iperf`, `pathmeter sockperf`. A server of a dialect gives root's rights up as our own does.
#[cfg(feature = "dialects")]
pub(crate) fn run(tool: Tool, args: &[OsString]) -> Result<Exit> {
    let process = dialect::Process {
        interrupt: crate::signals::interrupt,
        confine: || super::rights::confine(super::rights::RunAs::default()),
    };
    Ok(Exit::Dialect(tool(args, process)))
}

/// The text that an iPerf3 server sends its client of a test, where the client requests it.
#[cfg(feature = "dialects")]
pub(crate) fn server_output(events: &[Event]) -> Option<Report> {
    Some(dialect::iperf3::text_report(events))
}

/// Without the dialects no name is special.
#[cfg(not(feature = "dialects"))]
pub(crate) fn called_as(_words: &[OsString]) -> Option<Result<Exit>> {
    None
}

/// Without the dialects nothing prints as iPerf3 does.
#[cfg(not(feature = "dialects"))]
pub(crate) fn server_output(_events: &[Event]) -> Option<Report> {
    None
}
