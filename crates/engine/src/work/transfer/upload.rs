//! The data of an upload: a file of this host, or bytes that do not compress.

use super::trouble::Trouble;
use crate::work::http_server::Content;
use model::transfer::TransferBody;
use std::fs::File;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A body in transfer; the bytes taken of it are counted.
pub(super) struct Upload {
    from: From,
    left: u64,
    taken: Arc<AtomicU64>,
}

enum From {
    Made(Content),
    File(File),
}

impl Upload {
    /// The body from its beginning, and the count of what was taken.
    pub(super) fn open(body: &TransferBody) -> Result<(Upload, Arc<AtomicU64>), Trouble> {
        let from = match body {
            TransferBody::Size(_) => From::Made(Content::new()),
            TransferBody::File { path, .. } => {
                let open = File::open(path);
                From::File(open.map_err(|source| Trouble::File { path: path.clone(), source })?)
            }
        };
        let taken = Arc::<AtomicU64>::default();
        Ok((Upload { from, left: body.size().0, taken: taken.clone() }, taken))
    }
}

impl Read for Upload {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let place = self.taken.load(Ordering::Relaxed);
        let count = match &mut self.from {
            From::Made(content) => {
                let bytes = content.from(place, most as u64);
                buffer[..bytes.len()].copy_from_slice(bytes);
                bytes.len()
            }
            From::File(file) => file.read(&mut buffer[..most])?,
        };
        if count == 0 && most > 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file has become shorter"));
        }
        self.left -= count as u64;
        self.taken.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::units::Bytes;

    #[test]
    fn bytes_are_made_to_measure_and_counted() {
        let (mut upload, taken) = Upload::open(&TransferBody::Size(Bytes(700_000))).expect("nothing to open");
        let mut bytes = Vec::new();
        assert_eq!(upload.read_to_end(&mut bytes).expect("it reads"), 700_000);
        assert_eq!(taken.load(Ordering::Relaxed), 700_000);
        assert_eq!(bytes[..100], bytes[256 << 10..][..100], "the content repeats after a block");
    }

    #[test]
    fn a_file_that_was_cut_is_an_error() {
        let path = "/proc/self/status".to_owned();
        let body = TransferBody::File { path: path.clone(), size: Bytes(1 << 30) };
        let (mut upload, _) = Upload::open(&body).expect("it is there");
        let error = upload.read_to_end(&mut Vec::new()).expect_err("it is shorter");
        assert_eq!(error.to_string(), "the file has become shorter");
        let missing = TransferBody::File { path: "/no/such/file".into(), size: Bytes(1) };
        assert!(matches!(Upload::open(&missing), Err(Trouble::File { .. })), "{path}");
    }
}
