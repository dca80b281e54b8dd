//! `pathmeter config`: what the configuration is, and a file to begin with.

use super::output::{deliver, write};
use crate::exit::Exit;
use cli::config::{Config, TEMPLATE, usual};
use cli::{Common, ConfigCommand};
use engine::error::{Failure, Result};

/// Runs the command. `config`: what was read.
pub(crate) fn run(command: ConfigCommand, config: &Config, global: &Common) -> Result<Exit> {
    match command {
        ConfigCommand::Show => write(&[config], global),
        ConfigCommand::Template => deliver(global, TEMPLATE.as_bytes()),
        ConfigCommand::Path => {
            let file = global.config.clone().or_else(usual).ok_or_else(|| {
                let what = "neither XDG_CONFIG_HOME nor HOME is set";
                Failure::usage(what, "name it: --config FILE")
            })?;
            deliver(global, format!("{}\n", file.display()).as_bytes())
        }
    }
}
