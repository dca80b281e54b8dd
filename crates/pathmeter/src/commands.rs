//! One sub-command, one file: each takes its arguments and answers with an exit code.

#[cfg(feature = "fleet")]
pub(crate) mod agent;
#[cfg(feature = "store")]
mod alerts;
pub(crate) mod analyse;
pub(crate) mod chart;
mod command_line;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod config;
#[cfg(feature = "lab")]
pub(crate) mod demo;
pub(crate) mod dialect;
pub(crate) mod doctor;
#[cfg(feature = "fleet")]
mod exporter;
#[cfg(any(feature = "lab", feature = "plan"))]
mod file_kind;
pub(crate) mod import;
mod keep;
#[cfg(feature = "lab")]
pub(crate) mod lab;
pub(crate) mod linerate;
mod live;
pub(crate) mod man;
pub(crate) mod measured;
#[cfg(feature = "fleet")]
pub(crate) mod mesh;
#[cfg(any(feature = "fleet", feature = "lab"))]
mod notes;
pub(crate) mod output;
#[cfg(feature = "plan")]
pub(crate) mod plan;
#[cfg(any(feature = "device", feature = "fleet", feature = "lab", feature = "store"))]
mod progress;
mod region;
#[cfg(feature = "store")]
pub(crate) mod report;
#[cfg(feature = "device")]
pub(crate) mod rfc2544;
pub(crate) mod rights;
pub(crate) mod serve;
pub(crate) mod session;
mod set;
#[cfg(any(feature = "device", feature = "lab"))]
mod steps;
#[cfg(feature = "store")]
pub(crate) mod store;
#[cfg(any(feature = "fleet", feature = "plan"))]
mod targets;
#[cfg(feature = "store")]
pub(crate) mod trend;
#[cfg(feature = "web")]
pub(crate) mod ui;
#[cfg(feature = "store")]
pub(crate) mod watch;
