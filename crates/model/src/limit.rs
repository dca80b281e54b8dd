//! The limit of the rate of one direction: its kind, its figures, its place, and its confidence. `docs/methods/limit.md` has the
//! signatures; the rules are in `insight`.

mod evidence;
mod fact;
mod load;
mod observed;

pub use evidence::{Evidence, HostFacts, TcpSigns, UdpSigns};
pub use fact::{FactName, HostFact};
pub use load::{Arrival, FLOOD, LoadProbing, LoadStep, Purpose, StepReceived, StepRequest, StepSent};
pub use observed::ObservedHost;

use crate::units::{BitRate, Bytes, Nanos, PacketRate};
use serde::{Deserialize, Serialize};

/// The limit of one direction.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Limit {
    /// Kind of limit.
    pub kind: LimitKind,
    /// The rate it sets, in frames on the wire without preamble and FCS; for an application, the payload rate that it requested.
    #[serde(rename = "rate_bps", skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Packets per second, of a limit of these.
    #[serde(rename = "packets_per_second", skip_serializing_if = "Option::is_none")]
    pub packets: Option<PacketRate>,
    /// Time that packets wait in its full queue.
    #[serde(rename = "queue_ns", skip_serializing_if = "Option::is_none")]
    pub queue: Option<Nanos>,
    /// Nothing was dropped: the queue is at least so long.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub queue_at_least: bool,
    /// Size of its full queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue_bytes: Option<Bytes>,
    /// Amount that passes at once after a pause.
    #[serde(rename = "burst_bytes", skip_serializing_if = "Option::is_none")]
    pub burst: Option<Bytes>,
    /// The path was not idle for long enough to see all of it.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub burst_at_least: bool,
    /// The link it is at.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<LimitPlace>,
    /// Whether each flow has a limit of its own; absent: that was not probed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub per_flow: Option<bool>,
    /// The share of packets that random loss takes, or of the rate that others leave.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub share: Option<f64>,
    /// Bytes of a window or buffer that is too small.
    #[serde(rename = "window_bytes", skip_serializing_if = "Option::is_none")]
    pub window: Option<Bytes>,
    /// Confidence.
    pub confidence: Confidence,
    /// The fact of a host that explains it, in plain words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The command that repairs that cause, or what to buy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
    /// The limit that a higher rate would meet next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub also: Option<Box<Limit>>,
    /// Limits that were excluded, in plain words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ruled_out: Vec<String>,
}

/// A link of the path, or a range of links: 1 joins this host and the first router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LimitPlace {
    /// The first link it may be.
    pub first: u8,
    /// The last; the same where the place is known.
    pub last: u8,
}

/// The kinds of limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum LimitKind {
    /// The application requested no more.
    Application,
    /// The link of an end carries no more.
    LineRate,
    /// A CPU of the sending host.
    SenderCpu,
    /// A CPU of the receiving host.
    ReceiverCpu,
    /// The sender's socket buffer.
    SenderBuffer,
    /// The receiver's window.
    ReceiverWindow,
    /// Packets that this or the far host drops.
    HostDrop,
    /// A token bucket with a queue, or a slow link.
    Shaper,
    /// A token bucket that drops what exceeds it.
    Policer,
    /// A limit of packets per second.
    PacketRate,
    /// A queue that is kept short.
    Aqm,
    /// Other traffic shares the path.
    Competing,
    /// The rate of the path changes many times per second.
    VariableRate,
    /// Random loss.
    Loss,
    /// The acknowledgements are delayed.
    AckPath,
    /// TCP had not reached its rate yet.
    RampUp,
    /// Not known.
    #[default]
    NotKnown,
    /// A queue of the sending host itself holds its packets back.
    HostQueue,
    /// The link of an end runs below what it could, or damages frames.
    Link,
    /// The neighbour of an end makes it wait with pause frames.
    Pause,
    /// The bus between an interface and the memory.
    Bus,
    /// The program behind a tunnel device of an end.
    Tunnel,
    /// An offload of an end spoils packets.
    Offload,
    /// Packets of the test's size do not get through whole.
    Mtu,
    /// The path treats one protocol differently from another.
    Treatment,
    /// The Wi-Fi link of an end, whose rate changes many times per second.
    Wifi,
    /// Packets overtake each other on the path.
    Reordering,
    /// A CPU of a host between the ends that forwards their packets.
    ForwarderCpu,
}

/// Confidence in a limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Confidence {
    /// Another limit is possible.
    #[default]
    Low,
    /// One of the signs is missing.
    Medium,
    /// All signs agree.
    High,
}

impl LimitKind {
    /// All of them. New ones come last: stores keep their place as a figure.
    pub const ALL: [LimitKind; 28] = [
        LimitKind::Application,
        LimitKind::LineRate,
        LimitKind::SenderCpu,
        LimitKind::ReceiverCpu,
        LimitKind::SenderBuffer,
        LimitKind::ReceiverWindow,
        LimitKind::HostDrop,
        LimitKind::Shaper,
        LimitKind::Policer,
        LimitKind::PacketRate,
        LimitKind::Aqm,
        LimitKind::Competing,
        LimitKind::VariableRate,
        LimitKind::Loss,
        LimitKind::AckPath,
        LimitKind::RampUp,
        LimitKind::NotKnown,
        LimitKind::HostQueue,
        LimitKind::Link,
        LimitKind::Pause,
        LimitKind::Bus,
        LimitKind::Tunnel,
        LimitKind::Offload,
        LimitKind::Mtu,
        LimitKind::Treatment,
        LimitKind::Wifi,
        LimitKind::Reordering,
        LimitKind::ForwarderCpu,
    ];

    /// The one with this word.
    #[must_use]
    pub fn named(word: &str) -> Option<LimitKind> {
        LimitKind::ALL.into_iter().find(|kind| kind.to_string() == word)
    }

    /// Whether the place lies between the hosts.
    #[must_use]
    pub const fn is_of_the_path(self) -> bool {
        matches!(
            self,
            LimitKind::Shaper
                | LimitKind::Policer
                | LimitKind::PacketRate
                | LimitKind::Aqm
                | LimitKind::Competing
                | LimitKind::VariableRate
                | LimitKind::Loss
                | LimitKind::AckPath
                | LimitKind::Treatment
                | LimitKind::Reordering
                | LimitKind::ForwarderCpu
        )
    }
}

shown_as_serialized!(LimitKind, Confidence);

impl LimitPlace {
    /// The number of the link, where it is known.
    #[must_use]
    pub fn link(self) -> Option<u8> {
        (self.first == self.last).then_some(self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_written_as_documents_have_them() {
        for kind in LimitKind::ALL {
            let written = serde_json::to_value(kind).expect("a word");
            assert_eq!(written, kind.to_string());
            assert_eq!(LimitKind::named(&kind.to_string()), Some(kind));
        }
        assert_eq!(LimitKind::named("wlan"), None);
    }
}
