//! Marks of bidirectional text (UAX #9): a name with one of them looks like another name.

/// The character changes the order in which others are shown.
#[must_use]
pub fn turns_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}
