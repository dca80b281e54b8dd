//! A host of the path that was observed while a test ran.

use super::{FactName, HostFact};
use crate::plan::{Direction, Target};
use serde::{Deserialize, Serialize};

/// A host with a `pathmeter serve` between the two ends, and what it reported of itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObservedHost {
    /// Its address, as it was given.
    pub target: Target,
    /// The name that it reports; empty: it did not answer.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The far end reports the name, the kernel and the CPU of this host: their CPUs may be the same.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_this_host: bool,
    /// Links from this host to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub links: Option<u8>,
    /// Its interfaces toward this host and toward the far end; empty: not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<String>,
    /// Its busiest CPU during the test, all kinds of work.
    #[serde(default)]
    pub busiest_cpu: f64,
    /// Largest share of any of its CPUs that packets took (software interrupts).
    #[serde(default)]
    pub busiest_softirq: f64,
    /// Packets that its kernel dropped before any socket, or for its table of connections.
    #[serde(default)]
    pub dropped: u64,
    /// Facts of it that can explain a limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub facts: Vec<HostFact>,
    /// Why nothing is known of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

impl ObservedHost {
    /// A host that reported nothing.
    #[must_use]
    pub fn without(target: Target, note: String) -> ObservedHost {
        ObservedHost {
            target,
            name: String::new(),
            is_this_host: false,
            links: None,
            interfaces: Vec::new(),
            busiest_cpu: 0.0,
            busiest_softirq: 0.0,
            dropped: 0,
            facts: Vec::new(),
            note: Some(note),
        }
    }

    /// The host with what concerns packets of one direction: not the queue by which those of the other leave.
    #[must_use]
    pub fn in_direction(&self, direction: Direction) -> ObservedHost {
        let [back, forth] = self.interfaces.as_slice() else { return self.clone() };
        let leaves = direction.choose(forth, back);
        let is_of_queue = |fact: &HostFact| {
            matches!(fact.name, FactName::QueueHeld | FactName::QueueRate | FactName::QueueDrops)
        };
        let mut host = self.clone();
        host.facts.retain(|fact| {
            !is_of_queue(fact) || fact.of.rsplit_once(' ').is_none_or(|(_, interface)| interface == leaves)
        });
        host
    }

    /// Its name and its address, for people.
    #[must_use]
    pub fn title(&self) -> String {
        let address = self.target.address.ip().to_canonical();
        match self.name.as_str() {
            "" => address.to_string(),
            name => format!("{name} ({address})"),
        }
    }
}
