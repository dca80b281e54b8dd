//! Documents that are written one at a time, so that none needs the memory of all.

use super::Format;
use super::json::indented;

/// How documents of a format follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Joint {
    /// One behind the other.
    Plain,
    /// Several as an array of JSON, one alone as it is.
    Array,
}

/// The text of documents that come one after another: what it gives, put together, is what [`Format::write`] gives of all.
#[derive(Debug)]
pub struct Joined {
    joint: Joint,
    count: usize,
    /// The first document of an array, until it is known to be one.
    first: String,
}

impl Joined {
    /// The joint of a format; none of one that needs all documents at once.
    #[must_use]
    pub fn of_format(format: &Format) -> Option<Joined> {
        format.joint.map(|joint| Joined { joint, count: 0, first: String::new() })
    }

    /// The next document, as the format writes it alone: the text that can be written.
    pub fn push(&mut self, document: String) -> String {
        self.count += 1;
        match (self.joint, self.count) {
            (Joint::Plain, _) => document,
            (Joint::Array, 1) => {
                self.first = document;
                String::new()
            }
            (Joint::Array, 2) => {
                let first = std::mem::take(&mut self.first);
                format!("[\n{},\n{}", indented(first.trim_end()), indented(document.trim_end()))
            }
            (Joint::Array, _) => format!(",\n{}", indented(document.trim_end())),
        }
    }

    /// The rest of the text.
    #[must_use]
    pub fn end(self) -> String {
        match (self.joint, self.count) {
            (Joint::Plain, _) => String::new(),
            (Joint::Array, 0) => "[]\n".into(),
            (Joint::Array, 1) => self.first,
            (Joint::Array, _) => "\n]\n".into(),
        }
    }
}
