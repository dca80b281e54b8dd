//! Receiving frames with `recvmmsg`, with the kernel's notes on each (`PACKET_AUXDATA`, `SO_TIMESTAMPNS`).

use super::super::reader::Receive;
use super::super::tally::{Taken, Tally};
use super::Clocks;
use linux::capture::{Statistics, bind};
use linux::cmsg::{Control, ControlMessage, ControlMessages, control_len, empty_header};
use linux::error::{Named, Result, check};
use linux::options::{Opt, set_int, set_recv_buffer};
use linux::sockaddr::array;
use linux::timestamp::{packet_times, set_receive_time};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use units::Bytes;
use units::time::WallTime;

/// Buffers for the frames of a call.
pub(super) struct Batches {
    socket: OwnedFd,
    statistics: Statistics,
    /// Bytes of each frame with the header before it.
    room: usize,
    data: Vec<u8>,
    control: Box<[Control<CONTROL>; BATCH]>,
}

impl Batches {
    /// Begins to receive.
    pub(super) fn open(socket: OwnedFd, snap: u32, interface: u32) -> Result<Batches> {
        set_int(&socket, AUXDATA, 1)?;
        set_receive_time(&socket, true)?;
        set_recv_buffer(&socket, MEMORY)?;
        bind(&socket, interface).named("count frames on", || format!("interface {interface}"))?;
        let room = VNET + snap as usize;
        let data = vec![0; room * BATCH];
        let control = Box::new([Control([0; CONTROL]); BATCH]);
        Ok(Batches { socket, statistics: Statistics::default(), room, data, control })
    }

    /// Receives up to a batch; returns its size, and for each frame the lengths in the two buffers.
    fn receive(&mut self) -> io::Result<(usize, [(usize, usize); BATCH])> {
        let mut parts = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
        let mut headers = [libc::mmsghdr { msg_hdr: empty_header(), msg_len: 0 }; BATCH];
        let rooms = self.data.chunks_exact_mut(self.room).zip(self.control.iter_mut());
        for ((part, header), (data, control)) in parts.iter_mut().zip(&mut headers).zip(rooms) {
            *part = libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: data.len() };
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_control = control.0.as_mut_ptr().cast();
            header.msg_hdr.msg_controllen = control.0.len() as _;
        }
        let (fd, most, flags) = (self.socket.as_raw_fd(), BATCH as libc::c_uint, libc::MSG_DONTWAIT as _);
        // SAFETY: each of the headers points at one of `parts` with its share of `data`, and at its control buffer, all
        // writable, ours, of the stated lengths, and alive through the call.
        let received = unsafe { libc::recvmmsg(fd, headers.as_mut_ptr(), most, flags, std::ptr::null_mut()) };
        let received = match check(received) {
            Ok(received) => received as usize,
            Err(error) if is_for_later(&error) => 0,
            Err(error) => return Err(error),
        };
        let lengths = headers.map(|header| (header.msg_len as usize, control_len(&header.msg_hdr)));
        Ok((received, lengths))
    }
}

impl Receive for Batches {
    fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.socket.as_fd()]
    }

    fn take(&mut self, tally: &mut Tally) -> io::Result<u64> {
        let mut taken = 0;
        // The loop is bounded, so that others can read the count.
        for _ in 0..MOST_BATCHES {
            let (received, lengths) = self.receive()?;
            let clocks = Clocks::now();
            let buffers = self.data.chunks_exact(self.room).zip(self.control.iter());
            for ((data, control), (length, controls)) in buffers.zip(lengths).take(received) {
                let mut notes = Notes::default();
                ControlMessages::new(&control.0[..controls.min(CONTROL)]).for_each(|note| notes.take(&note));
                let (header, bytes) =
                    data[..length.min(data.len())].split_at_checked(VNET).unwrap_or_default();
                tally.count(&Taken {
                    bytes,
                    length: notes.length.into(),
                    tag: notes.tag,
                    is_joined: header.get(1).is_some_and(|kind| *kind != 0),
                    time: notes.time.map_or(clocks.mono, |time| clocks.mono(time)),
                    queue_tally: 0,
                });
            }
            taken += received as u64;
            if received < BATCH {
                break;
            }
        }
        Ok(taken)
    }

    fn statistics(&mut self) -> Result<Statistics> {
        self.statistics.update(&self.socket)?;
        Ok(self.statistics)
    }
}

/// No frame is there, or the interface is down and may come up again.
fn is_for_later(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::WouldBlock
        || matches!(error.raw_os_error(), Some(libc::EINTR | libc::ENETDOWN))
}

/// The kernel's notes on a frame.
#[derive(Default)]
struct Notes {
    /// Length of the whole frame.
    length: u32,
    tag: Option<u16>,
    time: Option<WallTime>,
}

impl Notes {
    fn take(&mut self, note: &ControlMessage<'_>) {
        if (note.level, note.kind) == (libc::SOL_PACKET, AUXDATA.1) {
            // `struct tpacket_auxdata`: status, length, captured length; MAC and network header, VLAN tag.
            let word = |at| array(note.data, at).map_or(0, u32::from_ne_bytes);
            let protocol = array(note.data, 18).map_or(0, u16::from_ne_bytes);
            self.length = word(4);
            self.tag = (word(0) & VLAN_VALID != 0).then_some(protocol);
        } else if let Some(times) = packet_times(note) {
            self.time = times.kernel;
        }
    }
}

const BATCH: usize = 64;
const MOST_BATCHES: usize = 64;
const CONTROL: usize = 128;
/// `struct virtio_net_hdr`, which is before the frame.
const VNET: usize = 10;
/// Memory for some tens of thousands of frames.
const MEMORY: Bytes = Bytes(64 << 20);
const AUXDATA: Opt = Opt(libc::SOL_PACKET, 8, "PACKET_AUXDATA");
/// `TP_STATUS_VLAN_VALID`.
const VLAN_VALID: u32 = 1 << 4;
