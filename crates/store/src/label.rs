//! The labels that a store takes.

use crate::{Result, StoreError};
use model::bidi::turns_direction;

/// Refuses a label with which a run could not be listed.
pub(crate) fn check(label: &str) -> Result<()> {
    let length = label.chars().count();
    if length > LONGEST {
        return Err(StoreError::Label {
            why: format!("it has {length} characters, and at most {LONGEST} are kept"),
        });
    }
    match label.chars().find(|c| c.is_control() || turns_direction(*c)) {
        Some(c) => {
            let code = u32::from(c);
            Err(StoreError::Label {
                why: format!("U+{code:04X} in it is not shown, or changes the order of the others"),
            })
        }
        None => Ok(()),
    }
}

/// Most characters of a label.
const LONGEST: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_short_and_printable() {
        for label in ["", "before", "before, after", "<b>é 世界", &"x".repeat(100)] {
            assert!(check(label).is_ok(), "{label}");
        }
        for label in ["\u{202e}evil", "a\nb", "a\u{0}", "\u{2066}x", "\u{200f}", &"x".repeat(101)] {
            assert!(check(label).is_err(), "{label:?}");
        }
    }
}
