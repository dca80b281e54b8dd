//! `pathmeter config`: what the configuration is, and a file to begin with.

use super::output::{deliver, write};
use crate::cli::{Common, ConfigArgs, ConfigCommand};
use crate::config::{Config, usual};
use crate::exit::Exit;
use engine::error::{Failure, Result};
use report::document::{Block, Column, Csv, Document, Head, Table, indented_json, json_line};
use serde_json::{Value, json};

/// Runs the command. `config`: what was read.
pub(crate) fn run(args: &ConfigArgs, config: &Config, global: &Common) -> Result<Exit> {
    match args.command {
        ConfigCommand::Show => write(&[config], global)?,
        ConfigCommand::Template => deliver(global, TEMPLATE.as_bytes())?,
        ConfigCommand::Path => {
            let file = global.config.clone().or_else(usual).ok_or_else(|| {
                let what = "neither XDG_CONFIG_HOME nor HOME says where a configuration would be";
                Failure::usage(what, "name it: --config FILE")
            })?;
            deliver(global, format!("{}\n", file.display()).as_bytes())?;
        }
    }
    Ok(Exit::Done)
}

impl Config {
    fn facts(&self) -> Vec<(&'static str, String)> {
        let file = self.file.as_ref().map_or_else(|| "none".into(), |file| file.display().to_string());
        // Without a password.
        #[cfg(feature = "store")]
        let store = self.store.as_deref().map(|text| store::Location::from(text).to_string());
        #[cfg(not(feature = "store"))]
        let store = self.store.clone();
        vec![
            ("file", file),
            ("store", store.unwrap_or_else(|| "not named".into())),
            ("save", if self.save { "every result" } else { "with --save" }.into()),
        ]
    }

    fn value(&self) -> Value {
        let facts = self.facts();
        let targets: Vec<Value> = self
            .targets
            .iter()
            .map(|one| json!({ "name": one.name, "host": one.host, "token_file": one.token_file, "fingerprint": one.fingerprint, "link": one.link }))
            .collect();
        let defaults: Vec<Value> = self
            .defaults
            .iter()
            .map(|one| json!({ "command": one.command, "option": one.option, "values": one.values, "place": one.place }))
            .collect();
        json!({ "file": self.file, "store": self.store.as_ref().map(|_| &facts[1].1), "save": self.save, "targets": targets, "defaults": defaults })
    }
}

impl Document for Config {
    fn head(&self) -> Head {
        Head { kind: "config".into(), title: "Configuration".into(), depth: 1, ..Head::default() }
    }

    fn blocks(&self) -> Vec<Block> {
        let targets = self.targets.iter().map(|one| {
            let token = one.token_file.as_ref().map(|file| file.display().to_string());
            let text = |text: &Option<String>| text.clone().unwrap_or_default();
            vec![
                one.name.clone(),
                one.host.clone(),
                text(&one.link),
                token.unwrap_or_default(),
                text(&one.fingerprint),
            ]
        });
        let defaults = self.defaults.iter().map(|one| {
            let command = one.command.clone().unwrap_or_else(|| "every one".into());
            vec![command, format!("--{}", one.option), one.values.join(" "), one.place.clone()]
        });
        let columns = |names: &[&str]| names.iter().copied().map(Column::left).collect();
        vec![
            Block::facts(self.facts()),
            Block::Table(Table::of(
                columns(&["target", "host", "link", "token file", "fingerprint"]),
                targets.collect(),
            )),
            Block::Table(Table::of(
                columns(&["command", "option", "default", "stands in"]),
                defaults.collect(),
            )),
        ]
    }

    fn csv(&self) -> Csv {
        let rows = self.defaults.iter().map(|one| {
            [
                one.command.clone().unwrap_or_default(),
                one.option.clone(),
                one.values.join(" "),
                one.place.clone(),
            ]
        });
        Csv::new(["command", "option", "default", "place"], rows)
    }

    fn json(&self) -> String {
        indented_json(&self.value())
    }

    fn ndjson(&self) -> String {
        json_line(&self.value())
    }
}

const TEMPLATE: &str = "\
# pathmeter's configuration: ~/.config/pathmeter/config.toml, or --config FILE.
# An option of the command line wins over the environment, that over this file.

# Where runs are kept: a file, or a database of a PostgreSQL server.
# store = \"postgres://pathmeter@db.example/pathmeter\"

# Keep every result, as with --save; --no-save leaves one out.
# save = true

# Far ends with names of their own: `pathmeter measure office`.
# [targets.office]
# host = \"office.example:5210\"
# token_file = \"~/.config/pathmeter/office.token\"
# fingerprint = \"the 64 hexadecimal digits that `pathmeter serve --tls` prints\"
# link = \"1G\"

# Options that every command with such an option has; tables are for one command.
# [defaults]
# color = \"never\"
# connect-timeout = \"2s\"
# [defaults.throughput]
# time = \"5s\"
# parallel = 4

# When differences count in `compare`, `trend` and `watch`, in percent.
# [thresholds]
# noise_floor = 1
# least = 2
# margin = 2
";

#[cfg(test)]
mod tests {
    use super::TEMPLATE;
    use crate::config::read;

    #[test]
    fn the_template_is_a_configuration_with_and_without_its_comments() {
        assert!(read("t", TEMPLATE).is_ok());
        let all: String = TEMPLATE
            .lines()
            .map(|line| {
                line.strip_prefix("# ")
                    .filter(|rest| rest.contains(" = ") || rest.starts_with('['))
                    .unwrap_or(line)
            })
            .map(|line| format!("{line}\n"))
            .collect();
        let config = read("t", &all).unwrap();
        assert_eq!((config.targets.len(), config.defaults.len(), config.save), (1, 7, true));
    }
}
