//! The encoding of control messages: a greeting once in each direction, then frames of a length and a JSON object.
//!
//! ```text
//! | PMTRCTRL | lowest version | highest version |      greeting, 10 bytes
//! | length, u32 big-endian | JSON object |             each frame
//! ```

use super::flow::CONTROL_MAGIC;
use super::message::Message;
use super::{NAME, VERSIONS};
use crate::ProtocolError;
use crate::work::Refusal;
use model::bidi::turns_direction;
use serde_json::Value;

/// Longest JSON of a frame, bytes.
pub const MAX_FRAME: usize = 1 << 20;
/// The same before the peer is authenticated.
pub(super) const MAX_UNAUTHENTICATED_FRAME: usize = 1 << 16;
/// Bytes of the greeting.
const GREETING_LEN: usize = 10;

/// The first bytes of each end.
pub fn greeting(versions: (u8, u8)) -> [u8; GREETING_LEN] {
    let mut bytes = [versions.0, versions.1, 0, 0, 0, 0, 0, 0, 0, 0];
    bytes.rotate_left(2);
    bytes[..8].copy_from_slice(&CONTROL_MAGIC);
    bytes
}

/// The frame of a message.
pub(super) fn encode(message: &Message) -> Vec<u8> {
    let mut frame = vec![0; 4];
    serde_json::to_writer(&mut frame, message)
        .expect("a message has string keys and writing to memory works");
    let length = u32::try_from(frame.len() - 4).unwrap_or(u32::MAX);
    frame[..4].copy_from_slice(&length.to_be_bytes());
    frame
}

/// Greeting and refusal in one, for a client with which the server begins no dialogue.
pub fn refusal(code: &str, reason: &str, advice: &str) -> Vec<u8> {
    let refuse = Message::Refuse(Refusal::new(code, reason, advice));
    [greeting(VERSIONS).as_slice(), &encode(&refuse)].concat()
}

/// Turns the bytes of one direction, in any portions, into messages.
#[derive(Clone, Debug)]
pub struct Decoder {
    bytes: Vec<u8>,
    taken: usize,
    version: Option<u8>,
    limit: usize,
}

impl Default for Decoder {
    fn default() -> Decoder {
        Decoder { bytes: Vec::new(), taken: 0, version: None, limit: MAX_FRAME }
    }
}

impl Decoder {
    /// A decoder that accepts frames up to this many bytes of JSON.
    pub fn with_limit(limit: usize) -> Decoder {
        Decoder { limit: limit.min(MAX_FRAME), ..Decoder::default() }
    }

    /// Changes the limit for the frames to come.
    pub fn set_limit(&mut self, limit: usize) {
        self.limit = limit.min(MAX_FRAME);
    }

    /// The version both ends speak, once the greeting has come.
    pub fn version(&self) -> Option<u8> {
        self.version
    }

    /// Takes bytes.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.taken);
        self.taken = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next message; `None` until more bytes arrive. Messages of unknown type are skipped.
    ///
    /// # Errors
    /// The bytes are not this protocol, or the two ends share no version. The state afterwards is undefined.
    pub fn next_message(&mut self) -> Result<Option<Message>, ProtocolError> {
        if self.version.is_none() {
            self.check_magic()?;
            let Some(greeting) = self.bytes[self.taken..].first_chunk() else { return Ok(None) };
            self.version = Some(common_version(greeting)?);
            self.taken += GREETING_LEN;
        }
        while let Some(frame) = self.next_frame()? {
            if let Some(message) = read(&self.bytes[frame])? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    fn next_frame(&mut self) -> Result<Option<std::ops::Range<usize>>, ProtocolError> {
        let rest = &self.bytes[self.taken..];
        let Some((length, rest)) = rest.split_first_chunk() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > self.limit {
            return Err(violation(format!("a message of {length} bytes, where {} are allowed", self.limit)));
        }
        if rest.len() < length {
            return Ok(None);
        }
        let begin = self.taken + 4;
        self.taken = begin + length;
        Ok(Some(begin..self.taken))
    }

    /// An incomplete greeting is refused as soon as it cannot become one.
    fn check_magic(&self) -> Result<(), ProtocolError> {
        let begin = &self.bytes[self.taken..];
        let length = begin.len().min(CONTROL_MAGIC.len());
        if begin.starts_with(&TLS_ALERT) {
            return Err(violation("it answers in TLS: it demands that, and has too many connections".into()));
        }
        if TLS_ALERT.starts_with(begin) {
            return Ok(());
        }
        if begin[..length] == CONTROL_MAGIC[..length] { Ok(()) } else { Err(not_ours()) }
    }
}

fn common_version(greeting: &[u8; GREETING_LEN]) -> Result<u8, ProtocolError> {
    let Some(&[lowest, highest]) = greeting.strip_prefix(CONTROL_MAGIC.as_slice()) else {
        return Err(not_ours());
    };
    let (our_lowest, our_highest) = VERSIONS;
    let common = highest.min(our_highest);
    if common >= lowest.max(our_lowest) {
        return Ok(common);
    }
    let older = if highest < our_lowest { "the peer's software" } else { "the software of this end" };
    Err(ProtocolError::Version(format!(
        "this end speaks versions {our_lowest} to {our_highest} of the native protocol, the peer {lowest} to \
         {highest}; upgrade {older}"
    )))
}

fn read(json: &[u8]) -> Result<Option<Message>, ProtocolError> {
    let mut value: Value = serde_json::from_slice(json).map_err(|error| unreadable("a message", &error))?;
    let Some(kind) = value.get("type").and_then(Value::as_str).map(str::to_owned) else {
        return Err(violation("a message without a type".into()));
    };
    let cleaned = clean(&mut value);
    let message = serde_json::from_value(value);
    if matches!(message, Ok(Message::Unknown)) {
        return Ok(None);
    }
    cleaned.map_err(|what| violation(format!("`{kind}`: {what}")))?;
    message.map(Some).map_err(|error| unreadable(&format!("`{kind}`"), &error))
}

/// Makes data of an untrusted peer harmless for terminals and for arithmetic: no control characters, no texts without limit, no
/// numbers that overflow when a few hundred of them are added. A null field counts as absent (JSON has no NaN: it is written as
/// null).
fn clean(value: &mut Value) -> Result<(), String> {
    match value {
        Value::String(text) => *text = clean_text(text),
        Value::Number(number) if !is_reasonable(number) => return Err(format!("the number {number}")),
        Value::Array(items) => items.iter_mut().try_for_each(clean)?,
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().try_for_each(clean)?;
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    Ok(())
}

fn clean_text(text: &str) -> String {
    text.chars()
        .take(MAX_TEXT)
        .map(|c| if c.is_control() || turns_direction(c) { '\u{fffd}' } else { c })
        .collect()
}

fn is_reasonable(number: &serde_json::Number) -> bool {
    match (number.as_u64(), number.as_i64()) {
        (Some(unsigned), _) => unsigned < MAX_NUMBER,
        (None, Some(signed)) => signed.unsigned_abs() < MAX_NUMBER,
        (None, None) => number.as_f64().is_some_and(|float| float.abs() < MAX_NUMBER as f64),
    }
}

pub(super) fn violation(what: String) -> ProtocolError {
    ProtocolError::Violation { protocol: NAME, what }
}

fn unreadable(what: &str, error: &serde_json::Error) -> ProtocolError {
    let text: String = clean_text(&error.to_string()).chars().take(200).collect();
    violation(format!("{what} cannot be read: {text}"))
}

fn not_ours() -> ProtocolError {
    violation("it does not greet as pathmeter does; is another service on this port?".into())
}

/// First bytes of a TLS alert.
const TLS_ALERT: [u8; 2] = [21, 3];
/// Longest text kept, characters.
const MAX_TEXT: usize = 1024;
/// 36 years in nanoseconds, or an exbibyte.
const MAX_NUMBER: u64 = 1 << 60;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn framed(value: &Value) -> Vec<u8> {
        let json = serde_json::to_vec(value).unwrap();
        [u32::try_from(json.len()).unwrap().to_be_bytes().as_slice(), &json].concat()
    }

    fn greeted(frames: &[Value]) -> Vec<u8> {
        let frames = frames.iter().flat_map(framed);
        greeting(VERSIONS).into_iter().chain(frames).collect()
    }

    fn all(decoder: &mut Decoder) -> Result<Vec<Message>, ProtocolError> {
        std::iter::from_fn(|| decoder.next_message().transpose()).collect()
    }

    fn decode(bytes: &[u8]) -> Result<Vec<Message>, ProtocolError> {
        let mut decoder = Decoder::default();
        decoder.push(bytes);
        all(&mut decoder)
    }

    /// Arrives in portions of any size.
    #[test]
    fn an_alert_of_tls_is_known_byte_by_byte() {
        for portion in 1..=3 {
            let mut decoder = Decoder::default();
            let mut frames = [21, 3, 3].chunks(portion).map(|bytes| {
                decoder.push(bytes);
                decoder.next_message().map(drop)
            });
            let error = frames.find_map(Result::err).expect("it is no greeting");
            assert!(error.to_string().contains("TLS"), "{error}");
        }
    }

    #[test]
    fn the_greeting_is_these_bytes() {
        assert_eq!(&greeting((1, 3)), b"PMTRCTRL\x01\x03");
    }

    #[test]
    fn unknown_types_and_fields_are_passed_over() {
        let bytes = greeted(&[
            json!({"type": "fortune", "text": "later", "number": u64::MAX}),
            json!({"type": "stop", "reason": "enough", "mood": "good"}),
        ]);
        assert_eq!(decode(&bytes), Ok(vec![Message::Stop { reason: "enough".into() }]));
    }

    #[test]
    fn a_newer_peer_is_spoken_to_at_our_version() {
        let mut decoder = Decoder::default();
        decoder.push(&greeting((1, 9)));
        assert_eq!(decoder.next_message(), Ok(None));
        assert_eq!(decoder.version(), Some(VERSIONS.1));
    }

    #[test]
    fn without_a_common_version_both_are_named_and_who_must_upgrade() {
        let text = decode(&greeting((7, 9))).unwrap_err().to_string();
        assert!(text.contains("versions 1 to 1") && text.contains("the peer 7 to 9"), "{text}");
        assert!(text.ends_with("upgrade the software of this end"), "{text}");
        let text = decode(&greeting((0, 0))).unwrap_err().to_string();
        assert!(text.ends_with("upgrade the peer's software"), "{text}");
    }

    #[test]
    fn what_is_not_ours_is_refused_at_its_first_wrong_byte() {
        assert_eq!(decode(b"PMTR"), Ok(vec![]));
        assert_eq!(decode(b"SSH-"), Err(not_ours()));
        assert_eq!(decode(b"PMTRFLOW\x01\x01"), Err(not_ours()));
    }

    #[test]
    fn lengths_are_limited_before_anything_is_kept() {
        let mut decoder = Decoder::with_limit(100);
        decoder.push(&[greeting(VERSIONS).as_slice(), &101_u32.to_be_bytes()].concat());
        assert!(decoder.next_message().is_err());
        assert!(decode(&[greeting(VERSIONS).as_slice(), &[0xff; 4]].concat()).is_err());
    }

    #[test]
    fn null_is_absent() {
        let result =
            json!({"streams": [], "cpu": {"process": null, "cpus": 2}, "datapath": {}, "kernel": {}});
        let messages = decode(&greeted(&[json!({"type": "results", "result": result})])).unwrap();
        let [Message::Results { result }] = &messages[..] else { panic!("{messages:?}") };
        assert_eq!((result.cpu.process, result.cpu.cpus), (0.0, 2));
    }

    #[test]
    fn broken_messages_are_violations() {
        for value in [json!(3), json!({"reason": "none"}), json!({"type": 3}), json!({"type": "stop"})] {
            assert!(decode(&greeted(std::slice::from_ref(&value))).is_err(), "{value}");
        }
        let enormous = json!({"type": "ping", "id": 1, "t1_ns": u64::MAX});
        assert!(decode(&greeted(&[enormous])).is_err());
        let empty = [greeting(VERSIONS).as_slice(), &[0; 4]].concat();
        assert!(decode(&empty).is_err());
    }

    #[test]
    fn texts_cannot_steer_a_terminal() {
        let bytes = greeted(&[json!({"type": "stop", "reason": "\u{1b}[2Jgone\u{202e}\n"})]);
        let expected = "\u{fffd}[2Jgone\u{fffd}\u{fffd}";
        assert_eq!(decode(&bytes), Ok(vec![Message::Stop { reason: expected.into() }]));
    }

    #[test]
    fn an_older_clients_plan_gets_defaults() {
        let spec = json!({"transport": "udp", "directions": "down", "streams": 2, "end": {"time": 5}});
        let test =
            json!({"type": "test", "kind": "throughput", "spec": spec, "host": model::host::Host::default()});
        let messages = decode(&greeted(&[test])).unwrap();
        let [Message::Test { ask: super::super::Ask::Throughput { spec, .. }, .. }] = &messages[..] else {
            panic!("{messages:?}");
        };
        assert_eq!((spec.streams, spec.offload), (2, true));
    }

    proptest! {
        #[test]
        fn any_bytes_give_messages_or_an_error(bytes: Vec<u8>, greet: bool) {
            let bytes = if greet { [greeting(VERSIONS).as_slice(), &bytes].concat() } else { bytes };
            let _ = decode(&bytes);
        }

        #[test]
        fn portions_do_not_matter(cuts in prop::collection::vec(1_usize..40, 1..40)) {
            let messages: Vec<Message> =
                (0..5).map(|n| Message::Stop { reason: "x".repeat(n * 17) }).collect();
            let bytes: Vec<u8> = greeting(VERSIONS).into_iter().chain(messages.iter().flat_map(encode)).collect();
            let (mut decoder, mut observed, mut rest) = (Decoder::default(), Vec::new(), &bytes[..]);
            for cut in cuts.into_iter().cycle() {
                let (now, later) = rest.split_at(cut.min(rest.len()));
                decoder.push(now);
                observed.extend(all(&mut decoder)?);
                rest = later;
                if rest.is_empty() { break; }
            }
            prop_assert_eq!(observed, messages);
        }
    }
}
