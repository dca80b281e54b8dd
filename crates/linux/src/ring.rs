//! Receiving bulk TCP through io_uring: one armed request fills a ring of buffers, and the thread wakes rarely.
//!
//! The unsafe code concerns the ring of buffers, memory that the kernel writes to.

use crate::buffer::PageBuffer;
use crate::error::{Named, Result};
use crate::options::describe;
use crate::stream::Received;
use io_uring::types::{BufRingEntry, CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, opcode};
use std::io;
use std::marker::PhantomData;
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::sync::atomic::{AtomicU16, Ordering};
use units::{Bytes, Nanos};

/// Receives one stream with multishot receive into 16 buffers of 256 KiB (Linux 6.1). It is the fastest method for a single
/// stream; with several, [`crate::stream::PlainReceiver`] in a thread for each is faster.
///
/// The receiver must stay on the thread that made it, which the compiler enforces.
pub struct RingReceiver {
    /// Dropped before the buffers it knows.
    ring: IoUring,
    buffers: BufferRing,
    stream: TcpStream,
    armed: bool,
    /// An error met after payload had been taken; the next call reports it.
    late: Option<io::Error>,
    /// The kernel takes requests from one thread alone (`IORING_SETUP_SINGLE_ISSUER`).
    one_thread: PhantomData<*const ()>,
}

impl RingReceiver {
    /// Prepares to receive from `stream`, of which it keeps a duplicate: the connection closes when both are dropped.
    ///
    /// # Errors
    /// When io_uring is forbidden (`EPERM`: sysctl `kernel.io_uring_disabled`, seccomp), missing (`ENOSYS`) or too old
    /// (`EINVAL`). Then a plain receiver does.
    pub fn new(stream: &TcpStream) -> Result<Self> {
        let named = || describe(stream);
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_cqsize(4 * u32::from(COUNT))
            .build(u32::from(COUNT))
            .named("set up io_uring for", named)?;
        let mut buffers = BufferRing::new();
        // SAFETY: the entries are page-aligned, `COUNT` of them, and live until the ring, dropped first, is gone.
        unsafe { ring.submitter().register_buf_ring_with_flags(buffers.address(), COUNT, GROUP, 0) }
            .named("register io_uring buffers for", named)?;
        let stream = stream.try_clone().named("duplicate", named)?;
        let mut receiver = Self { ring, buffers, stream, armed: false, late: None, one_thread: PhantomData };
        receiver.arm().named("start io_uring receive on", named)?;
        Ok(receiver)
    }

    /// Waits up to `timeout` for payload and takes all that has come. A signal ends the wait too.
    ///
    /// # Errors
    /// The errors of the receive, such as `ConnectionReset`.
    pub fn recv(&mut self, timeout: Nanos) -> io::Result<Received> {
        if let Some(late) = self.late.take() {
            return Err(late);
        }
        if !self.armed {
            self.arm()?;
        }
        if self.ring.completion().is_empty() {
            self.wait(timeout)?;
        }
        let mut received = Received::default();
        for completion in self.ring.completion() {
            self.armed &= cqueue::more(completion.flags());
            if let Some(buffer) = cqueue::buffer_select(completion.flags()) {
                self.buffers.give_back(buffer);
            }
            match completion.result() {
                0 => received.closed = true,
                len @ 1.. => received.bytes += Bytes(len.unsigned_abs().into()),
                // Every buffer was in use; they have been given back by now.
                error if -error == libc::ENOBUFS => {}
                error => self.late = Some(io::Error::from_raw_os_error(-error)),
            }
        }
        match self.late.take() {
            Some(error) if received.bytes == Bytes::ZERO => Err(error),
            late => {
                self.late = late;
                Ok(received)
            }
        }
    }

    fn arm(&mut self) -> io::Result<()> {
        let request = opcode::RecvMulti::new(Fd(self.stream.as_raw_fd()), GROUP).build();
        // SAFETY: the request names no memory but the buffer ring, and its descriptor is owned by `self`.
        unsafe { self.ring.submission().push(&request) }.map_err(io::Error::other)?;
        self.armed = true;
        Ok(())
    }

    fn wait(&self, timeout: Nanos) -> io::Result<()> {
        let timeout = Timespec::from(timeout.to_duration());
        match self.ring.submitter().submit_with_args(1, &SubmitArgs::new().timespec(&timeout)) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::ETIME | libc::EINTR)) => Ok(()),
            outcome => outcome.map(drop),
        }
    }
}

impl Drop for RingReceiver {
    fn drop(&mut self) {
        // Nothing may be written to the buffers once they are freed. There may be nothing left to cancel.
        let timeout = Timespec::new().sec(1);
        let _ = self.ring.submitter().register_sync_cancel(Some(timeout), CancelBuilder::any());
        let _ = self.ring.submitter().unregister_buf_ring(GROUP);
    }
}

/// Buffers that the kernel picks from, and the ring of entries they are offered through (`io_uring_register(2)`,
/// `IORING_REGISTER_PBUF_RING`).
struct BufferRing {
    entries: PageBuffer,
    /// Written by the kernel and never read.
    data: PageBuffer,
    tail: u16,
}

impl BufferRing {
    fn new() -> Self {
        let mut ring = Self {
            entries: PageBuffer::new(usize::from(COUNT) * size_of::<BufRingEntry>()),
            data: PageBuffer::blank(usize::from(COUNT) * SIZE),
            tail: 0,
        };
        (0..COUNT).for_each(|buffer| ring.give_back(buffer));
        ring
    }

    fn address(&mut self) -> u64 {
        self.entries.as_mut_ptr().expose_provenance() as u64
    }

    /// Offers `buffer` to the kernel (again).
    fn give_back(&mut self, buffer: u16) {
        let address = self.data.as_ptr().expose_provenance() + usize::from(buffer) * SIZE;
        let base: *mut BufRingEntry = self.entries.as_mut_ptr().cast();
        // SAFETY: the index is below `COUNT`, for which there is room; any bytes are a valid entry, and the kernel
        // does not read this one before the tail has passed it.
        let entry = unsafe { &mut *base.add(usize::from(self.tail % COUNT)) };
        entry.set_addr(address as u64);
        entry.set_len(SIZE as u32);
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: `base` is the first entry, where the kernel keeps the tail: aligned, ours, shared as an atomic.
        let tail = unsafe { AtomicU16::from_ptr(BufRingEntry::tail(base).cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}

/// A power of two.
const COUNT: u16 = 16;
const SIZE: usize = 256 << 10;
const GROUP: u16 = 0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{set_recv_buffer, set_reset_on_close, set_send_buffer};
    use std::io::Write;
    use std::net::TcpListener;

    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (client, listener.accept().unwrap().0)
    }

    /// Makes a receiver; `None` where io_uring is forbidden, which is counted as a skip.
    fn receiver(stream: &TcpStream) -> Option<RingReceiver> {
        match RingReceiver::new(stream) {
            Ok(receiver) => Some(receiver),
            Err(error) => {
                assert!(matches!(error.errno(), Some(libc::EPERM | libc::ENOSYS | libc::EINVAL)), "{error}");
                skip::skip(error);
                None
            }
        }
    }

    #[test]
    fn counts_every_byte_to_the_end_of_the_stream() {
        let (mut client, server) = pair();
        let Some(mut receiver) = receiver(&server) else { return };
        assert_eq!(receiver.recv(Nanos::from_millis(1)).unwrap(), Received::default());
        // More than all buffers hold, so that they are given back and the request is armed again.
        let writer = std::thread::spawn(move || client.write_all(&vec![1; 50_000_000]).unwrap());
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
        assert_eq!(total, Bytes(50_000_000));
    }

    #[test]
    fn more_waiting_than_the_buffers_hold_is_taken_whole() {
        let (mut client, server) = pair();
        let Some(mut receiver) = receiver(&server) else { return };
        set_send_buffer(&client, Bytes(16 << 20)).unwrap();
        set_recv_buffer(&server, Bytes(16 << 20)).unwrap();
        client.set_nonblocking(true).unwrap();
        let (mut written, mut total) = (0, Bytes(0));
        while let Ok(len) = client.write(&[1; 1 << 16]) {
            written += len as u64;
        }
        drop(client);
        loop {
            let received = receiver.recv(Nanos::from_secs(5)).unwrap();
            total += received.bytes;
            if received.closed {
                break;
            }
            assert!(received.bytes > Bytes(0), "timed out");
        }
        assert_eq!(total, Bytes(written));
    }

    #[test]
    fn a_reset_is_an_error() {
        let (client, server) = pair();
        let Some(mut receiver) = receiver(&server) else { return };
        set_reset_on_close(&client).unwrap();
        drop(client);
        let error = receiver.recv(Nanos::from_secs(5)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    }

    #[test]
    fn dropping_in_the_middle_leaves_the_stream_usable() {
        let (mut client, mut server) = pair();
        let Some(receiver) = receiver(&server) else { return };
        drop(receiver);
        client.write_all(b"after").unwrap();
        let mut text = [0; 5];
        io::Read::read_exact(&mut server, &mut text).unwrap();
        assert_eq!(&text, b"after");
    }
}
