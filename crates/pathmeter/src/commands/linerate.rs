//! `pathmeter linerate`: what a link can carry, and how near a measured rate came to it. Arithmetic alone.

use super::output::write;
use crate::exit::Exit;
use cli::{Common, LinerateArgs};
use engine::error::{Failure, Result};
use model::line_rate::LineRate;

/// Answers in the requested format.
pub(crate) fn run(args: &LinerateArgs, global: &Common) -> Result<Exit> {
    // Packets that cannot be are a fault of the command line.
    let answer = LineRate::from_question(&args.question()?).map_err(|wrong| {
        Failure::usage(wrong.to_string(), "see `pathmeter linerate --help` for what can be given")
    })?;
    write(&[&answer], global)
}
