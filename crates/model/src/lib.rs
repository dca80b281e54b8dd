//! The shared words of pathmeter: pure values and arithmetic, without I/O, clock or thread.

/// Prints values of these types as the words that serde gives them.
macro_rules! shown_as_serialized {
    ($($shown:ty),+) => {$(
        impl std::fmt::Display for $shown {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                self.serialize(f)
            }
        }
    )+};
}

pub mod agent;
pub mod bidi;
pub mod cpus;
pub mod doctor;
pub mod dut;
pub mod event;
pub mod expectation;
pub mod experiment;
pub mod explain;
pub mod finding;
pub mod frames;
pub mod history;
pub mod hops;
pub mod host;
pub mod json;
pub mod lab;
pub mod latency;
pub mod limit;
pub mod line_rate;
pub mod marks;
pub mod mesh;
pub mod packets;
pub mod pairs;
pub mod path;
pub mod plan;
pub mod playback;
pub mod reach;
pub mod run;
pub mod sample;
pub mod secret;
pub mod summary;
pub mod toml_file;
pub mod transfer;
pub mod wire_rate;

pub use ::stats::{self, search};
pub use ::units::{self, framing, time};

/// The values without repetitions, in the order of their first appearance.
pub fn distinct<T: PartialEq>(values: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// `value` times `factor / divisor`, rounded down, and no more than fits. The divisor is above 0.
#[must_use]
pub fn scale(value: u64, factor: u64, divisor: u64) -> u64 {
    let scaled = u128::from(value) * u128::from(factor) / u128::from(divisor);
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Whether a document leaves a count out.
fn is_zero(count: &u64) -> bool {
    *count == 0
}
