//! The hosts of the configuration, for commands that are told their names by others: a plan, or a coordinator.

use super::{Fingerprint, HostPort};
use model::units::BitRate;
use std::path::PathBuf;

/// A host that has a name in the configuration.
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
