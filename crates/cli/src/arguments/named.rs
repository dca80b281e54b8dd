//! The hosts of the configuration, for commands that receive names of hosts from elsewhere: a plan, or a coordinator.

#[cfg(any(feature = "fleet", feature = "plan", feature = "web"))]
use super::{Fingerprint, HostPort};
use model::units::{BitRate, Bytes, Nanos};
#[cfg(any(feature = "fleet", feature = "plan", feature = "web"))]
use std::path::PathBuf;

/// The rules for jobs at this host that the configuration contains.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AgentRules {
    /// Kinds of tests.
    pub tests: Option<Vec<String>>,
    /// Hosts beside agents and named ones.
    pub hosts: Option<Vec<String>>,
    /// Longest test.
    pub max_time: Option<Nanos>,
    /// Highest rate of a test.
    pub max_rate: Option<BitRate>,
    /// Most bytes of a test that ends by amount.
    pub max_bytes: Option<Bytes>,
    /// Most streams of a test.
    pub max_streams: Option<u32>,
}

/// A host that has a name in the configuration.
#[cfg(any(feature = "fleet", feature = "plan", feature = "web"))]
#[derive(Clone, Debug)]
pub struct NamedTarget {
    /// Its name.
    pub name: String,
    /// The host.
    pub host: HostPort,
    /// The file with the token of its server.
    pub token_file: Option<PathBuf>,
    /// The fingerprint of its certificate.
    pub fingerprint: Option<Fingerprint>,
    /// Speed of the link to it.
    pub link: Option<BitRate>,
}
