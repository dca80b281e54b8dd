//! JSON documents within a text: found, repaired where they are cut off, and separated.

use super::clean::count_ends;
use super::quoted;
use super::results::Results;
use serde_json::Value;
use std::borrow::Cow;

/// A JSON object and the line it begins in, from 1.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Document<T = Value> {
    pub(super) line: usize,
    pub(super) value: T,
    /// The text ended before it did: what was whole was kept.
    pub(super) repaired: bool,
}

/// A number that equal documents share, whatever the order of their keys, and others hardly ever.
pub(super) fn fingerprint(value: &Value) -> u64 {
    match value {
        Value::Null => 1,
        Value::Bool(value) => 2 + u64::from(*value),
        Value::Number(number) => mixed(number.as_f64().unwrap_or_default().to_bits()),
        Value::String(text) => of_text(text),
        Value::Array(values) => {
            values.iter().fold(values.len() as u64, |all, value| mixed(all ^ fingerprint(value)))
        }
        // A sum has no order.
        Value::Object(fields) => fields.iter().fold(fields.len() as u64, |all, (key, value)| {
            all.wrapping_add(mixed(of_text(key) ^ mixed(fingerprint(value))))
        }),
    }
}

/// FNV-1a, eight bytes at a time.
fn of_text(text: &str) -> u64 {
    text.as_bytes().chunks(8).fold(0xcbf2_9ce4_8422_2325, |all, bytes| {
        let mut eight = [0; 8];
        eight[..bytes.len()].copy_from_slice(bytes);
        (all ^ u64::from_le_bytes(eight)).wrapping_mul(0x0100_0000_01b3).rotate_left(23)
    })
}

/// The last step of splitmix64.
fn mixed(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// The JSON in a text.
#[derive(Debug, Default)]
pub(super) struct Split<'a> {
    pub(super) documents: Vec<Document>,
    /// Documents of iPerf3, which make up long logs: they are read at once.
    pub(super) results: Vec<Document<Box<Results>>>,
    /// The text with the lines of documents empty.
    pub(super) rest: Cow<'a, str>,
    /// The line, from 1, of a document that the text ends in; only where more text is to come.
    pub(super) open: Option<usize>,
}

/// Every object that begins a line. `is_whole`: no more text follows, and a document that the end cuts off is closed.
pub(super) fn split(text: &str, is_whole: bool) -> Split<'_> {
    // Without a brace there is no object, and without a quotation mark no text in a list.
    if !text.contains('{') && !text.contains('"') && !quoted::is_possible(text) {
        return Split { rest: Cow::Borrowed(text), ..Split::default() };
    }
    let mut split = Split::default();
    let (mut rest, mut at, mut line) = (String::with_capacity(text.len()), 0, 1);
    while at < text.len() {
        let end = text[at..].find('\n').map_or(text.len(), |end| at + end + 1);
        let (left, first) = (&text[at..], &text[at..end]);
        let found = candidate(left, first)
            .and_then(|from| Some((from, first_object(&left[from..], line, is_whole)?)))
            .or_else(|| field(left, first, line, is_whole))
            .or_else(|| {
                let (value, from, length) = quoted::value_in(first)?;
                Some((from, Object::Whole(Document { line, value, repaired: false }, length)))
            });
        let end_of_found = match found {
            Some((from, Object::Whole(document, length))) => {
                split.documents.push(document);
                at + from + length
            }
            Some((from, Object::Results(document, length))) => {
                split.results.push(document);
                at + from + length
            }
            Some((_, Object::Open)) => {
                split.open = Some(line);
                break;
            }
            None => {
                rest.push_str(first);
                (at, line) = (end, line + 1);
                continue;
            }
        };
        let lines = count_ends(&text[at..end_of_found]);
        rest.extend(std::iter::repeat_n('\n', lines));
        (at, line) = (end_of_found, line + lines);
    }
    split.rest = Cow::Owned(rest);
    split
}

/// Where in a text, of which this is the first line, a document may begin in that line.
fn candidate(text: &str, line: &str) -> Option<usize> {
    let is_text = line.starts_with('"') && line.contains("\\n");
    if !is_text && !line.contains(['{', '[']) {
        return None;
    }
    let plain = text.trim_start_matches('\u{feff}').trim_start_matches([' ', '\t']);
    if is_text || is_value(plain) {
        return Some(text.len() - plain.len());
    }
    line.contains('{').then(|| behind_words(line)).flatten()
}

/// A brace with a key behind it, or nothing, or a list of objects, lists or strings: other brackets are not worth looking for their
/// end.
fn is_value(text: &str) -> bool {
    let object = text.strip_prefix('{').is_some_and(|inside| inside.trim_start().starts_with(['"', '}']));
    object || text.strip_prefix('[').is_some_and(|inside| inside.trim_start().starts_with(['{', '"', '[']))
}

/// A document that other words of its line stand before: `result: {"start": …`.
fn behind_words(line: &str) -> Option<usize> {
    let starts = ["{\"start\"", "{ \"start\"", "{\"schema\"", "{\"event\""];
    // `ok: [host] => {` of Ansible.
    let arrow = line.find("] => {").map(|at| at + "] => ".len());
    starts.iter().filter_map(|start| line.find(start)).chain(arrow).min()
}

/// The text where an object may begin.
enum Object {
    /// One, and its length.
    Whole(Document, usize),
    /// One of iPerf3, and its length.
    Results(Document<Box<Results>>, usize),
    /// One that the text ends in.
    Open,
}

/// The object at the begin of a text.
fn first_object(text: &str, line: usize, is_whole: bool) -> Option<Object> {
    if let Some((value, length)) = Results::at_begin(text) {
        return Some(Object::Results(Document { line, value, repaired: false }, length));
    }
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let (document, length) = match values.next()? {
        // The name of a key, as a part of a document has it, is no text.
        Ok(Value::String(text)) if !text.contains('\n') => return None,
        Ok(value) => (Document { line, value, repaired: false }, values.byte_offset()),
        Err(error) if error.is_eof() && !is_whole => return Some(Object::Open),
        Err(error) if error.is_eof() => fix(text, text.len(), line)?,
        Err(_) => with_nan(text, line)?,
    };
    Some(Object::Whole(document, length))
}

/// A document in a field of CSV, and where the field begins.
fn field(text: &str, line_of_text: &str, line: usize, is_whole: bool) -> Option<(usize, Object)> {
    if !line_of_text.contains('"') {
        return None;
    }
    let (from, inner, length) = quoted::field_in(text, line_of_text)?;
    let object = match (serde_json::from_str(&inner), length) {
        (Ok(value), Some(length)) => Object::Whole(Document { line, value, repaired: false }, length),
        (Err(error), None) if error.is_eof() && !is_whole => Object::Open,
        _ => return None,
    };
    Some((from, object))
}

/// Older versions of iPerf3 print figures that are none: `"jitter_ms":\t-nan`.
fn with_nan(text: &str, line: usize) -> Option<(Document, usize)> {
    let length = object_length(text)?;
    let value = serde_json::from_str(&without_nan(&text[..length])).ok()?;
    Some((Document { line, value, repaired: false }, length))
}

/// Closes what is open behind the last whole element of a list.
fn fix(text: &str, length: usize, line: usize) -> Option<(Document, usize)> {
    let mut open = Vec::new();
    let mut last: Option<(usize, Vec<u8>)> = None;
    scan(text, |at, byte| {
        match byte {
            b'{' => open.push(b'}'),
            b'[' => open.push(b']'),
            _ => {
                open.pop();
                if byte == b'}' && open.last() == Some(&b']') {
                    last = Some((at + 1, open.clone()));
                }
            }
        }
        true
    });
    let (end, mut closing) = last?;
    closing.reverse();
    let closing = String::from_utf8(closing).ok()?;
    let value = serde_json::from_str(&(without_nan(&text[..end]) + &closing)).ok()?;
    Some((Document { line, value, repaired: true }, length))
}

/// Length of the object at the begin, by its brackets.
fn object_length(text: &str) -> Option<usize> {
    let (mut depth, mut length) = (0_usize, None);
    scan(text, |at, byte| {
        match byte {
            b'{' | b'[' => depth += 1,
            _ => depth = depth.saturating_sub(1),
        }
        if depth == 0 {
            length = Some(at + 1);
        }
        depth > 0
    });
    length
}

/// Every bracket outside of strings, until a visitor stops it.
fn scan(text: &str, mut bracket: impl FnMut(usize, u8) -> bool) {
    let (mut quoted, mut escaped) = (false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b'{' | b'}' | b'[' | b']' if !quoted && !bracket(at, byte) => return,
            _ => {}
        }
    }
}

fn without_nan(text: &str) -> String {
    let mut text = text.to_owned();
    for blank in ["", " ", "\t"] {
        for word in ["-nan", "nan", "-inf", "inf"] {
            text = text.replace(&format!(":{blank}{word}"), ":null");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn documents_between_lines() {
        let text = "$ iperf3 -J\n{\"a\": [1,\n2]}\nafter\n  {\"b\": 2} \n{\"c\": {\"d\": 3}}";
        let Split { documents, rest, .. } = split(text, true);
        let found: Vec<_> =
            documents.iter().map(|document| (document.line, document.value.clone())).collect();
        assert_eq!(found, [(2, json!({"a": [1, 2]})), (5, json!({"b": 2})), (6, json!({"c": {"d": 3}}))]);
        assert_eq!(rest, "$ iperf3 -J\n\n\nafter\n \n");
    }

    #[test]
    fn what_is_cut_off_keeps_its_whole_elements() {
        let documents = split("{\"intervals\": [{\"x\": \"}\"}, {\"x\": 2}, {\"x\": ", true).documents;
        assert_eq!(documents[0].value, json!({"intervals": [{"x": "}"}, {"x": 2}]}));
        assert!(documents[0].repaired);
        assert_eq!(split("{\"a\": ", true).documents, []);
        assert_eq!(split("x\n{\"a\": ", false).open, Some(2));
    }

    #[test]
    fn fingerprints_are_of_the_content() {
        let document = json!({"a": [1, 2.5, "text of some length", null], "b": {"c": true, "d": -1}});
        let same: Value = serde_json::from_str(
            r#"{"b": {"d": -1, "c": true}, "a": [1, 2.5, "text of some length", null]}"#,
        )
        .expect("JSON");
        assert_eq!((&document, fingerprint(&document)), (&same, fingerprint(&same)));
        for other in [
            json!({"a": [2.5, 1, "text of some length", null], "b": {"c": true, "d": -1}}),
            json!({"a": [1, 2.5, "text of some lengtj", null], "b": {"c": true, "d": -1}}),
            json!({"a": [1, 2.5, "text of some length", null], "b": {"d": true, "c": -1}}),
            json!({"a": [1, 2.5, "text of some length"], "b": {"c": true, "d": -1}}),
        ] {
            assert_ne!(fingerprint(&document), fingerprint(&other), "{other}");
        }
    }

    #[test]
    fn figures_that_are_none() {
        let documents = split("{\"jitter_ms\":\t-nan, \"x\": nan}\n{\"y\": 1}", true).documents;
        assert_eq!(documents[0].value, json!({"jitter_ms": null, "x": null}));
        assert_eq!(documents[1].value, json!({"y": 1}));
        assert_eq!(split("{no json}\n", true).documents, []);
    }
}
