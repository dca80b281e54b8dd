//! The conductor of a benchmark against simulated devices.

#[path = "../../../stats/tests/search/device.rs"]
mod device;
mod disturbed;
mod figures;
mod properties;
mod service;
mod setup;
mod world;

use pathmeter_model::search;
