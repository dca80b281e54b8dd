//! The configuration as a document, without what is secret.

use super::Config;
use model::secret::without_passwords;
use report::document::{Block, Column, Csv, Document, Head, Table};
use serde_json::{Value, json};

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
}

/// Values as they are printed: an address may have a password in it.
fn shown(values: &[String]) -> Vec<String> {
    values.iter().map(|value| without_passwords(value)).collect()
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
            vec![command, format!("--{}", one.option), shown(&one.values).join(" "), one.place.clone()]
        });
        let columns = |names: &[&str]| names.iter().copied().map(Column::left).collect();
        vec![
            Block::facts(self.facts()),
            Block::Table(Table::new(
                columns(&["target", "host", "link", "token file", "fingerprint"]),
                targets.collect(),
            )),
            Block::Table(Table::new(
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
                shown(&one.values).join(" "),
                one.place.clone(),
            ]
        });
        Csv::new(["command", "option", "default", "place"], rows)
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
            .map(|one| json!({ "command": one.command, "option": one.option, "values": shown(&one.values), "place": one.place }))
            .collect();
        json!({ "file": self.file, "store": self.store.as_ref().map(|_| &facts[1].1), "save": self.save, "targets": targets, "defaults": defaults })
    }
}
