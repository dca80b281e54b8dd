//! A file of JSON lines, each on the disk before the call that wrote it returns. A line that a crash cut off is left out: what it
//! says was not yet promised to anybody.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

/// The file, open for writing. Two programs cannot have the same one open.
#[derive(Debug)]
pub(crate) struct LineFile(File);

/// The lines of a kind of file.
pub(crate) trait LineKind: DeserializeOwned {
    /// The words with which they begin, behind `{"`.
    const WORDS: &'static [&'static str];
}

impl LineFile {
    /// Opens the file, or makes an empty one, and reads it. `in_use`: what to say when another program has it open. A file that holds
    /// anything else is not touched.
    pub(crate) fn open<T: LineKind>(path: &Path, in_use: &'static str) -> io::Result<(LineFile, Vec<T>)> {
        let mut file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path)?;
        file.try_lock().map_err(|_| io::Error::other(in_use))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let whole = whole(&bytes);
        let lines = parse(whole);
        // A crash may have left a part of the last line.
        let is_own = (whole.is_empty() || !lines.is_empty()) && is_part::<T>(&bytes[whole.len()..]);
        if !is_own {
            let why = "it holds something else, which would be overwritten: name another file";
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        file.set_len(whole.len() as u64)?;
        file.seek(SeekFrom::End(0))?;
        Ok((LineFile(file), lines))
    }

    /// Writes one line. Of a line that could not be written nothing stays before the next one.
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
        file.try_lock().map_err(|_| io::Error::other("it is in use"))?;
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

/// What the whole lines of a file say, which may be being written. A line that says nothing known is left out.
pub(crate) fn read<T: DeserializeOwned>(path: &Path) -> io::Result<Vec<T>> {
    Ok(parse(whole(&std::fs::read(path)?)))
}

/// Whether these bytes are the begin of a line.
fn is_part<T: LineKind>(bytes: &[u8]) -> bool {
    let begins = T::WORDS.iter().map(|word| format!("{{\"{word}\":").into_bytes());
    let mut fits = begins.map(|begin| {
        let length = begin.len().min(bytes.len());
        begin[..length] == bytes[..length]
    });
    fits.any(|fits| fits)
}

fn whole(bytes: &[u8]) -> &[u8] {
    &bytes[..bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1)]
}

fn parse<T: DeserializeOwned>(whole: &[u8]) -> Vec<T> {
    whole.split(|byte| *byte == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Serialize, Deserialize)]
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
            let error = LineFile::open::<Line>(&path, "").err().expect(text);
            assert!(error.to_string().contains("something else"), "{error}");
            assert_eq!(std::fs::read(&path).expect("a file"), text.as_bytes());
        }
        for (text, lines) in
            [("", 0), ("{", 0), ("{\"beg", 0), ("{\"begun\":1}\n", 1), ("{\"begun\":1}\n{\"begun\":", 1)]
        {
            std::fs::write(&path, text).expect("a file");
            let (mut file, found) = LineFile::open::<Line>(&path, "").expect(text);
            assert_eq!(found.len(), lines, "{text}");
            file.append(&Line::Begun(2)).expect("written");
            drop(file);
            assert_eq!(read::<Line>(&path).expect("read").len(), lines + 1, "{text}");
        }
    }
}
