//! `pathmeter man`: the manual pages, made from the command line's own definition.

use super::output::deliver;
use crate::cli::{Cli, Common, ManArgs};
use crate::exit::Exit;
use clap::CommandFactory;
use engine::error::{Context, Result};

/// Writes one page for each sub-command into a directory, or the main page to standard output (or the file of `-o`).
pub(crate) fn run(args: &ManArgs, global: &Common) -> Result<Exit> {
    match &args.dir {
        Some(dir) => {
            std::fs::create_dir_all(dir).with_context(|| format!("make {}", dir.display()))?;
            clap_mangen::generate_to(Cli::command(), dir)
                .with_context(|| format!("write manual pages into {}", dir.display()))?;
        }
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page).context("render the manual page")?;
            deliver(global, &page)?;
        }
    }
    Ok(Exit::Done)
}
