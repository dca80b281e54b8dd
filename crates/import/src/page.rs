//! Outputs copied out of web pages: references for characters, marks of lines, and tags around them.

use std::borrow::Cow;

/// The text of a page; a text that is none, as it is.
pub(super) fn text_of(text: &str) -> Cow<'_, str> {
    text_of_window(text, true)
}

/// The same of a part of a text. Behind the first part of a text nothing is taken for a page, so that its lines stay.
pub(super) fn text_of_window(text: &str, is_first: bool) -> Cow<'_, str> {
    let has_references =
        text.contains('&') && ["&gt;", "&lt;", "&nbsp;"].iter().any(|reference| text.contains(reference));
    match (is_first && is_page(text), has_references) {
        (false, false) => Cow::Borrowed(text),
        (false, true) => Cow::Owned(plain(text)),
        (true, _) => Cow::Owned(plain(&without_tags(text))),
    }
}

/// Whether a text is one of a page, with tags.
pub(super) fn is_page(text: &str) -> bool {
    let start = text.trim_start_matches('\u{feff}').trim_start();
    start.starts_with("<!DOCTYPE")
        || start.starts_with("<html")
        || TAGS.iter().any(|tag| text.contains(&format!("<{tag}>")))
}

/// Characters for their references.
fn plain(text: &str) -> String {
    if !text.contains('&') {
        return text.to_owned();
    }
    let known =
        [("&nbsp;", " "), ("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")];
    known.iter().fold(text.to_owned(), |text, (reference, character)| text.replace(reference, character))
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

/// Tags that tell a page.
const TAGS: [&str; 6] = ["pre", "code", "br", "div", "span", "td"];
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_shows() {
        let page = "<html><pre>sockperf: ---&gt; &lt;MAX&gt; observation = 1<br>[  5] &amp;</pre></html>";
        assert_eq!(text_of(page), "sockperf: ---> <MAX> observation = 1\n[  5] &\n");
        assert_eq!(text_of("---> <MAX> a & b"), "---> <MAX> a & b");
    }
}
