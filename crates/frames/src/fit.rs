//! Checks that frames fit the interface.

use linux::error::{OsError, Result};
use linux::netlink::Link;
use packet::frame::{FrameSpec, Template, Writer};
use packet::header::FCS;
use std::error::Error;
use std::io;

/// The template of the frames.
///
/// # Errors
/// When sizes or addresses are not valid.
pub(crate) fn template(spec: &FrameSpec) -> Result<Template> {
    spec.template().or_else(|error| refuse("make frames of", description(spec), error))
}

/// The writer of the frames.
///
/// # Errors
/// The same as [`template`].
pub(crate) fn writer(spec: &FrameSpec) -> Result<Writer> {
    Writer::new(spec).or_else(|error| refuse("make frames of", description(spec), error))
}

/// The error for frames that are not valid, or that something has no room for.
pub(crate) fn refuse<T>(
    operation: &str,
    object: String,
    why: impl Into<Box<dyn Error + Send + Sync>>,
) -> Result<T> {
    Err(OsError::new(operation, object, io::Error::new(io::ErrorKind::InvalidInput, why)))
}

fn description(spec: &FrameSpec) -> String {
    let sizes: Vec<u64> = spec.sizes.iter().map(|size| size.0).collect();
    format!("{sizes:?} bytes to {}", spec.destination)
}

/// Checks that an interface carries such frames.
///
/// # Errors
/// When they are longer than its MTU allows.
pub(crate) fn fits(spec: &FrameSpec, link: &Link) -> Result<()> {
    let header = spec.offsets().packet;
    let longest = spec.lengths().max().unwrap_or(0);
    if longest.saturating_sub(header) <= link.mtu as usize {
        return Ok(());
    }
    let why = format!("its MTU is {}: make it {} or send shorter frames", link.mtu, longest - header);
    refuse("send frames on", format!("{}, {} bytes long", link.name, longest + FCS), why)
}

/// Checks that a frame of this length, without FCS, fits in a chunk of `AF_XDP` with `room` bytes.
///
/// # Errors
/// When it does not.
pub(crate) fn fits_chunk(length: usize, room: usize) -> Result<()> {
    if length <= room {
        return Ok(());
    }
    let why = format!("there is room for {} bytes: send shorter frames, or use AF_PACKET", room + FCS);
    refuse("pass through AF_XDP a frame of", format!("{} bytes", length + FCS), why)
}
