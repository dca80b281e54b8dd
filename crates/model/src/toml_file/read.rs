//! Reading a TOML document value by value: every wrong value is noted with its place, and reading goes on.

use super::fault::{Faults, suggest};
use std::cell::RefCell;
use std::fmt::Display;
use std::ops::Range;
use std::str::FromStr;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A table, whose keys are read by name.
#[derive(Debug)]
pub struct Table<'a> {
    entries: Vec<(&'a str, Range<usize>, Value<'a>)>,
    asked: Vec<&'static str>,
    /// Where the table is, for a key that is missing.
    span: Range<usize>,
    faults: &'a RefCell<Faults>,
}

/// A value, and what it is called.
#[derive(Clone, Copy, Debug)]
pub struct Value<'a> {
    name: &'a str,
    value: &'a Spanned<DeValue<'a>>,
    faults: &'a RefCell<Faults>,
}

impl<'a> Table<'a> {
    /// One that stands at `span`.
    pub fn new(table: &'a DeTable<'a>, span: Range<usize>, faults: &'a RefCell<Faults>) -> Self {
        let mut entries: Vec<_> = table
            .iter()
            .map(|(key, value)| {
                let name: &str = key.get_ref();
                (name, key.span(), Value { name, value, faults })
            })
            .collect();
        entries.sort_by_key(|(_, span, _)| span.start);
        Table { entries, asked: Vec::new(), span, faults }
    }

    /// The value of a key.
    pub fn get(&mut self, key: &'static str) -> Option<Value<'a>> {
        self.asked.push(key);
        self.entries.iter().find(|(name, ..)| *name == key).map(|(.., value)| *value)
    }

    /// The value of a key that must be there.
    pub fn need(&mut self, key: &'static str, example: &str) -> Option<Value<'a>> {
        let found = self.get(key);
        if found.is_none() {
            self.faults
                .borrow_mut()
                .add(&self.span, format!("`{key}` is missing: write it such as {example}"));
        }
        found
    }

    /// Every value with its key, whatever it is called, in the order of the file.
    pub fn all(self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        self.entries.into_iter().map(|(name, _, value)| (name, value))
    }

    /// Whether a key is there, without asking for it.
    #[must_use]
    pub fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(name, ..)| *name == key)
    }

    /// Notes every key that was not read.
    pub fn finish(self) {
        for (name, span, _) in &self.entries {
            if !self.asked.contains(name) {
                let text = format!("unknown key `{name}`{}", suggest(name, self.asked.iter().copied()));
                self.faults.borrow_mut().add(span, text);
            }
        }
    }

    /// Notes a fault of the table as a whole.
    pub fn wrong(&self, text: impl Into<String>) {
        self.faults.borrow_mut().add(&self.span, text);
    }
}

impl<'a> Value<'a> {
    /// Notes what is wrong with it; always `None`, so that a reader can end with it.
    pub fn wrong<T>(&self, text: impl Into<String>) -> Option<T> {
        self.faults.borrow_mut().add(&self.value.span(), text);
        None
    }

    /// A text.
    pub fn text(&self) -> Option<&'a str> {
        self.value.get_ref().as_str().or_else(|| self.not_a("a text in quotes"))
    }

    /// A text of a certain form.
    pub fn text_as(&self, example: &str) -> Option<&'a str> {
        self.value.get_ref().as_str().or_else(|| self.not_a(&format!("a text such as \"{example}\"")))
    }

    /// `true` or `false`.
    pub fn boolean(&self) -> Option<bool> {
        self.value.get_ref().as_bool().or_else(|| self.not_a("`true` or `false`"))
    }

    /// A whole number within a range.
    pub fn number(&self, least: u64, most: u64) -> Option<u64> {
        let Some(integer) = self.value.get_ref().as_integer() else {
            return self.not_a(&format!("a whole number from {least} to {most}"));
        };
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        number.filter(|number| (least..=most).contains(number)).or_else(|| {
            let text = format!("`{}` is {integer}: it must be from {least} to {most}", self.name);
            self.wrong(text)
        })
    }

    /// A text that is read as something else; `example` shows how it is written.
    pub fn parsed<T: FromStr<Err: Display>>(&self, example: &str) -> Option<T> {
        let text = self.text_as(example)?;
        let read = text.parse();
        read.or_else(|error| self.wrong(format!("`{}`: {error}", self.name)).ok_or(())).ok()
    }

    /// A list; anything else is a list of one.
    #[must_use]
    pub fn list(&self) -> Vec<Value<'a>> {
        match self.value.get_ref().as_array() {
            Some(array) => array.iter().map(|value| Value { value, ..*self }).collect(),
            None => vec![*self],
        }
    }

    /// Whether the value is a list.
    #[must_use]
    pub fn is_list(&self) -> bool {
        self.value.get_ref().is_array()
    }

    /// One value for both, or a list of two: each read alone.
    pub fn two<T: Clone>(&self, read: impl Fn(&Value<'a>) -> Option<T>) -> Option<[T; 2]> {
        if !self.is_list() {
            let both = read(self)?;
            return Some([both.clone(), both]);
        }
        match self.list().as_slice() {
            [one, other] => Some([read(one)?, read(other)?]),
            list => {
                let count = list.len();
                self.wrong(format!("`{}` has {count} values: give one, or one for each direction", self.name))
            }
        }
    }

    /// A table.
    pub fn table(&self) -> Option<Table<'a>> {
        match self.value.get_ref().as_table() {
            Some(table) => Some(Table::new(table, self.value.span(), self.faults)),
            None => self.not_a("a table"),
        }
    }

    /// Whether the value is a table.
    #[must_use]
    pub fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    /// A number, truth or text as the text that is written into a setting.
    pub fn setting(&self) -> Option<String> {
        match self.value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Integer(number) => Some(number.to_string()),
            DeValue::Boolean(truth) => Some(u8::from(*truth).to_string()),
            _ => self.not_a("a number or a text"),
        }
    }

    /// A number, truth or text as it stands in the file; empty of anything else.
    #[must_use]
    pub fn written(&self) -> String {
        match self.value.get_ref() {
            DeValue::String(text) => text.to_string(),
            DeValue::Integer(number) => number.to_string(),
            DeValue::Float(number) => number.to_string(),
            DeValue::Boolean(truth) => truth.to_string(),
            _ => String::new(),
        }
    }

    /// The value as TOML; empty unless it is a text, a number or a boolean.
    #[must_use]
    pub fn literal(&self) -> String {
        match self.value.get_ref() {
            DeValue::String(text) => quoted(text),
            _ => self.written(),
        }
    }

    /// A text, a number or a truth, as a text.
    pub fn scalar_text(&self) -> Option<String> {
        match self.value.get_ref() {
            DeValue::Array(_) | DeValue::Table(_) | DeValue::Datetime(_) => {
                self.not_a("a text, a number, `true` or `false`")
            }
            _ => Some(self.written()),
        }
    }

    /// A text or a number that is read as something else; `example` shows how it is written.
    pub fn scalar<T: FromStr<Err: Display>>(&self, example: &str) -> Option<T> {
        let text = self.written();
        if text.is_empty() && self.value.get_ref().as_str().is_none() {
            return self.not_a(&format!("a text or a number such as {example}"));
        }
        let read = text.parse();
        read.or_else(|error| self.wrong(format!("`{}`: {error}", self.name)).ok_or(())).ok()
    }

    /// One of these words, and what it stands for.
    pub fn word<T: Copy>(&self, words: &[(&str, T)]) -> Option<T> {
        let names = || words.iter().map(|(name, _)| *name);
        let text = self.text_as(words.first().map_or("", |(name, _)| name))?;
        let found = words.iter().find(|(name, _)| *name == text).map(|(_, meaning)| *meaning);
        found.or_else(|| self.wrong(format!("`{}` cannot be `{text}`{}", self.name, suggest(text, names()))))
    }

    fn not_a<T>(&self, wanted: &str) -> Option<T> {
        let found = self.value.get_ref().type_str();
        self.wrong(format!("`{}` must be {wanted}; it is of type {found}", self.name))
    }
}

/// A text as TOML: a basic string, whose escapes are among those of JSON.
#[must_use]
pub fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}
