//! The tester around a device under test: two ports, orders carried out between them, and what was observed.

pub(crate) mod bench;
mod choose;
mod connect;
pub(crate) mod cpu;
mod hops;
mod local;
mod port;
pub(crate) mod remote;
pub(crate) mod reset;
mod safety;
#[cfg(test)]
mod scene;
pub(crate) mod site;
pub(crate) mod spec;
