//! Entry points of the targets in `fuzz/`: frames, archives and programs, over plain bytes. Compiled for them alone.

use super::counted::Counted;
use super::cpio::Archive;
use super::elf::{Elf, HEADER};
use super::frame::{Ended, Frame, Kind, Start};
use super::guest::Role;
use std::fs::File;
use std::io;
use std::path::Path;

/// Every frame of a stream, and what they say: a frame that is read is written as the same bytes.
pub fn frames(mut stream: &[u8]) {
    let whole = stream;
    let mut written = Vec::new();
    while let Ok(Some(frame)) = Frame::read(&mut stream) {
        frame.write(&mut written).expect("what was read is not too long to be written");
        let payload = &frame.payload[..];
        match frame.kind {
            Kind::Start => again::<Start>(payload),
            Kind::Ended => again::<Ended>(payload),
            Kind::Configure => drop(serde_json::from_slice::<Role>(payload)),
            Kind::Count => drop(serde_json::from_slice::<Vec<String>>(payload)),
            Kind::Stdout => counted(payload),
            Kind::Ready | Kind::Stderr | Kind::Terminate | Kind::Kill => {}
        }
    }
    assert!(whole.starts_with(&written), "a frame was written as other bytes");
}

/// A message that is read is read again as it was from what is written of it.
fn again<T>(payload: &[u8])
where
    T: serde::de::DeserializeOwned + serde::Serialize + PartialEq + std::fmt::Debug,
{
    if let Ok(message) = serde_json::from_slice::<T>(payload) {
        let written = serde_json::to_vec(&message).expect("it is JSON");
        assert_eq!(serde_json::from_slice::<T>(&written).expect("we wrote it"), message);
    }
}

fn counted(payload: &[u8]) {
    let read = || serde_json::from_slice::<Counted>(payload).ok();
    if let (Some(before), Some(counted)) = (read(), read()) {
        let (interfaces, fragments) = counted.read();
        assert_eq!(Counted::new(&interfaces, fragments), before);
    }
}

/// An archive of files, directories and links of these names, one after the other.
///
/// # Errors
/// As the archive's.
pub fn archive(entries: &[(&str, &[u8])]) -> io::Result<Vec<u8>> {
    let mut archive = Archive::new(Vec::new());
    for (index, (name, content)) in entries.iter().enumerate() {
        let path = Path::new(name);
        match index % 3 {
            0 => archive.bytes(path, 0o755, content)?,
            1 => archive.link(path, Path::new("target"))?,
            _ => archive.directory(path)?,
        }
    }
    archive.finish()
}

/// All queries of a program or a module.
pub fn elf(file: &File) {
    let size = file.metadata().expect("it is open").len();
    let Some(elf) = Elf::read(file) else { return };
    if let Ok(length) = elf.loaded_length() {
        assert!(length >= HEADER as u64);
    }
    let header = elf.header_without_sections();
    assert_eq!(
        (&header[..6], &header[0x28..0x30], &header[0x3c..]),
        (&b"\x7fELF\x02\x01"[..], &[0; 8][..], &[0; 4][..])
    );
    if let Ok(Some(path)) = elf.interpreter() {
        assert!(!path.as_os_str().as_encoded_bytes().contains(&0));
    }
    for name in ["", ".modinfo", ".text"] {
        assert!(elf.section(name).ok().flatten().is_none_or(|content| content.len() as u64 <= size));
    }
}
