//! Files that hold a secret: others than their owner may not read them.

use crate::error::{Context, Error, Failure, Result};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Reads the content of the file.
///
/// # Errors
/// The file cannot be read, or others than its owner may read it.
pub fn read(file: &Path) -> Result<Vec<u8>> {
    let named = || format!("read {}", file.display());
    let open = File::open(file).with_context(named)?;
    let mode = open.metadata().with_context(named)?.mode();
    // systemd lets a service read its credentials by an access list, whose mask stands where the group's mode does.
    let refused = if file.starts_with(CREDENTIALS) { 0o007 } else { 0o077 };
    if open.metadata().is_ok_and(|meta| meta.is_file()) && mode & refused != 0 {
        let (name, mode) = (file.display(), mode & 0o7777);
        let what = format!("{name} may be read by others than its owner (mode {mode:04o})");
        return Err(Failure::usage(what, format!("make it yours alone: chmod 600 {name}")).into());
    }
    let mut bytes = Vec::new();
    open.take(LONGEST).read_to_end(&mut bytes).with_context(named)?;
    Ok(bytes)
}

/// Makes a file that its owner alone may read.
///
/// # Errors
/// The file exists already, or cannot be made.
pub(crate) fn write_new(file: &Path, bytes: &[u8]) -> Result<()> {
    let named = || format!("make {}", file.display());
    let mut made =
        OpenOptions::new().write(true).create_new(true).mode(0o600).open(file).with_context(named)?;
    made.write_all(bytes).and_then(|()| made.sync_all()).with_context(named)
}

/// Is the reason that there is no such file?
pub(crate) fn is_missing(error: &Error) -> bool {
    matches!(error.cause(), Error::Io(cause) if cause.kind() == ErrorKind::NotFound)
}

/// Where systemd puts the credentials of services.
const CREDENTIALS: &str = "/run/credentials";
/// Longest file that is read, bytes.
const LONGEST: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_secret_that_others_may_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("secret");
        assert!(is_missing(&read(&file).unwrap_err()));
        write_new(&file, b"abc").unwrap();
        assert_eq!(read(&file).unwrap(), b"abc");
        assert!(write_new(&file, b"def").is_err(), "what is there is not written over");
        for mode in [0o640, 0o604, 0o644] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            let refused = format!("{:#}", read(&file).unwrap_err());
            assert!(refused.contains("others than its owner"), "{refused}");
        }
    }
}
