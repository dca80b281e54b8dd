//! The control connection of the native protocol: however its bytes are cut into portions, the messages are the same, and
//! none is read from what is not whole. And the first bytes of any connection.

use wire::ProtocolError;
use wire::native::{Decoder, MAX_FRAME, Message, VERSIONS, flow, greeting};

/// One input.
pub(crate) fn run(data: &[u8]) {
    let _ = flow::classify(data);
    let Some((&first, rest)) = data.split_first() else { return };
    let (cuts, rest) = rest.split_at(rest.len().min(usize::from(first & 7)));
    // With the greeting, so that messages are reached; and framed, so that lengths need not be guessed.
    let bytes = match first >> 6 {
        0 => rest.to_vec(),
        3 => [&greeting(VERSIONS), rest].concat(),
        _ => {
            let frames = rest
                .split(|byte| *byte == b'\n')
                .flat_map(|json| [&(json.len() as u32).to_be_bytes(), json].concat());
            greeting(VERSIONS).into_iter().chain(frames).collect()
        }
    };
    let limit = if first & 32 == 0 { MAX_FRAME } else { 200 };
    let whole = decode(&[&bytes], limit);
    let portions = portions(&bytes, cuts);
    assert_eq!(
        decode(&portions, limit),
        whole,
        "portions {:?}",
        portions.iter().map(|portion| portion.len())
    );
    if bytes.len() < 500 {
        let single: Vec<&[u8]> = bytes.chunks(1).collect();
        assert_eq!(decode(&single, limit), whole, "byte by byte");
    }
}

/// Every message, the version and the end: an error, or bytes that are not whole.
fn decode(portions: &[&[u8]], limit: usize) -> (Vec<Message>, Option<u8>, Option<ProtocolError>) {
    let mut decoder = Decoder::with_limit(limit);
    let mut messages = Vec::new();
    for portion in portions {
        decoder.push(portion);
        loop {
            match decoder.next_message() {
                Ok(Some(message)) => messages.push(message),
                Ok(None) => break,
                Err(error) => return (messages, decoder.version(), Some(error)),
            }
        }
    }
    (messages, decoder.version(), None)
}

/// Cut after so many bytes each time, the last portion being the rest.
fn portions<'a>(mut bytes: &'a [u8], cuts: &[u8]) -> Vec<&'a [u8]> {
    let mut portions = Vec::new();
    for cut in cuts {
        let (portion, rest) = bytes.split_at(bytes.len().min(usize::from(*cut)));
        portions.push(portion);
        bytes = rest;
    }
    portions.push(bytes);
    portions
}
