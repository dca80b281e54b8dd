//! Outputs copied out of web pages: references for characters, marks of lines, and tags around them.

use std::borrow::Cow;

/// The text of a page; a text that is none, as it is.
pub(super) fn text_of(text: &str) -> Cow<'_, str> {
    text_of_window(text, true)
}

/// The same of a part of a text. Behind the first part of a text nothing is taken for a page, so that its lines stay.
pub(super) fn text_of_window(text: &str, is_first: bool) -> Cow<'_, str> {
    let has_references = text.contains('&') && REFERENCES.iter().any(|reference| text.contains(reference));
    match (is_first && is_page(text), has_references) {
        (false, false) => Cow::Borrowed(text),
        (false, true) => Cow::Owned(plain(text, false)),
        (true, _) => Cow::Owned(plain(&without_tags(text), true)),
    }
}

/// Whether a text is one of a page, with tags or with references for ends of lines.
pub(super) fn is_page(text: &str) -> bool {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    start.starts_with("<!DOCTYPE")
        || start.starts_with("<html")
        || TAGS.iter().any(|tag| text.contains(&format!("<{tag}>")))
        || ENDS.iter().any(|end| text.contains(end))
        || text.contains("&#10;")
        || text.contains("&#xA;")
}

/// Characters for their references. `ends_lines`: also those that end a line.
fn plain(text: &str, ends_lines: bool) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let reference =
            rest.bytes().take(LONGEST_REFERENCE).position(|byte| byte == b';').map(|end| &rest[1..end]);
        match reference.and_then(character).filter(|c| ends_lines || *c != '\n') {
            Some(character) => {
                plain.push(character);
                rest = &rest[reference.unwrap_or_default().len() + 2..];
            }
            None => {
                plain.push('&');
                rest = &rest[1..];
            }
        }
    }
    plain + rest
}

fn character(reference: &str) -> Option<char> {
    Some(match reference {
        "nbsp" => ' ',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        "amp" => '&',
        _ => {
            let number = reference.strip_prefix('#')?;
            let number = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(number.ok()?)?
        }
    })
}

/// Without the tags of pages, each of which that ends a line or a cell leaving one, or a blank; other words in angle brackets stay.
fn without_tags(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        kept.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.find('>').filter(|end| *end < LONGEST);
        let name: String =
            rest[1..].trim_start_matches('/').chars().take_while(char::is_ascii_alphanumeric).collect();
        let name = name.to_ascii_lowercase();
        match end.filter(|_| is_tag(&name) || rest.starts_with("<!")) {
            Some(end) => {
                let ends_line = ENDING.contains(&name.as_str()) && (rest.starts_with("</") || name == "br");
                let ends_cell = ["td", "th"].contains(&name.as_str()) && rest.starts_with("</");
                kept.push_str(if ends_line {
                    "\n"
                } else if ends_cell {
                    " "
                } else {
                    ""
                });
                rest = &rest[end + 1..];
            }
            None => {
                kept.push('<');
                rest = &rest[1..];
            }
        }
    }
    kept + rest
}

fn is_tag(name: &str) -> bool {
    TAGS.contains(&name) || OTHERS.contains(&name)
}

/// Tags that only pages have.
const TAGS: [&str; 6] = ["pre", "code", "br", "div", "span", "td"];
/// The same of tags that end.
const ENDS: [&str; 7] = ["<br/>", "<br />", "</span>", "</td>", "</div>", "</li>", "</p>"];
const OTHERS: [&str; 24] = [
    "html",
    "head",
    "body",
    "title",
    "meta",
    "link",
    "style",
    "script",
    "p",
    "b",
    "i",
    "u",
    "em",
    "strong",
    "a",
    "tr",
    "th",
    "table",
    "tbody",
    "tt",
    "font",
    "samp",
    "blockquote",
    "li",
];
/// Tags whose end is that of a line.
const ENDING: [&str; 7] = ["br", "div", "p", "tr", "li", "pre", "title"];
const LONGEST: usize = 500;
/// References that only texts of pages have.
const REFERENCES: [&str; 5] = ["&gt;", "&lt;", "&nbsp;", "&quot;", "&#"];
const LONGEST_REFERENCE: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_shows() {
        let page = "<html><pre>sockperf: ---&gt; &lt;MAX&gt; observation = 1<br>[  5] &amp;</pre></html>";
        assert_eq!(text_of(page), "sockperf: ---> <MAX> observation = 1\n[  5] &\n");
        assert_eq!(text_of("---> <MAX> a & b"), "---> <MAX> a & b");
        assert_eq!(text_of("a&#10;&quot;b&quot;&#x27;&amp;lt;&bogus;"), "a\n\"b\"'&lt;&bogus;");
        assert_eq!(text_of_window("a&#10;b&gt;", false), "a&#10;b>");
    }
}
