//! Programs and kernel modules that are taken into a virtual machine.

use std::cell::RefCell;
use std::fs::File;
use std::os::unix::fs::FileExt;

thread_local! {
    /// A file that has no name any more; kept, since it is its content that matters.
    static FILE: RefCell<File> = RefCell::new(open());
}

fn open() -> File {
    let path = std::env::temp_dir().join(format!("pathmeter-fuzz-elf-{}", std::process::id()));
    let mut options = File::options();
    let file = options
        .read(true)
        .write(true)
        .create_new(true)
        .open(&path)
        .expect("there is a place for temporary files");
    std::fs::remove_file(&path).expect("it was made by this process");
    file
}

/// One input.
pub(crate) fn run(data: &[u8]) {
    FILE.with_borrow(|file| {
        // The content is tried as it is, and behind an honest header, so that the tables are reached.
        for content in [data.to_vec(), [&header()[..], data].concat()] {
            file.set_len(0).expect("it is ours");
            file.write_all_at(&content, 0).expect("there is room");
            lab::vm::fuzzing::elf(file);
        }
    });
}

/// The header of a program with two segments and then three sections behind it, of which the second has the names (`elf(5)`).
fn header() -> [u8; 64] {
    let mut header = [0; 64];
    header[..6].copy_from_slice(b"\x7fELF\x02\x01");
    let (segments, sections) = (64_u64, 64 + 2 * 56_u64);
    header[0x20..0x28].copy_from_slice(&segments.to_le_bytes());
    header[0x28..0x30].copy_from_slice(&sections.to_le_bytes());
    for (at, number) in [(0x36, 56_u16), (0x38, 2), (0x3a, 64), (0x3c, 3), (0x3e, 1)] {
        header[at..at + 2].copy_from_slice(&number.to_le_bytes());
    }
    header
}
