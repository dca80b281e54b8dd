//! `pathmeter analyse`: imported and stored runs looked at together.

use super::import::contents;
use super::output::write;
use super::set::find;
use crate::exit::{self, Exit};
use cli::{AnalyseArgs, Common, GroupBy};
use engine::error::Result;
use insight::analysis::{Analysis, AnalysisOptions, Subject};
use model::history::Kept;
use model::run::Run;
use report::import::{Known, What, group, names};
use std::path::Path;

/// Prints the analysis of every output of every file, and of every kept run that is named. One that cannot be read does not keep
/// the others from it.
pub(crate) fn run(args: &AnalyseArgs, global: &Common) -> Result<Exit> {
    let (mut runs, mut last) = (Vec::new(), None);
    for file in &args.outputs.files {
        match read(file, args) {
            Ok(found) => runs.extend(found),
            Err(error) => last.replace(error).iter().for_each(exit::report),
        }
    }
    if runs.is_empty() {
        return last.map_or(Ok(Exit::Done), Err);
    }
    last.iter().for_each(exit::report);
    write(&[&of_runs(&runs, args)], global)?;
    Ok(last.map_or(Exit::Done, |error| Exit::from_error(&error)))
}

/// A run, the file or set it is of, and its line or place there.
struct Read {
    whence: String,
    place: usize,
    run: Run,
}

/// The runs of a file, or of a set of the store.
fn read(file: &Path, args: &AnalyseArgs) -> Result<Vec<Read>> {
    let whence = file.display().to_string();
    if file.exists() || file.as_os_str() == "-" {
        let known = Known { link: args.outputs.link, mss: args.outputs.mss };
        let runs = contents(file, known)?.into_iter().filter_map(|item| match item.what {
            What::Run(one) => Some(Read { whence: whence.clone(), place: one.line, run: one.run }),
            What::Report(_) | What::Mark(_) => None,
        });
        return Ok(runs.collect());
    }
    let runs = find(&whence, &args.store)?.documents()?.into_iter().filter_map(|kept| match kept {
        Kept::Run(run) => Some(*run),
        Kept::Device(_) | Kept::Lab(_) => None,
    });
    Ok(runs.zip(1..).map(|(run, place)| Read { whence: whence.clone(), place, run }).collect())
}

fn of_runs(runs: &[Read], args: &AnalyseArgs) -> Analysis {
    let places: Vec<(&str, usize)> = runs.iter().map(|one| (one.whence.as_str(), one.place)).collect();
    let names = names(&places);
    let subjects: Vec<Subject<'_>> = runs
        .iter()
        .zip(&names)
        .map(|(one, name)| {
            let group = args.by.map(|GroupBy::File| group(&one.whence));
            Subject { name, group, run: &one.run }
        })
        .collect();
    Analysis::from_subjects(&subjects, AnalysisOptions { link: args.outputs.link, together: args.together })
}
