//! Topologies on one host: nodes, links, tunnels and faults, built from a file, and taken away without residue.
//!
//! This crate does not depend on pathmeter's engine, so that it can judge it like any other tool: it builds a network, runs
//! commands in its nodes, and counts the traffic of its links.

mod borrow;
pub mod build;
pub mod command;
pub mod configure;
pub mod counters;
pub mod error;
pub mod feature;
mod filter;
pub mod hold;
mod interfaces;
pub mod keys;
mod machine;
pub mod node;
pub mod privilege;
mod programs;
mod ready;
mod real;
mod shape;
pub mod shipped;
pub mod state;
pub mod topology;
mod tunnel;
pub mod vm;
mod vm_error;
