//! The memory of a capture, shared with the kernel (Documentation/networking/packet_mmap.rst, `TPACKET_V3`).
//!
//! The unsafe code concerns that memory; its layout and its options are not in rustix.

use super::{Opt, Result, set_int, set_raw};
use crate::error::Named;
use crate::netlink::{u16_at, u32_at as word};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use units::Bytes;
use units::time::WallTime;

/// One frame: a packet, or a super-packet before it is cut or after it was joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// Its first bytes, as many as the capture keeps of a packet; the tag of a VLAN is not in them.
    pub bytes: &'a [u8],
    /// Length of all of it.
    pub length: u32,
    /// Where its IP header begins.
    pub network: usize,
    /// When the kernel saw it.
    pub time: WallTime,
    /// Kind of packet: to this host, from it, or to others.
    pub kind: PacketKind,
    /// The offloads that the network card is to perform on it, or has performed.
    pub offload: Offload,
    /// Protocol and tag of the VLAN (IEEE 802.1Q) that it bears.
    pub vlan: Option<(u16, u16)>,
}

/// The kind of packet in a frame (`sll_pkttype`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketKind {
    /// Sent by this host.
    Outgoing,
    /// For this host.
    Incoming,
    /// For another host: the interface listens to everything.
    Foreign,
}

/// Work left to the network card, or done by it (`struct virtio_net_hdr`, linux/virtio_net.h).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offload {
    /// The checksum in the packet is not final: it is still to be computed, or was verified before.
    pub checksum: bool,
    /// `VIRTIO_NET_HDR_GSO_*`; 0: an ordinary packet.
    pub segmentation: u8,
    /// Payload of each packet but the last, of a super-packet.
    pub segment: u16,
}

/// The blocks.
#[derive(Debug)]
pub(super) struct Ring {
    memory: NonNull<u8>,
    /// Bytes of each.
    block: usize,
    blocks: usize,
    next: usize,
}

// SAFETY: the mapping belongs to the ring alone and is valid on every thread.
unsafe impl Send for Ring {}

impl Ring {
    /// Has the kernel make at least one block. Each must hold the largest frame, and many of them ride out a long pause
    /// of the reader, for the kernel hands over a block that is not full when its time has come.
    pub(super) fn new(fd: &OwnedFd, memory: Bytes, snap: u32) -> Result<Ring> {
        let block = if snap <= SMALL_SNAP { SMALL_BLOCK } else { BLOCK };
        let blocks = usize::try_from(memory.0).unwrap_or(usize::MAX).div_ceil(block).clamp(1, MOST_BLOCKS);
        set_int(fd, Opt(libc::SOL_PACKET, 10, "PACKET_VERSION"), 2)?;
        // `struct tpacket_req3`: size and number of blocks, of frames; time to hand over; private bytes; features.
        let fields = [block, blocks, FRAME, blocks * (block / FRAME), HAND_OVER_MS, 0, 0];
        let request: Vec<u8> = fields.iter().flat_map(|word| (*word as u32).to_ne_bytes()).collect();
        set_raw(fd, Opt(libc::SOL_PACKET, 5, "PACKET_RX_RING"), &request)?;
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED);
        // SAFETY: maps new memory at a place of the kernel's choice.
        let mapped =
            unsafe { libc::mmap(std::ptr::null_mut(), block * blocks, access, flags, fd.as_raw_fd(), 0) };
        let mapped = if mapped == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(mapped) };
        let memory = mapped.named("map", || "the memory of a packet capture".into())?;
        let memory = NonNull::new(memory.cast()).expect("a mapping is not at address 0");
        Ok(Ring { memory, block, blocks, next: 0 })
    }

    /// Gives the frames of all blocks that the kernel has handed over, and the blocks back; returns how many frames.
    pub(super) fn take(&mut self, take: &mut dyn FnMut(&Frame<'_>)) -> usize {
        let mut taken = 0;
        for _ in 0..self.blocks {
            let Some(block) = self.block() else { break };
            frames(block).for_each(|frame| {
                taken += 1;
                take(&frame);
            });
            self.status().store(TO_KERNEL, Ordering::Release);
            self.next = (self.next + 1) % self.blocks;
        }
        taken
    }

    /// The next block, once the kernel has handed it over.
    fn block(&self) -> Option<&[u8]> {
        if self.status().load(Ordering::Acquire) & TO_USER == 0 {
            return None;
        }
        // SAFETY: block `next` is within the mapping, and the kernel does not write to it until its status is set back,
        // for which `take` needs `self` again.
        Some(unsafe {
            std::slice::from_raw_parts(self.memory.as_ptr().add(self.next * self.block), self.block)
        })
    }

    fn status(&self) -> &AtomicU32 {
        // SAFETY: the word is within the mapping, aligned, lives as long as the ring, and both sides use it as a flag.
        unsafe { AtomicU32::from_ptr(self.memory.as_ptr().add(self.next * self.block + STATUS).cast()) }
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: the mapping is the ring's own, of this length, and nothing borrows it any more.
        unsafe { libc::munmap(self.memory.as_ptr().cast(), self.blocks * self.block) };
    }
}

/// The frames of a block (`struct tpacket_block_desc`), up to the one that names no other behind it.
pub(crate) fn frames(block: &[u8]) -> impl Iterator<Item = Frame<'_>> {
    let count = word(block, 12).unwrap_or(0);
    let mut at = word(block, 16).map(|offset| offset as usize);
    (0..count)
        .map_while(move |_| {
            let header = block.get(at?..)?;
            let next = word(header, 0).filter(|next| *next > 0);
            at = next.zip(at).and_then(|(next, at)| at.checked_add(next as usize));
            Some(frame(header))
        })
        .flatten()
}

/// The frame behind a `struct tpacket3_hdr`, with the `sockaddr_ll` behind that.
fn frame(header: &[u8]) -> Option<Frame<'_>> {
    let (mac, network) = (usize::from(u16_at(header, 24)?), usize::from(u16_at(header, 26)?));
    let status = word(header, 20)?;
    let vnet = header.get(mac.checked_sub(VNET)?..mac)?;
    let seconds = u64::from(word(header, 4)?);
    Some(Frame {
        bytes: header.get(mac..mac + word(header, 12)? as usize)?,
        length: word(header, 16)?,
        network: network.checked_sub(mac)?,
        time: WallTime(seconds * 1_000_000_000 + u64::from(word(header, 8)?)),
        kind: match header.get(58)? {
            4 => PacketKind::Outgoing,
            3 => PacketKind::Foreign,
            _ => PacketKind::Incoming,
        },
        offload: Offload {
            checksum: vnet.first()? & 1 != 0,
            segmentation: *vnet.get(1)?,
            segment: u16_at(vnet, 4)?,
        },
        vlan: (status & VLAN_VALID != 0).then_some((u16_at(header, 36)?, word(header, 32)? as u16)),
    })
}

/// Holds the largest super-packet whole (512 KiB).
const BLOCK: usize = 1 << 20;
const SMALL_BLOCK: usize = 1 << 17;
const SMALL_SNAP: u32 = 1 << 14;
const MOST_BLOCKS: usize = 256;
/// Size of a frame; this kind of ring only requires that it divides a block.
const FRAME: usize = 2048;
const HAND_OVER_MS: usize = 50;
/// `block_status` in `struct tpacket_block_desc`.
const STATUS: usize = 8;
const TO_KERNEL: u32 = 0;
const TO_USER: u32 = 1;
/// `TP_STATUS_VLAN_VALID`.
const VLAN_VALID: u32 = 1 << 4;
/// `struct virtio_net_hdr`, which lies before the frame.
const VNET: usize = 10;

#[cfg(test)]
mod tests {
    use super::*;

    const TEST_BLOCK: usize = 4096;

    /// Two blocks without a socket.
    fn ring() -> Ring {
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: maps new memory at a place of the kernel's choice.
        let mapped = unsafe { libc::mmap(std::ptr::null_mut(), 2 * TEST_BLOCK, access, flags, -1, 0) };
        assert_ne!(mapped, libc::MAP_FAILED);
        let memory = NonNull::new(mapped.cast()).expect("a mapping is not at address 0");
        Ring { memory, block: TEST_BLOCK, blocks: 2, next: 0 }
    }

    /// A block of packets of this length each, as the kernel writes it.
    fn block(lengths: &[u32]) -> Vec<u8> {
        let mut block = vec![0; 48];
        block[12..16].copy_from_slice(&(lengths.len() as u32).to_ne_bytes());
        block[16..20].copy_from_slice(&48_u32.to_ne_bytes());
        for (number, length) in (1..).zip(lengths) {
            let is_last = number == lengths.len();
            let mut frame = vec![0; 96 + *length as usize];
            frame.resize(frame.len().next_multiple_of(8), number as u8);
            let next = if is_last { 0 } else { frame.len() as u32 };
            for (at, word) in [(0, next), (4, 7), (8, 9), (12, *length), (16, *length + 100)] {
                frame[at..at + 4].copy_from_slice(&word.to_ne_bytes());
            }
            frame[24..26].copy_from_slice(&96_u16.to_ne_bytes());
            frame[26..28].copy_from_slice(&110_u16.to_ne_bytes());
            frame[58] = 4;
            frame[86] = 1;
            block.extend(frame);
        }
        block.resize(TEST_BLOCK, 0);
        block
    }

    /// The kernel fills a block and hands it over.
    fn hand_over(ring: &Ring, number: usize, content: &[u8]) {
        // SAFETY: the bytes are within the memory, which has no other owner.
        unsafe { ring.memory.as_ptr().add(number * TEST_BLOCK).copy_from(content.as_ptr(), TEST_BLOCK) };
        // SAFETY: as in `Ring::status`.
        let status =
            unsafe { AtomicU32::from_ptr(ring.memory.as_ptr().add(number * TEST_BLOCK + STATUS).cast()) };
        status.store(TO_USER, Ordering::Release);
    }

    #[test]
    fn blocks_are_taken_in_turn_and_given_back() {
        let mut ring = ring();
        assert_eq!(ring.take(&mut |frame| panic!("{frame:?}")), 0);
        for round in 0..3 {
            hand_over(&ring, 0, &block(&[60, 1, 1000]));
            hand_over(&ring, 1, &block(&[5]));
            let mut lengths = Vec::new();
            let taken = ring.take(&mut |frame| {
                assert_eq!((frame.length as usize, frame.network), (frame.bytes.len() + 100, 14));
                assert_eq!((frame.kind, frame.time), (PacketKind::Outgoing, WallTime(7_000_000_009)));
                assert_eq!((frame.offload.checksum, frame.vlan), (true, None));
                lengths.push(frame.bytes.len());
            });
            assert_eq!((taken, lengths), (4, vec![60, 1, 1000, 5]), "round {round}");
            assert_eq!(ring.take(&mut |frame| panic!("{frame:?}")), 0, "they are the kernel's again");
        }
    }

    #[test]
    fn lengths_and_offsets_that_cannot_be_give_no_frame() {
        let whole = block(&[60, 60]);
        assert_eq!(frames(&whole).count(), 2);
        for (at, word) in [(16, 5000), (16, u32::MAX), (48, u32::MAX), (48 + 12, 5000), (48 + 24, u32::MAX)] {
            let mut wrong = whole.clone();
            wrong[at..at + 4].copy_from_slice(&u32::to_ne_bytes(word));
            assert!(frames(&wrong).count() < 2, "{word} at {at}");
        }
        // A chain that never ends is as long as the block has room.
        let mut endless = whole.clone();
        endless[12..16].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert_eq!(frames(&endless).count(), 2);
        for cut in [0, 12, 19, 48, 100, 150] {
            assert_eq!(frames(&whole[..cut]).count(), 0, "cut to {cut}");
        }
    }
}
