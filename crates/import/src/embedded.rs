//! Outputs inside other JSON: in lists, in objects of other programs (Ansible, Kubernetes, log collectors), in strings.

use super::is_claimed;
use super::json::Document;
use serde_json::Value;

/// The outputs found in documents.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Documents that are read, and how often each stands there.
    pub(super) documents: Vec<(Document, usize)>,
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
        let logged = logged(&documents);
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
            match self.documents.iter_mut().find(|(known, _)| known.value == value) {
                Some((_, count)) => *count += 1,
                None => self.documents.push((Document { line, value, repaired }, 1)),
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
            Value::Array(values) => {
                values.into_iter().for_each(|value| self.take(line, value, false, kinds, depth));
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

/// The lines of a log in JSON: objects that each hold a line under the same key (`{"log":"…\n","stream":"stdout"}` of Docker,
/// `{"MESSAGE":"…"}` of journald), and the line of the first.
fn logged(documents: &[Document]) -> Option<(usize, String)> {
    let key = KEYS
        .iter()
        .find(|key| documents.iter().filter(|document| document.value[**key].is_string()).count() > 1)?;
    let mut text = String::new();
    for line in documents.iter().filter_map(|document| document.value[*key].as_str()) {
        text.push_str(line.trim_end_matches('\n'));
        text.push('\n');
    }
    let first = documents.iter().find(|document| document.value[*key].is_string())?;
    Some((first.line, text))
}

/// Keys under which collectors of logs keep a line.
const KEYS: [&str; 11] = [
    "log",
    "MESSAGE",
    "message",
    "@message",
    "msg",
    "line",
    "textPayload",
    "_raw",
    "text",
    "body",
    "content",
];
const DEEPEST: usize = 24;
