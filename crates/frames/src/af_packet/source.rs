//! Sending through a packet socket: the frames that are due, many per call, past the interface's queueing discipline.

use super::super::{Burst, FrameSpec, Sent, Source, Stop, fit, pace};
use linux::capture::{bind_to, packet_socket};
use linux::clock::mono_now;
use linux::cmsg::empty_header;
use linux::error::{Named, Result, check};
use linux::netlink::Network;
use linux::options::{Opt, set_int};
use packet::frame::Writer;
use std::io;
use std::ops::Range;
use std::os::fd::{AsRawFd, OwnedFd};

/// Sends through a packet socket.
#[derive(Debug)]
pub(crate) struct PacketSource {
    socket: OwnedFd,
    network: Network,
    interface: u32,
    writer: Writer,
    /// Room for a batch of frames.
    frames: Vec<u8>,
}

impl PacketSource {
    /// Frames out of the interface with this index.
    ///
    /// # Errors
    /// When a size or an address is wrong or the interface carries no frames of that size; `EPERM` without `CAP_NET_RAW`.
    pub(crate) fn open(spec: &FrameSpec, interface: u32) -> Result<PacketSource> {
        let writer = fit::writer(spec)?;
        let mut network = Network::open()?;
        fit::fits(spec, &network.link_by_index(interface)?)?;
        let socket = packet_socket()?;
        set_int(&socket, QDISC_BYPASS, 1)?;
        bind_to(&socket, interface, 0).named("send on", || format!("interface {interface}"))?;
        let frames = writer.blank().repeat(BATCH);
        Ok(PacketSource { socket, network, interface, writer, frames })
    }

    /// Sends these frames; returns how many were accepted.
    fn send(&mut self, numbers: Range<u64>) -> Result<u64> {
        let mut parts = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
        let mut headers = [libc::mmsghdr { msg_hdr: empty_header(), msg_len: 0 }; BATCH];
        let mut count = 0;
        let rooms = self.frames.chunks_exact_mut(self.writer.blank().len());
        for (((part, header), frame), number) in parts.iter_mut().zip(&mut headers).zip(rooms).zip(numbers) {
            let length = self.writer.write(frame, number, mono_now());
            *part = libc::iovec { iov_base: frame.as_mut_ptr().cast(), iov_len: length };
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
            count += 1;
        }
        let fd = self.socket.as_raw_fd();
        // SAFETY: the first `count` headers point at one of `parts` each, with a frame of the stated length behind it; all
        // live through the call, and the kernel reads only.
        let sent = unsafe { libc::sendmmsg(fd, headers.as_mut_ptr(), count, libc::MSG_DONTWAIT as _) };
        match check(sent) {
            Ok(sent) => Ok(sent as u64),
            Err(error) => self.refused(error),
        }
    }

    /// Handles an error of sending. A full queue empties again. Where nothing listens at the other end, the frame is lost, as it
    /// is with other sources, which get no error.
    fn refused(&mut self, error: io::Error) -> Result<u64> {
        let for_now = [libc::EAGAIN, libc::EINTR, libc::ENOMEM];
        match error.raw_os_error() {
            Some(libc::ENOBUFS) => Ok(u64::from(!self.network.link_by_index(self.interface)?.has_carrier)),
            Some(errno) if for_now.contains(&errno) => Ok(0),
            _ => Err(error).named("send frames on", || format!("interface {}", self.interface)),
        }
    }
}

impl Source for PacketSource {
    fn run(&mut self, burst: &Burst, stop: &Stop) -> Result<Sent> {
        pace::send(burst, stop, BATCH as u64, &mut |numbers| self.send(numbers))
    }
}

const BATCH: usize = 64;
const QDISC_BYPASS: Opt = Opt(libc::SOL_PACKET, 20, "PACKET_QDISC_BYPASS");
