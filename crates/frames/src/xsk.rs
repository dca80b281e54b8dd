//! Frames through `AF_XDP` sockets: memory and rings shared with the kernel, or with the driver itself
//! (Documentation/networking/af_xdp.rst).

mod memory;
mod queue;
mod sink;
mod socket;
mod source;

pub(super) use sink::sink;
pub(super) use source::XskSource;
