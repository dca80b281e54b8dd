//! Files that people write in TOML, topologies and plans: all faults are reported at once, with line and column; an unknown key is
//! one of them.

mod fault;
mod read;

pub use fault::{Fault, Faults, FileError, position, suggest};
pub use read::{Table, Value, quoted};

use std::cell::RefCell;
use toml::Spanned;
use toml::de::DeTable;

/// Reads a text. `file` is its name, or the path to it: it stands before each fault. `read` makes of the document what it is
/// wanted for, and notes what it cannot read.
///
/// # Errors
/// Everything found wrong: what is no TOML first, and only then what `read` notes.
pub fn parse<T>(
    file: &str,
    text: &str,
    read: impl FnOnce(&Spanned<DeTable<'_>>, &RefCell<Faults>) -> T,
) -> Result<T, FileError> {
    let faults = RefCell::new(Faults::default());
    let (document, wrong) = DeTable::parse_recoverable(text);
    for error in wrong {
        faults.borrow_mut().add(&error.span().unwrap_or(0..0), error.message());
    }
    if !faults.borrow().is_empty() {
        faults.take().into_result(file, text)?;
    }
    let found = read(&document, &faults);
    faults.take().into_result(file, text)?;
    Ok(found)
}
