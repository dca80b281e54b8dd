//! What is told of a path that is watched: a line, and a command of the user's.

use super::round::Round;
use crate::commands::progress;
use cli::WatchArgs;
use report::expect::printed;
use report::format::trend::{Series, Turn};
use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Something to tell.
#[derive(Debug)]
pub(super) struct Alert {
    /// `worse`, `better`, `recovered`, `unreachable`, `reachable`.
    pub(super) word: String,
    /// The figure; empty: the path.
    pub(super) figure: String,
    target: String,
    run: String,
    text: String,
}

impl Alert {
    pub(super) fn of(target: &str, series: &Series, turn: &Turn) -> Alert {
        let value = |value| printed(&series.figure, value);
        let word = turn.kind.word();
        let text = format!(
            "{target}: {} {word}: {} since {}, before {}",
            series.figure,
            value(turn.after),
            turn.at,
            value(turn.before)
        );
        Alert {
            word: word.into(),
            figure: series.figure.clone(),
            target: target.into(),
            run: turn.confirmed_by.clone(),
            text,
        }
    }
}

/// Tells them.
pub(super) struct Alerts<'a> {
    command: Option<&'a str>,
    /// Standard output has JSON, and is no place for lines.
    is_json: bool,
    /// The far end could not be reached in the last round.
    is_down: bool,
}

impl<'a> Alerts<'a> {
    pub(super) fn new(args: &'a WatchArgs, is_json: bool) -> Alerts<'a> {
        Alerts { command: args.alert.as_deref(), is_json, is_down: false }
    }

    /// Tells when the far end cannot be reached any more, and when it can again.
    pub(super) fn reach(&mut self, round: &Round) {
        let failure = round.failure();
        if failure.is_some() == self.is_down {
            return;
        }
        self.is_down = failure.is_some();
        let (word, what) = match failure {
            Some(why) => ("unreachable", format!("cannot be reached: {why}")),
            None => ("reachable", "can be reached again".to_owned()),
        };
        self.tell(&Alert {
            word: word.into(),
            figure: String::new(),
            target: round.target().into(),
            run: round.id().into(),
            text: format!("{}: {what}", round.target()),
        });
    }

    /// Tells one. A command that fails is said, and the watch goes on.
    pub(super) fn tell(&self, alert: &Alert) {
        let line = format!("ALERT {}", alert.text);
        if self.is_json {
            progress::say(&line)
        } else {
            super::say(&line)
        }
        let Some(command) = self.command else { return };
        if let Err(why) = run(command, alert) {
            let _ = writeln!(std::io::stderr(), "warning: --alert {command}: {why}");
        }
    }
}

/// What a stranger may have named is given by the environment, never as words of the command.
fn run(command: &str, alert: &Alert) -> Result<(), String> {
    let mut child = Command::new("sh")
        .args(["-c", command])
        .env("PATHMETER_ALERT", &alert.word)
        .env("PATHMETER_TARGET", &alert.target)
        .env("PATHMETER_FIGURE", &alert.figure)
        .env("PATHMETER_RUN", &alert.run)
        .env("PATHMETER_TEXT", &alert.text)
        .stdin(Stdio::null())
        .spawn()
        .map_err(|error| error.to_string())?;
    let begun = Instant::now();
    loop {
        match child.try_wait() {
            Ok(Some(status)) if status.success() => return Ok(()),
            Ok(Some(status)) => return Err(status.to_string()),
            Ok(None) if begun.elapsed() > LONGEST => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!("it was ended after {} s", LONGEST.as_secs()));
            }
            Ok(None) => std::thread::sleep(STEP),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// A command that hangs does not hold up what is measured.
const LONGEST: Duration = Duration::from_secs(30);
const STEP: Duration = Duration::from_millis(20);
