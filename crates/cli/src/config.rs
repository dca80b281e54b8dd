//! The configuration file: named targets, the store, and defaults of options. Documented in `docs/configuration.md`.
//!
//! An option of the command line wins over the environment, that over this file, and that over what is built in.

mod apply;
mod document;
mod read;
mod template;

pub use read::read;
pub use template::TEMPLATE;

use crate::arguments::AgentRules;
use clap::ArgMatches;
use engine::error::{Context, Failure, Result};
use std::path::{Path, PathBuf};

/// Contents of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The file; absent: there is none.
    pub file: Option<PathBuf>,
    /// The store.
    pub store: Option<String>,
    /// Every result is kept.
    pub save: bool,
    /// Far ends with names of their own.
    pub targets: Vec<Target>,
    /// The rules for jobs at this host.
    pub agent: AgentRules,
    /// Values that options have where the command line and the environment give none.
    pub defaults: Vec<Default>,
}

/// A far end with a name of its own.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    /// The name that is typed in the place of a host.
    pub name: String,
    /// A host, with a port where it is not the usual one.
    pub host: String,
    /// The token that authenticates both ends.
    pub token_file: Option<PathBuf>,
    /// SHA-256 of its certificate, in hexadecimal.
    pub fingerprint: Option<String>,
    /// Speed of the link to it.
    pub link: Option<String>,
}

/// A value of an option.
#[derive(Clone, Debug, PartialEq)]
pub struct Default {
    /// The command, in words: `lab run`; absent: every one that has the option.
    pub command: Option<String>,
    /// The long name of the option.
    pub option: String,
    /// The option's values, each as the command line takes it.
    pub values: Vec<String>,
    /// Where it stands: `config.toml:7:1`.
    pub place: String,
}

impl Config {
    /// The configuration that a command line asks for, or the usual one where there is any.
    ///
    /// # Errors
    /// The file cannot be read, or something in it is not understood.
    pub fn from_matches(matches: &ArgMatches) -> Result<Config> {
        // These are what helps with a file that is wrong.
        let unread = ["completions", "man", "guard"];
        let is_unread = match matches.subcommand() {
            Some(("config", of)) => of.subcommand_name() != Some("show"),
            Some((name, _)) => unread.contains(&name),
            None => true,
        };
        if is_unread {
            return Ok(Config::default());
        }
        match matches.get_one::<PathBuf>("config") {
            Some(file) => Config::of_file(file),
            None => match usual().filter(|file| file.exists()) {
                Some(file) => Config::of_file(&file),
                None => Ok(Config::default()),
            },
        }
    }

    fn of_file(file: &Path) -> Result<Config> {
        let text = std::fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
        let config = read(&file.display().to_string(), &text).map_err(|wrong| {
            Failure::usage(wrong, "`pathmeter config template` prints every key with its meaning")
        })?;
        Ok(Config { file: Some(file.to_owned()), ..config })
    }

    fn target(&self, name: &str) -> Option<&Target> {
        self.targets.iter().find(|target| target.name == name)
    }
}

/// Where a user's configuration is (XDG Base Directory Specification).
pub fn usual() -> Option<PathBuf> {
    let absolute = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let folder = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(folder.join("pathmeter/config.toml"))
}

/// The name most like this one, in words for the end of a message.
fn meant<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> String {
    let likeness = |other: &str| strsim::jaro_winkler(name, other);
    let best = names.max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    let best = best.filter(|best| likeness(best) > LIKE);
    best.map(|best| format!(": did you mean `{best}`?")).unwrap_or_default()
}

/// From here on two names are taken for the same, mistyped (Jaro and Winkler's likeness, 0 to 1).
const LIKE: f64 = 0.75;
