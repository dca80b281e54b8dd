//! Every help text as it was agreed on, completions that their shells take, and manual pages.

use super::{Scratch, run, succeed};
use std::io::Write;
use std::process::{Command, Stdio};

const COMMANDS: [&str; 33] = [
    "measure",
    "serve",
    "throughput",
    "latency",
    "mtu",
    "hops",
    "transfer",
    "frames",
    "rfc2544",
    "linerate",
    "lab",
    "plan",
    "import",
    "analyse",
    "compare",
    "trend",
    "watch",
    "history",
    "show",
    "forget",
    "export",
    "config",
    "report",
    "ui",
    "agent",
    "mesh",
    "demo",
    "doctor",
    "iperf3",
    "iperf",
    "sockperf",
    "completions",
    "man",
];
/// Their help is the foreign tool's own.
const DIALECTS: [&str; 3] = ["iperf3", "iperf", "sockperf"];

#[test]
fn help_is_as_agreed_on() {
    insta::assert_snapshot!("pathmeter", succeed("--help"));
    for command in COMMANDS {
        insta::assert_snapshot!(command, succeed(&format!("{command} --help")));
    }
}

#[test]
fn the_short_help_has_a_dozen_options_and_three_examples() {
    for command in
        ["measure", "throughput", "latency", "mtu", "hops", "transfer", "frames", "rfc2544", "serve"]
    {
        let short = succeed(&format!("{command} -h"));
        let long = succeed(&format!("{command} --help"));
        let options = short.lines().filter(|line| line.trim_start().starts_with('-')).count();
        assert!((8..=15).contains(&options), "{command} has {options} options:\n{short}");
        assert!(short.lines().count() <= 48, "{command}:\n{short}");
        assert!(
            short.contains("EXAMPLES") && short.contains(&format!("pathmeter {command} --help")),
            "{short}"
        );
        assert!(long.lines().count() > short.lines().count(), "{command}");
        insta::assert_snapshot!(format!("{command}.short"), short);
    }
}

#[test]
fn every_command_is_listed_and_has_examples() {
    let all = succeed("--help");
    for command in COMMANDS {
        assert!(all.contains(&format!("  {command} ")), "{command}");
        let help = succeed(&format!("{command} --help"));
        assert!(DIALECTS.contains(&command) || help.contains("EXAMPLES\n"), "{command}");
    }
}

#[test]
fn without_a_command_the_help_is_shown_and_it_is_an_error() {
    let ended = run("");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""));
    let text = ended.stderr;
    assert!(text.contains("Usage: pathmeter") && text.lines().count() <= 20, "{text}");
    for command in COMMANDS {
        assert!(text.split_whitespace().any(|word| word == command), "{command}:\n{text}");
    }
}

#[test]
fn shells_take_their_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = succeed(&format!("completions {shell}"));
        for word in ["throughput", "--bidir", "linerate"] {
            assert!(script.contains(word.trim_start_matches('-')), "{shell}: {word}");
        }
    }
    let mut bash = Command::new("bash").args(["-n", "-s"]).stdin(Stdio::piped()).spawn().expect("bash");
    let script = succeed("completions bash");
    bash.stdin.take().expect("piped").write_all(script.as_bytes()).expect("bash reads");
    assert!(bash.wait().expect("bash ends").success(), "bash takes its script");
}

#[test]
fn there_is_a_manual_page_for_each_command() {
    let page = succeed("man");
    assert!(page.contains(".TH pathmeter 1") && page.contains(".SH \"EXIT STATUS\""), "{page}");
    let scratch = Scratch::new("man");
    let dir = scratch.0.join("deep/man1");
    assert_eq!(succeed(&format!("man {}", dir.display())), "");
    for command in COMMANDS {
        let page = std::fs::read_to_string(dir.join(format!("pathmeter-{command}.1"))).expect(command);
        assert!(page.contains(".SH SYNOPSIS"), "{command}");
    }
    let file = scratch.0.join("page.1");
    succeed(&format!("man -o {}", file.display()));
    assert_eq!(std::fs::read_to_string(file).expect("the file of -o"), page);
}
