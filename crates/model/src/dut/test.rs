//! The tests of a benchmark.

use serde::{Deserialize, Serialize};
use std::fmt::{Display, Formatter};

/// A test; where no other source is named, of RFC 2544 section 26.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Test {
    /// Section 26.1.
    Throughput,
    /// Section 26.2.
    Latency,
    /// Section 26.3.
    FrameLoss,
    /// Section 26.4 and RFC 9004.
    BackToBack,
    /// Section 26.5.
    Recovery,
    /// Section 26.6 and RFC 6201.
    Reset,
    /// The most load (RFC 2889 section 5.1, CSIT's MRR).
    Mrr,
    /// Packet delay variation (RFC 8219 section 7.3).
    DelayVariation,
    /// Activation of a service (ITU-T Y.1564).
    Service,
}

impl Display for Test {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Test::Throughput => "throughput",
            Test::Latency => "latency",
            Test::FrameLoss => "frame loss",
            Test::BackToBack => "back-to-back frames",
            Test::Recovery => "system recovery",
            Test::Reset => "reset",
            Test::Mrr => "rate at the most load",
            Test::DelayVariation => "delay variation",
            Test::Service => "service activation",
        })
    }
}
