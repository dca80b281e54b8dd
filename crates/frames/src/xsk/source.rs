//! Sending through an `AF_XDP` socket at the first queue of an interface.

use super::super::{Burst, FrameSpec, Sent, Source, Stop, fit, pace};
use super::memory::CHUNK;
use super::queue::{Consumer, Producer};
use super::socket::Socket;
use linux::clock::mono_now;
use linux::error::{Named, OsError, Result};
use linux::netlink::Network;
use model::dut::SourceKind;
use packet::frame::Writer;
use std::hint::spin_loop;
use std::io;
use std::ops::Range;
use units::Nanos;

/// Sends through an `AF_XDP` socket.
#[derive(Debug)]
pub(crate) struct XskSource {
    kind: SourceKind,
    socket: Socket,
    tx: Producer<libc::xdp_desc>,
    completion: Consumer<u64>,
    /// Chunks that the kernel does not have, each with a blank frame or one that was sent.
    free: Vec<u64>,
    writer: Writer,
    interface: u32,
}

impl XskSource {
    /// Frames out of the interface with this index; `kind` decides whether the driver is to use the memory itself.
    ///
    /// # Errors
    /// When a size or an address is not valid, or a frame longer than a page or than the interface carries; `EBUSY` when another
    /// socket has the queue; `EOPNOTSUPP` when the driver cannot do without a copy; `EPERM` without `CAP_NET_RAW`.
    pub(crate) fn open(kind: SourceKind, spec: &FrameSpec, interface: u32) -> Result<XskSource> {
        let writer = fit::writer(spec)?;
        fit::fits(spec, &Network::open()?.link_by_index(interface)?)?;
        fit::fits_chunk(writer.blank().len(), CHUNK)?;
        let mut socket = Socket::open(CHUNKS)?;
        let (tx, completion) = socket.sending()?;
        let copy = kind == SourceKind::XskCopy;
        socket.bind(interface, 0, if copy { libc::XDP_COPY } else { libc::XDP_ZEROCOPY })?;
        let free: Vec<u64> = socket.umem.chunks().collect();
        for chunk in &free {
            // SAFETY: the kernel was given no chunk yet.
            let frame = unsafe { socket.umem.bytes(*chunk, writer.blank().len()) };
            frame.copy_from_slice(writer.blank());
        }
        Ok(XskSource { kind, socket, tx, completion, free, writer, interface })
    }

    /// Puts these frames on the ring, as many as there are chunks; returns their number.
    fn send(&mut self, numbers: Range<u64>) -> Result<u64> {
        self.reclaim();
        let (mut count, room) = (0, self.writer.blank().len());
        for number in numbers {
            let Some(addr) = self.free.pop() else { break };
            // SAFETY: the kernel does not have a free chunk.
            let frame = unsafe { self.socket.umem.bytes(addr, room) };
            let len = self.writer.write(frame, number, mono_now()) as u32;
            // The ring has as much room as there are chunks.
            self.tx.put(libc::xdp_desc { addr, len, options: 0 });
            count += 1;
        }
        self.tx.submit();
        self.wake()?;
        Ok(count)
    }

    /// Takes back the chunks of frames that are sent.
    fn reclaim(&mut self) {
        let free = &mut self.free;
        self.completion.take(|chunk| free.push(chunk));
    }

    /// Has the kernel read the ring: where it copies, it does so within the call, some frames at a time.
    fn wake(&self) -> Result<()> {
        let calls = if self.kind == SourceKind::XskCopy { MOST_CALLS } else { 1 };
        for _ in 0..calls {
            if self.tx.waiting() == 0 || !self.tx.needs_wakeup() {
                break;
            }
            self.socket.wake_sending().named("send frames on", || self.object())?;
        }
        Ok(())
    }

    /// Waits until the kernel has sent all frames and returned every chunk.
    fn finish(&mut self) -> Result<()> {
        let deadline = mono_now() + TIMEOUT;
        loop {
            self.wake()?;
            self.reclaim();
            if self.free.len() == CHUNKS as usize {
                return Ok(());
            }
            if mono_now() > deadline {
                let stuck = io::Error::other("the driver did not send them within a second");
                return Err(OsError::new("send frames on", self.object(), stuck));
            }
            spin_loop();
        }
    }

    fn object(&self) -> String {
        format!("interface {}, {}", self.interface, self.kind)
    }
}

impl Source for XskSource {
    fn run(&mut self, burst: &Burst, stop: &Stop) -> Result<Sent> {
        let sent = pace::send(burst, stop, BATCH, &mut |numbers| self.send(numbers));
        // Also after an error: frames on the ring must not be sent in a later burst.
        let finished = self.finish();
        let sent = sent?;
        finished.map(|()| sent)
    }
}

const CHUNKS: u32 = 2048;
/// Number of frames that the kernel copies in one call.
const BATCH: u64 = 32;
/// Most calls of the kernel while the device has no room; then the pace is updated, and the calls begin again.
const MOST_CALLS: u32 = 1000;
const TIMEOUT: Nanos = Nanos::from_secs(1);
