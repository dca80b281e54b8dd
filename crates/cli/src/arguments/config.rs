//! The command line of `pathmeter config`.

use clap::Subcommand;

/// Show the configuration file: named targets, store, defaults
#[derive(Clone, Copy, Debug, Subcommand)]
#[command(after_help = "\
EXAMPLES
  pathmeter config path                                 where it is looked for
  mkdir -p ~/.config/pathmeter
  pathmeter config template > ~/.config/pathmeter/config.toml
  pathmeter config show                                 what is read, tokens left out

An option of the command line wins over the environment, that over the file, and that over what is
built in. docs/configuration.md has every key.")]
pub enum ConfigCommand {
    /// Print what is read of it
    Show,
    /// Print a file to begin with: every key, with its meaning
    Template,
    /// Print where it is looked for
    Path,
}
