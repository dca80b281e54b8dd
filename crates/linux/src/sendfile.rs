//! Sending bulk TCP from the page cache: `sendfile(2)` of a file in memory, no copy from user space.

use crate::error::{Named, Result};
use crate::spawn::memory_file;
use rustix::fs::sendfile;
use std::fs::File;
use std::io::{self, Write};
use std::net::TcpStream;

/// A block of data in the page cache (`memfd_create(2)`), to be sent repeatedly.
#[derive(Debug)]
pub struct SendFile {
    file: File,
}

impl SendFile {
    /// Puts the data into the page cache.
    ///
    /// # Errors
    /// When the kernel gives no memory file, or no memory.
    pub fn new(data: &[u8]) -> Result<Self> {
        let named = || "a memory file".to_owned();
        let mut file = memory_file()?;
        file.write_all(data).named("fill", named)?;
        Ok(Self { file })
    }

    /// Sends up to the first `length` bytes of the data; returns how many.
    ///
    /// # Errors
    /// The errors of `sendfile(2)`; `WouldBlock` after the socket's write timeout.
    pub fn send(&self, stream: &TcpStream, length: usize) -> io::Result<usize> {
        Ok(sendfile(stream, &self.file, Some(&mut 0), length)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::TcpListener;

    #[test]
    fn sends_what_it_was_given_more_than_once() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let file = SendFile::new(b"0123456789").unwrap();
        assert_eq!(file.send(&client, 10).unwrap(), 10);
        assert_eq!(file.send(&client, 4).unwrap(), 4);
        drop(client);
        let mut got = Vec::new();
        server.read_to_end(&mut got).unwrap();
        assert_eq!(got, b"01234567890123");
    }
}
