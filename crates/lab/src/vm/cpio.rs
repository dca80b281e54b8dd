//! The archive that a kernel unpacks at boot: cpio in the "newc" form.
//!
//! Sources: the kernel's `Documentation/driver-api/early-userspace/buffer-format.rst`, `cpio(5)`.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::path::{Component, Path};

/// Writes an archive. The directories above what is added are added by themselves; everything belongs to root.
pub(super) struct Archive<W> {
    out: W,
    written: u64,
    inode: u32,
    names: BTreeSet<String>,
}

impl<W: Write> Archive<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, written: 0, inode: 0, names: BTreeSet::new() }
    }

    /// Adds an empty directory.
    pub(super) fn directory(&mut self, path: &Path) -> io::Result<()> {
        self.with_parents(&relative(path)?)
    }

    /// Adds a file of exactly `length` bytes. A path that is there already is left as it is.
    pub(super) fn file(
        &mut self,
        path: &Path,
        mode: u32,
        length: u64,
        mut content: impl Read,
    ) -> io::Result<()> {
        if !self.begin(path, REGULAR | mode, length, (0, 0))? {
            return Ok(());
        }
        let copied = io::copy(&mut content.by_ref().take(length), &mut self.out)?;
        if copied != length {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "it became shorter while it was read"));
        }
        self.written += length;
        self.pad()
    }

    /// Adds a file with this content.
    pub(super) fn bytes(&mut self, path: &Path, mode: u32, content: &[u8]) -> io::Result<()> {
        self.file(path, mode, content.len() as u64, content)
    }

    /// Adds a symbolic link.
    pub(super) fn link(&mut self, path: &Path, target: &Path) -> io::Result<()> {
        let target = target.to_string_lossy();
        if !self.begin(path, LINK | 0o777, target.len() as u64, (0, 0))? {
            return Ok(());
        }
        self.out.write_all(target.as_bytes())?;
        self.written += target.len() as u64;
        self.pad()
    }

    /// Adds the device file of a character device.
    pub(super) fn character_device(&mut self, path: &Path, mode: u32, number: (u32, u32)) -> io::Result<()> {
        self.begin(path, CHARACTER | mode, 0, number).map(drop)
    }

    /// Ends the archive.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.header(TRAILER, 0, 0, (0, 0))?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// Whether the entry is new.
    fn begin(&mut self, path: &Path, mode: u32, length: u64, device: (u32, u32)) -> io::Result<bool> {
        let name = relative(path)?;
        if name.is_empty() {
            return Err(no_entry());
        }
        self.with_parents(name.rsplit_once('/').map_or("", |(parent, _)| parent))?;
        if !self.names.insert(name.clone()) {
            return Ok(false);
        }
        self.header(&name, mode, length, device)?;
        Ok(true)
    }

    /// The directory of this name and those above it, as far as they are new.
    fn with_parents(&mut self, name: &str) -> io::Result<()> {
        let ends = name.match_indices('/').map(|(at, _)| at).chain([name.len()]);
        for end in ends.filter(|end| *end > 0) {
            if self.names.insert(name[..end].to_owned()) {
                self.header(&name[..end], DIRECTORY | 0o755, 0, (0, 0))?;
            }
        }
        Ok(())
    }

    fn header(&mut self, name: &str, mode: u32, length: u64, device: (u32, u32)) -> io::Result<()> {
        let length = u32::try_from(length).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
        self.inode += 1;
        let (inode, name_length) = (self.inode, name.len() + 1);
        // Magic, inode, mode, uid, gid, links, time, size, device (two), the device it is (two), name length, checksum.
        let header = format!(
            "070701{inode:08X}{mode:08X}{:08X}{:08X}{:08X}{:08X}{length:08X}{:08X}{:08X}{:08X}{:08X}{name_length:08X}{:08X}",
            0, 0, 1, 0, 0, 0, device.0, device.1, 0
        );
        self.out.write_all(header.as_bytes())?;
        self.out.write_all(name.as_bytes())?;
        self.out.write_all(&[0])?;
        self.written += (header.len() + name_length) as u64;
        self.pad()
    }

    fn pad(&mut self) -> io::Result<()> {
        let missing = self.written.next_multiple_of(4) - self.written;
        self.written += missing;
        io::copy(&mut io::repeat(0).take(missing), &mut self.out).map(drop)
    }
}

/// `/a/./b` as `a/b`. What a reader would cut short or take for the end is refused.
fn relative(path: &Path) -> io::Result<String> {
    let parts = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    let parts: Vec<_> = parts.collect();
    let misread =
        parts.first().is_some_and(|part| part == TRAILER) || parts.iter().any(|part| part.contains('\0'));
    if misread { Err(no_entry()) } else { Ok(parts.join("/")) }
}

fn no_entry() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "an archive has no entry of this name")
}

/// The name of the entry that ends an archive.
const TRAILER: &str = "TRAILER!!!";
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const CHARACTER: u32 = 0o020_000;

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn sample() -> Vec<u8> {
        let mut archive = Archive::new(Vec::new());
        archive.directory(Path::new("/proc")).unwrap();
        archive.character_device(Path::new("/dev/console"), 0o600, (5, 1)).unwrap();
        archive.bytes(Path::new("/usr/bin/tool"), 0o755, b"seven b").unwrap();
        archive.bytes(Path::new("/usr/bin/tool"), 0o755, b"again").unwrap();
        archive.link(Path::new("/init"), Path::new("/usr/bin/tool")).unwrap();
        archive.finish().unwrap()
    }

    fn gnu_cpio(arguments: &[&str], archive: &[u8]) -> String {
        let mut cpio = Command::new("cpio");
        cpio.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = cpio.spawn().expect("cpio is installed by scripts/test");
        child.stdin.take().unwrap().write_all(archive).unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn another_cpio_reads_it() {
        let listed = gnu_cpio(&["-t"], &sample());
        assert_eq!(
            listed.lines().collect::<Vec<_>>(),
            ["proc", "dev", "dev/console", "usr", "usr/bin", "usr/bin/tool", "init"]
        );
        assert_eq!(gnu_cpio(&["-i", "--to-stdout", "usr/bin/tool"], &sample()), "seven b");
        let long = gnu_cpio(&["-tv"], &sample());
        assert!(long.contains("crw-------") && long.contains("5,   1"), "{long}");
        assert!(long.contains("init -> /usr/bin/tool"), "{long}");
    }

    #[test]
    fn names_that_a_reader_would_take_for_something_else_are_errors() {
        for name in ["", "/", "..", "a\0b", "TRAILER!!!"] {
            let mut archive = Archive::new(Vec::new());
            let error = archive.bytes(Path::new(name), 0o644, b"content").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name:?}");
            assert_eq!(archive.written, 0, "{name:?}");
        }
        for name in ["a\0b/c", "TRAILER!!!/c"] {
            assert!(Archive::new(Vec::new()).directory(Path::new(name)).is_err(), "{name:?}");
        }
    }

    #[test]
    fn a_file_that_shrinks_is_an_error() {
        let mut archive = Archive::new(Vec::new());
        let error = archive.file(Path::new("/a"), 0o644, 10, &b"short"[..]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
    }
}
