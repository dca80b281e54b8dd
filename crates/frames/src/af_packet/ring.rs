//! Reading frames from a ring shared with the kernel (`TPACKET_V3`).

use super::super::reader::Receive;
use super::super::tally::{Taken, Tally};
use super::Clocks;
use linux::capture::{Captor, PacketKind, Statistics};
use linux::error::Result;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use units::Bytes;

/// Begins to receive.
pub(super) fn open(socket: OwnedFd, snap: u32, interface: u32) -> Result<Captor> {
    Captor::start(socket, (interface, &format!("interface {interface}")), snap, MEMORY)
}

impl Receive for Captor {
    fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.as_fd()]
    }

    fn take(&mut self, tally: &mut Tally) -> io::Result<u64> {
        let clocks = Clocks::now();
        let taken = Captor::take(self, &mut |frame| {
            if frame.kind == PacketKind::Outgoing {
                return;
            }
            tally.count(&Taken {
                bytes: frame.bytes,
                length: frame.length.into(),
                tag: frame.vlan.map(|(protocol, _)| protocol),
                is_joined: frame.offload.segmentation != 0,
                time: clocks.mono(frame.time),
                queue_tally: 0,
            });
        });
        Ok(taken as u64)
    }

    fn statistics(&mut self) -> Result<Statistics> {
        Captor::statistics(self)
    }
}

/// Memory for some hundred thousand frames.
const MEMORY: Bytes = Bytes(32 << 20);
