//! The targets that read and write whole documents: their crates are large, and an input takes long.
#![no_main]

mod analyse;
mod device_report;
mod document;
mod expectations;
mod import;
mod iperf3_session;
mod lab_topology;
mod native_session;

use spoiled::{FuzzTarget, chosen, text};
use std::sync::LazyLock;

static TARGET: LazyLock<FuzzTarget> = LazyLock::new(|| {
    chosen(&[
        ("analyse", |data| analyse::run(text(data))),
        ("device_report", device_report::run),
        ("document", document::run),
        ("expectations", |data| expectations::run(text(data))),
        ("import", |data| import::run(text(data))),
        ("iperf3_session", iperf3_session::run),
        ("lab_topology", lab_topology::run),
        ("native_session", native_session::run),
    ])
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| (*TARGET)(data));
