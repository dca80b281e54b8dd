//! Reading frames from a ring shared with the kernel (`TPACKET_V3`).

use super::super::reader::Receive;
use super::super::tally::{Taken, Tally};
use super::Clocks;
use linux::capture::{Captor, PacketKind, Statistics};
use linux::error::Result;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use units::Bytes;

/// The blocks of a capture.
pub(super) struct Blocks {
    captor: Captor,
}

impl Blocks {
    /// Begins to receive.
    pub(super) fn open(socket: OwnedFd, snap: u32, interface: u32) -> Result<Blocks> {
        let name = format!("interface {interface}");
        Ok(Blocks { captor: Captor::start(socket, (interface, &name), snap, MEMORY)? })
    }
}

impl Receive for Blocks {
    fn sockets(&self) -> Vec<BorrowedFd<'_>> {
        vec![self.captor.as_fd()]
    }

    fn take(&mut self, tally: &mut Tally) -> io::Result<u64> {
        let clocks = Clocks::now();
        let taken = self.captor.take(&mut |frame| {
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
        self.captor.statistics()
    }
}

/// Memory for some hundred thousand frames.
const MEMORY: Bytes = Bytes(32 << 20);
