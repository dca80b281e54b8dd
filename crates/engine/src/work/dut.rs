//! The tester around a device under test: two ports, orders carried out between them, and what was observed.

#[cfg(feature = "device")]
pub mod bench;
mod choose;
#[cfg(feature = "device")]
mod connect;
#[cfg(feature = "device")]
pub mod cpu;
#[cfg(test)]
mod fixture;
#[cfg(feature = "device")]
mod hops;
mod local;
mod port;
pub mod remote;
#[cfg(feature = "device")]
pub mod reset;
mod safety;
pub mod spec;
#[cfg(feature = "device")]
pub mod testbed;
