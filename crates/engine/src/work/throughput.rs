//! The data path of throughput: flows, the threads that move data on them, and what is counted meanwhile.

mod bulk;
mod datagram;
pub(crate) mod delays;
pub mod flows;
pub(crate) mod pacer;
pub(crate) mod receive;
pub(crate) mod running;
pub(crate) mod sampler;
pub(crate) mod shared;
pub(crate) mod threads;
pub mod timed;
mod usage;
