//! The text of `--help` and `--version`.

use super::Command;
use super::aopt::SockperfOption;
use super::options::ALL;
use crate::sockperf::output::Mode;

/// The name in the first line of the output, after `version #`.
pub(crate) fn version_name(version: crate::sockperf::output::Version) -> String {
    let number = match version {
        crate::sockperf::output::Version::V3_7 => "3.7",
        crate::sockperf::output::Version::V3_10 => "3.10",
    };
    format!("{number}-pathmeter.{}", env!("CARGO_PKG_VERSION"))
}

/// `--version`: sockperf's version first, for scripts that read it.
pub(crate) fn version_text() -> String {
    format!("sockperf, version {}\n", version_name(crate::sockperf::output::Version::default()))
}

/// `--help` of a sub-command, or of all.
pub(crate) fn help_text(command: Option<Command>) -> String {
    let Some(command) = command else { return overview() };
    let (name, short, what) = COMMANDS.iter().find(|row| row.0 == command).map_or(("", "", ""), |row| row.1);
    let mut text = format!("{name} ({short}): {what}\n\nUsage: sockperf {name} [options]\n");
    for (title, rows) in ["Options", "Of a client", "Of this test", "Of a server"].iter().zip(ALL) {
        let mut rows = rows.iter().filter(|row| row.of.has(command)).peekable();
        if rows.peek().is_some() {
            text.push_str(&format!("\n{title}:\n"));
            rows.for_each(|row| text.push_str(&entry(row)));
        }
    }
    text
}

fn overview() -> String {
    let mut text = String::from(
        "SockPerf's command line, protocol and output, on pathmeter's engine.\n\n\
         Usage: sockperf <subcommand> [options]\n       sockperf <subcommand> --help\n       sockperf --version\n\n\
         Subcommands:\n",
    );
    for (_, (name, short, what)) in COMMANDS {
        let name = format!("{name} ({short})");
        text.push_str(&format!("   {name:18}{what}\n"));
    }
    text
}

fn entry(row: &SockperfOption) -> String {
    let letters = row.usage.letters().map(|letter| format!("-{letter}"));
    let spellings: Vec<String> = letters.chain(row.usage.names().map(|name| format!("--{name}"))).collect();
    row.usage.entry(&spellings.join(", "), row.help)
}

/// Name, short name, what it does.
type Entry = (&'static str, &'static str, &'static str);

const COMMANDS: &[(Command, Entry)] = &[
    (Command::Client(Mode::UnderLoad), ("under-load", "ul", "latency while messages go at a rate")),
    (Command::Client(Mode::PingPong), ("ping-pong", "pp", "latency, one message or burst at a time")),
    (
        Command::Client(Mode::Playback),
        ("playback", "pb", "latency of messages at the times and sizes of a file"),
    ),
    (Command::Client(Mode::Throughput), ("throughput", "tp", "messages one way")),
    (Command::Server, ("server", "sr", "answer such clients, many at once")),
];
