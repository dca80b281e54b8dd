//! The labels that a store takes.

use crate::{Result, StoreError};
use model::bidi::turns_direction;

/// Refuses a label with which a run could not be listed.
pub(crate) fn check(label: &str) -> Result<()> {
    fault(label, LONGEST, &[]).map_or(Ok(()), |why| Err(StoreError::Label(why)))
}

/// Why a text of a user cannot be kept; absent: it can. Of control characters it may have these.
pub(crate) fn fault(text: &str, longest: usize, allowed: &[char]) -> Option<String> {
    let length = text.chars().count();
    if length > longest {
        return Some(format!("it has {length} characters, and at most {longest} are kept"));
    }
    let is_hidden = |c: &char| (c.is_control() && !allowed.contains(c)) || turns_direction(*c);
    let hidden = u32::from(text.chars().find(is_hidden)?);
    Some(format!("U+{hidden:04X} in it is not shown, or changes the order of the others"))
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
