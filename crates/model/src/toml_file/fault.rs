//! A fault of a file, and its place.

use std::fmt::{Display, Formatter};
use std::ops::Range;

/// A file that cannot be read: everything found wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct FileError {
    /// The file, as it was named to the reader.
    pub file: String,
    /// At least one, in the order of the file.
    pub faults: Vec<Fault>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Line, from 1.
    pub line: usize,
    /// Column, from 1, in characters.
    pub column: usize,
    /// Description and advice.
    pub text: String,
}

impl Display for FileError {
    /// One line for each fault: `file:line:column: text`, as compilers write.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        for (index, Fault { line, column, text }) in self.faults.iter().enumerate() {
            let newline = if index == 0 { "" } else { "\n" };
            write!(f, "{newline}{}:{line}:{column}: {text}", self.file)?;
        }
        Ok(())
    }
}

/// Faults while they are gathered: the place in bytes, and the text.
#[derive(Debug, Default)]
pub struct Faults(Vec<(usize, String)>);

impl Faults {
    /// Notes one.
    pub fn add(&mut self, at: &Range<usize>, text: impl Into<String>) {
        self.0.push((at.start, text.into()));
    }

    /// Ends the gathering: nothing wrong, or an error with each fault once, in the order of `source`.
    pub(super) fn into_result(mut self, file: &str, source: &str) -> Result<(), FileError> {
        if self.0.is_empty() {
            return Ok(());
        }
        self.0.sort();
        self.0.dedup();
        let faults = self.0.into_iter().map(|(at, text)| {
            let (line, column) = position(source, at);
            Fault { line, column, text }
        });
        Err(FileError { file: file.to_owned(), faults: faults.collect() })
    }

    /// Nothing is wrong so far.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Line and column of a byte, both from 1, the column in characters.
#[must_use]
pub fn position(source: &str, at: usize) -> (usize, usize) {
    let before: String = String::from_utf8_lossy(&source.as_bytes()[..at.min(source.len())]).into_owned();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// `: did you mean …?` with the name most like `wanted`, or the names there are.
#[must_use]
pub fn suggest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.into_iter().collect();
    let likeness = |name: &&&str| (strsim::jaro_winkler(wanted, name) * 1000.0) as u32;
    match names.iter().max_by_key(likeness) {
        Some(best) if strsim::jaro_winkler(wanted, best) > LIKE => format!(": did you mean `{best}`?"),
        Some(_) => format!("; there is {}", listed(&names)),
        None => String::new(),
    }
}

/// `a`, `b` and `c`.
fn listed(names: &[&str]) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, before)) => format!("{} and {last}", before.join(", ")),
        None => String::new(),
    }
}

/// From here on two words are taken for the same, mistyped (Jaro and Winkler's likeness, 0 to 1).
const LIKE: f64 = 0.8;
