//! The tester around a device under test: two ports, orders carried out between them, and what was observed.

pub mod bench;
mod choose;
mod connect;
pub mod cpu;
mod hops;
mod local;
mod port;
pub mod remote;
pub mod reset;
mod safety;
#[cfg(test)]
mod scene;
pub mod site;
pub mod spec;
