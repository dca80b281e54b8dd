//! Outputs inside other JSON: in lists, in objects of other programs (Ansible, Kubernetes, log collectors), in strings.

use super::is_claimed;
use super::json::{Document, fingerprint};
use serde_json::Value;
use std::collections::HashMap;

/// The outputs found in documents.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Documents that are read, and how often each stands there.
    pub(super) documents: Vec<(Document, usize)>,
    /// Where each of them is, by its fingerprint.
    fingerprints: HashMap<u64, usize>,
    /// Texts in strings, and the line that each stands in.
    pub(super) texts: Vec<(usize, String)>,
    /// The first line of a log of JSON lines, whose text is the last of these.
    pub(super) logged: Option<usize>,
}

impl Found {
    /// Takes documents apart as far as `is_known` knows nothing of them. `is_line`: one of many that make a document, which may be the
    /// same as another.
    pub(super) fn from_documents(
        documents: Vec<Document>,
        is_known: fn(&Value) -> bool,
        is_line: fn(&Value) -> bool,
    ) -> Found {
        let mut found = Found::default();
        let mut documents = documents;
        let logged = logged(&mut documents, |value| !is_known(value) && !is_line(value));
        for document in documents {
            let Document { line, value, repaired } = document;
            let kinds = Kinds { is_known, is_line, is_log: logged.is_some() };
            found.take(line, value, repaired, kinds, 0);
        }
        // A log of JSON lines has a line of text in each.
        if let Some((line, text)) = logged {
            found.logged = Some(line);
            found.texts.push((line, text));
        }
        found
    }

    fn take(&mut self, line: usize, value: Value, repaired: bool, kinds: Kinds, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        if (kinds.is_line)(&value) {
            self.documents.push((Document { line, value, repaired }, 1));
        } else if (kinds.is_known)(&value) {
            let fingerprint = fingerprint(&value);
            let known = self.fingerprints.get(&fingerprint).map(|place| &mut self.documents[*place]);
            match known.filter(|(known, _)| known.value == value) {
                Some((_, count)) => *count += 1,
                None => {
                    self.fingerprints.insert(fingerprint, self.documents.len());
                    self.documents.push((Document { line, value, repaired }, 1));
                }
            }
        } else {
            self.take_apart(line, value, kinds, depth + 1);
        }
    }

    fn take_apart(&mut self, line: usize, value: Value, kinds: Kinds, depth: usize) {
        match value {
            Value::Object(fields) => {
                fields.into_iter().for_each(|(_, value)| self.take(line, value, false, kinds, depth));
            }
            Value::Array(values) if values.len() > 1 && values.iter().all(Value::is_string) => {
                let lines: Vec<&str> = values.iter().filter_map(Value::as_str).collect();
                self.text(line, &lines.join("\n"), kinds, depth);
            }
            // A document that is read has such keys of its own.
            Value::Array(values) => {
                match listed(&values).filter(|_| !values.iter().any(|one| kinds.reads(one))) {
                    Some(text) => self.text(line, &text, kinds, depth),
                    None => values.into_iter().for_each(|value| self.take(line, value, false, kinds, depth)),
                }
            }
            Value::String(text) => self.text(line, &text, kinds, depth),
            _ => {}
        }
    }

    fn text(&mut self, line: usize, text: &str, kinds: Kinds, depth: usize) {
        let trimmed = text.trim();
        if trimmed.starts_with(['{', '['])
            && let Ok(value @ (Value::Object(_) | Value::Array(_))) = serde_json::from_str(trimmed)
        {
            self.take(line, value, false, kinds, depth);
        } else if (trimmed.contains('\n') || !kinds.is_log && is_claimed(trimmed))
            && !self.texts.iter().any(|(_, known)| known.trim() == trimmed)
        {
            self.texts.push((line, text.to_owned()));
        }
    }
}

#[derive(Clone, Copy)]
struct Kinds {
    is_known: fn(&Value) -> bool,
    is_line: fn(&Value) -> bool,
    /// Each document has a line of one text.
    is_log: bool,
}

impl Kinds {
    /// Whether a value is a document of its own, or a part of one.
    fn reads(self, value: &Value) -> bool {
        (self.is_known)(value) || (self.is_line)(value)
    }
}

/// The lines of a log in JSON: objects that each hold a line under the same key (`{"log":"…\n","stream":"stdout"}` of Docker,
/// `{"MESSAGE":"…"}` of journald, `{"result":{"_raw":"…"}}` of Splunk), and the line of the first. They are taken out of the documents.
fn logged(documents: &mut [Document], is_foreign: impl Fn(&Value) -> bool) -> Option<(usize, String)> {
    let mut foreign: Vec<&mut Document> = documents.iter_mut().filter(|one| is_foreign(&one.value)).collect();
    let key = KEYS.into_iter().find(|key| {
        let lines = || foreign.iter().filter_map(|document| text_under(&document.value, key));
        lines().count() > 1 && lines().all(is_line_of_text)
    })?;
    let first = foreign.iter().find(|document| text_under(&document.value, key).is_some())?.line;
    let taken = foreign.iter_mut().filter_map(|document| take_under(&mut document.value, key));
    Some((first, joined(taken)))
}

fn is_line_of_text(text: &str) -> bool {
    !text.trim_end().contains('\n')
}

/// The same of a list: of objects, or of pairs of a time and a line, as Loki has them, which can be in falling order.
fn listed(values: &[Value]) -> Option<String> {
    let pair = |value: &Value| match value.as_array()?.as_slice() {
        [time, line, ..] => Some((time.as_str()?.parse::<u64>().ok()?, line.as_str()?.to_owned())),
        _ => None,
    };
    let pairs: Option<Vec<(u64, String)>> = values.iter().map(pair).collect();
    if let Some(mut pairs) = pairs.filter(|pairs| pairs.len() > 1) {
        if pairs.first() > pairs.last() {
            pairs.reverse();
        }
        return Some(joined(pairs.into_iter().map(|(_, line)| line)));
    }
    let key =
        KEYS.into_iter().find(|key| values.iter().filter_map(|value| text_under(value, key)).count() > 1)?;
    let lines: Vec<&str> = values.iter().filter_map(|value| text_under(value, key)).collect();
    let are_lines = lines.iter().all(|line| is_line_of_text(line) && !line.trim_start().starts_with('{'));
    are_lines.then(|| joined(lines.into_iter().map(str::to_owned)))
}

fn joined(lines: impl Iterator<Item = String>) -> String {
    lines.fold(String::new(), |text, line| text + line.trim_end_matches('\n') + "\n")
}

/// The text under a key of an object, or of an object in it.
fn text_under<'a>(value: &'a Value, key: &str) -> Option<&'a str> {
    let own = |value: &'a Value| {
        let fields = value.as_object()?;
        fields.iter().find(|(name, _)| name.eq_ignore_ascii_case(key))?.1.as_str()
    };
    own(value).or_else(|| value.as_object()?.values().find_map(own))
}

/// The same, taken out of it.
fn take_under(value: &mut Value, key: &str) -> Option<String> {
    let fields = value.as_object_mut()?;
    let own = fields.iter_mut().find(|(name, value)| name.eq_ignore_ascii_case(key) && value.is_string());
    if let Some((_, Value::String(text))) = own {
        return Some(std::mem::take(text));
    }
    fields.values_mut().filter(|value| value.is_object()).find_map(|value| {
        let mut own = value.as_object_mut()?.iter_mut();
        let (_, Value::String(text)) =
            own.find(|(name, value)| name.eq_ignore_ascii_case(key) && value.is_string())?
        else {
            return None;
        };
        Some(std::mem::take(text))
    })
}

/// Keys under which collectors of logs keep a line.
const KEYS: [&str; 10] =
    ["log", "message", "@message", "msg", "line", "textPayload", "_raw", "text", "body", "content"];
const DEEPEST: usize = 24;
