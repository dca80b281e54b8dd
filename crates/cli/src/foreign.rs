//! Words of other tools on our command line: iPerf3's, iPerf2's, netperf's, ping's, mtr's, traceroute's and SockPerf's. An option
//! with the same meaning is understood; every other word ends with an error that names what to write here. The table is searched
//! before clap makes its own suggestions.

mod figures;
mod hosts;
mod table;
mod values;

pub(crate) use figures::meant as meant_figure;
pub(crate) use hosts::check as check_hosts;
pub(crate) use values::check_output;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command};
use engine::error::Failure;
use model::units::BitRate;
use std::ffi::OsString;
use std::path::Path;
use table::{COMMANDS, Meaning, OPTIONS};

/// Why a command line is not understood.
#[derive(Debug)]
pub(crate) enum Refused {
    /// By clap, whose text is right.
    Clap(clap::Error),
    /// In the words of another tool, or for a reason that clap does not know.
    Foreign(Failure),
}

/// A command line in our own words, and clap's reading of it.
///
/// # Errors
/// The command line is not understood, or asks for help.
pub(crate) fn understood(
    program: &Command,
    mut args: Vec<OsString>,
) -> Result<(ArgMatches, Vec<OsString>), Refused> {
    // Each round replaces one foreign word, and an option of ours is none.
    for _ in 0..=args.len() {
        let error = match program.clone().try_get_matches_from(&args) {
            Ok(matches) => return Ok((matches, args)),
            Err(error) => error,
        };
        match answer(program, &args, &error) {
            Some(Answer::Again(again)) => args = again,
            Some(Answer::Refused(failure)) => return Err(Refused::Foreign(failure)),
            None => return Err(Refused::Clap(plain(error))),
        }
    }
    program.clone().try_get_matches_from(&args).map(|matches| (matches, args)).map_err(Refused::Clap)
}

enum Answer {
    /// The command line with one word translated.
    Again(Vec<OsString>),
    Refused(Failure),
}

/// Clap's error without the advice to pass an option as a value: no value here begins with a hyphen.
fn plain(mut error: clap::Error) -> clap::Error {
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::Suggested);
    }
    error
}

fn answer(program: &Command, args: &[OsString], error: &clap::Error) -> Option<Answer> {
    let texts: Vec<&str> = args.iter().map(|arg| arg.to_str().unwrap_or_default()).collect();
    let is_command = |text: &&str| program.find_subcommand(text).is_some();
    let at = texts.iter().skip(1).position(is_command).map_or(0, |at| at + 1);
    let command = if at == 0 { "" } else { texts[at] };
    let typed = Typed { program, command, at, texts };
    match error.kind() {
        ErrorKind::InvalidSubcommand if command.is_empty() => {
            let similar = similar(error);
            let word = context(error, ContextKind::InvalidSubcommand)?;
            Some(Answer::Refused(typed.foreign_command(word, similar)))
        }
        ErrorKind::MissingSubcommand if command.is_empty() => Some(Answer::Refused(no_command())),
        ErrorKind::MissingRequiredArgument => {
            typed.without_argument(context(error, ContextKind::InvalidArg)?).map(Answer::Refused)
        }
        ErrorKind::UnknownArgument => typed.unknown(context(error, ContextKind::InvalidArg)?, args),
        ErrorKind::ValueValidation | ErrorKind::InvalidValue => {
            let option = context(error, ContextKind::InvalidArg)?;
            let value = context(error, ContextKind::InvalidValue)?;
            values::refused(command, option, value).map(Answer::Refused)
        }
        _ => None,
    }
}

fn context(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        ContextValue::Strings(texts) => texts.first().map(String::as_str),
        _ => None,
    }
}

/// The command most like the word that is none; clap lists the least like first.
fn similar(error: &clap::Error) -> Option<&str> {
    match error.get(ContextKind::SuggestedSubcommand)? {
        ContextValue::String(text) => Some(text),
        ContextValue::Strings(texts) => texts.last().map(String::as_str),
        _ => None,
    }
}

/// A command line, and where its command is; 0: there is none.
struct Typed<'a> {
    program: &'a Command,
    command: &'a str,
    at: usize,
    texts: Vec<&'a str>,
}

impl Typed<'_> {
    /// A word in the place of a command.
    fn foreign_command(&self, word: &str, similar: Option<&str>) -> Failure {
        let known = COMMANDS.iter().find(|(words, _)| words.split(' ').any(|one| one == word.to_lowercase()));
        let known = self.by_options(word).or(known.map(|(_, ours)| *ours));
        let advice = match known {
            Some(ours) => format!("write `{}`", self.filled_in(ours, word)),
            None if is_url(word) => format!("write `pathmeter transfer {word}`"),
            None if is_host(word) => format!("write `pathmeter measure {word}`"),
            None if word.ends_with(".toml") && Path::new(word).exists() => {
                format!("write `pathmeter plan run {word}`, or of a topology `pathmeter lab run {word}`")
            }
            None if Path::new(word).exists() => format!("write `pathmeter import {word}`"),
            None => match similar {
                Some(similar) => format!("did you mean `pathmeter {similar}`? `pathmeter help` lists all"),
                None => {
                    format!("`pathmeter help` lists them; a host of this name: `pathmeter measure {word}`")
                }
            },
        };
        Failure::usage(format!("there is no command `{word}`"), advice)
    }

    /// A foreign command whose options say what it is for.
    fn by_options(&self, word: &str) -> Option<&'static str> {
        let follows = |wanted: &[&str]| {
            self.texts.windows(2).any(|pair| wanted.contains(&pair[0]) && !pair[1].is_empty())
        };
        let is_round_trip = |text: &&str| text.to_uppercase().ends_with("_RR");
        match word.to_lowercase().as_str() {
            "ping" | "ping6" if follows(&["-M"]) => Some("pathmeter mtu HOST"),
            "netperf" if self.texts.iter().any(is_round_trip) => Some("pathmeter latency HOST --tcp"),
            _ => None,
        }
    }

    /// A command of ours with the URL or the host that follows the foreign one.
    fn filled_in(&self, ours: &str, word: &str) -> String {
        let mut after = self.texts.iter().skip_while(|text| **text != word).skip(1);
        match after.find(|text| is_url(text)) {
            Some(url) if ours.contains("http://HOST/") => ours.replace("http://HOST/", url),
            _ => with_host(ours, self.host_after(word)),
        }
    }

    /// A command without the host or the URL that it measures.
    fn without_argument(&self, missing: &str) -> Option<Failure> {
        let name = missing.strip_prefix('<')?.split(['[', '>']).next()?;
        let peer = ["measure", "throughput", "latency", "frames"].contains(&self.command);
        let (what, more) = match name {
            "HOST" if peer => ("host", "; `pathmeter serve` runs on that host"),
            "HOST" | "TARGET" => ("host", ""),
            "URL" => ("URL", ""),
            "FILE" => ("file", ""),
            "RUN" => ("stored run", "; `pathmeter history` lists them"),
            _ => return None,
        };
        let name = if name == "TARGET" { "HOST" } else { name };
        let advice = format!("write `pathmeter {} {name}`{more}", self.command);
        Some(Failure::usage(format!("`pathmeter {}` needs a {what}", self.command), advice))
    }

    /// The host that follows a foreign command.
    fn host_after(&self, word: &str) -> Option<&str> {
        let after = self.texts.iter().skip_while(|text| **text != word).skip(1);
        after.copied().find(|text| is_host(text))
    }

    /// An argument that clap does not know.
    fn unknown(&self, word: &str, args: &[OsString]) -> Option<Answer> {
        if !word.starts_with('-') {
            return self.unknown_value(word).map(Answer::Refused);
        }
        let word = self.first_client_or_server().unwrap_or(word);
        let advice = match meaning(self.command, word) {
            Some(Meaning::Write(advice)) => with_host(advice, self.host_of_client()),
            Some(meaning) => return self.translated(word, meaning, args).map(Answer::Again),
            None => self.elsewhere(word)?,
        };
        let command = [self.command].into_iter().filter(|command| !command.is_empty());
        let program = command.fold("pathmeter".to_owned(), |program, command| format!("{program} {command}"));
        Some(Answer::Refused(Failure::usage(format!("`{program}` has no option `{word}`"), advice)))
    }

    /// Without a command `-c` or `-s` decides what the whole line is for, wherever the option stands.
    fn first_client_or_server(&self) -> Option<&'static str> {
        let wanted = [("-c", "--client"), ("-s", "--server")];
        let is_there = |(short, long): &(&str, &str)| {
            self.texts
                .iter()
                .any(|text| text == short || text == long || text.starts_with(&format!("{long}=")))
        };
        wanted.iter().find(|option| self.command.is_empty() && is_there(option)).map(|option| option.0)
    }

    /// The host of `-c HOST`.
    fn host_of_client(&self) -> Option<&str> {
        let after = |text: &&str| ["-c", "--client", "-H", "--ip"].contains(text);
        let at = self.texts.iter().position(after)?;
        self.texts.get(at + 1).copied().filter(|text| !text.starts_with('-') && !is_number(text))
    }

    /// An argument that stands alone where none is taken.
    fn unknown_value(&self, word: &str) -> Option<Failure> {
        let is_no_port = |text: &&str| !text.starts_with('-') && !is_number(text);
        let before = self.texts.get(self.at + 1..)?.iter().copied().find(is_no_port);
        if let Some(option) = self.protocol_before(word) {
            let port = word.rsplit(':').next().unwrap_or(word);
            let what = format!("`pathmeter serve` takes no argument: `{word}`");
            return Some(Failure::usage(what, format!("a port of its own is written `{option}={port}`")));
        }
        if self.command == "serve" && is_number(word) {
            let advice = format!("a port is written `-p {word}`");
            return Some(Failure::usage(format!("`pathmeter serve` takes no argument: `{word}`"), advice));
        }
        if self.command == "serve" {
            let advice = "run it on the far host as it is; `--bind ADDR` picks an address of that host";
            return Some(Failure::usage(format!("`pathmeter serve` takes no host: `{word}`"), advice));
        }
        let takes_link = ["frames", "linerate"].contains(&self.command);
        if takes_link && !is_number(word) && word.parse::<BitRate>().is_ok() {
            let what = format!("`pathmeter {}` does not take `{word}` alone", self.command);
            return Some(Failure::usage(what, format!("the speed of the link is `--link {word}`")));
        }
        if is_number(word) {
            return Some(hosts::port_alone(word, before));
        }
        (self.takes_host() && is_host(word)).then(|| {
            let what = format!("`pathmeter {}` takes one host: `{word}` is one more", self.command);
            Failure::usage(
                what,
                "`pathmeter throughput HOST HOST` and `pathmeter latency HOST HOST` take several",
            )
        })
    }

    /// The protocol of a server before a port that belongs to it: `serve --http 8080`.
    fn protocol_before(&self, word: &str) -> Option<&str> {
        let pair = self.texts.windows(2).find(|pair| pair[1] == word)?;
        let is_port = word.rsplit(':').next().is_some_and(is_number);
        (self.command == "serve" && is_port && PROTOCOLS.contains(&pair[0])).then(|| pair[0])
    }

    fn takes_host(&self) -> bool {
        let command = self.program.find_subcommand(self.command);
        let mut names =
            command.into_iter().flat_map(Command::get_positionals).filter_map(|arg| arg.get_value_names());
        names.any(|names| names.iter().any(|name| name.contains("HOST")))
    }

    /// An option that other commands have.
    fn elsewhere(&self, word: &str) -> Option<String> {
        let has = |command: &&Command| command.get_arguments().any(|arg| is_spelled(arg, word));
        let commands = self.program.get_subcommands().filter(|command| !command.is_hide_set());
        let mut commands: Vec<&str> = commands.filter(has).map(Command::get_name).collect();
        commands.sort_by_key(|name| USUAL.iter().position(|usual| usual == name).unwrap_or(USUAL.len()));
        let names: Vec<String> = commands.iter().map(|name| format!("`pathmeter {name}`")).collect();
        let list = match names.as_slice() {
            [] => return None,
            [name] => format!("{name} has it"),
            [first, .., last] if names.len() <= FEW => {
                let middle = names[1..names.len() - 1].iter().map(|name| format!(", {name}"));
                format!("{first}{} and {last} have it", middle.collect::<String>())
            }
            [first, second, ..] => format!("{first}, {second} and others have it"),
        };
        Some(list)
    }

    /// The arguments with a foreign option in our words.
    fn translated(&self, word: &str, meaning: Meaning, args: &[OsString]) -> Option<Vec<OsString>> {
        let (at, before, attached) = self.place(word)?;
        let mut ours: Vec<String> = before.into_iter().collect();
        match meaning {
            Meaning::Host => ours.extend(attached),
            Meaning::Same(option) if self.takes_value(option) => match attached {
                Some(value) => ours.push(format!("{option}={value}")),
                None => ours.push(option.to_owned()),
            },
            // A flag; more flags may follow in the same word.
            Meaning::Same(option) => {
                ours.extend(option.split(' ').map(str::to_owned));
                ours.extend(attached.map(|flags| format!("-{flags}")));
            }
            Meaning::Default => ours.extend(attached.map(|flags| format!("-{flags}"))),
            Meaning::Write(_) => return None,
        }
        let mut args = args.to_vec();
        args.splice(at..=at, ours.into_iter().map(OsString::from));
        Some(args)
    }

    /// The argument that holds an option: flags before it in the same word, and what is attached behind it.
    fn place(&self, word: &str) -> Option<(usize, Option<String>, Option<String>)> {
        let own = self.texts.iter().enumerate().skip(self.at + 1).take_while(|(_, text)| **text != "--");
        let place = |text: &str| -> Option<(Option<String>, Option<String>)> {
            let attached =
                |rest: &str| Some(rest.trim_start_matches('=').to_owned()).filter(|rest| !rest.is_empty());
            if text == word {
                return Some((None, None));
            }
            if word.starts_with("--") {
                return Some((None, attached(text.strip_prefix(word)?.strip_prefix('=')?)));
            }
            let flags = text.strip_prefix('-').filter(|flags| !flags.starts_with('-'))?;
            let (before, rest) = flags.split_once(word.trim_start_matches('-'))?;
            Some(((!before.is_empty()).then(|| format!("-{before}")), attached(rest)))
        };
        let mut found = own.filter_map(|(at, text)| place(text).map(|(before, rest)| (at, before, rest)));
        let first = found.next()?;
        // The option by itself is meant rather than a letter of another word.
        let exact = self.texts.iter().enumerate().skip(self.at + 1).find(|(_, text)| **text == word);
        Some(exact.map_or(first, |(at, _)| (at, None, None)))
    }

    fn takes_value(&self, option: &str) -> bool {
        let command = self.program.find_subcommand(self.command);
        let arguments =
            command.into_iter().flat_map(Command::get_arguments).chain(self.program.get_arguments());
        let mut named = arguments.filter(|arg| is_spelled(arg, option));
        named.next().is_some_and(|arg| arg.get_action().takes_values())
    }
}

/// The meaning of a word to this command.
fn meaning(command: &str, word: &str) -> Option<Meaning> {
    let has = |words: &str, one: &str| words.split(' ').any(|other| other == one);
    let of_command = OPTIONS.iter().filter(|(commands, _)| has(commands, command));
    of_command
        .flat_map(|(_, rows)| *rows)
        .find(|(spellings, _)| has(spellings, word))
        .map(|(_, meaning)| *meaning)
}

fn is_spelled(arg: &clap::Arg, word: &str) -> bool {
    match word.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| word.strip_prefix('-') == Some(&short.to_string())),
    }
}

/// Options without a command.
fn no_command() -> Failure {
    let advice = "write `pathmeter measure HOST`, or another command of `pathmeter help`; `pathmeter --version` \
                  prints the version";
    Failure::usage("there is no command", advice)
}

/// Advice with the host that was typed.
fn with_host(advice: &str, host: Option<&str>) -> String {
    host.map_or_else(|| advice.to_owned(), |host| advice.replace("HOST", host))
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_url(text: &str) -> bool {
    text.contains("://")
}

/// A name or an address, and neither an option nor a number.
fn is_host(text: &str) -> bool {
    let is_address = text.contains('.') || text.contains(':') || text == "localhost";
    let is_file = Path::new(text).exists();
    let is_quantity = text.starts_with(|first: char| first.is_ascii_digit()) && text.parse::<f64>().is_ok();
    is_address
        && !is_file
        && !is_quantity
        && !text.starts_with('-')
        && text.parse::<engine::host::host_port::HostPort>().is_ok()
}

/// Commands that are meant more often than others.
const USUAL: [&str; 6] = ["throughput", "latency", "mtu", "hops", "transfer", "frames"];
/// Options of `serve` that may have a port.
const PROTOCOLS: [&str; 6] = ["--iperf3", "--iperf2", "--sockperf", "--stamp", "--twamp", "--http"];
/// Names of commands in one sentence.
const FEW: usize = 4;

#[cfg(test)]
mod tests;
