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
    type Run = fn(&[OsString]) -> Result<Exit>;
    let tools: [(&str, Run); 3] = [("iperf3", iperf3), ("iperf", iperf2), ("sockperf", sockperf)];
    tools.into_iter().find_map(|(tool, run)| Some(run(&dialect::args_of_tool(tool, args)?)))
}

/// A server of a dialect gives root's rights up as our own does.
#[cfg(feature = "dialects")]
const PROCESS: dialect::Process = dialect::Process {
    interrupt: crate::signals::interrupt,
    confine: || super::rights::confine(super::rights::RunAs::default()),
};

/// `pathmeter iperf3`.
#[cfg(feature = "dialects")]
pub(crate) fn iperf3(args: &[OsString]) -> Result<Exit> {
    Ok(Exit::Dialect(dialect::iperf3::run(args, PROCESS)))
}

/// `pathmeter iperf`.
#[cfg(feature = "dialects")]
pub(crate) fn iperf2(args: &[OsString]) -> Result<Exit> {
    Ok(Exit::Dialect(dialect::iperf2::run(args, PROCESS)))
}

/// `pathmeter sockperf`.
#[cfg(feature = "dialects")]
pub(crate) fn sockperf(args: &[OsString]) -> Result<Exit> {
    Ok(Exit::Dialect(dialect::sockperf::run(args, PROCESS)))
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
