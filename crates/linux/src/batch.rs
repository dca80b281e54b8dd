//! Many datagrams per system call: sending with UDP segmentation offload, receiving with `recvmmsg` and UDP GRO.

mod receive;
mod send;

pub use receive::{BatchReceiver, Message, Segments, Wait};
pub use send::{GsoFallback, GsoSender};

#[cfg(test)]
mod tests;
