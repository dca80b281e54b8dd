//! Files that the command line names: tokens, keys, results to compare with.

use engine::error::{Context, Failure, Result};
use std::path::Path;
use wire::native::Token;
use wire::stamp::Key;

/// Reads a text.
///
/// # Errors
/// It cannot be read, or is no UTF-8.
pub fn text(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("read {}", file.display()))
}

/// Reads a token.
///
/// # Errors
/// The file cannot be read, or is empty.
pub fn token(file: &Path) -> Result<Token> {
    let bytes = engine::session::secret::read(file).context("the token file")?;
    Token::new(&bytes).ok_or_else(|| {
        Failure::usage(
            format!("the token file {} has fewer than {} bytes", file.display(), Token::SHORTEST),
            "put a long random line into it, the same at both ends: head -c 24 /dev/urandom | base64",
        )
        .into()
    })
}

/// Reads a key of STAMP.
///
/// # Errors
/// The file cannot be read, or holds no key.
pub fn key(file: &Path) -> Result<Key> {
    let bytes = engine::session::secret::read(file).context("the key file")?;
    Key::new(bytes.trim_ascii_end()).map_err(|e| {
        Failure::usage(
            format!("the key file {}: {e}", file.display()),
            "put 16 bytes or more into it, the same at both ends",
        )
        .into()
    })
}
