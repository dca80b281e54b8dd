//! Where a command's finished text goes: standard output, or the file of `-o`.

use crate::cli::Common;
use anyhow::Context;
use std::io::{ErrorKind, Write};

/// Writes the whole text. A reader that has seen enough (`| head`) is no error.
///
/// # Errors
/// When the file or standard output takes no more: a full disk, no permission.
pub(crate) fn deliver(global: &Common, text: &[u8]) -> anyhow::Result<()> {
    let Some(path) = &global.output else {
        let mut out = std::io::stdout().lock();
        return match out.write_all(text).and_then(|()| out.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            written => written.context("write standard output"),
        };
    };
    std::fs::write(path, text).with_context(|| format!("write {}", path.display()))
}
