//! Opening a source or a sink by its kind.

use super::af_packet::{self, PacketSource};
use super::xsk::{self, XskSource};
use super::{FrameSpec, Sink, Source, Watch};
use crate::bpf::{Generator, Mode, XdpSink};
use linux::error::Result;
use model::dut::{SinkKind, SourceKind};

/// A source of this kind, out of the interface with this index in the caller's network namespace.
///
/// # Errors
/// The kernel's error: `EPERM` without privilege, `EOPNOTSUPP` when the driver does not support it, `EINVAL` for frames that are
/// too long for it.
pub fn open_source(kind: SourceKind, spec: &FrameSpec, interface: u32) -> Result<Box<dyn Source>> {
    match kind {
        SourceKind::LiveFrames => Ok(Box::new(Generator::new(spec, interface)?)),
        SourceKind::Packet => Ok(Box::new(PacketSource::open(spec, interface)?)),
        SourceKind::XskZeroCopy | SourceKind::XskCopy => {
            Ok(Box::new(XskSource::open(kind, spec, interface)?))
        }
    }
}

/// A sink of this kind on the interface with this index in the caller's network namespace, for numbers below `frames`.
///
/// # Errors
/// The same as [`open_source`]; `EBUSY` where another XDP program is on the interface.
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
        SinkKind::PacketRing => Ok(Box::new(af_packet::ring_sink(spec, frames, watch, interface)?)),
        SinkKind::Packet => Ok(Box::new(af_packet::sink(spec, frames, watch, interface)?)),
        SinkKind::Xsk => Ok(Box::new(xsk::sink(spec, frames, watch, interface)?)),
    }
}
