//! The tester around a device under test: two ports, orders carried out between them, and what was observed.

mod choose;
mod local;
mod port;
mod safety;
mod spec;
