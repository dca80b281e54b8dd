//! A completion script for a shell, made from the command line's own definition.

use crate::arguments::Cli;
use clap::builder::{PossibleValuesParser, Resettable};
use clap::{Arg, Command, CommandFactory};
use clap_complete::Shell;

/// The script for a shell.
#[must_use]
pub fn script(shell: Shell) -> Vec<u8> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut with_values(Cli::command()), "pathmeter", &mut script);
    script
}

/// The program, in which a shell finds the values of options that take any text.
fn with_values(command: Command) -> Command {
    command.mut_args(valued).mut_subcommands(with_values)
}

fn valued(arg: Arg) -> Arg {
    let values = values(arg.get_id().as_str());
    if values.is_empty() {
        return arg;
    }
    // A default that is not among them, such as no encapsulation, would be refused.
    arg.default_value(Resettable::Reset).value_parser(PossibleValuesParser::new(values))
}

/// The beginnings of an option's value, without the operators of an expectation, which the shell would take for a redirection.
fn values(option: &str) -> Vec<String> {
    match option {
        "congestion" => CONGESTION.map(str::to_owned).into(),
        "encap" => model::framing::ENCAPSULATIONS.map(str::to_owned).into(),
        "expect" => report::expect::names(),
        "topologies" | "topology" | "compare" | "lab" => topologies(),
        _ => Vec::new(),
    }
}

#[cfg(any(feature = "lab", feature = "device"))]
fn topologies() -> Vec<String> {
    lab::shipped::SHIPPED.iter().map(|shipped| shipped.name.to_owned()).collect()
}

#[cfg(not(any(feature = "lab", feature = "device")))]
fn topologies() -> Vec<String> {
    Vec::new()
}

/// Those of Linux, of which a host has some.
const CONGESTION: [&str; 15] = [
    "bbr",
    "bic",
    "cdg",
    "cubic",
    "dctcp",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "nv",
    "reno",
    "scalable",
    "vegas",
    "westwood",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_of_free_texts_are_completed() {
        let script = String::from_utf8(script(Shell::Bash)).expect("text");
        for value in ["cubic", "wireguard6", "down.goodput", "rtt.p99"] {
            assert!(script.contains(&format!(" {value} ")), "{value}");
        }
        #[cfg(feature = "lab")]
        assert!(script.contains(" bufferbloat "), "topologies");
    }

    #[test]
    fn every_figure_is_read_as_an_expectation() {
        for name in report::expect::names() {
            let value = match name.rsplit('.').next() {
                Some("limit" | "kind") => "==shaper",
                Some("confidence") => "==high",
                _ => ">=0",
            };
            let read = format!("{name}{value}").parse::<report::expect::Expectation>();
            let known = name == "verdict" || read.is_ok();
            assert!(known, "{name}: {read:?}");
        }
    }
}
