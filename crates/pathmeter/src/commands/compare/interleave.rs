//! Two commands of this program run in turn, A B A B …, so that a slow drift of the path does not look like a difference.

use crate::cli::CompareArgs;
use crate::exit::kind;
use crate::signals;
use engine::error::{Context, Error, Failure, Kind, Result};
use model::history::Sample;
use model::run::Run;
use report::expect::sample;
use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// What either command measured.
///
/// # Errors
/// One of them is not a command that measures a path, or fails.
pub(super) fn both(args: &CompareArgs) -> Result<(Vec<Sample>, Vec<Sample>)> {
    let (base, other) = (words(&args.base)?, words(&args.other)?);
    let stop = signals::interrupt()?;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for round in 1..=args.runs {
        for (words, text, runs) in [(&base, &args.base, &mut first), (&other, &args.other, &mut second)] {
            if stop.is_raised() {
                let what = format!("interrupted in round {round} of {}", args.runs);
                return Err(Failure { kind: Kind::Void, message: what, advice: None }.into());
            }
            let run = measured(words, text)?;
            let figure = run
                .figures
                .first()
                .map(|(name, value)| format!("  {name} {}", report::expect::printed(name, *value)));
            let _ =
                writeln!(std::io::stderr(), "{round:>4}/{}  {text}{}", args.runs, figure.unwrap_or_default());
            runs.push(run);
        }
    }
    Ok((first, second))
}

/// A command line as a shell splits it.
fn words(text: &str) -> Result<Vec<String>, Failure> {
    let advice = "write it such as 'throughput far.example -P 4'";
    let mut words =
        shell_words::split(text).map_err(|error| Failure::usage(format!("`{text}`: {error}"), advice))?;
    if words.first().is_some_and(|first| first == "pathmeter") {
        words.remove(0);
    }
    match words.first().map(String::as_str) {
        Some(first) if MEASURES.contains(&first) => Ok(words),
        _ => Err(Failure::usage(
            format!("`{text}` is not a command that measures a path: {}", MEASURES.join(", ")),
            advice,
        )),
    }
}

/// Runs a command of this program, and reads what it measured.
fn measured(words: &[String], text: &str) -> Result<Sample> {
    let this = std::env::current_exe().context("find this program")?;
    let mut command = Command::new(this);
    command.args(words.iter().map(OsString::from)).args(["--format", "json"]);
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("run `{text}`"))?;
    serde_json::from_slice::<Run>(&output.stdout).map(|run| sample(&run)).map_err(|_| refused(text, &output))
}

/// What a command said that measured nothing.
fn refused(text: &str, output: &Output) -> Error {
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().trim_start_matches("error: ");
    let code = output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or_default();
    Failure { kind: kind(code), message: format!("`{text}`: {said}"), advice: None }.into()
}

/// Commands whose result is a run.
const MEASURES: [&str; 7] = ["measure", "throughput", "latency", "mtu", "hops", "transfer", "frames"];
