//! Two commands of this program run in turn, A B A B …, so that a slow drift of the path does not look like a difference.

use crate::commands::command_line::{PATHS, Ran, argv};
use crate::signals;
use cli::CompareArgs;
use engine::error::{Failure, Kind, Result};
use model::history::Sample;
use report::expect::{printed, sample};
use std::io::Write;

/// Returns the measurements of both commands.
///
/// # Errors
/// One of them is not a command that measures a path or a device, or fails.
pub(super) fn both(args: &CompareArgs) -> Result<(Vec<Sample>, Vec<Sample>)> {
    let devices: &[&str] = if cfg!(feature = "device") { &["rfc2544"] } else { &[] };
    let allowed = [PATHS, devices].concat();
    let (base, other) = (argv(&args.base, &allowed)?, argv(&args.other, &allowed)?);
    let stop = signals::interrupt()?;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for round in 1..=args.runs {
        for (argv, text, runs) in [(&base, &args.base, &mut first), (&other, &args.other, &mut second)] {
            if stop.is_raised() {
                let what = format!("interrupted in round {round} of {}", args.runs);
                return Err(Failure { kind: Kind::Void, message: what, advice: None }.into());
            }
            let run = sample(Ran::from_args(argv)?.measured()?.0.measured());
            let figure =
                run.figures.first().map(|(name, value)| format!("  {name} {}", printed(name, *value)));
            let _ =
                writeln!(std::io::stderr(), "{round:>4}/{}  {text}{}", args.runs, figure.unwrap_or_default());
            runs.push(run);
        }
    }
    Ok((first, second))
}
