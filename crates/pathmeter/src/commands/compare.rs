//! `pathmeter compare`: two sets of runs, with an honest word for each figure.

mod interleave;

use super::output::write;
use super::set::find;
use crate::exit::Exit;
use cli::{Common, CompareArgs};
use engine::error::Result;
use model::stats::compare::Rules;
use report::format::compared::Compared;

/// Runs the command.
pub(crate) fn run(args: &CompareArgs, global: &Common) -> Result<Exit> {
    let (base, other) = if args.interleave {
        interleave::both(args)?
    } else {
        (find(&args.base, &args.store)?.samples()?, find(&args.other, &args.store)?.samples()?)
    };
    let rules = Rules {
        // Every figure has its own direction.
        higher_is_better: true,
        noise_floor_percent: args.level.noise_floor,
        least_percent: args.level.least,
        margin_percent: args.margin,
    };
    let compared = Compared::of_samples((&args.base, &base), (&args.other, &other), rules);
    write(&[&compared], global)?;
    Ok(if args.baseline && compared.is_worse() { Exit::Regression } else { Exit::Done })
}
