//! Files that a command writes: tried before anything is measured, and then written whole or not at all.

use engine::error::Failure;
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// Refuses a file that cannot be written.
///
/// # Errors
/// `Kind::Usage`: there is no such directory, no permission, or no room in it.
pub fn check(path: &Path) -> Result<(), Failure> {
    let tried = match FileKind::for_path(path) {
        Ok(FileKind::Device) => OpenOptions::new().write(true).open(path).and_then(|mut device| {
            // Nothing, which only a device that takes nothing refuses.
            device.write(&[]).map(drop)
        }),
        Ok(FileKind::Stream) => Ok(()),
        Ok(FileKind::Regular(file)) => match beside(&file) {
            Ok(mut tried) => tried.write_all(&ROOM),
            Err(error) => in_place(path, error).map(drop),
        },
        Err(error) => Err(error),
    };
    tried.map_err(|error| {
        let advice = match error.kind() {
            ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                "make room there, or give a file elsewhere; nothing was measured"
            }
            _ => "give a file in a directory that this user may write to; nothing was measured",
        };
        // The error names the temporary file beside it, which means nothing to a user.
        let text = error.to_string();
        let text = text.split(" at path ").next().unwrap_or_default();
        Failure::usage(format!("write {}: {text}", path.display()), advice)
    })
}

/// Writes the whole file: beside it first, so that what was there before is not lost with a full disk.
///
/// # Errors
/// What the file system gives.
pub fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut writing = begin(path)?;
    writing.write_all(bytes)?;
    writing.end()
}

/// Begins to write a file, which is there as a whole at the end.
///
/// # Errors
/// What the file system gives.
pub fn begin(path: &Path) -> io::Result<Writing> {
    let FileKind::Regular(file) = FileKind::for_path(path)? else {
        return Ok(Writing::InPlace(OpenOptions::new().write(true).open(path)?));
    };
    match beside(&file) {
        Ok(whole) => Ok(Writing::Beside(whole, file)),
        Err(error) => {
            let there = in_place(path, error)?;
            there.set_len(0)?;
            Ok(Writing::InPlace(there))
        }
    }
}

/// A file that is being written.
#[derive(Debug)]
pub enum Writing {
    /// A new one, and the file whose place it takes.
    Beside(NamedTempFile, PathBuf),
    /// The file itself.
    InPlace(File),
}

impl Writing {
    /// All of it is written: it takes its place.
    ///
    /// # Errors
    /// What the file system gives.
    pub fn end(self) -> io::Result<()> {
        match self {
            Writing::Beside(whole, file) => {
                whole.as_file().sync_all()?;
                whole.persist(&file)?;
                Ok(())
            }
            Writing::InPlace(mut file) => file.flush(),
        }
    }
}

impl Write for Writing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Writing::Beside(file, _) => file.write(bytes),
            Writing::InPlace(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Writing::Beside(file, _) => file.flush(),
            Writing::InPlace(file) => file.flush(),
        }
    }
}

/// The kind of file that a path names.
enum FileKind {
    /// A regular file, there or not, without the links that lead to it.
    Regular(PathBuf),
    /// A device of characters.
    Device,
    /// A pipe or a socket, which may have no reader yet.
    Stream,
}

impl FileKind {
    fn for_path(path: &Path) -> io::Result<FileKind> {
        match std::fs::metadata(path) {
            Ok(found) if found.is_dir() => Err(ErrorKind::IsADirectory.into()),
            Ok(found) if found.is_file() => Ok(FileKind::Regular(path.canonicalize()?)),
            Ok(found) if found.file_type().is_char_device() => Ok(FileKind::Device),
            Ok(_) => Ok(FileKind::Stream),
            Err(_) => Ok(FileKind::Regular(path.to_owned())),
        }
    }
}

/// A new file in the same directory, with the permissions of the old one; removed unless it takes the old one's place.
fn beside(file: &Path) -> io::Result<NamedTempFile> {
    let directory = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let old = std::fs::metadata(file).map(|old| old.permissions());
    // The process's umask applies to a new one.
    let permissions = old.unwrap_or_else(|_| Permissions::from_mode(0o666));
    Builder::new().prefix(".pathmeter-").permissions(permissions).tempfile_in(directory)
}

/// A file that is there, in a directory that takes no new ones.
fn in_place(path: &Path, error: io::Error) -> io::Result<std::fs::File> {
    // Not truncated: it is only tried, perhaps.
    OpenOptions::new().write(true).open(path).map_err(|_| error)
}

/// A size that most results do not exceed.
static ROOM: [u8; 64 << 10] = [0; 64 << 10];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_whole_and_keeps_its_permissions_and_links() {
        let directory = tempfile::tempdir().unwrap();
        let (file, link) = (directory.path().join("result"), directory.path().join("link"));
        check(&file).unwrap();
        assert!(!file.exists(), "it was only tried");
        write(&file, b"one, long").unwrap();
        std::fs::set_permissions(&file, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        write(&link, b"two").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"two");
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2, "nothing is left beside it");
    }

    #[test]
    fn what_cannot_be_written_is_refused_by_its_name() {
        let directory = tempfile::tempdir().unwrap();
        for path in [directory.path().to_owned(), directory.path().join("no/such"), "/proc/result".into()] {
            let refused = check(&path).unwrap_err();
            assert!(refused.message.contains(path.to_str().unwrap()), "{refused}");
            assert!(!refused.message.contains(".pathmeter-"), "{refused}");
        }
        let full = check(Path::new("/dev/full")).unwrap_err();
        assert!(full.message.contains("No space left") && full.advice.unwrap().contains("room"));
        assert_eq!(write(Path::new("/dev/full"), b"x").unwrap_err().kind(), ErrorKind::StorageFull);
        check(Path::new("/dev/null")).unwrap();
    }
}
