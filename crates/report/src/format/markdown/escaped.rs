//! Text that Markdown shows as it is.

/// Text of which Markdown makes nothing but code between single backticks: no emphasis, link, image, HTML or cell of a table. A far
/// end may have chosen it.
pub(in crate::format) fn escaped(text: &str) -> String {
    // Runs of backticks are code of another length: of such a text none is code.
    let ticks = if text.contains("``") { 0 } else { text.matches('`').count() / 2 * 2 };
    let mut shown = String::with_capacity(text.len());
    let (mut rest, mut passed) = (text, 0);
    while let Some(letter) = rest.chars().next() {
        let is_code = passed % 2 == 1 && passed <= ticks;
        if let Some(word) = linked(&shown, rest).filter(|_| !is_code) {
            shown.push_str(&format!("`{}`", word.replace('|', "\\|")));
            rest = &rest[word.len()..];
            continue;
        }
        rest = &rest[letter.len_utf8()..];
        let is_special = match letter {
            '`' => {
                passed += 1;
                passed > ticks
            }
            '|' => true,
            _ if is_code => false,
            // Before other characters a backslash is one, and no tag begins.
            '\\' => rest.chars().next().is_none_or(|next| next.is_ascii_punctuation()),
            '<' => rest.starts_with(|next: char| next.is_ascii_alphabetic() || "/!?".contains(next)),
            '>' => shown.is_empty(),
            letter => "*[]".contains(letter),
        };
        if is_special {
            shown.push('\\');
        }
        shown.push(letter);
    }
    shown
}

/// A word at the begin of a text of which GitHub and others make a link or a mention: `http://far.example`, `www.far.example`,
/// `a@far.example`, `@team`, `#12`. As code it is neither. `before` is what stands before it.
fn linked<'a>(before: &str, text: &'a str) -> Option<&'a str> {
    let is_begin = text.starts_with(|first: char| first.is_alphanumeric() || "@#".contains(first));
    if !is_begin || before.ends_with(|last: char| last.is_alphanumeric() || "-_/.@#:".contains(last)) {
        return None;
    }
    let end = text.find(|c: char| c.is_whitespace() || "`<>\"".contains(c)).unwrap_or(text.len());
    let word = text[..end].trim_end_matches(|c: char| ".,:;!?)]*".contains(c));
    let mentions = |mark: char, is_name: fn(char) -> bool| {
        word.match_indices(mark).any(|(at, _)| word[at + 1..].starts_with(is_name))
    };
    let lower = word.to_ascii_lowercase();
    let begins = ["www.", "mailto:", "xmpp:", "gh-"].iter().any(|start| lower.starts_with(start));
    let is_linked = begins
        || lower.contains("://")
        || mentions('@', |c| c.is_alphanumeric())
        || mentions('#', |c| c.is_ascii_digit());
    (is_linked && !word.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn nothing_becomes_a_link_or_a_mention() {
        for (text, shown) in [
            ("see http://evil.example/x?y, now", "see `http://evil.example/x?y`, now"),
            ("HTTPS://EVIL (https://a.b)", "`HTTPS://EVIL` (`https://a.b`)"),
            ("@team and @org/team: ping", "`@team` and `@org/team`: ping"),
            ("mail a@b.example or www.b.example.", "mail `a@b.example` or `www.b.example`."),
            ("fixes #12, owner/name#3, GH-7", "fixes `#12`, `owner/name#3`, `GH-7`"),
            ("`http://known` stays", "`http://known` stays"),
            ("a|http://x|y", "`a\\|http://x\\|y`"),
            ("a ` @team", "a \\` `@team`"),
            ("5 @ 3, # 4, a/b, 10.0.0.1:5201", "5 @ 3, # 4, a/b, 10.0.0.1:5201"),
        ] {
            assert_eq!(escaped(text), shown);
        }
    }

    #[test]
    fn only_code_between_single_backticks_is_markdown() {
        for (text, shown) in [
            ("Throughput to `far.example`: -> 5 < 6", "Throughput to `far.example`: -> 5 < 6"),
            ("`a*b|c` *d* [e](f) ![g](h)", "`a*b\\|c` \\*d\\* \\[e\\](f) !\\[g\\](h)"),
            ("<img src=x> </b> <!-- p50<200us", "\\<img src=x> \\</b> \\<!-- p50<200us"),
            ("> quoted \\ and \\*", "\\> quoted \\ and \\\\\\*"),
            ("a ` alone <b>", "a \\` alone \\<b>"),
            ("`code` and ` <b>", "`code` and \\` \\<b>"),
            ("`` ` <img> ```", "\\`\\` \\` \\<img> \\`\\`\\`"),
        ] {
            assert_eq!(escaped(text), shown);
        }
    }
}
