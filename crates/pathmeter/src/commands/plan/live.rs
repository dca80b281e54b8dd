//! A plan while it is carried out: a line for each run, and where its result goes.

use crate::commands::keep::Keep;
use crate::commands::steps::Steps;
use cli::{Common, KeepArgs, PlanRunArgs};
use engine::error::{Context, Error, Failure, Result, sentence};
use experiment::{Cell, Moment, Plan};
use model::history::Measured;
use model::run::Run;
use report::document::Document;
use report::expect::headlines;
use report::format::RunDocument;
use std::path::PathBuf;

/// The live output of a plan, and the place where its runs are kept.
pub(super) struct Live {
    steps: Steps,
    keep_args: KeepArgs,
    /// The directory of `--each`.
    each: Option<PathBuf>,
    labels: String,
    /// The current run: its line, and where it is kept.
    current: Option<Current>,
    /// The first result that could not be kept. The plan goes on.
    unwritten: Option<Error>,
}

struct Current {
    line: String,
    file: String,
    keep: Keep,
}

impl Live {
    /// Nothing has begun. The directory is made where there is none.
    ///
    /// # Errors
    /// `Kind::Usage`: it cannot be written to.
    pub(super) fn new(args: &PlanRunArgs, plan: &Plan, global: &Common) -> Result<Live> {
        if let Some(each) = &args.each {
            std::fs::create_dir_all(each).map_err(|error| {
                Failure::usage(format!("--each {}: {error}", each.display()), "nothing was measured")
            })?;
            cli::written::check(&each.join(name_of_file(1, "run")))?;
        }
        let labels = [plan.labels.as_slice(), args.keep.label.as_slice()].concat().join(", ");
        Ok(Live {
            steps: Steps::new(global),
            keep_args: args.keep.clone(),
            each: args.each.clone(),
            labels,
            current: None,
            unwritten: None,
        })
    }

    /// Shows an event, and keeps the measurement.
    ///
    /// # Errors
    /// The store cannot be opened.
    pub(super) fn show(&mut self, moment: Moment<'_>) -> Result<()> {
        match moment {
            Moment::Begins { number, all, cell, round } => self.begin(number, all, &cell, round)?,
            Moment::Event(event) => {
                self.current.iter_mut().for_each(|current| current.keep.event(event));
            }
            Moment::Ended(run) => self.end(run),
            Moment::Note(text) => self.steps.note(&text),
            _ => {}
        }
        Ok(())
    }

    fn begin(&mut self, number: u32, all: u32, cell: &Cell<'_>, round: u32) -> Result<()> {
        let line = format!("{number:>4}/{all}  {}, run {round}", cell.name());
        let left = self.steps.left(number, all).filter(|_| self.steps.is_live());
        self.steps.begin(line.clone(), left.as_deref());
        let label = match self.labels.as_str() {
            "" => cell.name(),
            labels => format!("{labels}, {}", cell.name()),
        };
        let keep = KeepArgs { label: vec![label], ..self.keep_args.clone() };
        let keep = Keep::open(&keep, cell.test.kind, &cell.path.to.to_string())?;
        self.current = Some(Current { line, file: name_of_file(number, &cell.name()), keep });
        Ok(())
    }

    fn end(&mut self, run: &mut Run) {
        let Some(Current { line, file, keep }) = self.current.take() else { return };
        if let Some(id) = keep.id() {
            run.id = id.into();
        }
        let figure = headlines(Measured::Run(run)).into_iter().next();
        if let Some(figure) = figure.filter(|_| self.steps.is_live()) {
            self.steps.change(&format!("{line}   {} {}", figure.name, figure.text), None);
        }
        let written = self.each.as_ref().map_or(Ok(()), |each| {
            let path = each.join(&file);
            let json = RunDocument::from_run(run).json();
            cli::written::write(&path, json.as_bytes()).with_context(|| format!("write {}", path.display()))
        });
        let kept = keep.store(Measured::Run(run)).map(drop);
        for error in [written.err(), kept.err()].into_iter().flatten() {
            self.steps.note(&format!("error: {}", sentence(&error)));
            self.unwritten.get_or_insert(error);
        }
    }

    /// All is over; what could not be kept.
    pub(super) fn finish(self) -> Option<Error> {
        self.unwritten
    }
}

/// `0007-snat-latency.json`.
fn name_of_file(number: u32, name: &str) -> String {
    let plain = |letter: char| if letter.is_alphanumeric() || letter == '.' { letter } else { '-' };
    let argv: String = name.chars().map(plain).collect();
    let argv: Vec<&str> = argv.split('-').filter(|word| !word.is_empty()).collect();
    format!("{number:04}-{}.json", argv.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_by_its_run() {
        assert_eq!(name_of_file(7, "snat: latency, size 64"), "0007-snat-latency-size-64.json");
        assert_eq!(name_of_file(12, "../a/b"), "0012-..-a-b.json");
    }
}
