use super::table::FIGURES;
use super::*;
use crate::arguments::{Cli, shortened};
use clap::{CommandFactory, FromArgMatches, Parser};

fn program() -> Command {
    shortened(Cli::command(), 80)
}

fn read(line: &[&str]) -> Result<String, Refused> {
    let args = std::iter::once("pathmeter").chain(line.iter().copied()).map(OsString::from).collect();
    let (matches, _) = understood(&program(), args)?;
    Ok(format!("{:?}", Cli::from_arg_matches(&matches).map_err(Refused::Clap)?))
}

/// Ours, in words of ours alone.
fn ours(line: &[&str]) -> Result<String, clap::Error> {
    Cli::try_parse_from(std::iter::once("pathmeter").chain(line.iter().copied()))
        .map(|cli| format!("{cli:?}"))
}

/// The words of a command that measures, before its options.
fn begin(command: &str) -> Vec<&str> {
    match command {
        "" => Vec::new(),
        "serve" | "ui" | "doctor" => vec![command],
        _ => vec![command, "far.example"],
    }
}

/// A value that an option takes.
fn value_of(line: &[&str], option: &str) -> Option<&'static str> {
    let values = ["5", "10.0.0.1", "eth0", "cubic", "ef"];
    values.into_iter().find(|value| ours(&[line, &[option, value]].concat()).is_ok())
}

#[test]
fn the_whole_table_is_understood_or_answered() {
    for (commands, rows) in OPTIONS {
        for (command, (spellings, meaning)) in
            commands.split(' ').flat_map(|of| rows.iter().map(move |row| (of, row)))
        {
            for word in spellings.split(' ') {
                let line = begin(command);
                let is_ours = word != "-c" && ours(&[&line[..], &[word]].concat()).is_ok();
                assert!(!is_ours, "`{command} {word}` is an option of ours");
                held(*meaning, command, word, &line);
            }
        }
    }
}

fn held(meaning: Meaning, command: &str, word: &str, line: &[&str]) {
    match meaning {
        Meaning::Same(option) => {
            let option: Vec<&str> = option.split(' ').collect();
            let value = value_of(line, option[0]).filter(|_| option.len() == 1);
            let mut typed = [line, &[word]].concat();
            let mut expected = [line, &option[..]].concat();
            typed.extend(value);
            expected.extend(value);
            let expected = ours(&expected).unwrap_or_else(|error| panic!("{expected:?}: {error}"));
            assert_eq!(read(&typed).expect("an alias"), expected, "{typed:?}");
        }
        Meaning::Default => {
            let typed = [line, &[word]].concat();
            assert_eq!(read(&typed).expect("the default"), ours(line).expect("ours"), "{typed:?}");
        }
        Meaning::Host => {
            let typed = [command, word, "far.example"];
            assert_eq!(read(&typed).expect("the host"), ours(line).expect("ours"), "{typed:?}");
        }
        Meaning::Write(advice) => {
            let typed = [line, &[word]].concat();
            let Err(Refused::Foreign(failure)) = read(&typed) else { panic!("{typed:?} is not refused") };
            assert!(
                failure.message.contains(&format!("`{word}`")) || command.is_empty(),
                "{}",
                failure.message
            );
            let written = failure.advice.expect("advice");
            assert_eq!(written, advice, "{typed:?}");
            assert!(written.len() <= 120, "{} letters: {written}", written.len());
        }
    }
}

#[test]
fn every_foreign_command_leads_to_one_of_ours() {
    for (words, command) in COMMANDS {
        for word in words.split(' ') {
            let Err(Refused::Foreign(failure)) = read(&[word, "10.0.0.1"]) else { panic!("{word}") };
            assert_eq!(failure.message, format!("there is no command `{word}`"));
            let written = failure.advice.expect("advice");
            assert_eq!(written, format!("write `{}`", command.replace("HOST", "10.0.0.1")));
            let argv = written.trim_start_matches("write `pathmeter ").trim_end_matches('`');
            let argv: Vec<&str> = argv.split(' ').collect();
            let is_help = argv.last().is_some_and(|last| last.starts_with("--h") || *last == "--version");
            // iPerf2's own options are not clap's.
            assert!(is_help || ours(&argv).is_ok(), "{argv:?}");
        }
    }
}

#[test]
fn every_figure_of_the_table_is_one_of_ours() {
    for (command, names, figure) in FIGURES {
        for name in names.split(' ') {
            let is_ours = |key: &str| {
                ["<=1", "<=1ms", "<=1%", "==ok", ">=1G"]
                    .iter()
                    .any(|end| format!("{key}{end}").parse::<report::expect::Expectation>().is_ok())
            };
            assert!(is_ours(figure), "{figure}");
            assert!(!is_ours(name), "{name} is a figure of ours");
            assert!(meant_figure(command, name).is_some());
        }
    }
    assert_eq!(meant_figure("latency", "loss"), Some("lost"));
    assert_eq!(meant_figure("throughput", "loss"), Some("down.loss"));
}

#[test]
fn foreign_options_are_read_wherever_they_stand() {
    for (typed, expected) in [
        (&["throughput", "-c", "h", "-J"][..], &["throughput", "h", "--json"][..]),
        (&["throughput", "-ch", "-uR"], &["throughput", "h", "-u", "-R"]),
        (&["throughput", "-uc", "h"], &["throughput", "h", "-u"]),
        (&["throughput", "--client=h", "-P", "4"], &["throughput", "h", "-P", "4"]),
        (&["throughput", "-B10.0.0.1", "h"], &["throughput", "h", "--bind", "10.0.0.1"]),
        (&["throughput", "h", "-uC", "bbr"], &["throughput", "h", "-u", "--congestion", "bbr"]),
        (&["throughput", "h", "-JR"], &["throughput", "h", "--json", "-R"]),
        (&["throughput", "h", "--set-mss=1400"], &["throughput", "h", "-M", "1400"]),
        (&["hops", "-rnc", "10", "h"], &["hops", "-c", "10", "h"]),
        (&["hops", "-rT", "-P", "443", "h"], &["hops", "--protocol", "tcp", "--port", "443", "h"]),
        (&["serve", "-s", "-1"], &["serve", "--one-off"]),
        (&["--plain", "throughput", "-c", "h"], &["--plain", "throughput", "h"]),
    ] {
        let read = read(typed).unwrap_or_else(|error| panic!("{typed:?}: {error:?}"));
        assert_eq!(read, ours(expected).expect("ours"), "{typed:?}");
    }
}

#[test]
fn no_error_advises_to_pass_an_option_as_a_value() {
    for line in
        [&["throughput", "h", "--nonsense"][..], &["throughput", "h", "-y"], &["hops", "h", "-Y"], &["-y"]]
    {
        let Err(Refused::Clap(error)) = read(line) else { panic!("{line:?}") };
        assert!(!error.to_string().contains("as a value"), "{error}");
    }
}

#[test]
fn an_option_of_another_command_is_found_there() {
    for (line, advice) in [
        (
            &["measure", "h", "-P", "4"][..],
            "`pathmeter throughput`, `pathmeter latency` and `pathmeter frames` have it",
        ),
        (&["measure", "h", "--bitrate", "1G"], "`pathmeter throughput` has it"),
        (
            &["hops", "h", "--parallel", "4"],
            "`pathmeter throughput`, `pathmeter latency` and `pathmeter frames` have it",
        ),
        (&["mtu", "h", "--loaded"], "`pathmeter latency` has it"),
    ] {
        let Err(Refused::Foreign(failure)) = read(line) else { panic!("{line:?}") };
        assert_eq!(failure.advice.as_deref(), Some(advice), "{line:?}");
    }
}

#[test]
fn a_word_that_is_no_command_may_be_a_host() {
    for (line, advice) in [
        (&["10.0.0.1"][..], "write `pathmeter measure 10.0.0.1`"),
        (&["far.example"], "write `pathmeter measure far.example`"),
        (&["[::1]:5210"], "write `pathmeter measure [::1]:5210`"),
        (&["localhost"], "write `pathmeter measure localhost`"),
        (&["https://far.example/x"], "write `pathmeter transfer https://far.example/x`"),
        (&["zzz"], "`pathmeter help` lists them; a host of this name: `pathmeter measure zzz`"),
        (&["MTR", "-rwc", "10", "far.example"], "write `pathmeter hops far.example`"),
        (&["ping"], "write `pathmeter latency HOST`"),
        (&["ping", "-c", "5", "-M", "do", "-s", "1472", "10.0.0.1"], "write `pathmeter mtu 10.0.0.1`"),
        (&["netperf", "-H", "10.0.0.1", "-t", "TCP_RR"], "write `pathmeter latency 10.0.0.1 --tcp`"),
        (&["nping", "10.0.0.1"], "write `pathmeter latency 10.0.0.1`"),
        (&["mesure", "h"], "did you mean `pathmeter measure`? `pathmeter help` lists all"),
        (&["thruput", "h"], "did you mean `pathmeter throughput`? `pathmeter help` lists all"),
    ] {
        let Err(Refused::Foreign(failure)) = read(line) else { panic!("{line:?}") };
        assert_eq!(failure.advice.as_deref(), Some(advice), "{line:?}");
    }
}

#[test]
fn values_of_other_tools_are_answered() {
    for (line, expected) in [
        (
            &["throughput", "http://far.example:80/x"][..],
            "write the host alone: far.example:80; `pathmeter transfer http",
        ),
        (&["measure", "ssh://root@far.example"], "write the host alone: far.example"),
        (&["measure", "root@far.example"], "write the host alone: far.example"),
        (&["hops", "10.0.0.0/24"], "write one address of it, such as 10.0.0.0"),
        (&["throughput", "h", "-t", "TCP_RR"], "netperf's TCP_RR is `pathmeter latency HOST --tcp`"),
        (&["latency", "-i", "10.0.0.1"], "the host stands alone: `pathmeter latency 10.0.0.1`"),
        (&["hops", "-i", "eth0", "h"], "an interface is `--device eth0`"),
        (&["throughput", "h", "-M", "do"], "ping's -M is for sizes"),
        (&["latency", "-n", "10.0.0.1"], "leave the option out"),
        (&["hops", "-s", "10.0.0.1", "h"], "an address to send from is `--bind 10.0.0.1`"),
        (&["throughput", "h", "-B", "eth0"], "an interface is `--device eth0`"),
        (&["throughput", "h", "-B", "10.0.0.1%eth0"], "write `--device eth0`"),
        (&["serve", "--bind", "fe80::1%eth0"], "leave `--bind` out"),
        (&["measure", "h", "5210"], "a port is written `h:5210`, or `-p 5210`"),
        (&["measure", "10.0.0.1", "10.0.0.2"], "`pathmeter throughput HOST HOST` and"),
        (&["linerate", "25G"], "the speed of the link is `--link 25G`"),
        (&["frames", "h", "9.4Gbit/s"], "the speed of the link is `--link 9.4Gbit/s`"),
        (&["throughput", "h", "-b", "10MB"], "bytes per second are written `10MB/s`"),
        (&["throughput", "h", "-p", "99999"], "a port is a number from 1 to 65535"),
        (&["hops", "h", "--port", "http"], "a port is a number from 1 to 65535"),
        (&["serve", "10.0.0.1"], "run it on the far host as it is"),
        (&["serve", "5201"], "a port is written `-p 5201`"),
        (&["serve", "--http", "8080"], "a port of its own is written `--http=8080`"),
        (&["serve", "--iperf3", "10.0.0.1:5202"], "a port of its own is written `--iperf3=5202`"),
        (&["ui", "--listen", "80"], "write an address with a port"),
        (&["measure"], "write `pathmeter measure HOST`; `pathmeter serve` runs on that host"),
        (&["hops"], "write `pathmeter hops HOST`"),
        (&["transfer"], "write `pathmeter transfer URL`"),
        (&["show"], "write `pathmeter show RUN`; `pathmeter history` lists them"),
        (&["-v"], "write `pathmeter measure HOST`, or another command"),
        (&["measure", "h", "-t", "5"], "it takes 23 s"),
        (&["curl", "http://h:8080/x"], "write `pathmeter transfer http://h:8080/x`"),
    ] {
        let Err(Refused::Foreign(failure)) = read(line) else { panic!("{line:?} is not refused") };
        let advice = failure.advice.expect("advice");
        assert!(advice.starts_with(expected), "{line:?}: {advice}");
        assert!(failure.message.len() + advice.len() <= 220, "{} {advice}", failure.message);
    }
}

#[test]
fn fields_of_mtr_are_no_file() {
    let check = |line: &[&str]| {
        let cli = Cli::try_parse_from(std::iter::once("pathmeter").chain(line.iter().copied()));
        check_output(&cli.expect("it parses"))
    };
    assert!(check(&["hops", "h", "-o", "LSDNBAWV"]).is_err());
    for line in [
        &["hops", "h", "-o", "result.json"][..],
        &["hops", "h", "-o", "./LSD"],
        &["mtu", "h", "-o", "LSD"],
        &["hops", "h"],
    ] {
        assert!(check(line).is_ok(), "{line:?}");
    }
}
