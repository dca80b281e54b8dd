//! Two helps: `-h` with a dozen options and three examples, `--help` with everything.

use super::fitted::fitted;
use super::groups::grouped;
use clap::{Arg, Command};

/// The program, whose commands show on `-h` what most people need, in lines of at most `width` columns.
pub fn shortened(program: Command, width: usize) -> Command {
    let program =
        HIDDEN.iter().fold(program, |program, name| program.mut_arg(name, |arg| arg.hide_short_help(true)));
    let program =
        SHORT.iter().fold(program, |program, (name, options)| match program.find_subcommand(name) {
            Some(_) => program.mut_subcommand(name, |command| short(command, options)),
            None => program,
        });
    let all = program.get_after_help().map(ToString::to_string).unwrap_or_default();
    let few = format!("{}\n\nAll options and exit codes: pathmeter --help", examples(&all, FIRST));
    let program = narrowed(program.after_help(few).after_long_help(all), width).term_width(width);
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}\n\nOptions:\n{{options}}{{after-help}}",
        fitted(&grouped(&program), width)
    );
    program.help_template(template)
}

/// Columns for help: those of the terminal or of the variable COLUMNS, at most what is read with ease.
pub fn width() -> usize {
    let named = || std::env::var("COLUMNS").ok()?.parse().ok();
    let columns = linux::screen::columns().map(usize::from).or_else(named);
    columns.map_or(WIDEST, |columns| columns.clamp(NARROWEST, WIDEST))
}

/// The commands below this one, too, with their texts in lines of at most `width` columns.
fn narrowed(command: Command, width: usize) -> Command {
    let fits = |text: &clap::builder::StyledStr| fitted(&text.to_string(), width);
    let (short, long) = (command.get_after_help().map(fits), command.get_after_long_help().map(fits));
    let command = command.mut_subcommands(|command| narrowed(command, width));
    let command = short.into_iter().fold(command, Command::after_help);
    long.into_iter().fold(command, Command::after_long_help)
}

fn short(command: Command, options: &[&str]) -> Command {
    let name = command.get_name().to_owned();
    let all = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let few = format!("{}\n\nAll options: pathmeter {name} --help", examples(&all, EXAMPLES));
    let is_shown = |arg: &Arg| {
        arg.is_positional() || arg.get_long().is_some_and(|long| options.contains(&long) || long == "help")
    };
    let command = command.mut_args(|arg| if is_shown(&arg) { arg } else { arg.hide_short_help(true) });
    command.after_help(few).after_long_help(all)
}

/// The heading and the first examples.
fn examples(text: &str, count: usize) -> String {
    let first = text.lines().position(|line| line == "EXAMPLES").unwrap_or(0);
    let lines: Vec<&str> =
        text.lines().skip(first).take(1 + count).take_while(|line| !line.is_empty()).collect();
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
        "hops",
        &[
            "protocol", "port", "count", "watch", "interval", "flows", "names", "as-file", "ipv6", "expect",
            "json", "verbose",
        ],
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
            "http",
            "all",
            "token-file",
            "tls",
            "max-rate",
            "one-off",
        ],
    ),
];
/// Options of every command that the short help leaves out.
const HIDDEN: [&str; 6] = ["format", "output", "chart", "color", "plain", "config"];
const EXAMPLES: usize = 3;
const WIDEST: usize = 100;
const NARROWEST: usize = 40;
/// For those who see the program for the first time.
const FIRST: usize = 6;

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
        assert_eq!(examples(text, EXAMPLES), "EXAMPLES\n  one\n  two\n  three");
        assert_eq!(examples("EXAMPLES\n  one\n\nMORE", EXAMPLES), "EXAMPLES\n  one");
    }

    #[test]
    fn no_help_is_wider_than_the_terminal() {
        for width in [60, 80] {
            let mut program = shortened(Cli::command(), width);
            program.build();
            let mut todo = vec![program];
            while let Some(mut command) = todo.pop() {
                todo.extend(command.get_subcommands().cloned());
                for text in [command.render_help(), command.render_long_help()] {
                    let text = text.to_string();
                    let wide = text.lines().filter(|line| line.chars().count() > width);
                    // A word alone may be longer, and so may the line of use, which clap never breaks.
                    let is_ours =
                        |line: &&str| line.split_whitespace().count() > 1 && !line.starts_with("Usage:");
                    let wide: Vec<&str> = wide.filter(is_ours).collect();
                    assert!(wide.is_empty(), "{} at {width}: {wide:#?}", command.get_name());
                }
            }
        }
    }

    #[test]
    fn each_command_has_one_line_in_the_list_of_a_terminal_of_eighty_columns() {
        let list = shortened(Cli::command(), 80).render_help().to_string();
        let rows = list.lines().take_while(|line| *line != "Options:");
        let wrapped: Vec<&str> = rows.filter(|line| line.starts_with("   ")).collect();
        assert!(wrapped.is_empty(), "shorten the first line of its documentation: {wrapped:#?}");
    }
}
