//! A map of `AF_XDP` sockets, one for each queue of an interface, to which a program hands frames.

use super::syscall::{Command, MapCreate, MapElement, bpf, bpf_fd};
use linux::error::{Named, Result};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// The map (`BPF_MAP_TYPE_XSKMAP`), for [`Helper::RedirectMap`](super::assembler::Helper::RedirectMap).
#[derive(Debug)]
pub(crate) struct SocketMap {
    fd: OwnedFd,
}

impl SocketMap {
    /// An empty map with room for this many sockets.
    pub(crate) fn new(entries: u32) -> Result<SocketMap> {
        let mut argument = MapCreate { kind: XSK_MAP, key_size: 4, value_size: 4, entries, flags: 0 };
        // SAFETY: the structure of BPF_MAP_CREATE, without addresses.
        let fd = unsafe { bpf_fd(Command::MapCreate, &mut argument) }.named("create BPF map", object)?;
        Ok(SocketMap { fd })
    }

    /// Stores the socket that is bound to a queue where the program finds it.
    pub(crate) fn put(&self, queue: u32, socket: BorrowedFd<'_>) -> Result<()> {
        let socket = socket.as_raw_fd();
        let (key, value) = (&raw const queue, &raw const socket);
        let (key, value) = (key.expose_provenance() as u64, value.expose_provenance() as u64);
        let mut argument =
            MapElement { map: self.fd.as_raw_fd() as u32, key, value, ..MapElement::default() };
        // SAFETY: the kernel reads four bytes at each address, which live through the call.
        unsafe { bpf(Command::MapUpdate, &mut argument) }.map(drop).named("write BPF map", object)
    }
}

impl AsRawFd for SocketMap {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

fn object() -> String {
    "of AF_XDP sockets".into()
}

const XSK_MAP: u32 = 17;
