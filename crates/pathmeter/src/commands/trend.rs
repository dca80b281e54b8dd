//! `pathmeter trend`: how the figures of a path went over time.

use super::output::write;
use super::store::{existing, failed, time, to_read};
use crate::exit::Exit;
use cli::{Common, LevelArgs, TrendArgs};
use engine::error::Result;
use linux::clock::wall_now;
use model::stats::compare::Rules;
use report::format::trend::Trends;
use store::{Filter, Mark, Store};

/// Runs the command.
pub(crate) fn run(args: &TrendArgs, global: &Common) -> Result<Exit> {
    if let Some(note) = &args.mark {
        let at = args.at.as_deref().map(|text| time(text, "--at")).transpose()?.unwrap_or_else(wall_now);
        let mark = Mark { target: args.target.clone(), at, note: note.clone() };
        existing(&args.store)?.mark(&mark).map_err(failed)?;
    }
    let filter = Filter {
        kind: args.kind.clone(),
        label: args.label.clone(),
        since: args.since.as_deref().map(|text| time(text, "--since")).transpose()?,
        ..Filter::default()
    };
    let trends = trends_of_store(&to_read(&args.store)?, &args.target, &filter, args.level)?;
    write(&[&trends], global)?;
    Ok(if args.baseline && trends.is_worse() { Exit::Regression } else { Exit::Done })
}

/// The trends of the runs of a filter.
pub(super) fn trends_of_store(
    store: &Store,
    target: &str,
    filter: &Filter,
    level: LevelArgs,
) -> Result<Trends> {
    let (samples, marks) = store.marked_series(target, filter).map_err(failed)?;
    let rules = Rules {
        noise_floor_percent: level.noise_floor,
        least_percent: level.least,
        // Every figure has its own direction.
        ..Rules::new(true)
    };
    Ok(Trends::from_samples(target, &samples, &marks, rules))
}
