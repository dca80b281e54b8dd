//! Maps: memory that a program and this process share.

use super::syscall::{Command, MapCreate, MapElement, bpf, bpf_fd};
use linux::error::{Named, Result};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd, RawFd};

/// An array of values of several 64-bit words; with one set of values for each CPU, or one for all.
#[derive(Debug)]
pub struct Map {
    fd: OwnedFd,
    name: &'static str,
    words: usize,
    entries: u32,
    /// Number of copies of each value.
    copies: usize,
}

impl Map {
    /// An array whose values all CPUs share; zero at first.
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF`; `E2BIG` or `ENOMEM` when it is too large.
    pub fn array(name: &'static str, words: usize, entries: u32) -> Result<Map> {
        Map::create(ARRAY, name, words * size_of::<u64>(), entries, 1)
    }

    /// An array with values for each CPU; zero at first.
    ///
    /// # Errors
    /// The same as [`Map::array`], and when the number of CPUs cannot be read.
    pub fn per_cpu_array(name: &'static str, words: usize, entries: u32) -> Result<Map> {
        Map::create(PER_CPU_ARRAY, name, words * size_of::<u64>(), entries, possible_cpus()?)
    }

    /// A map of `AF_XDP` sockets, one for each queue of an interface, for
    /// [`Helper::RedirectMap`](super::assembler::Helper::RedirectMap); empty at first.
    pub(crate) fn of_sockets(entries: u32) -> Result<Map> {
        Map::create(XSK_MAP, "of AF_XDP sockets", size_of::<RawFd>(), entries, 1)
    }

    fn create(kind: u32, name: &'static str, size: usize, entries: u32, copies: usize) -> Result<Map> {
        let mut argument = MapCreate { kind, key_size: 4, value_size: size as u32, entries, flags: 0 };
        // SAFETY: the structure of BPF_MAP_CREATE, without addresses.
        let fd =
            unsafe { bpf_fd(Command::MapCreate, &mut argument) }.named("create BPF map", || name.into())?;
        Ok(Map { fd, name, words: size.div_ceil(size_of::<u64>()), entries, copies })
    }

    /// The value with this index: its words, for a per-CPU array one set after the other.
    ///
    /// # Errors
    /// `ENOENT` when there is no such index.
    pub fn read(&self, index: u32) -> Result<Vec<u64>> {
        let mut value = vec![0_u64; self.words * self.copies];
        let mut argument = self.element(&index, value.as_mut_ptr().expose_provenance());
        // SAFETY: the kernel reads the key and writes one value for each possible CPU, which `value` has room for.
        let done = unsafe { bpf(Command::MapLookup, &mut argument) };
        done.named("read BPF map", || self.name.into())?;
        Ok(value)
    }

    /// Sets the value with this index, for a per-CPU array the same on every CPU.
    ///
    /// # Errors
    /// `E2BIG` when there is no such index; `EINVAL` when `value` has the wrong number of words.
    pub fn write(&self, index: u32, value: &[u64]) -> Result<()> {
        if value.len() != self.words {
            let wrong = Err(std::io::Error::from_raw_os_error(libc::EINVAL));
            return wrong.named("write BPF map", || self.name.into());
        }
        let mut copies = value.repeat(self.copies);
        let mut argument = self.element(&index, copies.as_mut_ptr().expose_provenance());
        // SAFETY: the kernel reads the key and one value for each possible CPU, all of which `copies` has.
        let done = unsafe { bpf(Command::MapUpdate, &mut argument) };
        done.map(drop).named("write BPF map", || self.name.into())
    }

    /// Stores the socket that is bound to a queue where a program finds it, in a map of sockets.
    pub(crate) fn put(&self, queue: u32, socket: BorrowedFd<'_>) -> Result<()> {
        let socket = socket.as_raw_fd();
        let mut argument = self.element(&queue, (&raw const socket).expose_provenance());
        // SAFETY: the kernel reads the key, and a descriptor as the value.
        let done = unsafe { bpf(Command::MapUpdate, &mut argument) };
        done.map(drop).named("write BPF map", || self.name.into())
    }

    /// Number of values.
    #[must_use]
    pub fn entries(&self) -> u32 {
        self.entries
    }

    /// The words of each copy of a value read, for a per-CPU array one for each CPU.
    pub(super) fn copies<'a>(&self, value: &'a [u64]) -> impl Iterator<Item = &'a [u64]> {
        value.chunks_exact(self.words)
    }

    fn element(&self, index: &u32, value: usize) -> MapElement {
        let key = std::ptr::from_ref(index).expose_provenance() as u64;
        MapElement { map: self.fd.as_raw_fd() as u32, key, value: value as u64, ..MapElement::default() }
    }
}

impl AsRawFd for Map {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Number of possible CPUs: the last number of a list like `0-3`, plus one.
fn possible_cpus() -> Result<usize> {
    let text = std::fs::read_to_string(POSSIBLE).named("read", || POSSIBLE.into())?;
    let last = text.trim().rsplit([',', '-']).next().and_then(|last| last.parse::<usize>().ok());
    let last = last.ok_or_else(|| std::io::Error::from(std::io::ErrorKind::InvalidData));
    last.map(|last| last + 1).named("understand", || POSSIBLE.into())
}

const POSSIBLE: &str = "/sys/devices/system/cpu/possible";
const ARRAY: u32 = 2;
const PER_CPU_ARRAY: u32 = 6;
const XSK_MAP: u32 = 17;
