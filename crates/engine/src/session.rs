//! Bytes and deadlines of a session, whatever its work: control connections, who may come, and which flow belongs to whom.

pub(crate) mod budget;
pub(crate) mod closing;
pub mod connect;
pub mod foreign_tls;
pub(crate) mod link;
pub(crate) mod listener;
pub(crate) mod notes;
pub(crate) mod penalty;
pub(crate) mod protocol;
pub(crate) mod pump;
pub(crate) mod registry;
pub mod secret;
pub mod tls;
