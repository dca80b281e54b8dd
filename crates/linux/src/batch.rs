//! Many datagrams per system call: sending with UDP segmentation offload, receiving with `recvmmsg` and UDP GRO.
//!
//! Through libc: rustix has no `recvmmsg`, and the calls that every byte of a test takes stay as they were measured.

mod receive;
mod send;

pub use receive::{BatchReceiver, Message, Wait};
pub use send::{GsoFallback, GsoSender};

#[cfg(test)]
mod tests;
