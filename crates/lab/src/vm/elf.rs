//! The parts of ELF that are needed to copy a program without its debug sections, and to read the `.modinfo` of a kernel module. 64
//! bits, little-endian. Source: `elf(5)`.

use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// An ELF file.
pub(super) struct Elf<'f> {
    file: &'f File,
    size: u64,
    header: [u8; HEADER],
}

impl<'f> Elf<'f> {
    /// `None` for a file of another kind, such as a script.
    pub(super) fn read(file: &'f File) -> Option<Self> {
        let mut header = [0; HEADER];
        file.read_exact_at(&mut header, 0).ok()?;
        let size = file.metadata().ok()?.len();
        header.starts_with(b"\x7fELF\x02\x01").then_some(Self { file, size, header })
    }

    /// The header of a copy that ends at [`Self::loaded_length`], without a section table.
    pub(super) fn header_without_sections(&self) -> [u8; HEADER] {
        let mut header = self.header;
        header[SECTIONS_AT..SECTIONS_AT + 8].fill(0);
        header[SECTION_COUNT..HEADER].fill(0);
        header
    }

    /// Length of the part of the file that a running program needs: up to the end of its last segment.
    pub(super) fn loaded_length(&self) -> io::Result<u64> {
        let ends = self.segments()?.into_iter().map(|segment| segment.offset.saturating_add(segment.size));
        Ok(ends.fold(HEADER as u64, u64::max))
    }

    /// The loader that starts it; `None` for a static program.
    pub(super) fn interpreter(&self) -> io::Result<Option<PathBuf>> {
        let Some(segment) = self.segments()?.into_iter().find(|segment| segment.kind == INTERPRETER) else {
            return Ok(None);
        };
        let mut path = self.bytes(segment.offset, segment.size.min(LONGEST_NAME))?;
        path.truncate(path.iter().position(|byte| *byte == 0).unwrap_or(path.len()));
        Ok(Some(std::ffi::OsString::from_vec(path).into()))
    }

    /// A section's content, by its name.
    pub(super) fn section(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let (at, size) = (number(&self.header, SECTIONS_AT, 8), number(&self.header, SECTION_COUNT - 2, 2));
        let count = number(&self.header, SECTION_COUNT, 2);
        let table = self.bytes(at, count * size)?;
        let Ok(size) = usize::try_from(size) else { return Ok(None) };
        let sections: Vec<&[u8]> = table.chunks_exact(size.max(SECTION)).collect();
        let Some(names) = sections.get(usize::from(u16::from_le_bytes([self.header[62], self.header[63]])))
        else {
            return Ok(None);
        };
        let names = self.bytes(number(names, 24, 8), number(names, 32, 8).min(MOST_BYTES))?;
        let named = |section: &&&[u8]| {
            let start = usize::try_from(number(section, 0, 4)).unwrap_or(usize::MAX);
            names.get(start..).is_some_and(|rest| {
                rest.strip_prefix(name.as_bytes()).is_some_and(|rest| rest.first() == Some(&0))
            })
        };
        let Some(section) = sections.iter().find(named) else { return Ok(None) };
        self.bytes(number(section, 24, 8), number(section, 32, 8).min(MOST_BYTES)).map(Some)
    }

    fn segments(&self) -> io::Result<Vec<Segment>> {
        let (at, size) = (number(&self.header, 32, 8), number(&self.header, 54, 2));
        let table = self.bytes(at, number(&self.header, 56, 2) * size)?;
        let size = usize::try_from(size).unwrap_or(SEGMENT).max(SEGMENT);
        let segment = |entry: &[u8]| Segment {
            kind: number(entry, 0, 4),
            offset: number(entry, 8, 8),
            size: number(entry, 32, 8),
        };
        Ok(table.chunks_exact(size).map(segment).collect())
    }

    /// No memory is taken for what the file is too short for.
    fn bytes(&self, at: u64, length: u64) -> io::Result<Vec<u8>> {
        if at.checked_add(length).is_none_or(|end| self.size < end) {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let length = usize::try_from(length).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    }
}

struct Segment {
    kind: u64,
    offset: u64,
    size: u64,
}

/// A little-endian number of `width` bytes; 0 beyond the end.
fn number(bytes: &[u8], at: usize, width: usize) -> u64 {
    let field = bytes.get(at..at + width).unwrap_or(&[]);
    field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

pub(super) const HEADER: usize = 64;
const SECTIONS_AT: usize = 0x28;
const SECTION_COUNT: usize = 0x3c;
const SECTION: usize = 64;
const SEGMENT: usize = 56;
const INTERPRETER: u64 = 3;
const LONGEST_NAME: u64 = 4096;
/// Far beyond any `.modinfo` or table of section names.
const MOST_BYTES: u64 = 1 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_running_program_can_be_read() {
        let file = File::open("/proc/self/exe").unwrap();
        let elf = Elf::read(&file).unwrap();
        let length = elf.loaded_length().unwrap();
        assert!(length > HEADER as u64 && length <= file.metadata().unwrap().len());
        assert!(elf.section(".text").unwrap().is_some());
        assert_eq!(elf.section(".nonesuch").unwrap(), None);
        if let Some(interpreter) = elf.interpreter().unwrap() {
            assert!(interpreter.exists(), "{}", interpreter.display());
        }
    }

    #[test]
    fn text_is_no_elf() {
        assert!(Elf::read(&File::open("Cargo.toml").unwrap()).is_none());
    }
}
