//! The text of a file, whatever it is packed in: UTF-8 and UTF-16, gzip and zip.

use flate2::read::{DeflateDecoder, MultiGzDecoder};
use std::io::{self, BufReader, Cursor, ErrorKind, Read};

/// A text as its bytes come, in UTF-8.
pub type Source = Box<dyn Read + Send>;

/// The texts of a file: one, or that of each member of an archive, with the member's name.
///
/// # Errors
/// What the file is packed in is not read, or is damaged: what it is, as the end of "it is …".
pub fn open(file: impl Read + Send + 'static) -> Result<Vec<(Option<String>, Source)>, String> {
    unpacked(Box::new(file), 0)
}

/// The same, read to their ends.
///
/// # Errors
/// As [`open`].
pub fn texts(bytes: Vec<u8>) -> Result<Vec<(Option<String>, String)>, String> {
    let whole = |(name, mut source): (Option<String>, Source)| {
        let mut bytes = Vec::new();
        source.read_to_end(&mut bytes).map_err(|error| error.to_string())?;
        Ok((name, String::from_utf8_lossy(&bytes).into_owned()))
    };
    open(Cursor::new(bytes))?.into_iter().map(whole).collect()
}

fn unpacked(mut file: Source, depth: usize) -> Result<Vec<(Option<String>, Source)>, String> {
    if depth > DEEPEST {
        return Err("archives in archives, deeper than are read".into());
    }
    let mut begin = Vec::new();
    // A file that breaks off behind a few lines has these lines.
    match file.by_ref().take(LOOKED_AT).read_to_end(&mut begin) {
        Err(error) if begin.is_empty() => return Err(error.to_string()),
        _ => {}
    }
    if let Some(what) = refused(&begin) {
        return Err(what.into());
    }
    let (kind, is_gzip) = (utf16(&begin), begin.starts_with(&[0x1f, 0x8b]));
    let is_zip = begin.starts_with(b"PK\x03\x04");
    let mut whole: Source = Box::new(Cursor::new(begin).chain(file));
    if is_gzip {
        let gzip = Gzip { decoder: MultiGzDecoder::new(BufReader::new(whole)), damage: None };
        return unpacked(Box::new(gzip), depth + 1);
    }
    if is_zip {
        let mut bytes = Vec::new();
        let read = whole.take(LARGEST + 1).read_to_end(&mut bytes);
        read.map_err(|error| error.to_string())?;
        return if bytes.len() as u64 > LARGEST { Err(TOO_LARGE.into()) } else { zip(&bytes, depth) };
    }
    if let Some((mark, unit)) = kind {
        let mut bytes = [0; 2];
        whole.read_exact(&mut bytes[..mark]).map_err(|error| error.to_string())?;
        whole = Box::new(Utf16 { file: whole, unit, bytes: Vec::new(), text: Cursor::default() });
    }
    Ok(vec![(None, whole)])
}

/// The kind of a file that is not read, and how to unpack it.
fn refused(begin: &[u8]) -> Option<&'static str> {
    let packed: [(&[u8], &str); 4] = [
        (&[0xfd, b'7', b'z', b'X', b'Z'], "xz; unpack it first: `xz -dc FILE | pathmeter import -`"),
        (&[0x28, 0xb5, 0x2f, 0xfd], "zstd; unpack it first: `zstd -dc FILE | pathmeter import -`"),
        (b"BZh", "bzip2; unpack it first: `bzip2 -dc FILE | pathmeter import -`"),
        (b"7z\xbc\xaf", "a 7z archive; unpack it first"),
    ];
    let tar = "a tar archive; unpack it first: `tar -xOf FILE | pathmeter import -`";
    let found = packed.iter().find(|(magic, _)| begin.starts_with(magic)).map(|(_, what)| *what);
    found.or_else(|| (begin.get(257..262) == Some(b"ustar")).then_some(tar))
}

/// gzip, whose damages have a name. Behind a damage nothing is read.
struct Gzip<R: Read> {
    decoder: MultiGzDecoder<R>,
    damage: Option<&'static str>,
}

impl<R: Read> Read for Gzip<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        if self.damage.is_none() {
            match self.decoder.read(to) {
                Err(error) if error.kind() != ErrorKind::Interrupted => {
                    let is_cut = error.kind() == ErrorKind::UnexpectedEof;
                    self.damage = Some(if is_cut { "gzip that is cut off" } else { "gzip that is damaged" });
                }
                read => return read,
            }
        }
        Err(io::Error::new(ErrorKind::InvalidData, self.damage.unwrap_or_default()))
    }
}

/// How two bytes are a unit of UTF-16.
type Unit = fn([u8; 2]) -> u16;

/// Bytes of its mark and its units, of UTF-16, which is known by its mark or by the zeros beside letters.
fn utf16(begin: &[u8]) -> Option<(usize, Unit)> {
    match begin {
        [0xff, 0xfe, ..] => Some((2, u16::from_le_bytes)),
        [0xfe, 0xff, ..] => Some((2, u16::from_be_bytes)),
        all => match zeros(all)? {
            1 => Some((0, u16::from_le_bytes)),
            _ => Some((0, u16::from_be_bytes)),
        },
    }
}

/// UTF-16 as UTF-8.
struct Utf16 {
    file: Source,
    unit: Unit,
    /// Bytes that are no whole character yet.
    bytes: Vec<u8>,
    text: Cursor<Vec<u8>>,
}

impl Read for Utf16 {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        while self.text.position() >= self.text.get_ref().len() as u64 {
            let before = self.bytes.len();
            self.bytes.resize(before + READ_AT_ONCE, 0);
            let read = self.file.read(&mut self.bytes[before..])?;
            self.bytes.truncate(before + read);
            if read == 0 && self.bytes.len() < 2 {
                return Ok(0);
            }
            self.decode(read == 0);
        }
        self.text.read(to)
    }
}

impl Utf16 {
    /// The first half of a pair waits for the second.
    fn decode(&mut self, has_ended: bool) {
        let mut units: Vec<u16> =
            self.bytes.chunks_exact(2).map(|pair| (self.unit)([pair[0], pair[1]])).collect();
        if units.last().is_some_and(|unit| (0xd800..0xdc00).contains(unit)) && !has_ended {
            units.pop();
        }
        self.bytes.drain(..units.len() * 2);
        let decoded = char::decode_utf16(units).map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER));
        self.text = Cursor::new(decoded.collect::<String>().into_bytes());
    }
}

/// Whether many a second byte is zero, the first of each pair (0) or the second (1), and hardly another is: digits, blanks and ends of
/// lines are of ASCII in every language. No text in UTF-8 has a zero.
fn zeros(start: &[u8]) -> Option<usize> {
    let pairs = start.len() / 2;
    let count =
        |place: usize| start.iter().skip(place).step_by(2).take(pairs).filter(|byte| **byte == 0).count();
    let counts = [count(0), count(1)];
    (0..2).find(|place| pairs > 3 && counts[*place] * 10 >= pairs * 2 && counts[1 - place] * 50 <= pairs)
}

/// The members of a zip by its central directory (APPNOTE 4.3): stored or deflated.
fn zip(bytes: &[u8], depth: usize) -> Result<Vec<(Option<String>, Source)>, String> {
    let broken = || "a zip archive that is cut off or broken".to_owned();
    let end = bytes.windows(4).rposition(|window| window == b"PK\x05\x06").ok_or_else(broken)?;
    let count = u16_at(bytes, end + 10).ok_or_else(broken)?;
    let mut at = u32_at(bytes, end + 16).ok_or_else(broken)? as usize;
    let (mut texts, mut size) = (Vec::new(), 0);
    for _ in 0..count {
        let member = ZipMember::at(bytes, at).ok_or_else(broken)?;
        at = member.next;
        if member.name.ends_with('/') {
            continue;
        }
        let content = member.content(bytes)?.ok_or_else(broken)?;
        size += content.len() as u64;
        if size > LARGEST {
            return Err(TOO_LARGE.into());
        }
        for (inner, text) in unpacked(Box::new(Cursor::new(content)), depth + 1)? {
            let name = inner.map_or_else(|| member.name.clone(), |inner| format!("{}/{inner}", member.name));
            texts.push((Some(name), text));
        }
    }
    if texts.is_empty() { Err("an empty zip archive".into()) } else { Ok(texts) }
}

/// A member of a zip.
struct ZipMember {
    name: String,
    encrypted: bool,
    method: u16,
    packed: usize,
    header: usize,
    next: usize,
}

impl ZipMember {
    fn at(bytes: &[u8], at: usize) -> Option<ZipMember> {
        if bytes.get(at..at + 4)? != b"PK\x01\x02" {
            return None;
        }
        let [name, extra, comment] = [28, 30, 32].map(|place| u16_at(bytes, at + place).map(usize::from));
        let (name, extra, comment) = (name?, extra?, comment?);
        Some(ZipMember {
            name: String::from_utf8_lossy(bytes.get(at + 46..at + 46 + name)?).into_owned(),
            encrypted: u16_at(bytes, at + 8)? & 1 == 1,
            method: u16_at(bytes, at + 10)?,
            packed: u32_at(bytes, at + 20)? as usize,
            header: u32_at(bytes, at + 42)? as usize,
            next: at + 46 + name + extra + comment,
        })
    }

    /// The content; `None`: it is broken.
    fn content(&self, bytes: &[u8]) -> Result<Option<Vec<u8>>, String> {
        if self.encrypted {
            return Err("a zip archive that is encrypted; unpack it first".into());
        }
        let lengths = [26, 28].map(|place| u16_at(bytes, self.header + place).map(usize::from));
        let [Some(name), Some(extra)] = lengths else { return Ok(None) };
        let begin = self.header + 30 + name + extra;
        let Some(packed) = bytes.get(begin..begin.saturating_add(self.packed)) else { return Ok(None) };
        match self.method {
            0 => Ok(Some(packed.to_vec())),
            8 => {
                let mut content = Vec::new();
                let read = DeflateDecoder::new(packed).take(LARGEST + 1).read_to_end(&mut content);
                Ok(read.is_ok().then_some(content))
            }
            other => {
                Err(format!("a zip archive packed by method {other}, which is not read; unpack it first"))
            }
        }
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// Bytes of a text that is unpacked here: a small file can hold a very large one.
const LARGEST: u64 = 1 << 30;
const TOO_LARGE: &str = "an archive of more than 1 GiB of text; unpack it first";
/// Archives in archives.
const DEEPEST: usize = 3;
/// Bytes of UTF-16 that are read at once.
const READ_AT_ONCE: usize = 64 << 10;
/// Bytes that are looked at for their encoding.
const LOOKED_AT: u64 = 4096;

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::{DeflateEncoder, GzEncoder};
    use std::io::Write;

    fn only(bytes: Vec<u8>) -> String {
        let mut texts = texts(bytes).unwrap();
        assert_eq!(texts.len(), 1);
        texts.remove(0).1
    }

    #[test]
    fn encodings_and_gzip() {
        let text = "PING ::1 — äé\r\n{\"a\": 1}\n";
        let utf16 = |write: fn(u16) -> [u8; 2]| text.encode_utf16().flat_map(write).collect::<Vec<u8>>();
        let (little, big) = (utf16(u16::to_le_bytes), utf16(u16::to_be_bytes));
        for bytes in [
            little.clone(),
            big.clone(),
            [vec![0xff, 0xfe], little].concat(),
            [vec![0xfe, 0xff], big].concat(),
        ] {
            assert_eq!(only(bytes), text);
        }
        let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
        gzip.write_all(text.as_bytes()).unwrap();
        let packed = gzip.finish().unwrap();
        assert_eq!(only(packed.clone()), text);
        // Without its end there is the text, and behind it the damage; its end has a checksum.
        for (damaged, reason) in [
            (packed[..packed.len() - 9].to_vec(), "gzip that is cut off"),
            ([&packed[..packed.len() - 8], &[7; 8]].concat(), "gzip that is damaged"),
        ] {
            let (_, mut source) = open(Cursor::new(damaged)).unwrap().remove(0);
            let mut read = Vec::new();
            for _ in 0..2 {
                assert_eq!(source.read_to_end(&mut read).unwrap_err().to_string(), reason);
            }
            assert!(text.as_bytes().starts_with(&read) && read.len() > 8);
        }
        assert!(texts(b"\x28\xb5\x2f\xfd....".to_vec()).unwrap_err().contains("zstd"));
    }

    /// A zip as tools write it: local headers, then the directory.
    fn zipped(members: &[(&str, &[u8], bool)]) -> Vec<u8> {
        let (mut bytes, mut directory) = (Vec::new(), Vec::new());
        for (name, content, deflate) in members {
            let packed = if *deflate {
                let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
                encoder.write_all(content).unwrap();
                encoder.finish().unwrap()
            } else {
                content.to_vec()
            };
            let method = if *deflate { 8_u16 } else { 0 };
            let at = u32::try_from(bytes.len()).unwrap();
            let common = |out: &mut Vec<u8>| {
                out.extend([20, 0, 0, 0]);
                out.extend(method.to_le_bytes());
                out.extend([0; 8]);
                out.extend(u32::try_from(packed.len()).unwrap().to_le_bytes());
                out.extend(u32::try_from(content.len()).unwrap().to_le_bytes());
                out.extend(u16::try_from(name.len()).unwrap().to_le_bytes());
                out.extend([0; 2]);
            };
            bytes.extend(b"PK\x03\x04");
            common(&mut bytes);
            bytes.extend(name.as_bytes());
            bytes.extend(&packed);
            directory.extend(b"PK\x01\x02\x14\x00");
            common(&mut directory);
            directory.extend([0; 10]);
            directory.extend(at.to_le_bytes());
            directory.extend(name.as_bytes());
        }
        let begin = u32::try_from(bytes.len()).unwrap();
        bytes.extend(&directory);
        bytes.extend(b"PK\x05\x06\x00\x00\x00\x00");
        let count = u16::try_from(members.len()).unwrap().to_le_bytes();
        bytes.extend([count, count].concat());
        bytes.extend(u32::try_from(directory.len()).unwrap().to_le_bytes());
        bytes.extend(begin.to_le_bytes());
        bytes.extend([0, 0]);
        bytes
    }

    #[test]
    fn members_of_a_zip() {
        let bytes = zipped(&[
            ("logs/", b"", false),
            ("logs/a.txt", b"first", false),
            ("b.txt", b"second second second", true),
        ]);
        let read = texts(bytes.clone()).unwrap();
        let expected = [("logs/a.txt", "first"), ("b.txt", "second second second")];
        assert_eq!(read, expected.map(|(name, text)| (Some(name.to_owned()), text.to_owned())));
        for end in 0..bytes.len() {
            let _ = texts(bytes[..end].to_vec());
        }
    }
}
