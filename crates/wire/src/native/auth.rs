//! Proof that both ends know the same token, which itself is never sent.
//!
//! Each end proves by HMAC-SHA-256 over both nonces and the channel binding: with TLS, bytes that only the two ends of this
//! very TLS connection know (an exporter, RFC 8446 section 7.5), so that a man in the middle cannot relay a proof.

use crate::hex::{Mac, Nonce, hmac_sha256};
use std::fmt::{Debug, Formatter};

/// A secret shared by client and server. Never printed, never sent.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Vec<u8>);

impl Token {
    /// Fewest bytes of a token: an observer of a proof could try all shorter ones.
    pub const SHORTEST: usize = 16;

    /// A token; `None` when it is shorter than [`Token::SHORTEST`]. White space at both ends is not part of it, so a token
    /// file may end in a newline.
    pub fn new(secret: &[u8]) -> Option<Token> {
        let secret = secret.trim_ascii();
        (secret.len() >= Token::SHORTEST).then(|| Token(secret.to_vec()))
    }
}

impl Debug for Token {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The inputs of a proof, apart from the role of the end.
#[derive(Clone, Debug)]
pub(super) struct Proof<'a> {
    pub(super) token: &'a Token,
    pub(super) server: Nonce,
    pub(super) client: Nonce,
    pub(super) binding: &'a [u8],
}

impl Proof<'_> {
    /// The client's proof.
    pub(super) fn of_client(&self) -> Mac {
        self.mac(b"pathmeter native 1 client")
    }

    /// The server's proof, sent once the client's proof is valid.
    pub(super) fn of_server(&self) -> Mac {
        self.mac(b"pathmeter native 1 server")
    }

    /// Every part but the last has a fixed length, so no two inputs give the same bytes.
    fn mac(&self, label: &[u8; 25]) -> Mac {
        let parts: [&[u8]; 4] = [label, self.server.bytes(), self.client.bytes(), self.binding];
        Mac::new(hmac_sha256(&self.token.0, &parts))
    }
}

/// Derives bytes for one purpose from a session's entropy.
pub(super) fn derive(entropy: &[u8; 32], purpose: &str) -> [u8; 32] {
    hmac_sha256(entropy, &[b"pathmeter native derive ", purpose.as_bytes()])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_depends_on_every_part() {
        let (token, other) =
            (Token::new(b"a secret of 16 b").unwrap(), Token::new(b"A secret of 16 b").unwrap());
        let (one, two) = (Nonce::new([1; 32]), Nonce::new([2; 32]));
        let proof = Proof { token: &token, server: one, client: two, binding: b"tls" };
        let mac = proof.of_client();
        assert!(mac.proves(&proof.clone().of_client()));
        assert!(!mac.proves(&proof.of_server()));
        for wrong in [
            Proof { token: &other, ..proof.clone() },
            Proof { server: two, ..proof.clone() },
            Proof { client: one, ..proof.clone() },
            Proof { binding: b"", ..proof.clone() },
        ] {
            assert!(!mac.proves(&wrong.of_client()), "{wrong:?}");
        }
    }

    #[test]
    fn white_space_around_a_token_does_not_count() {
        assert_eq!(Token::new(b" a secret of 16 b\r\n"), Token::new(b"a secret of 16 b"));
        assert!(Token::new(b"a secret of 16 b").is_some());
        assert_eq!(Token::new(b" \n"), None);
        assert_eq!(Token::new(b" too short a one\n"), None);
    }
}
