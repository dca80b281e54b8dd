//! Text in which nothing steers a terminal: what far ends, files and name servers say is printed, too.

use model::bidi::turns_direction;
use std::borrow::Cow;

/// The text with U+FFFD for each character that a terminal would obey (control characters, but for line feeds, tabs and
/// the colours that we set ourselves) or that changes the order in which others are shown.
#[must_use]
pub fn text(text: &str) -> Cow<'_, str> {
    replaced(text, |_| "\u{fffd}".into())
}

/// A text of JSON with such characters escaped (RFC 8259 section 7): its meaning stays the same.
#[must_use]
pub fn json(text: &str) -> Cow<'_, str> {
    replaced(text, |c| format!("\\u{:04x}", u32::from(c)))
}

fn replaced(text: &str, by: impl Fn(char) -> String) -> Cow<'_, str> {
    // A line has no early end, so that several of its bytes are compared at once.
    let is_plain = |byte: u8| matches!(byte, b' '..=b'~' | b'\t');
    let is_plain = |line: &str| line.bytes().fold(true, |plain, byte| plain & is_plain(byte));
    if text.split('\n').all(|line| is_plain(line) || !line.contains(is_harmful)) {
        return text.into();
    }
    let mut clean = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = colour(rest).unwrap_or(0);
        let (kept, after) = rest.split_at(length.max(c.len_utf8()));
        match length == 0 && is_harmful(c) {
            true => clean.push_str(&by(c)),
            false => clean.push_str(kept),
        }
        rest = after;
    }
    clean.into()
}

/// The length of the sequence that sets colours at the beginning of this text (ECMA-48, SGR), bytes.
fn colour(text: &str) -> Option<usize> {
    let codes = text.strip_prefix("\u{1b}[")?;
    let end = codes.find(|c: char| !c.is_ascii_digit() && c != ';')?;
    codes[end..].starts_with('m').then_some(2 + end + 1)
}

fn is_harmful(c: char) -> bool {
    let is_control = c.is_control() && c != '\n' && c != '\t';
    is_control || turns_direction(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_steers_a_terminal() {
        let plain = "a\tb\n\u{1b}[1;31mred\u{1b}[0m é";
        assert_eq!(text(plain), plain);
        let hostile = "a\u{1b}[2Jb\u{1b}]0;title\u{7}c\rd\u{9b}1me\u{202e}f\u{7f}\u{1b}";
        assert_eq!(
            text(hostile),
            "a\u{fffd}[2Jb\u{fffd}]0;title\u{fffd}c\u{fffd}d\u{fffd}1me\u{fffd}f\u{fffd}\u{fffd}"
        );
    }

    #[test]
    fn json_reports_the_same() {
        let text = format!("{{\"name\": \"{}\"}}\n", "a\u{9b}1m\u{202e}\u{7f}b");
        let clean = json(&text);
        assert!(!clean.contains(is_harmful) && clean.contains("\\u009b1m\\u202e\\u007f"), "{clean}");
        let value = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("it is JSON");
        assert_eq!(value(&text), value(&clean));
    }
}
