//! How connections and datagrams on the server's port identify themselves.
//!
//! Every TCP connection, control or data, begins with the cookie, and a data connection is not answered. A UDP stream begins
//! with four bytes from the client, which the server answers with four bytes. Old versions and hosts of the other byte order use
//! other bytes; all of them are recognised here.

use crate::iperf3::cookie::{COOKIE_LEN, Cookie};

/// Datagram with which a client opens a UDP stream: "9876".
pub const UDP_HELLO: [u8; 4] = *b"9876";

/// The server's answer to it: "6789".
pub const UDP_REPLY: [u8; 4] = *b"6789";

/// The first bytes of a TCP connection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Classified {
    /// More bytes are needed.
    More,
    /// A cookie, and what follows it begins at byte [`COOKIE_LEN`]. A cookie of a session that waits for its
    /// streams makes this a data connection, any other a control connection.
    Cookie(Cookie),
    /// Not iPerf3.
    Foreign,
}

/// Classifies a connection by its first bytes. Foreign bytes are recognised at once, before 37 of them have arrived.
#[must_use]
pub fn classify(first: &[u8]) -> Classified {
    if let Some(cookie) = first.first_chunk::<COOKIE_LEN>() {
        return Cookie::from_wire(cookie).map_or(Classified::Foreign, Classified::Cookie);
    }
    let plausible = first.iter().take(COOKIE_LEN - 1).all(u8::is_ascii_graphic);
    if plausible { Classified::More } else { Classified::Foreign }
}

/// Does this datagram open a stream, by any of the known four bytes?
#[must_use]
pub fn is_udp_hello(payload: &[u8]) -> bool {
    HELLOS.iter().any(|hello| payload == hello)
}

/// Does this datagram answer [`UDP_HELLO`]? While a server sends (`--reverse`, `--bidir`), its first data datagrams may arrive
/// before the answer and count as one.
#[must_use]
pub fn is_udp_reply(payload: &[u8]) -> bool {
    REPLIES.iter().any(|reply| payload == reply)
}

/// The current bytes, the same from a big-endian host, and 123456789 of early versions in both byte orders.
const HELLOS: [[u8; 4]; 4] =
    [UDP_HELLO, UDP_REPLY, 123_456_789_u32.to_le_bytes(), 123_456_789_u32.to_be_bytes()];

/// The current bytes, and 987654321 in both byte orders. Those of a big-endian host equal our hello, so they could be an echo.
const REPLIES: [[u8; 4]; 3] = [UDP_REPLY, 987_654_321_u32.to_be_bytes(), 987_654_321_u32.to_le_bytes()];

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn cookies_are_known_from_any_length_on() {
        let cookie = Cookie::from_entropy(&[3; 36]);
        let mut bytes = cookie.to_wire().to_vec();
        for end in 0..COOKIE_LEN {
            assert_eq!(classify(&bytes[..end]), Classified::More);
        }
        bytes.extend_from_slice(b"payload");
        assert_eq!(classify(&bytes), Classified::Cookie(cookie));
    }

    #[test]
    fn foreign_bytes_are_recognised_early() {
        for first in [&b"GET / HTTP/1.1\r\n"[..], b"\x16\x03\x01", b"SSH-2.0-x\r\n", b"\0"] {
            assert_eq!(classify(first), Classified::Foreign);
        }
    }

    #[test]
    fn hellos_of_every_version_are_known() {
        assert!(is_udp_hello(b"\x39\x38\x37\x36") && is_udp_hello(b"\x15\xcd\x5b\x07"));
        assert!(is_udp_reply(b"\x36\x37\x38\x39") && is_udp_reply(b"\xb1\x68\xde\x3a"));
        assert!(!is_udp_reply(&UDP_HELLO) && !is_udp_hello(b"98765") && !is_udp_hello(b""));
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer(bytes: Vec<u8>) {
            let _ = (classify(&bytes), is_udp_hello(&bytes), is_udp_reply(&bytes));
        }
    }
}
