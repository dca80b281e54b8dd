//! The sub-commands in groups: for the list of the help, and for a command line without any.

use super::fitted::{BELOW, filled};
use clap::Command;
use std::fmt::Write;

/// The program whose help is the answer to a command line without a command: five commands, and the names of the others.
pub(crate) fn without_command(program: Command, width: usize) -> Command {
    let text = overview(&program, width);
    program.override_help(text)
}

fn overview(program: &Command, width: usize) -> String {
    // On a narrow terminal the names stand below their heading.
    let beside = GROUPS.iter().map(|(title, _)| title.len()).max().unwrap_or_default() + 2;
    let title = if width < NARROW { 2 } else { beside };
    let mut text = fitted(FIRST, width);
    for (heading, commands) in groups(program) {
        let lines = filled(&commands, title, title, width).join("\n");
        let block = match width < NARROW {
            true => format!("{heading}\n{lines}"),
            false => format!("{heading:title$}{}", lines.trim_start()).trim_end().to_owned(),
        };
        let _ = writeln!(text, "{block}");
    }
    text + &fitted(LAST, width)
}

/// Lines as wide as the terminal: an explanation that does not fit stands below its command.
fn fitted(text: &str, width: usize) -> String {
    let broken = |sentence: &str, indent: usize| {
        let tokens: Vec<&str> = sentence.split_whitespace().collect();
        filled(&tokens, indent, indent, width).join("\n")
    };
    let fit = |line: &str| {
        let (command, explained) = line.split_once("   ").unwrap_or(("", line));
        let lines = match line.chars().count() <= width {
            true => line.to_owned(),
            false if command.is_empty() => broken(line, 0),
            false => format!("{command}\n{}", broken(explained, BELOW)),
        };
        lines + "\n"
    };
    text.lines().map(fit).collect()
}

/// Each command with the first line of its documentation, by groups.
pub(super) fn grouped(program: &Command) -> String {
    let longest = GROUPS.iter().flat_map(|(_, commands)| *commands).map(|name| name.len()).max();
    let column = longest.unwrap_or_default() + 2;
    let group = |(title, commands): (&str, Vec<&str>)| {
        let mut text = format!("{title}:");
        for name in commands {
            let about = program.find_subcommand(name).and_then(Command::get_about);
            let about = about.map_or_else(|| HELP.to_owned(), ToString::to_string);
            let _ = write!(text, "\n  {name:column$}{about}");
        }
        text
    };
    groups(program).map(group).collect::<Vec<_>>().join("\n\n")
}

/// The groups with the commands that this build has.
fn groups(program: &Command) -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    GROUPS.iter().map(|(title, commands)| {
        let is_here = |name: &&&str| **name == "help" || program.find_subcommand(name).is_some();
        (*title, commands.iter().filter(is_here).copied().collect())
    })
}

const GROUPS: [(&str, &[&str]); 6] = [
    ("Measure", &["measure", "serve", "throughput", "latency", "mtu", "hops", "transfer", "frames", "demo"]),
    ("Devices and labs", &["rfc2544", "linerate", "lab"]),
    (
        "Keep and compare",
        &[
            "history", "show", "label", "forget", "export", "compare", "trend", "watch", "report", "ui",
            "import", "analyse",
        ],
    ),
    ("Many hosts", &["plan", "agent", "mesh"]),
    ("Other tools' command lines", &["iperf3", "iperf", "sockperf"]),
    ("This host", &["doctor", "config", "completions", "man", "help"]),
];
/// Columns below which headings have a line of their own.
const NARROW: usize = 60;
/// Clap's own command has no documentation of ours.
const HELP: &str = "Print the help of a command";
const FIRST: &str = "\
How fast is this path really, where is the limit, and why?

Usage: pathmeter COMMAND [OPTIONS]

  pathmeter demo                    see it work, on this machine alone
  pathmeter serve                   on the far host: TCP and UDP port 5210
  pathmeter measure HOST            MTU, round trips, TCP, UDP, and a verdict
  pathmeter mtu HOST                which packets cross, in each direction
  pathmeter latency HOST --loaded   round trips, idle and under load

";
const LAST: &str = "
`pathmeter help` has a line about each, `pathmeter COMMAND -h` its examples.
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arguments::Cli;
    use clap::CommandFactory;

    #[test]
    fn the_overview_fits_every_terminal() {
        for width in [40, 50, 60, 80] {
            let text = overview(&Cli::command(), width);
            let wide: Vec<&str> = text.lines().filter(|line| line.chars().count() > width).collect();
            assert!(wide.is_empty(), "{width}: {wide:?}");
            assert!(text.contains("  pathmeter measure HOST"), "{text}");
        }
        assert!(
            overview(&Cli::command(), 40)
                .contains("  pathmeter serve\n      on the far host: TCP and UDP port\n")
        );
    }

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, commands)| *commands).copied().collect();
        grouped.sort_unstable();
        let program = Cli::command();
        let shown = program.get_subcommands().filter(|command| !command.is_hide_set());
        let mut commands: Vec<&str> = shown.map(Command::get_name).chain(["help"]).collect();
        commands.sort_unstable();
        let missing: Vec<&&str> = commands.iter().filter(|name| !grouped.contains(name)).collect();
        assert!(missing.is_empty(), "{missing:?}");
        grouped.dedup();
        assert_eq!(grouped.len(), GROUPS.iter().map(|(_, commands)| commands.len()).sum::<usize>());
    }

    #[test]
    fn the_overview_has_twenty_lines_on_a_terminal_of_eighty_columns() {
        let text = overview(&Cli::command(), 80);
        assert!(text.lines().count() <= 20, "{text}");
        for width in [40, 60, 80] {
            let text = overview(&Cli::command(), width);
            let rows = text
                .lines()
                .skip_while(|line| !line.starts_with("Measure"))
                .take_while(|line| !line.is_empty());
            for line in rows {
                assert!(line.len() <= width, "{width}: {line}");
            }
        }
    }
}
