//! iPerf3's authentication: name, password and time, encrypted with the server's RSA key, checked against a file of users.
//!
//! The token is base64 of the RSA ciphertext of three lines (`user: `, `pwd:  `, `ts:   `). Padding is OAEP with SHA-1 from
//! iPerf3 3.17 on, PKCS #1 v1.5 before. A line of the users' file is `NAME,HEX`, where HEX is the SHA-256 of `{NAME}PASSWORD`.
//! It has no nonce: an intercepted token can be replayed until the clocks differ too much.

mod key;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use key::PrivateKey;
use model::units::Nanos;
use std::path::{Path, PathBuf};

/// How the plain text is padded to the size of the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Padding {
    /// RFC 8017 section 7.1, with SHA-1: iPerf3 3.17 and newer.
    Oaep,
    /// RFC 8017 section 7.2: older ones.
    Pkcs1,
}

/// The user who runs a test.
#[derive(Clone, Debug)]
pub(crate) struct Credentials {
    /// Name, without line feeds.
    pub(crate) username: String,
    /// Password, without line feeds.
    pub(crate) password: String,
}

/// A server's check of tokens.
#[derive(Debug)]
pub(crate) struct Gate {
    key: PrivateKey,
    users: PathBuf,
    skew: Nanos,
}

/// Why there is no token, or why one is not good.
#[derive(Debug, thiserror::Error)]
pub(crate) enum AuthError {
    /// A file cannot be read.
    #[error("read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file holds no key that can be used.
    #[error("use the RSA key {}: {why}", path.display())]
    Key {
        /// The file.
        path: PathBuf,
        /// Why not, and what would do.
        why: String,
    },
    /// Name or password cannot be written into a token.
    #[error("name and password must be without line breaks and fit the key: at most {0} bytes for both")]
    TooLong(usize),
    /// Not base64, or not encrypted for this key with this padding.
    #[error("the token was not made for this key and padding")]
    Foreign,
    /// The clocks of client and server, or an old token.
    #[error("the token's time is {0} s from ours, more than the threshold; set both clocks")]
    Skew(u64),
    /// Unknown name or wrong password.
    #[error("user {0:?} is not among the authorized users, or the password is wrong")]
    User(String),
}

impl Padding {
    /// The padding that `--use-pkcs1-padding` selects.
    pub(crate) fn for_pkcs1(pkcs1: bool) -> Padding {
        if pkcs1 { Padding::Pkcs1 } else { Padding::Oaep }
    }
}

impl Credentials {
    /// The token to show to the server whose public key is in this file (PEM or DER), at this time.
    ///
    /// # Errors
    /// When the key cannot be read, or is too small for name and password.
    pub(crate) fn token(&self, key: &Path, padding: Padding, unix_seconds: i64) -> Result<String, AuthError> {
        let plain = format!("user: {}\npwd:  {}\nts:   {unix_seconds}", self.username, self.password);
        let key = key::PublicKey::read(key)?;
        if plain.lines().count() != 3 || plain.contains('\r') {
            return Err(AuthError::TooLong(key.most(padding).saturating_sub(plain.len())));
        }
        Ok(STANDARD.encode(key.encrypt(plain.as_bytes(), padding)?))
    }
}

impl Gate {
    /// Reads the private key and sees that the users' file can be read; it is read again for each token, so that
    /// it may change while the server runs.
    ///
    /// # Errors
    /// When either cannot be read, or the key is none.
    pub(crate) fn open(key: &Path, users: &Path, skew: Nanos, padding: Padding) -> Result<Gate, AuthError> {
        read(users)?;
        Ok(Gate { key: PrivateKey::read(key, padding)?, users: users.to_owned(), skew })
    }

    /// The name of the user whose token this is.
    ///
    /// # Errors
    /// The token is not valid at this time. A client must learn no more than that.
    pub(crate) fn admit(&self, token: &str, unix_seconds: i64) -> Result<String, AuthError> {
        let cipher = STANDARD.decode(token.trim()).map_err(|_| AuthError::Foreign)?;
        let plain = self.key.decrypt(&cipher).ok_or(AuthError::Foreign)?;
        let shown = Shown::read(&plain).ok_or(AuthError::Foreign)?;
        let apart = shown.unix_seconds.abs_diff(unix_seconds);
        if Nanos::from_secs(apart) > self.skew {
            return Err(AuthError::Skew(apart));
        }
        let users = read(&self.users)?;
        if is_listed(&String::from_utf8_lossy(&users), &shown) {
            Ok(shown.username)
        } else {
            Err(AuthError::User(shown.username))
        }
    }
}

/// The content of a token.
struct Shown {
    username: String,
    password: String,
    unix_seconds: i64,
}

impl Shown {
    fn read(plain: &[u8]) -> Option<Shown> {
        let text = std::str::from_utf8(plain).ok()?;
        let mut lines = text.lines();
        let mut field = |name: &str| lines.next().and_then(|line| line.strip_prefix(name)).map(str::trim);
        let (username, password, time) = (field("user:")?, field("pwd:")?, field("ts:")?);
        Some(Shown {
            username: username.to_owned(),
            password: password.to_owned(),
            unix_seconds: time.parse().ok()?,
        })
    }
}

fn is_listed(users: &str, shown: &Shown) -> bool {
    let salted = format!("{{{}}}{}", shown.username, shown.password);
    let hash: String =
        digest(&SHA256, salted.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    users.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(',')).any(
        |(name, rest)| {
            let listed = rest.split(',').next().unwrap_or_default().trim_end().to_ascii_lowercase();
            name == shown.username && verify_slices_are_equal(listed.as_bytes(), hash.as_bytes()).is_ok()
        },
    )
}

fn read(path: &Path) -> Result<Vec<u8>, AuthError> {
    std::fs::read(path).map_err(|source| AuthError::Read { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests;
