//! Errors of the fleet, each with its object and advice.

use std::io;
use std::path::{Path, PathBuf};

/// Result of the calls of this crate.
pub type Result<T> = std::result::Result<T, FleetError>;

/// Errors of the fleet.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// The server is not there, restarts, or the network between is cut.
    #[error("reach the NATS server {server}: {why}")]
    Unreachable {
        /// The server's URL.
        server: String,
        /// The network's report.
        why: String,
    },
    /// The server has not what a mesh needs.
    #[error("the NATS server {server} is version {found}; a mesh needs {needed} or later")]
    TooOld {
        /// The server's URL.
        server: String,
        /// Its version.
        found: String,
        /// The oldest that serves.
        needed: &'static str,
    },
    /// The server's certificate is of an authority that this host does not trust, or names another host.
    #[error("the certificate of the NATS server {server} is not trusted: {why}")]
    Certificate {
        /// The server's URL.
        server: String,
        /// Defect of the certificate.
        why: String,
    },
    /// The server admits no client without a key.
    #[error("the NATS server {0} asks for a key, and none was given")]
    NoKey(String),
    /// The server admits no client with this key.
    #[error("the NATS server {server} refuses this key: {why}")]
    KeyRefused {
        /// The server's URL.
        server: String,
        /// The server's report.
        why: String,
    },
    /// This key has not the right for one subject.
    #[error("{operation} `{subject}`: the server permits it not with this key")]
    NotPermitted {
        /// The attempted operation.
        operation: &'static str,
        /// The subject.
        subject: String,
    },
    /// The server has no streams of a mesh, or a cluster is choosing who leads them.
    #[error("{operation} `{object}`: {server} has no streams of a mesh now")]
    NoStream {
        /// The attempted operation.
        operation: &'static str,
        /// The key, subject or stream.
        object: String,
        /// The server's URL.
        server: String,
    },
    /// The server was started without JetStream, which keeps the streams of a mesh.
    #[error("the NATS server {0} has no JetStream")]
    NoJetStream(String),
    /// A subject has no listener.
    #[error("there is no answer on `{0}`")]
    NoResponder(String),
    /// A key has another revision than expected: somebody else was first.
    #[error("`{0}` was changed by somebody else")]
    Conflict(String),
    /// The result of an operation is not known.
    #[error("{operation} `{object}`: no answer in time")]
    TimedOut {
        /// The attempted operation.
        operation: &'static str,
        /// The key, subject or stream.
        object: String,
    },
    /// The server's disk or a limit of its storage is full. The operation was not carried out.
    #[error("the storage of the NATS server {server} is full: {operation} `{object}`: {why}")]
    Full {
        /// The attempted operation.
        operation: &'static str,
        /// The key, subject or stream.
        object: String,
        /// The server's URL.
        server: String,
        /// The server's report.
        why: String,
    },
    /// The server fails, or has no JetStream.
    #[error("{operation} `{object}`: {why}")]
    Server {
        /// The attempted operation.
        operation: &'static str,
        /// The key, subject or stream.
        object: String,
        /// The server's report.
        why: String,
    },
    /// A name that cannot be part of a subject.
    #[error("`{name}` cannot name {what}: use letters, digits, `-` and `_` (at most 64)")]
    Name {
        /// The object to name: an agent, a link.
        what: &'static str,
        /// The name.
        name: String,
    },
    /// An agent does not take part.
    #[error("the agent {agent} refuses: {why}")]
    Refused {
        /// The agent.
        agent: String,
        /// The agent's report.
        why: String,
    },
    /// A folder has a mesh already, which is not overwritten.
    #[error("{} has a mesh already, of the agents {}", folder.display(), agents.join(", "))]
    MeshExists {
        /// The folder.
        folder: PathBuf,
        /// Its agents.
        agents: Vec<String>,
    },
    /// No agent of a mesh has this name.
    #[error("no agent is called `{name}` in {}{meant}", folder.display())]
    NoAgent {
        /// The name.
        name: String,
        /// Similar names, as a suffix of the error.
        meant: String,
        /// The mesh's folder.
        folder: PathBuf,
    },
    /// A schedule that cannot be read.
    #[error("read the schedule `{text}`: {why}")]
    Schedule {
        /// The schedule as it was given.
        text: String,
        /// Defect of the schedule.
        why: String,
    },
    /// A file of this host.
    #[error("{operation} {}: {source}", file.display())]
    File {
        /// The attempted operation.
        operation: &'static str,
        /// The file.
        file: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A file of this host that holds something else.
    #[error("{} holds no {what}: {why}", file.display())]
    Unusable {
        /// The expected content.
        what: &'static str,
        /// The file.
        file: PathBuf,
        /// Defect of the file.
        why: String,
    },
    /// A message or record that is not of this form.
    #[error("read {what}: {why}")]
    Malformed {
        /// The expected form.
        what: &'static str,
        /// Defect of the message.
        why: String,
    },
}

impl FleetError {
    /// Whether the same call may succeed later without anybody's help: nothing was refused, only not reached.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(
            self,
            FleetError::Unreachable { .. }
                | FleetError::TimedOut { .. }
                | FleetError::NoStream { .. }
                | FleetError::NoJetStream(_)
                | FleetError::NoResponder(_)
        )
    }

    /// Whether a loop goes on and tries again: the error is transient, or the server's own, as while a cluster chooses a
    /// leader or its storage is full; or a disk of this host is full.
    pub(crate) fn may_pass(&self) -> bool {
        self.is_transient()
            || matches!(self, FleetError::Server { .. } | FleetError::Full { .. } | FleetError::File { .. })
    }

    /// Whether it shows that the streams or consumers of a mesh are gone, and must be made anew.
    pub(crate) fn is_of_a_lost_store(&self) -> bool {
        matches!(self, FleetError::Server { .. } | FleetError::NoStream { .. })
    }

    /// The same in a sentence that stays the same as long as the reason does: a silent server has one sentence, whatever the
    /// request.
    #[must_use]
    pub fn brief(&self) -> String {
        match self {
            FleetError::Unreachable { .. } | FleetError::TimedOut { .. } => {
                "the NATS server does not answer".to_owned()
            }
            FleetError::NoStream { .. } => "the NATS server has no streams of a mesh".to_owned(),
            error => error.to_string(),
        }
    }

    /// Advice on this error.
    #[must_use]
    pub fn advice(&self) -> &'static str {
        match self {
            FleetError::Unreachable { .. } => {
                "see that nats-server runs there and the port is open: pathmeter mesh doctor"
            }
            FleetError::TooOld { .. } => "install a newer nats-server: https://nats.io/download",
            FleetError::Certificate { why, .. } if why.contains(OTHER_NAME) => {
                "connect by a name that the certificate has, which `pathmeter mesh init --server NAME` gives it"
            }
            FleetError::Certificate { .. } => {
                "name the authority of the mesh, the `ca.pem` that `pathmeter mesh init` wrote: --ca FILE"
            }
            FleetError::NoKey(_) => KEYS,
            FleetError::KeyRefused { .. } => {
                "the server's configuration knows other keys: use those that `pathmeter mesh init` wrote with it, --key FILE"
            }
            FleetError::NotPermitted { .. } => KEYS,
            FleetError::Unusable { .. } => {
                "`pathmeter mesh init` writes the authority as `ca.pem` (--ca), and keys as `keys/NAME.seed` (--key)"
            }
            FleetError::NoStream { .. } => "wait for the cluster, or make them: pathmeter mesh doctor",
            FleetError::NoJetStream(_) => {
                "turn it on in the server's configuration, as `pathmeter mesh init` does: jetstream { store_dir: DIR }"
            }
            FleetError::NoResponder(_) => "start it: pathmeter agent run",
            FleetError::Conflict(_) | FleetError::TimedOut { .. } => "try again",
            FleetError::Full { .. } => {
                "make room on its disk, or raise `max_file_store` in its configuration; outcomes wait on the agents' disks"
            }
            FleetError::Server { .. } => {
                "see the server's log, its disk, and that JetStream is on: pathmeter mesh doctor"
            }
            FleetError::Name { .. } => "choose another name",
            FleetError::Refused { .. } => {
                "wait until what it needs is free, or see what it reports: pathmeter mesh show"
            }
            FleetError::MeshExists { .. } => {
                "add an agent to it: pathmeter mesh agent add DIR NAME; or name a new folder"
            }
            FleetError::NoAgent { .. } => "`pathmeter mesh agent list DIR` prints its agents",
            FleetError::Schedule { .. } => "write `@every 15m`, or five cron fields: `0 3 * * *`",
            FleetError::File { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                "see that the name is right: `mesh run --results` and `mesh init` write such files"
            }
            FleetError::File { source, .. } if source.kind() == io::ErrorKind::StorageFull => {
                "make room on this disk; what could not be written is kept in memory and written then"
            }
            FleetError::File { source, .. } if source.kind() == io::ErrorKind::ResourceBusy => {
                "end the other program, or name another file or folder (--results FILE, --spool DIR)"
            }
            FleetError::File { source, .. } if source.kind() == io::ErrorKind::AlreadyExists => {
                "it is there already: nothing is overwritten"
            }
            FleetError::File { .. } => "name a file in a folder that this user may read and write",
            FleetError::Malformed { .. } => "the other end may be another version of pathmeter",
        }
    }

    pub(crate) fn malformed(what: &'static str, why: impl ToString) -> FleetError {
        FleetError::Malformed { what, why: why.to_string() }
    }

    /// Names the operation on a file, of an error of the system.
    pub(crate) fn file(operation: &'static str, file: &Path) -> impl Fn(io::Error) -> FleetError {
        move |source| FleetError::File { operation, file: file.to_owned(), source }
    }

    #[cfg(feature = "nats")]
    pub(crate) fn unusable(what: &'static str, file: &Path, why: impl ToString) -> FleetError {
        FleetError::Unusable { what, file: file.to_owned(), why: why.to_string() }
    }
}

/// Whether a name can stand in a subject, a key and a file name.
///
/// # Errors
/// [`FleetError::Name`].
pub fn check_name(what: &'static str, name: &str) -> Result<()> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-' || letter == '_';
    if !name.is_empty() && name.len() <= 64 && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(FleetError::Name { what, name: name.to_owned() })
}

/// Explains the keys: each agent and coordinator has its own.
const KEYS: &str = "each has a key of its own from `pathmeter mesh init`: --key keys/NAME.seed for the agent NAME, --key \
                    keys/coordinator.seed for `mesh` and `plan`";
/// Part of rustls' message about a certificate for another host.
const OTHER_NAME: &str = "not valid for name";
