//! Notes of users on runs.

use crate::label::fault;
use crate::{Result, Store, StoreError};

impl Store {
    /// The note on a run; empty: there is none.
    ///
    /// # Errors
    /// The same as [`Store::get`].
    pub fn note(&self, id: &str) -> Result<String> {
        let id = self.full_id(id)?;
        let found = self.database.rows("SELECT note FROM notes WHERE run = $1", &[(&id).into()])?.pop();
        Ok(found.map(|mut row| row.text(0)).unwrap_or_default())
    }

    /// Gives a run this note in place of the one before; an empty one removes it.
    ///
    /// # Errors
    /// The same as [`Store::get`]; the note is too long, or has characters that are not shown; or the store cannot be written.
    pub fn set_note(&self, id: &str, note: &str) -> Result<()> {
        check(note)?;
        let id = self.full_id(id)?;
        if note.is_empty() {
            return self.database.execute("DELETE FROM notes WHERE run = $1", &[(&id).into()]).map(drop);
        }
        let sql = "INSERT INTO notes (run, note) VALUES ($1, $2) ON CONFLICT (run) DO UPDATE SET note = excluded.note";
        self.database.execute(sql, &[(&id).into(), note.into()]).map(drop)
    }
}

/// A note may have several lines.
fn check(note: &str) -> Result<()> {
    fault(note, LONGEST, &['\n', '\t']).map_or(Ok(()), |why| Err(StoreError::Note(why)))
}

/// Most characters of a note.
const LONGEST: usize = 2_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_is_short_and_can_be_read() {
        for note in ["", "line 1\nline 2", "<b>é 世界\t`code`", &"x".repeat(LONGEST)] {
            assert!(check(note).is_ok(), "{note}");
        }
        for note in ["\u{202e}evil", "a\u{0}", "a\r\nb", &"x".repeat(LONGEST + 1)] {
            assert!(check(note).is_err(), "{note:?}");
        }
    }
}
