//! Texts as programs quote them in a line: strings with escaped ends of lines in a log, and what Python prints of its strings, lists
//! and dictionaries.

use serde_json::Value;

/// A text of several lines between quotation marks in a line, or a list or a dictionary of Python: its value, where in the line it
/// begins, and its length.
pub(super) fn value_in(line: &str) -> Option<(Value, usize, usize)> {
    let (has_lines, has_json) = (line.contains("\\n"), line.contains("{\\\""));
    let starts = line.char_indices().filter(|(at, c)| match c {
        '"' | '\'' => (has_lines || has_json && is_json(&line[at + 1..])) && may_begin(&line[..*at]),
        '{' | '[' => line[at + 1..].starts_with(['\'', '{', '[', '"']),
        _ => false,
    });
    starts
        .take(MOST_STARTS)
        .find_map(|(at, _)| {
            let (value, length) = value(&line[at..])?;
            let is_text = value.as_str().is_none_or(|text| text.contains('\n') || is_json(text));
            is_text.then_some((value, at, length))
        })
        .or_else(|| unquoted(line))
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// A line that is a text with escaped ends of lines, without quotation marks around it.
fn unquoted(line: &str) -> Option<(Value, usize, usize)> {
    let line = line.trim_end_matches(['\n', '\r']);
    if line.matches("\\n").count() < FEWEST_ENDS {
        return None;
    }
    let text = line.replace("\\r", "").replace("\\n", "\n").replace("\\t", "\t").replace("\\\"", "\"");
    Some((Value::String(text), 0, line.len()))
}

/// A document of JSON in a field of CSV, whose quotation marks are doubled: where in the text, of which this is the first line, the field
/// begins, the document's text, and the length of the field where it ends.
pub(super) fn field_in(text: &str, line: &str) -> Option<(usize, String, Option<usize>)> {
    let begins = |at: &usize| {
        let is_field = line[..*at].is_empty() || line[..*at].ends_with([',', ';', '\t', '|']);
        is_field && text[at + 2..].trim_start_matches(['[', '{']).trim_start().starts_with("\"\"")
    };
    let starts = ["\"{", "\"["].into_iter().flat_map(|start| line.match_indices(start).map(|(at, _)| at));
    let start = starts.filter(begins).min()?;
    let (mut inner, mut at) = (String::new(), start + 1);
    while let Some(quote) = text[at..].find('"') {
        inner.push_str(&text[at..at + quote]);
        at += quote + 1;
        if !text[at..].starts_with('"') {
            return Some((start, inner, Some(at - start)));
        }
        inner.push('"');
        at += 1;
    }
    Some((start, inner, None))
}

/// Whether a text may have something that [`value_in`] finds and that is not JSON.
pub(super) fn is_possible(text: &str) -> bool {
    text.contains("\\n") || text.contains("['")
}

/// A quotation mark inside a word is an apostrophe, but for the marks of Python's kinds of strings.
fn may_begin(before: &str) -> bool {
    let bare = before.strip_suffix(['b', 'u', 'r']).unwrap_or(before);
    !bare.ends_with(|c: char| c.is_alphanumeric())
}

/// The value at the begin of a text, translated to JSON.
fn value(text: &str) -> Option<(Value, usize)> {
    let (mut json, mut depth, mut at) = (String::new(), 0_usize, 0);
    while at < text.len() {
        let rest = &text[at..];
        let first = rest.chars().next()?;
        let length = match first {
            '"' | '\'' => {
                let (string, length) = string(rest)?;
                json += &Value::String(string).to_string();
                length
            }
            'b' | 'u' | 'r' if rest[1..].starts_with(['"', '\'']) => 1,
            '{' | '[' | '(' => {
                depth += 1;
                json.push(if first == '(' { '[' } else { first });
                1
            }
            '}' | ']' | ')' => {
                depth = depth.checked_sub(1)?;
                json.push(if first == ')' { ']' } else { first });
                1
            }
            _ => {
                let names = [("True", "true"), ("False", "false"), ("None", "null"), ("nan", "null")];
                let word = names.iter().find(|(word, _)| rest.starts_with(word));
                match word {
                    Some((word, of_json)) => {
                        json += of_json;
                        word.len()
                    }
                    None => {
                        json.push(first);
                        first.len_utf8()
                    }
                }
            }
        };
        at += length;
        if depth == 0 {
            return Some((serde_json::from_str(&json).ok()?, at));
        }
    }
    None
}

/// The string at the begin of a text, and the length of it with its quotation marks.
fn string(text: &str) -> Option<(String, usize)> {
    let mark = text.chars().next()?;
    let mut string = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((at, character)) = characters.next() {
        match character {
            end if end == mark => return Some((string, at + 1)),
            '\n' => return None,
            '\\' => match characters.next()?.1 {
                'n' => string.push('\n'),
                't' => string.push('\t'),
                'r' => {}
                'x' => string.push(coded(&mut characters, 2)?),
                'u' => string.push(coded(&mut characters, 4)?),
                other => string.push(other),
            },
            other => string.push(other),
        }
    }
    None
}

/// A character by its number in so many hexadecimal digits.
fn coded(characters: &mut impl Iterator<Item = (usize, char)>, digits: usize) -> Option<char> {
    let mut number = 0;
    for _ in 0..digits {
        number = number * 16 + characters.next()?.1.to_digit(16)?;
    }
    Some(char::from_u32(number).unwrap_or(char::REPLACEMENT_CHARACTER))
}

/// Ends of lines that a line without quotation marks must have.
const FEWEST_ENDS: usize = 3;
/// Places of a line at which a value is looked for.
const MOST_STARTS: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn values_of_python_and_of_logs() {
        for (line, expected) in [
            (r"b'one\ntwo\x41'", json!("one\ntwoA")),
            (r#"level=info msg="one\n\"two\"""#, json!("one\n\"two\"")),
            (r"out: 'it\'s\none'", json!("it's\none")),
            (r"['one', 'two']", json!(["one", "two"])),
            (
                r"{'a': True, 'b': [None, 1.5], 'c': ('x', b'y')}",
                json!({"a": true, "b": [null, 1.5], "c": ["x", "y"]}),
            ),
        ] {
            assert_eq!(value_in(line).map(|(value, ..)| value), Some(expected), "{line}");
        }
        for line in ["it's one line", r"don't\n", "['open", "[  5] 0.00-1.00", "{'a': 1, }}", ""] {
            assert_eq!(value_in(line), None, "{line}");
        }
    }
}
