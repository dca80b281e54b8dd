//! One round: a command of this program as a process of its own, and what it measured.

use crate::commands::command_line::{PATHS, Ran, argv};
use crate::commands::store::failed;
use crate::exit::Exit;
use cli::WatchArgs;
use engine::error::Result;
use engine::run::run_id;
use insight::run_of_failure;
use linux::clock::wall_now;
use model::event::Outcome;
use model::history::{Headline, Measured, Origin};
use model::run::Run;
use report::expect::headlines;
use report::format::ndjson;
use store::{Begun, Store};

/// The command of every round.
pub(super) struct Task {
    argv: Vec<String>,
    target: String,
    label: String,
}

/// The result of a round.
pub(super) struct Round {
    run: Run,
    /// Its row in the store.
    pub(super) begun: Begun,
    pub(super) exit: Exit,
}

impl Task {
    /// # Errors
    /// The command is none that measures a path.
    pub(super) fn from_args(args: &WatchArgs) -> Result<Task> {
        let mut argv = argv(&args.run, PATHS)?;
        argv.insert(1, args.target.clone());
        // The run is kept here.
        argv.push("--no-save".into());
        Ok(Task { argv, target: args.kept.clone(), label: args.label.clone() })
    }

    pub(super) fn kind(&self) -> &str {
        self.argv.first().map(String::as_str).unwrap_or_default()
    }

    /// Runs it. A far end that cannot be reached is a result, too.
    ///
    /// # Errors
    /// The command line is not understood.
    pub(super) fn measure(&self) -> Result<Round> {
        let (id, started) = (run_id()?, wall_now());
        let (run, exit) = match Ran::from_args(&self.argv)?.run() {
            Ok((run, exit)) => (Run { id: id.clone(), ..run }, exit),
            Err(error) => match Exit::from_error(&error) {
                exit @ (Exit::Unreachable | Exit::Void) => {
                    let times = [started, wall_now()];
                    (run_of_failure(&id, self.kind(), times, &format!("{error:#}")), exit)
                }
                _ => return Err(error),
            },
        };
        let (kind, target, label) = (self.kind().to_owned(), self.target.clone(), self.label.clone());
        Ok(Round { run, begun: Begun { id, kind, target, label, started }, exit })
    }
}

impl Round {
    /// Why nothing was measured.
    pub(super) fn failure(&self) -> Option<&str> {
        match &self.run.summary.outcome {
            Some(Outcome::Failed { reason }) if self.exit == Exit::Unreachable => Some(reason),
            _ => None,
        }
    }

    pub(super) fn keep(&self, store: &Store) -> Result<()> {
        let measured = Measured::Run(&self.run);
        store.insert(&self.begun, Origin::Measured, measured, &self.figures()).map_err(failed).map(drop)
    }

    /// Its figures.
    pub(super) fn figures(&self) -> Vec<Headline> {
        headlines(Measured::Run(&self.run))
    }

    /// The round as a line of JSON: its document without intervals.
    pub(super) fn json(&self) -> String {
        ndjson::last_line(&self.run, None)
    }

    /// The round on a line.
    pub(super) fn line(&self) -> String {
        let figures = self.figures().into_iter().take(3);
        let figures: Vec<String> = figures.map(|figure| format!("{} {}", figure.name, figure.text)).collect();
        let what = self.failure().map_or_else(|| figures.join(", "), str::to_owned);
        let Begun { started, kind, target, .. } = &self.begun;
        format!("{started} {kind} {target} {}: {what}", self.run.verdict.status.word())
    }
}
