//! A file of JSON lines, each on the disk before the call that wrote it returns. A line that a crash cut off is left out: its
//! content was not yet confirmed to any caller.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The file, open for writing. Two programs cannot have the same one open.
#[derive(Debug)]
pub(crate) struct LineFile(File);

/// The contents of a file.
#[derive(Debug)]
pub(crate) struct Lines<T> {
    /// Its lines, but those that cannot be read.
    pub(crate) lines: Vec<T>,
    /// The numbers of those, from 1.
    pub(crate) damaged: Vec<usize>,
}

/// A sentence about lines that were left out; none: nothing was.
pub(crate) fn damage(path: &Path, damaged: &[usize]) -> Option<String> {
    let (first, rest) = damaged.split_first()?;
    let path = path.display();
    Some(match rest.len() {
        0 => format!("line {first} of {path} is damaged and left out"),
        more => {
            format!("{} lines of {path} are damaged and left out, the first of them line {first}", more + 1)
        }
    })
}

/// The lines of a kind of file.
pub(crate) trait LineKind: DeserializeOwned {
    /// The words with which they begin, behind `{"`.
    const WORDS: &'static [&'static str];
}

impl LineFile {
    /// Opens the file, or makes an empty one, and reads it. `in_use`: what to say when another program has it open. A file that holds
    /// anything else is not touched.
    pub(crate) fn open<T: LineKind>(path: &Path, in_use: &'static str) -> io::Result<(LineFile, Lines<T>)> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        file.try_lock().map_err(|_| io::Error::new(io::ErrorKind::ResourceBusy, in_use))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let whole = whole(&bytes);
        let lines = parse(whole);
        // A crash may have left a part of the last line.
        let is_own = (whole.is_empty() || !lines.lines.is_empty()) && is_part::<T>(&bytes[whole.len()..]);
        if !is_own {
            let why = "it holds something else, which would be overwritten: name another file";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        file.set_len(whole.len() as u64)?;
        file.seek(SeekFrom::End(0))?;
        Ok((LineFile(file), lines))
    }

    /// A file that is open already.
    #[cfg(test)]
    pub(crate) fn of_file(file: File) -> LineFile {
        LineFile(file)
    }

    /// Writes one line. A line that could not be written leaves nothing before the next one.
    pub(crate) fn append(&mut self, line: &impl Serialize) -> io::Result<()> {
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        let before = self.0.stream_position()?;
        self.0.write_all(&text).and_then(|()| self.0.sync_data()).inspect_err(|_| {
            let _ = self.0.set_len(before).and_then(|()| self.0.seek(SeekFrom::Start(before)));
        })
    }

    /// How many bytes are written.
    pub(crate) fn length(&mut self) -> io::Result<u64> {
        self.0.stream_position()
    }

    /// Puts a file with these bytes in its place, at once.
    pub(crate) fn replace(&mut self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let beside = path.with_extension("new");
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(true).open(&beside)?;
        file.try_lock().map_err(|_| io::Error::new(io::ErrorKind::ResourceBusy, "it is in use"))?;
        file.write_all(bytes)?;
        file.sync_all()?;
        std::fs::rename(&beside, path)?;
        if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
            File::open(folder)?.sync_all()?;
        }
        self.0 = file;
        Ok(())
    }
}

/// The whole lines of a file, which another process may be writing.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Lines<T>> {
    Ok(parse(whole(&std::fs::read(path)?)))
}

/// Whether these bytes are the begin of a line.
fn is_part<T: LineKind>(bytes: &[u8]) -> bool {
    let mut begins = T::WORDS.iter().map(|word| format!("{{\"{word}\":").into_bytes());
    begins.any(|begin| begin.iter().zip(bytes).all(|(known, found)| known == found))
}

fn whole(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1)]
}

/// A line that cannot be read is left out, and its number kept.
fn parse<T: DeserializeOwned>(whole: &[u8]) -> Lines<T> {
    let mut parsed = Lines { lines: Vec::new(), damaged: Vec::new() };
    let text = whole.strip_suffix(b"\n").unwrap_or(whole);
    for (index, line) in text.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty()) {
        match serde_json::from_slice(line) {
            Ok(line) => parsed.lines.push(line),
            Err(_) => parsed.damaged.push(index + 1),
        }
    }
    parsed
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    enum Line {
        Begun(u32),
    }

    impl LineKind for Line {
        const WORDS: &'static [&'static str] = &["begun"];
    }

    #[test]
    fn a_file_of_something_else_is_not_touched() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        for text in [
            "{\"a\":1}",
            "{\"a\":1}\n",
            "one line\nand another",
            "\n",
            "\u{7f}ELF",
            "{}",
            "{\"begun\":1}\nnotes",
            "x",
        ] {
            std::fs::write(&path, text).expect("a file");
            let error = LineFile::open::<Line>(&path, "").expect_err(text);
            assert!(error.to_string().contains("something else"), "{error}");
            assert_eq!(std::fs::read(&path).expect("a file"), text.as_bytes());
        }
        for (text, lines) in
            [("", 0), ("{", 0), ("{\"beg", 0), ("{\"begun\":1}\n", 1), ("{\"begun\":1}\n{\"begun\":", 1)]
        {
            std::fs::write(&path, text).expect("a file");
            let (mut file, found) = LineFile::open::<Line>(&path, "").expect(text);
            assert_eq!((found.lines.len(), found.damaged.len()), (lines, 0), "{text}");
            file.append(&Line::Begun(2)).expect("written");
            drop(file);
            assert_eq!(read::<Line>(&path).expect("read").lines.len(), lines + 1, "{text}");
        }
    }

    #[test]
    fn damaged_lines_are_counted_and_named() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("file");
        std::fs::write(&path, b"{\"begun\":1}\n{\"beg\0n\":1}\n{\"begun\":2}\n\0\0\0\n{\"begun\":3}\n")
            .expect("a file");
        let (_file, found) = LineFile::open::<Line>(&path, "").expect("ours");
        assert_eq!((found.lines.len(), found.damaged.as_slice()), (3, &[2, 4][..]));
        let text = damage(&path, &found.damaged).expect("damaged");
        assert!(text.starts_with("2 lines of ") && text.ends_with("the first of them line 2"), "{text}");
        assert_eq!(damage(&path, &[]), None);
        let busy = LineFile::open::<Line>(&path, "another one").expect_err("it is open");
        assert_eq!(busy.kind(), io::ErrorKind::ResourceBusy);
    }
}
