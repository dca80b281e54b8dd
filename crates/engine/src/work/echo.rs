//! Single messages that come back: the sockets, how a thread waits for one, and the far end that sends it back, also
//! as a server of foreign protocols.

mod bounded;
pub(crate) mod encrypted;
pub(crate) mod reflector;
pub mod server;
pub(crate) mod socket;
pub(crate) mod twamp;
pub(crate) mod wait;
