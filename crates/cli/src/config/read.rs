//! Parsing of the file's text. Every fault is reported with its line and column.

use super::{Config, Default, Target, meant};
use model::toml_file::position;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Reads a text. `file` stands before each fault.
///
/// # Errors
/// Everything that is wrong, a line each.
pub fn read(file: &str, text: &str) -> Result<Config, String> {
    let mut reader = Reader { file, text, faults: Vec::new(), config: Config::default() };
    match DeTable::parse(text) {
        Ok(document) => reader.document(document.get_ref()),
        Err(error) => reader.wrong(&error.span().unwrap_or_default(), error.message()),
    }
    let Reader { mut faults, config, .. } = reader;
    faults.sort();
    if faults.is_empty() {
        return Ok(config);
    }
    Err(faults.into_iter().map(|(_, fault)| fault).collect::<Vec<_>>().join("\n"))
}

struct Reader<'a> {
    file: &'a str,
    text: &'a str,
    /// Where in the text, and what.
    faults: Vec<(usize, String)>,
    config: Config,
}

type Value<'a> = Spanned<DeValue<'a>>;

impl Reader<'_> {
    fn document(&mut self, document: &DeTable<'_>) {
        for (key, value) in document {
            match key.get_ref().as_ref() {
                "store" => self.config.store = self.text(value),
                "save" => self.config.save = self.boolean(value).unwrap_or_default(),
                "targets" => self.each(value, Reader::target),
                "agent" => self.each(value, Reader::agent),
                "defaults" => self.each(value, Reader::default),
                "thresholds" => self.each(value, Reader::threshold),
                other => self.unknown(&key.span(), other, &KEYS),
            }
        }
    }

    /// Every key of a table.
    fn each(&mut self, table: &Value<'_>, take: fn(&mut Self, &str, Range<usize>, &Value<'_>)) {
        let Some(entries) = table.get_ref().as_table() else {
            return self.wrong(&table.span(), "this must be a table, such as [targets.office]");
        };
        for (key, value) in entries {
            take(self, key.get_ref(), key.span(), value);
        }
    }

    fn target(&mut self, name: &str, at: Range<usize>, value: &Value<'_>) {
        let Some(entries) = value.get_ref().as_table() else {
            return self.wrong(&value.span(), "a target is a table, such as [targets.office]");
        };
        let mut target = Target { name: name.into(), ..Target::default() };
        for (key, value) in entries {
            match key.get_ref().as_ref() {
                "host" => target.host = self.text(value).unwrap_or_default(),
                "token_file" => target.token_file = self.text(value).map(|text| home(&text).into()),
                "fingerprint" => target.fingerprint = self.text(value),
                "link" => target.link = self.text(value),
                other => self.unknown(&key.span(), other, &["host", "token_file", "fingerprint", "link"]),
            }
        }
        if !entries.iter().any(|(key, _)| key.get_ref() == "host") {
            self.wrong(&at, &format!("the target `{name}` has no `host`"));
        }
        self.config.targets.push(target);
    }

    /// `[agent]` has the rules for jobs.
    fn agent(&mut self, name: &str, at: Range<usize>, value: &Value<'_>) {
        match name {
            "tests" => {
                let tests = self.texts(value);
                let unknown = tests.iter().flatten().find(|test| !TESTS.contains(&test.as_str()));
                if let Some(test) = unknown {
                    let text = format!(
                        "no test is called `{test}`{}; there is {}",
                        meant(test, TESTS.into_iter()),
                        TESTS.join(", ")
                    );
                    self.wrong(&value.span(), &text);
                }
                self.config.agent.tests = tests;
            }
            "hosts" => self.config.agent.hosts = self.texts(value),
            "max_time" => self.config.agent.max_time = self.parsed(value, "1h"),
            "max_rate" => self.config.agent.max_rate = self.parsed(value, "1G"),
            "max_bytes" => self.config.agent.max_bytes = self.parsed(value, "100GB"),
            "max_streams" => self.config.agent.max_streams = self.parsed(value, "16"),
            other => self.unknown(&at, other, &RULES),
        }
    }

    /// A text, or a list of them.
    fn texts(&mut self, value: &Value<'_>) -> Option<Vec<String>> {
        match value.get_ref() {
            DeValue::Array(values) => values.iter().map(|value| self.text(value)).collect(),
            _ => self.text(value).map(|text| vec![text]),
        }
    }

    /// A value with a unit. `such`: one that is understood.
    fn parsed<T: std::str::FromStr>(&mut self, value: &Value<'_>, such: &str) -> Option<T> {
        let parsed = scalar(value).and_then(|text| text.parse().ok());
        if parsed.is_none() {
            self.wrong(&value.span(), &format!("this is not understood: write it such as \"{such}\""));
        }
        parsed
    }

    /// `[defaults]` has options of every command, and tables with those of one.
    fn default(&mut self, name: &str, at: Range<usize>, value: &Value<'_>) {
        match value.get_ref().as_table() {
            None => self.option(None, name, at, value),
            Some(entries) => {
                for (key, value) in entries {
                    self.option(Some(name), key.get_ref(), key.span(), value);
                }
            }
        }
    }

    fn threshold(&mut self, name: &str, at: Range<usize>, value: &Value<'_>) {
        match THRESHOLDS.contains(&name) {
            true => self.option(None, &name.replace('_', "-"), at, value),
            false => self.unknown(&at, name, &THRESHOLDS),
        }
    }

    fn option(&mut self, command: Option<&str>, name: &str, at: Range<usize>, value: &Value<'_>) {
        let option = name.replace('_', "-");
        if ["save", "no-save", "store", "config"].contains(&option.as_str()) {
            let advice =
                "is no default of an option: write `save = true` or `store = \"…\"` at the top of the file";
            return self.wrong(&at, &format!("`{name}` {advice}"));
        }
        let values = match value.get_ref() {
            DeValue::Array(values) => values.iter().map(scalar).collect(),
            _ => scalar(value).map(|value| vec![value]),
        };
        let place = self.place(at.start);
        match values {
            Some(values) => {
                let command = command.map(str::to_owned);
                self.config.defaults.push(Default { command, option, values, place });
            }
            None => self.wrong(
                &value.span(),
                &format!("the value of `{name}` must be a text, a number, true or false"),
            ),
        }
    }

    fn text(&mut self, value: &Value<'_>) -> Option<String> {
        let text = value.get_ref().as_str().map(str::to_owned);
        if text.is_none() {
            self.wrong(&value.span(), "this must be a text in quotes");
        }
        text
    }

    fn boolean(&mut self, value: &Value<'_>) -> Option<bool> {
        let found = value.get_ref().as_bool();
        if found.is_none() {
            self.wrong(&value.span(), "this must be true or false");
        }
        found
    }

    fn unknown(&mut self, at: &Range<usize>, name: &str, names: &[&str]) {
        let meant = meant(name, names.iter().copied());
        let meant = if meant.is_empty() { format!("; there is {}", names.join(", ")) } else { meant };
        self.wrong(at, &format!("unknown key `{name}`{meant}"));
    }

    fn wrong(&mut self, at: &Range<usize>, what: &str) {
        self.faults.push((at.start, format!("{}: {what}", self.place(at.start))));
    }

    /// `FILE:LINE:COLUMN`, both from 1, the column in characters.
    fn place(&self, at: usize) -> String {
        let (line, column) = position(self.text, at);
        format!("{}:{line}:{column}", self.file)
    }
}

/// A value as it would be typed.
fn scalar(value: &Value<'_>) -> Option<String> {
    match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.to_string()),
        DeValue::Float(number) => Some(number.to_string()),
        DeValue::Boolean(value) => Some(value.to_string()),
        _ => None,
    }
}

/// `~/` is the user's home.
fn home(path: &str) -> String {
    match (path.strip_prefix("~/"), std::env::var("HOME")) {
        (Some(rest), Ok(home)) => format!("{home}/{rest}"),
        _ => path.into(),
    }
}

const KEYS: [&str; 6] = ["store", "save", "targets", "agent", "defaults", "thresholds"];
const RULES: [&str; 6] = ["tests", "hosts", "max_time", "max_rate", "max_bytes", "max_streams"];
const TESTS: [&str; 7] = ["throughput", "latency", "mtu", "hops", "frames", "transfer", "measure"];
const THRESHOLDS: [&str; 3] = ["noise_floor", "least", "margin"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        for (text, expected) in [
            ("stor = 1", "c:1:1: unknown key `stor`: did you mean `store`?"),
            (
                "\n  zebra = 1",
                "c:2:3: unknown key `zebra`; there is store, save, targets, agent, defaults, thresholds",
            ),
            ("store = 1", "c:1:9: this must be a text in quotes"),
            ("save = \"yes\"", "c:1:8: this must be true or false"),
            ("targets = 1", "c:1:11: this must be a table, such as [targets.office]"),
            ("[targets]\noffice = 1", "c:2:10: a target is a table, such as [targets.office]"),
            ("[targets.office]\nhsot = \"a\"", "c:2:1: unknown key `hsot`: did you mean `host`?"),
            ("[targets.office]\nlink = \"1G\"", "c:1:10: the target `office` has no `host`"),
            ("[agent]\nhost = \"a\"", "c:2:1: unknown key `host`: did you mean `hosts`?"),
            (
                "[agent]\ntests = [\"trasfer\"]",
                "c:2:9: no test is called `trasfer`: did you mean `transfer`?",
            ),
            ("[agent]\nmax_time = \"long\"", "c:2:12: this is not understood: write it such as \"1h\""),
            ("[thresholds]\nmargn = 1", "c:2:1: unknown key `margn`: did you mean `margin`?"),
            ("[defaults]\nsave = true", "c:2:1: `save` is no default of an option"),
            ("[defaults.measure]\ntime = 2020-01-01", "c:2:8: the value of `time` must be"),
            ("a = = 1", "c:1:5: "),
        ] {
            let wrong = read("c", text).unwrap_err();
            assert!(wrong.contains(expected), "{text}\n{wrong}");
        }
        let both = read("c", "stor = 1\nsvae = 1").unwrap_err();
        assert_eq!(both.lines().count(), 2, "{both}");
    }

    #[test]
    fn what_is_right_is_read() {
        let text = "store = \"postgres://a@b/c\"\nsave = true\n[targets.office]\nhost = \"far.example:99\"\n\
                    [defaults]\nformat = \"json\"\n[defaults.throughput]\nparallel = 4\nexpect = [\"a\", \"b\"]\n\
                    [thresholds]\nnoise_floor = 1.5";
        let config = read("c", text).unwrap();
        assert_eq!((config.store.as_deref(), config.save), (Some("postgres://a@b/c"), true));
        assert_eq!(config.target("office").unwrap().host, "far.example:99");
        let defaults: Vec<(Option<&str>, &str, String)> = config
            .defaults
            .iter()
            .map(|one| (one.command.as_deref(), one.option.as_str(), one.values.join(" ")))
            .collect();
        let expected = [
            (None, "format", "json".to_owned()),
            (Some("throughput"), "expect", "a b".to_owned()),
            (Some("throughput"), "parallel", "4".to_owned()),
            (None, "noise-floor", "1.5".to_owned()),
        ];
        for one in &expected {
            assert!(defaults.contains(one), "{one:?} {defaults:?}");
        }
        assert_eq!(defaults.len(), expected.len());
    }
}
