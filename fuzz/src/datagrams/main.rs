//! The targets that read single datagrams: an input takes a microsecond, and looking through the counters of a larger program more.
#![no_main]

mod native_datagrams;
mod sockperf;
mod stamp_reflector;
mod stamp_sender;

use spoiled::{FuzzTarget, chosen};
use std::sync::LazyLock;

static TARGET: LazyLock<FuzzTarget> = LazyLock::new(|| {
    chosen(&[
        ("native_datagrams", native_datagrams::run),
        ("sockperf", sockperf::run),
        ("stamp_reflector", stamp_reflector::run),
        ("stamp_sender", stamp_sender::run),
    ])
});

libfuzzer_sys::fuzz_target!(|data: &[u8]| (*TARGET)(data));
