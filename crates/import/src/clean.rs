//! Lines without what terminals and other systems add: colour codes, carriage returns, byte-order marks.

use std::borrow::Cow;

/// The lines of a text, cleaned.
pub(super) fn lines(text: &str) -> impl Iterator<Item = Cow<'_, str>> {
    text.trim_start_matches('\u{feff}').split('\n').map(clean)
}

/// The number of ends of lines in a text.
pub(super) fn count_ends(text: &str) -> usize {
    // Counts of a byte each are added sixteen at a time, and of so few bytes none is too large.
    let ends = |bytes: &[u8]| bytes.iter().fold(0_u8, |ends, byte| ends + u8::from(*byte == b'\n'));
    text.as_bytes().chunks(usize::from(u8::MAX)).map(|bytes| usize::from(ends(bytes))).sum()
}

fn clean(line: &str) -> Cow<'_, str> {
    // Every byte is looked at, without an early end: several are compared at once.
    if line.bytes().fold(true, |plain, byte| plain & (b' '..=b'~').contains(&byte)) {
        return Cow::Borrowed(without_key(line.trim_end()));
    }
    let mut kept = String::with_capacity(line.len());
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            '\u{1b}' => skip_escape(&mut characters),
            // Editors and pages put other blanks and dashes for ours, and marks without width between.
            '\r' => {}
            blank if blank.is_whitespace() => kept.push(' '),
            '\u{2010}'..='\u{2013}' | '\u{2212}' => kept.push('-'),
            '\u{2014}' => kept.push_str("---"),
            '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2060}' | '\u{feff}' => {}
            control if control.is_control() => {}
            other => kept.push(other),
        }
    }
    Cow::Owned(without_key(kept.trim_end()).to_owned())
}

/// The line without the key that a terminal shows where one interrupts, and without the mark of a block of code in front of it.
fn without_key(line: &str) -> &str {
    let marks: &[&str] = match line.as_bytes().first() {
        Some(b'^') => &["^C", "^\\", "^Z"],
        Some(b'[') => &["[code]", "[CODE]"],
        Some(b'{') => &["{code}", "{noformat}"],
        Some(b'`') => &["```"],
        _ => return line,
    };
    marks.iter().find_map(|mark| line.strip_prefix(mark)).unwrap_or(line)
}

/// The rest of an escape sequence (ECMA-48): `[…m` and its like, or a text up to a bell or backslash after `]` and others.
fn skip_escape(characters: &mut std::str::Chars<'_>) {
    match characters.next() {
        Some('[') => {
            characters.find(|character| ('@'..='~').contains(character));
        }
        Some(']' | '_' | 'P' | '^' | 'X') => {
            characters.find(|character| matches!(character, '\u{7}' | '\\'));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_and_line_ends_go() {
        let text = "\u{feff}\u{1b}[1;32m[  5]\u{1b}[0m  0.00\r\n\u{1b}]0;title\u{7}\u{1b}_bk;t=1795600800123\u{7}$ ls\t-l  \n\u{1b}[";
        assert_eq!(lines(text).collect::<Vec<_>>(), ["[  5]  0.00", "$ ls -l", ""]);
    }

    #[test]
    fn blanks_and_dashes_of_editors_are_ours() {
        let text = "\u{200b}[  5]\u{2009}0.00–1.00\u{3000}sec\n— host —\r";
        assert_eq!(lines(text).collect::<Vec<_>>(), ["[  5] 0.00-1.00 sec", "--- host ---"]);
    }

    #[test]
    fn marks_of_code_before_a_line_go() {
        let text = "[code][  5]  0.00\n{noformat}a\n```PING\n^Cb\n[  5]\n{";
        assert_eq!(lines(text).collect::<Vec<_>>(), ["[  5]  0.00", "a", "PING", "b", "[  5]", "{"]);
    }
}
