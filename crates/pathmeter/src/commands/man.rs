//! `pathmeter man`: the manual pages, made from the command line's own definition.

use crate::cli::{Cli, Common, ManArgs};
use crate::exit::Exit;
use anyhow::Context;
use clap::CommandFactory;
use std::io::Write;

/// Writes one page for each sub-command into a directory, or the main page to standard output (or the file of `-o`).
pub(crate) fn run(args: &ManArgs, global: &Common) -> anyhow::Result<Exit> {
    match (&args.dir, &global.output) {
        (Some(dir), _) => {
            std::fs::create_dir_all(dir).with_context(|| format!("make {}", dir.display()))?;
            clap_mangen::generate_to(Cli::command(), dir)
                .with_context(|| format!("write manual pages into {}", dir.display()))?;
        }
        (None, Some(path)) => {
            std::fs::write(path, main_page()?).with_context(|| format!("write {}", path.display()))?;
        }
        (None, None) => std::io::stdout().write_all(&main_page()?).context("write standard output")?,
    }
    Ok(Exit::Done)
}

fn main_page() -> anyhow::Result<Vec<u8>> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command()).render(&mut page).context("render the manual page")?;
    Ok(page)
}
