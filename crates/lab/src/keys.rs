//! The keys of WireGuard tunnels: worked out from one secret of the lab, so that each node can be configured by itself.

use crate::error::LabError;
use crate::topology::End;
use aws_lc_rs::agreement::{PrivateKey, X25519};
use aws_lc_rs::digest::{Context, SHA256};
use aws_lc_rs::rand;
use linux::OsError;
use std::fmt;
use std::io;

/// The secret of a lab.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Keys(pub [u8; 32]);

impl Keys {
    /// Makes a new one.
    ///
    /// # Errors
    /// When the kernel has no random numbers.
    pub fn new() -> Result<Self, LabError> {
        let mut secret = [0; 32];
        rand::fill(&mut secret).map_err(|_| refused("draw", "a random secret"))?;
        Ok(Self(secret))
    }

    /// The private key of a tunnel's end: Curve25519, clamped when it is used (RFC 7748 §5).
    #[must_use]
    pub fn private(&self, end: &End) -> [u8; 32] {
        let mut context = Context::new(&SHA256);
        for part in [&self.0[..], end.node.as_bytes(), b":", end.device.as_bytes()] {
            context.update(part);
        }
        context.finish().as_ref().try_into().expect("SHA-256 has 32 bytes")
    }

    /// The public key of a tunnel's end.
    ///
    /// # Errors
    /// When the cryptographic library refuses.
    pub fn public(&self, end: &End) -> Result<[u8; 32], LabError> {
        let wrong = || refused("work out", &format!("the public key of {end}"));
        let private = PrivateKey::from_private_key(&X25519, &self.private(end)).map_err(|_| wrong())?;
        let public = private.compute_public_key().map_err(|_| wrong())?;
        public.as_ref().try_into().map_err(|_| wrong())
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Keys").finish_non_exhaustive()
    }
}

fn refused(operation: &str, object: &str) -> LabError {
    OsError::new(operation, object, io::Error::other("the cryptographic library refuses")).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_has_a_key_of_its_own() {
        let keys = Keys([7; 32]);
        let end = |node: &str| End { node: node.into(), device: "wg0".into() };
        assert_eq!(keys.private(&end("a")), Keys([7; 32]).private(&end("a")));
        assert_ne!(keys.private(&end("a")), keys.private(&end("b")));
        assert_ne!(keys.private(&end("a")), Keys([8; 32]).private(&end("a")));
        assert_ne!(keys.public(&end("a")).unwrap(), keys.public(&end("b")).unwrap());
        assert!(!format!("{keys:?}").contains('7'));
    }
}
