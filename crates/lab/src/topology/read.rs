//! Reading a TOML document value by value: every wrong value is noted with its place, and reading goes on.

use super::error::{Faults, suggest};
use std::cell::RefCell;
use std::fmt::Display;
use std::ops::Range;
use std::str::FromStr;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A table, whose keys are asked for by name.
#[derive(Debug)]
pub(super) struct Table<'a> {
    entries: Vec<(&'a str, Range<usize>, Value<'a>)>,
    asked: Vec<&'static str>,
    /// Where the table is, for a key that is missing.
    span: Range<usize>,
    faults: &'a RefCell<Faults>,
}

/// A value, and what it is called.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value<'a> {
    name: &'a str,
    value: &'a Spanned<DeValue<'a>>,
    faults: &'a RefCell<Faults>,
}

impl<'a> Table<'a> {
    pub(super) fn new(table: &'a DeTable<'a>, span: Range<usize>, faults: &'a RefCell<Faults>) -> Self {
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
    pub(super) fn get(&mut self, key: &'static str) -> Option<Value<'a>> {
        self.asked.push(key);
        self.entries.iter().find(|(name, ..)| *name == key).map(|(.., value)| *value)
    }

    /// The value of a key that must be there.
    pub(super) fn need(&mut self, key: &'static str, example: &str) -> Option<Value<'a>> {
        let found = self.get(key);
        if found.is_none() {
            self.faults
                .borrow_mut()
                .add(&self.span, format!("`{key}` is missing: write it such as {example}"));
        }
        found
    }

    /// Every value with its key, whatever it is called, in the order of the file.
    pub(super) fn all(self) -> impl Iterator<Item = (&'a str, Value<'a>)> {
        self.entries.into_iter().map(|(name, _, value)| (name, value))
    }

    /// Whether a key is there, without asking for it.
    pub(super) fn has(&self, key: &str) -> bool {
        self.entries.iter().any(|(name, ..)| *name == key)
    }

    /// Notes every key that nobody asked for.
    pub(super) fn finish(self) {
        for (name, span, _) in &self.entries {
            if !self.asked.contains(name) {
                let text = format!("unknown key `{name}`{}", suggest(name, self.asked.iter().copied()));
                self.faults.borrow_mut().add(span, text);
            }
        }
    }

    /// Notes a fault of the table as a whole.
    pub(super) fn wrong(&self, text: impl Into<String>) {
        self.faults.borrow_mut().add(&self.span, text);
    }
}

impl<'a> Value<'a> {
    /// Notes what is wrong with it; always `None`, so that a reader can end with it.
    pub(super) fn wrong<T>(&self, text: impl Into<String>) -> Option<T> {
        self.faults.borrow_mut().add(&self.value.span(), text);
        None
    }

    pub(super) fn text(&self) -> Option<&'a str> {
        self.value.get_ref().as_str().or_else(|| self.not_a("a text in quotes"))
    }

    /// A text of a certain form.
    pub(super) fn text_as(&self, example: &str) -> Option<&'a str> {
        self.value.get_ref().as_str().or_else(|| self.not_a(&format!("a text such as \"{example}\"")))
    }

    pub(super) fn boolean(&self) -> Option<bool> {
        self.value.get_ref().as_bool().or_else(|| self.not_a("`true` or `false`"))
    }

    /// A whole number within a range.
    pub(super) fn number(&self, least: u64, most: u64) -> Option<u64> {
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
    pub(super) fn parsed<T: FromStr<Err: Display>>(&self, example: &str) -> Option<T> {
        let text = self.text_as(example)?;
        let read = text.parse();
        read.or_else(|error| self.wrong(format!("`{}`: {error}", self.name)).ok_or(())).ok()
    }

    /// A list; anything else is a list of one.
    pub(super) fn list(&self) -> Vec<Value<'a>> {
        match self.value.get_ref().as_array() {
            Some(array) => array.iter().map(|value| Value { value, ..*self }).collect(),
            None => vec![*self],
        }
    }

    pub(super) fn is_list(&self) -> bool {
        self.value.get_ref().is_array()
    }

    /// One value for both, or a list of two: each read alone.
    pub(super) fn two<T: Clone>(&self, read: impl Fn(&Value<'a>) -> Option<T>) -> Option<[T; 2]> {
        if !self.is_list() {
            let both = read(self)?;
            return Some([both.clone(), both]);
        }
        match self.list().as_slice() {
            [one, other] => Some([read(one)?, read(other)?]),
            list => {
                let count = list.len();
                self.wrong(format!("`{}` has {count} values: give one, or two for the two ways", self.name))
            }
        }
    }

    pub(super) fn table(&self) -> Option<Table<'a>> {
        match self.value.get_ref().as_table() {
            Some(table) => Some(Table::new(table, self.value.span(), self.faults)),
            None => self.not_a("a table"),
        }
    }

    pub(super) fn is_table(&self) -> bool {
        self.value.get_ref().is_table()
    }

    /// A number, truth or text as the text that is written into a setting.
    pub(super) fn setting(&self) -> Option<String> {
        match self.value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Integer(number) => Some(number.to_string()),
            DeValue::Boolean(truth) => Some(u8::from(*truth).to_string()),
            _ => self.not_a("a number or a text"),
        }
    }

    fn not_a<T>(&self, wanted: &str) -> Option<T> {
        let found = self.value.get_ref().type_str();
        self.wrong(format!("`{}` must be {wanted}; it is of type {found}", self.name))
    }
}
