//! Two helps: `-h` with a dozen options and three examples, `--help` with everything.

use clap::{Arg, Command};

/// The program, whose commands show on `-h` what most people need.
pub(crate) fn shortened(program: Command) -> Command {
    let program =
        HIDDEN.iter().fold(program, |program, name| program.mut_arg(name, |arg| arg.hide_short_help(true)));
    SHORT.iter().fold(program, |program, (name, options)| match program.find_subcommand(name) {
        Some(_) => program.mut_subcommand(name, |command| short(command, options)),
        None => program,
    })
}

fn short(command: Command, options: &[&str]) -> Command {
    let name = command.get_name().to_owned();
    let all = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let few = format!("{}\n\nAll options: pathmeter {name} --help", examples(&all));
    let is_shown = |arg: &Arg| {
        arg.is_positional() || arg.get_long().is_some_and(|long| options.contains(&long) || long == "help")
    };
    let command = command.mut_args(|arg| if is_shown(&arg) { arg } else { arg.hide_short_help(true) });
    command.after_help(few).after_long_help(all)
}

/// The heading and the first three examples.
fn examples(text: &str) -> String {
    let first = text.lines().position(|line| line == "EXAMPLES").unwrap_or(0);
    let lines: Vec<&str> =
        text.lines().skip(first).take(1 + EXAMPLES).take_while(|line| !line.is_empty()).collect();
    lines.join("\n")
}

/// A dozen options for each command that has many. What every command takes, such as `--json`, is there too.
const SHORT: &[(&str, &[&str])] = &[
    (
        "measure",
        &["quick", "port", "ipv4", "ipv6", "device", "link", "token-file", "expect", "json", "verbose"],
    ),
    (
        "throughput",
        &[
            "udp", "reverse", "bidir", "parallel", "time", "bitrate", "length", "window", "protocol",
            "expect", "json", "verbose",
        ],
    ),
    ("latency", &["tcp", "size", "time", "rate", "loaded", "via", "protocol", "expect", "json", "verbose"]),
    (
        "mtu",
        &["protocol", "largest", "encap", "port", "service", "ipv6", "device", "expect", "json", "verbose"],
    ),
    (
        "transfer",
        &[
            "repeat", "method", "size", "file", "mtu", "baseline", "mss", "cacert", "endpoint", "expect",
            "json", "verbose",
        ],
    ),
    (
        "frames",
        &[
            "frame", "tests", "reverse", "time", "quick", "pairs", "link", "encap", "expect", "json",
            "verbose",
        ],
    ),
    (
        "rfc2544",
        &[
            "lab", "standard", "tests", "quick", "frame", "both", "search", "link", "against", "json",
            "verbose",
        ],
    ),
    (
        "serve",
        &[
            "bind",
            "port",
            "iperf3",
            "iperf2",
            "sockperf",
            "stamp",
            "twamp",
            "http",
            "all",
            "token-file",
            "tls",
            "max-rate",
            "one-off",
        ],
    ),
];
/// Of the options that every command takes.
const HIDDEN: [&str; 6] = ["format", "output", "chart", "color", "plain", "config"];
const EXAMPLES: usize = 3;

#[cfg(test)]
mod tests {
    use super::super::Cli;
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn every_option_of_the_short_help_exists() {
        let program = Cli::command();
        for (name, options) in SHORT {
            let Some(command) = program.find_subcommand(name) else { continue };
            let all = || command.get_arguments().chain(program.get_arguments()).filter_map(Arg::get_long);
            for option in *options {
                assert!(all().any(|long| long == *option), "{name} --{option}");
            }
            assert!(options.len() <= 12, "{name}");
        }
    }

    #[test]
    fn three_examples_of_many_are_shown() {
        let text = "EXAMPLES\n  one\n  two\n  three\n  four\n\nEXIT CODES\n  0";
        assert_eq!(examples(text), "EXAMPLES\n  one\n  two\n  three");
        assert_eq!(examples("EXAMPLES\n  one\n\nMORE"), "EXAMPLES\n  one");
    }
}
