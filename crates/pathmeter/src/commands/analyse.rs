//! `pathmeter analyse`: imported and stored runs looked at together.

use super::import::read_all;
use super::output::write;
use crate::cli::{AnalyseArgs, Common, GroupBy};
use crate::exit::Exit;
use engine::error::Result;
use insight::analysis::{Analysis, Asked, Subject};
use report::import::{Imported, group, names};

/// Prints the analysis of every output of every file. A file that holds none does not keep the others from being read.
pub(crate) fn run(args: &AnalyseArgs, global: &Common) -> Result<Exit> {
    let (runs, worst) = read_all(&args.outputs);
    if runs.is_empty() {
        return Ok(worst);
    }
    write(&[&of_runs(&runs, args)], global)?;
    Ok(worst)
}

fn of_runs(runs: &[(String, Imported)], args: &AnalyseArgs) -> Analysis {
    let places: Vec<(&str, usize)> = runs.iter().map(|(file, one)| (file.as_str(), one.line)).collect();
    let names = names(&places);
    let subjects: Vec<Subject<'_>> = runs
        .iter()
        .zip(&names)
        .map(|((file, one), name)| {
            let group = args.by.map(|GroupBy::File| group(file));
            Subject { name, group, run: &one.run }
        })
        .collect();
    Analysis::of(&subjects, Asked { link: args.outputs.link, together: args.together })
}
