//! RSA keys from files, PEM or DER, and what is encrypted with them.

use super::{AuthError, Padding, read};
use aws_lc_rs::rsa::{
    OAEP_SHA1_MGF1SHA1, OaepPrivateDecryptingKey, OaepPublicEncryptingKey, Pkcs1PrivateDecryptingKey,
    Pkcs1PublicEncryptingKey, PrivateDecryptingKey, PublicEncryptingKey,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{PrivateKeyDer, SubjectPublicKeyInfoDer};
use std::path::Path;

/// A server's public key.
#[derive(Debug)]
pub(super) struct PublicKey(PublicEncryptingKey);

/// A server's private key, for one padding.
#[derive(Debug)]
pub(super) enum PrivateKey {
    Oaep(OaepPrivateDecryptingKey),
    Pkcs1(Pkcs1PrivateDecryptingKey),
}

impl PublicKey {
    /// Reads `BEGIN PUBLIC KEY`, or the same in DER.
    pub(super) fn read(path: &Path) -> Result<PublicKey, AuthError> {
        let bytes = read(path)?;
        let der = match SubjectPublicKeyInfoDer::from_pem_slice(&bytes) {
            Ok(der) => der.to_vec(),
            Err(_) => bytes,
        };
        PublicEncryptingKey::from_der(&der).map(PublicKey).map_err(|_| {
            refused(
                path,
                "it holds no RSA public key of 2048 to 8192 bits; make one with `openssl rsa -pubout`",
            )
        })
    }

    /// The longest text that can be encrypted.
    pub(super) fn most(&self, padding: Padding) -> usize {
        let overhead = match padding {
            Padding::Oaep => 42,
            Padding::Pkcs1 => 11,
        };
        self.0.key_size_bytes().saturating_sub(overhead)
    }

    pub(super) fn encrypt(&self, plain: &[u8], padding: Padding) -> Result<Vec<u8>, AuthError> {
        let mut cipher = vec![0; self.0.key_size_bytes()];
        let done = match padding {
            Padding::Oaep => OaepPublicEncryptingKey::new(self.0.clone())
                .and_then(|key| key.encrypt(&OAEP_SHA1_MGF1SHA1, plain, &mut cipher, None).map(|_| ())),
            Padding::Pkcs1 => Pkcs1PublicEncryptingKey::new(self.0.clone())
                .and_then(|key| key.encrypt(plain, &mut cipher).map(|_| ())),
        };
        let room = self.most(padding).saturating_sub(FIXED);
        done.map(|()| cipher).map_err(|_| AuthError::TooLong(room))
    }
}

impl PrivateKey {
    /// Reads `BEGIN PRIVATE KEY`, `BEGIN RSA PRIVATE KEY`, or either in DER; without a passphrase.
    pub(super) fn read(path: &Path, padding: Padding) -> Result<PrivateKey, AuthError> {
        let bytes = read(path)?;
        let key = decode(&bytes).ok_or_else(|| {
            let encrypted = String::from_utf8_lossy(&bytes).contains("ENCRYPTED");
            refused(path, if encrypted { ENCRYPTED } else { NO_PRIVATE_KEY })
        })?;
        let usable = match padding {
            Padding::Oaep => OaepPrivateDecryptingKey::new(key).map(PrivateKey::Oaep),
            Padding::Pkcs1 => Pkcs1PrivateDecryptingKey::new(key).map(PrivateKey::Pkcs1),
        };
        usable.map_err(|_| refused(path, NO_PRIVATE_KEY))
    }

    /// The text, or nothing when it was not encrypted for this key.
    pub(super) fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        let size = match self {
            PrivateKey::Oaep(key) => key.min_output_size(),
            PrivateKey::Pkcs1(key) => key.min_output_size(),
        };
        let mut room = vec![0; size];
        let plain = match self {
            PrivateKey::Oaep(key) => key.decrypt(&OAEP_SHA1_MGF1SHA1, cipher, &mut room, None),
            PrivateKey::Pkcs1(key) => key.decrypt(cipher, &mut room),
        };
        plain.ok().map(|plain| plain.to_vec())
    }
}

fn decode(bytes: &[u8]) -> Option<PrivateDecryptingKey> {
    let pkcs8 = |der: &[u8]| PrivateDecryptingKey::from_pkcs8(der).ok();
    match PrivateKeyDer::from_pem_slice(bytes) {
        Ok(PrivateKeyDer::Pkcs8(der)) => pkcs8(der.secret_pkcs8_der()),
        Ok(PrivateKeyDer::Pkcs1(der)) => pkcs8(&pkcs8_around(der.secret_pkcs1_der())),
        Ok(_) => None,
        Err(_) => pkcs8(bytes).or_else(|| pkcs8(&pkcs8_around(bytes))),
    }
}

/// An RSAPrivateKey (RFC 8017 appendix A.1.2) as a PrivateKeyInfo (RFC 5208 section 5).
fn pkcs8_around(pkcs1: &[u8]) -> Vec<u8> {
    let mut inside = VERSION_AND_RSA.to_vec();
    inside.extend(der(0x04, pkcs1));
    der(0x30, &inside)
}

/// Tag, length and content (X.690 section 8.1).
fn der(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = content.len().to_be_bytes();
    let significant = &length[length.iter().take_while(|byte| **byte == 0).count()..];
    let mut out = vec![tag];
    match significant {
        [] => out.push(0),
        [short] if *short < 0x80 => out.push(*short),
        // At most eight bytes of length.
        long => {
            out.push(0x80 | long.len() as u8);
            out.extend(long);
        }
    }
    out.extend(content);
    out
}

fn refused(path: &Path, why: &str) -> AuthError {
    AuthError::Key { path: path.to_owned(), why: why.to_owned() }
}

/// Bytes of a token beside name and password: the three labels, two line feeds, and ten digits of time.
const FIXED: usize = 6 + 6 + 6 + 2 + 10;
/// INTEGER 0, then SEQUENCE { OID rsaEncryption (1.2.840.113549.1.1.1), NULL }.
const VERSION_AND_RSA: [u8; 18] =
    [0x02, 1, 0, 0x30, 13, 0x06, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 1, 0x05, 0];
const ENCRYPTED: &str = "it has a passphrase; take it off with `openssl rsa -in KEY -out PLAIN_KEY`";
const NO_PRIVATE_KEY: &str =
    "it holds no RSA private key of 2048 to 8192 bits; make one with `openssl genrsa -out KEY 2048`";
