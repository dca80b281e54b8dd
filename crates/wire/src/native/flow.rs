//! Classification of TCP connections to the port by their first bytes, and the presentation of a data flow.
//!
//! ```text
//! 0          8         9          10       14           30              46
//! | PMTRFLOW | version | transport | stream | session id | MAC under key |      client to server
//! | code |                                                                       server's answer, one byte
//! ```

use super::VERSIONS;
use crate::hex::{FlowKey, SessionId, same};
use model::plan::Transport;

/// First bytes of a control dialogue.
pub const CONTROL_MAGIC: [u8; 8] = *b"PMTRCTRL";
/// First bytes of a data flow.
pub const FLOW_MAGIC: [u8; 8] = *b"PMTRFLOW";
/// Bytes of a data flow's presentation.
pub const FLOW_HELLO_LEN: usize = 46;

/// The kind of a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Opening {
    /// Not known before this many bytes in all have arrived.
    NeedMore(usize),
    /// A TLS handshake record, with a control dialogue inside.
    Tls,
    /// A control dialogue: the bytes belong to [`super::Server`].
    Control,
    /// A data flow; bytes behind its [`FLOW_HELLO_LEN`] bytes are data.
    Flow(FlowHello),
    /// Foreign bytes.
    Garbage,
}

/// The presentation of a data flow: its session and stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowHello {
    /// The session, known to both ends by `accept`.
    pub session: SessionId,
    /// Number of the stream.
    pub stream: u32,
    transport: u8,
    mac: [u8; 16],
}

/// The server's answer to a presentation, one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowAnswer {
    /// The flow is part of the session.
    Welcome = 0,
    /// The session does not exist (any more).
    UnknownSession = 1,
    /// The MAC is wrong.
    NotProved = 2,
    /// The session has no such stream, or the stream is already open.
    NoSuchStream = 3,
}

/// Classifies a connection by its first bytes. Reading `NeedMore` bytes at a time never reads beyond the presentation.
pub fn classify(first: &[u8]) -> Opening {
    match first {
        [] => Opening::NeedMore(1),
        [TLS_HANDSHAKE, ..] => Opening::Tls,
        _ if begins(first, &CONTROL_MAGIC) => Opening::Control,
        _ if begins(first, &FLOW_MAGIC) => FlowHello::read(first),
        _ if first.len() < 8 && (CONTROL_MAGIC.starts_with(first) || FLOW_MAGIC.starts_with(first)) => {
            Opening::NeedMore(8)
        }
        _ => Opening::Garbage,
    }
}

fn begins(bytes: &[u8], magic: &[u8; 8]) -> bool {
    bytes.first_chunk() == Some(magic)
}

impl FlowHello {
    /// The presentation of one flow of a session.
    pub fn new(session: SessionId, transport: Transport, stream: u32, key: &FlowKey) -> FlowHello {
        let transport = code(transport);
        let mac = mac(&session, transport, stream, key);
        FlowHello { session, stream, transport, mac }
    }

    /// True when the sender has the session's key, for this transport and stream.
    pub fn proves(&self, transport: Transport, key: &FlowKey) -> bool {
        let expected = mac(&self.session, code(transport), self.stream, key);
        self.transport == code(transport) && same(&self.mac, &expected)
    }

    /// The bytes on the wire.
    pub fn bytes(&self) -> [u8; FLOW_HELLO_LEN] {
        let mut bytes = [0; FLOW_HELLO_LEN];
        bytes[..8].copy_from_slice(&FLOW_MAGIC);
        bytes[8] = VERSIONS.1;
        self.write_body(&mut bytes[9..]);
        bytes
    }

    fn read(first: &[u8]) -> Opening {
        let Some(bytes) = first.first_chunk::<FLOW_HELLO_LEN>() else {
            return Opening::NeedMore(FLOW_HELLO_LEN);
        };
        match FlowHello::read_body(&bytes[9..]) {
            Some(hello) if bytes[8] >= VERSIONS.0 => Opening::Flow(hello),
            _ => Opening::Garbage,
        }
    }

    /// Transport, stream, session, MAC: 37 bytes.
    pub(super) fn write_body(&self, body: &mut [u8]) {
        body[0] = self.transport;
        body[1..5].copy_from_slice(&self.stream.to_be_bytes());
        body[5..21].copy_from_slice(self.session.bytes());
        body[21..BODY_LEN].copy_from_slice(&self.mac);
    }

    pub(super) fn read_body(body: &[u8]) -> Option<FlowHello> {
        let (&transport, rest) = body.split_first()?;
        let (stream, rest) = rest.split_first_chunk()?;
        let (session, rest) = rest.split_first_chunk()?;
        let session = SessionId::new(*session);
        Some(FlowHello { session, stream: u32::from_be_bytes(*stream), transport, mac: *rest.first_chunk()? })
    }
}

/// Bytes common to a TCP and a UDP presentation.
pub(super) const BODY_LEN: usize = 37;

fn mac(session: &SessionId, transport: u8, stream: u32, key: &FlowKey) -> [u8; 16] {
    key.sign(&[b"pathmeter native 1 flow", session.bytes(), &[transport], &stream.to_be_bytes()])
}

fn code(transport: Transport) -> u8 {
    match transport {
        Transport::Tcp => 6,
        Transport::Udp => 17,
    }
}

impl FlowAnswer {
    /// The byte on the wire.
    pub fn byte(self) -> u8 {
        self as u8
    }

    /// The answer of a byte; `None`: the byte is unknown.
    pub fn read(byte: u8) -> Option<FlowAnswer> {
        use FlowAnswer::*;
        [Welcome, UnknownSession, NotProved, NoSuchStream].into_iter().find(|answer| answer.byte() == byte)
    }
}

/// TLS record type "handshake", RFC 8446 section 5.1.
const TLS_HANDSHAKE: u8 = 0x16;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: FlowKey = FlowKey::new([5; 32]);
    const SESSION: SessionId = SessionId::new([9; 16]);

    #[test]
    fn a_presentation_is_read_and_proved() {
        let hello = FlowHello::new(SESSION, Transport::Tcp, 7, &KEY);
        assert_eq!(classify(&hello.bytes()), Opening::Flow(hello));
        assert!(hello.proves(Transport::Tcp, &KEY));
        assert!(!hello.proves(Transport::Udp, &KEY));
        assert!(!hello.proves(Transport::Tcp, &FlowKey::new([6; 32])));
        assert!(!FlowHello { stream: 8, ..hello }.proves(Transport::Tcp, &KEY));
        assert!(!FlowHello { session: SessionId::new([8; 16]), ..hello }.proves(Transport::Tcp, &KEY));
    }

    #[test]
    fn openings_are_classified_by_their_first_bytes() {
        assert_eq!(classify(b""), Opening::NeedMore(1));
        assert_eq!(classify(&[0x16, 3, 1]), Opening::Tls);
        assert_eq!(classify(b"PMTR"), Opening::NeedMore(8));
        assert_eq!(classify(b"PMTRC"), Opening::NeedMore(8));
        assert_eq!(classify(b"PMTRCTRL\x01\x01"), Opening::Control);
        assert_eq!(classify(b"PMTRFLOW"), Opening::NeedMore(FLOW_HELLO_LEN));
        assert_eq!(classify(b"PMTRX"), Opening::Garbage);
        assert_eq!(classify(b"GET / HTTP/1.1\r\n"), Opening::Garbage);
    }

    #[test]
    fn answers_have_their_byte() {
        for byte in 0..=255 {
            assert_eq!(FlowAnswer::read(byte).map(FlowAnswer::byte), (byte < 4).then_some(byte));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_something(bytes: Vec<u8>) {
            if let Opening::NeedMore(n) = classify(&bytes) {
                prop_assert!(n > bytes.len());
            }
        }

        #[test]
        fn a_flow_is_anything_of_its_length(rest in prop::collection::vec(any::<u8>(), 38)) {
            let bytes = [FLOW_MAGIC.as_slice(), &rest].concat();
            match classify(&bytes) {
                Opening::Flow(hello) => {
                    prop_assert_eq!(&hello.bytes()[9..], &bytes[9..]);
                    prop_assert!(!hello.proves(Transport::Tcp, &KEY));
                }
                other => prop_assert_eq!((other, bytes[8]), (Opening::Garbage, 0)),
            }
        }
    }
}
