//! The command line of `pathmeter config`.

use clap::{Args, Subcommand};

/// Show the configuration file: named targets, store, defaults
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
EXAMPLES
  pathmeter config path                                 where it is looked for
  mkdir -p ~/.config/pathmeter
  pathmeter config template > ~/.config/pathmeter/config.toml
  pathmeter config show                                 what is read, tokens left out

An option of the command line wins over the environment, that over the file, and that over what is
built in. docs/configuration.md has every key.")]
pub struct ConfigArgs {
    /// The action.
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// Actions on the configuration.
#[derive(Clone, Copy, Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print what is read of it
    Show,
    /// Print a file to begin with: every key, with its meaning
    Template,
    /// Print where it is looked for
    Path,
}
