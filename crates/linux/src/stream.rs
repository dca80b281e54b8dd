//! Receiving bulk TCP with plain receive calls, whose content is counted and thrown away; and sending in segments small
//! enough for every path.
//!
//! Through libc: the calls that every byte of a test takes stay as they were measured.

use crate::buffer::PageBuffer;
use crate::cmsg::empty_header;
use crate::error::{Named, Result, check_len};
use crate::options::describe;
use std::io::{self, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use units::{Bytes, Nanos};

/// The result of one receive of bulk TCP.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Received {
    /// Payload taken; zero when nothing came within the timeout.
    pub bytes: Bytes,
    /// The peer has finished: nothing more will come.
    pub closed: bool,
}

/// Receives into one small piece of memory again and again, which stays in a CPU's own cache: the receiver for several
/// streams at once, and wherever [`crate::ring::RingReceiver`] is forbidden.
#[derive(Debug)]
pub struct PlainReceiver {
    stream: TcpStream,
    buffer: PageBuffer,
    /// Limit of one receive.
    most: usize,
    timeout: Option<Nanos>,
    flags: libc::c_int,
}

impl PlainReceiver {
    /// Prepares to receive from `stream`, of which it keeps a duplicate: the connection closes when both are dropped.
    /// Each receive takes up to `most` bytes.
    ///
    /// With `discard` the kernel drops the payload instead of copying it (`MSG_TRUNC`, tcp(7)): least CPU time, but
    /// not what an application would see.
    ///
    /// # Errors
    /// When the process is out of descriptors.
    pub fn new(stream: &TcpStream, most: Bytes, discard: bool) -> Result<Self> {
        let most = usize::try_from(most.0).unwrap_or(usize::MAX).min(MOST_PIECES * PIECE);
        Ok(Self {
            stream: stream.try_clone().named("duplicate", || describe(stream))?,
            // Discarded data are written nowhere.
            buffer: if discard { PageBuffer::untouched(most) } else { PageBuffer::blank(most.min(PIECE)) },
            most,
            timeout: None,
            flags: if discard { libc::MSG_TRUNC } else { 0 },
        })
    }

    /// Waits up to `timeout` for payload and takes what is there, as far as one receive goes. A signal ends the wait too.
    ///
    /// The timeout is the socket's own (`SO_RCVTIMEO`), set when it changes.
    ///
    /// # Errors
    /// The errors of `recv(2)`, such as `ConnectionReset`.
    pub fn recv(&mut self, timeout: Nanos) -> io::Result<Received> {
        let timeout = Nanos(timeout.0.max(SHORTEST_TIMEOUT));
        if self.timeout != Some(timeout) {
            self.stream.set_read_timeout(Some(timeout.to_duration()))?;
            self.timeout = Some(timeout);
        }
        match self.take() {
            Ok(bytes) => Ok(Received { bytes: Bytes(bytes as u64), closed: bytes == 0 }),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                Ok(Received::default())
            }
            Err(error) => Err(error),
        }
    }

    /// One call of `recvmsg(2)`, which fills the buffer repeatedly: its content is never read.
    fn take(&mut self) -> io::Result<usize> {
        let (first, length) = (self.buffer.as_mut_ptr(), self.buffer.len());
        let mut left = self.most;
        let mut pieces = [libc::iovec { iov_base: first.cast(), iov_len: 0 }; MOST_PIECES];
        let mut count = 0;
        while left > 0 && count < MOST_PIECES {
            pieces[count].iov_len = left.min(length);
            left -= pieces[count].iov_len;
            count += 1;
        }
        let mut message = empty_header();
        message.msg_iov = pieces.as_mut_ptr();
        message.msg_iovlen = count as _;
        // SAFETY: every piece is within the buffer, which is borrowed exclusively and writable for its whole length.
        check_len(unsafe { libc::recvmsg(self.stream.as_raw_fd(), &raw mut message, self.flags) })
    }
}

/// Bytes of the buffer, of which a receive takes several.
const PIECE: usize = 128 << 10;
/// Most of them in one receive.
const MOST_PIECES: usize = 8;

/// The kernel counts the timeout in microseconds, and takes zero for "for ever".
const SHORTEST_TIMEOUT: u64 = 1_000;

/// Writes to a TCP connection in segments of at most 512 bytes, which the kernel never joins, not even when it sends them
/// again (`MSG_EOR`, send(2)): they cross paths on which larger ones vanish. `TCP_NODELAY` is to be set.
#[derive(Clone, Copy, Debug)]
pub struct SmallSegments<'a>(pub &'a TcpStream);

impl Write for SmallSegments<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let bytes = &bytes[..bytes.len().min(SMALL_SEGMENT)];
        let flags = libc::MSG_EOR | libc::MSG_NOSIGNAL;
        // SAFETY: `bytes` is readable for its length, and the kernel only reads it.
        check_len(unsafe { libc::send(self.0.as_raw_fd(), bytes.as_ptr().cast(), bytes.len(), flags) })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// With all its headers within the 576 bytes that every host must take (RFC 791 section 3.1).
const SMALL_SEGMENT: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    #[test]
    fn counts_every_byte_copied_or_discarded() {
        for discard in [false, true] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (server, _) = listener.accept().unwrap();
            let mut receiver = PlainReceiver::new(&server, Bytes(1 << 20), discard).unwrap();
            assert_eq!(receiver.recv(Nanos::ZERO).unwrap(), Received::default());
            let writer = std::thread::spawn(move || client.write_all(&vec![1; 5_000_000]).unwrap());
            let mut total = Bytes(0);
            loop {
                let received = receiver.recv(Nanos::from_secs(5)).unwrap();
                assert!(received.closed || received.bytes > Bytes(0), "timed out");
                total += received.bytes;
                if received.closed {
                    break;
                }
            }
            writer.join().unwrap();
            assert_eq!(total, Bytes(5_000_000));
        }
    }

    #[test]
    fn small_segments_are_as_many_as_were_written() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        client.set_nodelay(true).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        SmallSegments(&client).write_all(&[7; 5000]).unwrap();
        let mut bytes = [0; 5000];
        std::io::Read::read_exact(&mut server, &mut bytes).unwrap();
        assert_eq!(bytes, [7; 5000]);
        let segments = crate::tcp_info::tcp_info(&client).unwrap().data_segments_out.unwrap();
        assert!(segments >= 10, "{segments}");
    }
}
