//! Text of any origin in XML and HTML.

use model::bidi::turns_direction;

/// Text for an element or for a quoted attribute.
///
/// What XML 1.0 (section 2.2) cannot hold becomes U+FFFD, and so do the marks that turn the direction of writing: a name
/// of a host must not look like another.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if c.is_control() || is_refused(c) => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

fn is_refused(c: char) -> bool {
    matches!(c, '\u{fffe}' | '\u{ffff}') || turns_direction(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_its_place() {
        assert_eq!(escaped("<script>&\"'"), "&lt;script&gt;&amp;&quot;&#39;");
        assert_eq!(
            escaped("a\u{0}b\u{1b}c\u{202e}d\u{ffff}e\u{200f}\n"),
            "a\u{fffd}b\u{fffd}c\u{fffd}d\u{fffd}e\u{fffd}\n"
        );
    }
}
