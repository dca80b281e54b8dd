//! `pathmeter man`: the manual pages.

use super::output::deliver;
use crate::exit::Exit;
use cli::man::{main_page, write_pages};
use cli::{Common, ManArgs};
use engine::error::{Context, Result};

/// Writes one page for each sub-command into a directory, or the main page to standard output (or the file of `-o`).
pub(crate) fn run(args: &ManArgs, global: &Common) -> Result<Exit> {
    match &args.dir {
        Some(dir) => {
            std::fs::create_dir_all(dir).with_context(|| format!("make {}", dir.display()))?;
            write_pages(dir).with_context(|| format!("write manual pages into {}", dir.display()))?;
            Ok(Exit::Done)
        }
        None => deliver(global, &main_page().context("render the manual page")?),
    }
}
