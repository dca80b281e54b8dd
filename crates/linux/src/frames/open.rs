//! Opening a source or a sink by its kind.

use super::packet::{self, PacketSource};
use super::{FrameSpec, Sink, Source, Watch};
use crate::bpf::{Generator, Mode, XdpSink};
use crate::error::{Named, OsError, Result};
use crate::netlink::Link;
use model::dut::{SinkKind, SourceKind};
use std::io;

/// A source of this kind, out of the interface with this index in the caller's network namespace.
///
/// # Errors
/// What the kernel gives: `EPERM` without privilege, `EOPNOTSUPP` when the driver has no such way, `EINVAL` for frames that
/// are too long for it.
pub fn open_source(kind: SourceKind, spec: &FrameSpec, interface: u32) -> Result<Box<dyn Source>> {
    match kind {
        SourceKind::LiveFrames => Ok(Box::new(Generator::new(spec, interface)?)),
        SourceKind::Packet => Ok(Box::new(PacketSource::open(spec, interface)?)),
        SourceKind::XskZeroCopy | SourceKind::XskCopy => Err(missing(&kind.to_string())),
    }
}

/// A sink of this kind on the interface with this index in the caller's network namespace, for numbers below `frames`.
///
/// # Errors
/// As [`open_source`]; `EBUSY` where another XDP program is on the interface.
pub fn open_sink(
    kind: SinkKind,
    spec: &FrameSpec,
    frames: u64,
    watch: Watch,
    interface: u32,
) -> Result<Box<dyn Sink>> {
    let xdp = |mode| XdpSink::attach(spec, frames, watch, interface, mode);
    match kind {
        SinkKind::Xdp => Ok(Box::new(xdp(Mode::Driver)?)),
        SinkKind::XdpGeneric => Ok(Box::new(xdp(Mode::Generic)?)),
        SinkKind::PacketRing => Ok(Box::new(packet::ring_sink(spec, frames, watch, interface)?)),
        SinkKind::Packet => Ok(Box::new(packet::sink(spec, frames, watch, interface)?)),
        SinkKind::Xsk => Err(missing(&kind.to_string())),
    }
}

/// Whether an interface carries such frames.
///
/// # Errors
/// When they are longer than its MTU allows.
pub(super) fn fits(spec: &FrameSpec, link: &Link) -> Result<()> {
    let header = spec.offsets().ip;
    let longest = spec.lengths().max().unwrap_or(0);
    if longest.saturating_sub(header) <= link.mtu as usize {
        return Ok(());
    }
    let why = format!("its MTU is {}: make it {} or send shorter frames", link.mtu, longest - header);
    let refused = Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    refused.named("send frames on", || format!("{}, {} bytes long", link.name, longest + FCS))
}

fn missing(kind: &str) -> OsError {
    OsError::new("open", kind, io::Error::from_raw_os_error(libc::EOPNOTSUPP))
}

const FCS: usize = 4;
