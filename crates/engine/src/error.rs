//! Errors: of what kind they are, what went wrong, and the way out.

use model::plan::{ProtocolName, Target};
use std::fmt::{Display, Formatter};
use std::io;
use wire::ProtocolError;

/// Whose an error is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// The caller asks for something that cannot be.
    Usage,
    /// The far end cannot be reached, or refused.
    Unreachable,
    /// The result is void: it must not be trusted.
    Void,
    /// An internal error.
    Fault,
}

impl Kind {
    /// The kind of an error: its own, where it is a [`Failure`], else by what caused it.
    pub fn of(error: &anyhow::Error) -> Kind {
        error.chain().find_map(of_cause).unwrap_or(Kind::Fault)
    }
}

/// An error with its kind, what went wrong, and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Whose it is.
    pub kind: Kind,
    /// What went wrong, naming the thing.
    pub message: String,
    /// What to do about it.
    pub advice: Option<String>,
}

impl Failure {
    /// Options that cannot be served, and what to write instead. [`Kind::Usage`].
    pub fn usage(message: impl Into<String>, advice: impl Into<String>) -> Failure {
        Failure { kind: Kind::Usage, message: message.into(), advice: Some(advice.into()) }
    }

    /// A host that cannot be reached or refuses, and what to try. [`Kind::Unreachable`].
    pub fn unreachable(message: impl Into<String>, advice: impl Into<String>) -> Failure {
        Failure { kind: Kind::Unreachable, message: message.into(), advice: Some(advice.into()) }
    }
}

impl std::error::Error for Failure {}

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

/// What to do about an error, where that is known.
pub fn advice(error: &anyhow::Error) -> Option<&str> {
    // A context is found by the error itself, a cause in the chain.
    let cause = || error.chain().find_map(|cause| cause.downcast_ref::<Failure>());
    error.downcast_ref::<Failure>().or_else(cause)?.advice.as_deref()
}

/// Names the far end in an error of the dialogue with it, and says what to try. `begun`: the test had.
pub(crate) fn blame(
    target: &Target,
    protocol: ProtocolName,
    begun: bool,
    error: anyhow::Error,
) -> anyhow::Error {
    let Some(cause) = error.downcast_ref::<ProtocolError>() else { return error };
    let advice = match cause {
        ProtocolError::Closed(_) | ProtocolError::Timeout(_) if begun => {
            "it, its host or the path broke down; what was measured until then is shown, and its log may tell more"
        }
        ProtocolError::Violation { .. } | ProtocolError::Timeout(_) | ProtocolError::Closed(_) => {
            match protocol {
                ProtocolName::Native | ProtocolName::Foreign => {
                    "check that `pathmeter serve` listens there, and not another service (`iperf3 -s` is reached with \
                 --protocol iperf3); its log may tell more"
                }
                ProtocolName::Iperf3 => {
                    "check that `iperf3 -s` or `pathmeter serve --iperf3` listens there, and not another service; its log \
                 may tell more"
                }
                ProtocolName::Iperf2 => {
                    "check that `iperf -s` (`iperf -s -u` for UDP) or `pathmeter serve --iperf2` listens there, and not \
                 another service; its log may tell more"
                }
            }
        }
        _ => return error.context(target.address.to_string()),
    };
    advised(error, target.address, advice)
}

/// The error of a user who stopped before anything was measured.
pub fn too_early() -> Failure {
    let message = "stopped before anything was measured".into();
    Failure { kind: Kind::Void, message, advice: None }
}

/// The same error with the thing it is about and what to try.
pub(crate) fn advised(error: anyhow::Error, thing: impl Display, advice: &str) -> anyhow::Error {
    let failure =
        Failure { kind: Kind::of(&error), message: thing.to_string(), advice: Some(advice.to_owned()) };
    error.context(failure)
}

/// The chain of causes on one line. A cause that the error before it has told already is not told again.
pub fn sentence(error: &anyhow::Error) -> String {
    error.chain().fold(String::new(), |said, cause| match cause.to_string() {
        text if said.ends_with(&text) => said,
        text if said.is_empty() => text,
        text => format!("{said}: {text}"),
    })
}

fn of_cause(cause: &(dyn std::error::Error + 'static)) -> Option<Kind> {
    if let Some(failure) = cause.downcast_ref::<Failure>() {
        return Some(failure.kind);
    }
    if let Some(error) = cause.downcast_ref::<ProtocolError>() {
        return Some(of_protocol(error));
    }
    cause.downcast_ref::<io::Error>().and_then(|error| of_io(error.kind()))
}

fn of_protocol(error: &ProtocolError) -> Kind {
    match error {
        ProtocolError::PeerStopped(_) | ProtocolError::Stopped(_) => Kind::Void,
        _ => Kind::Unreachable,
    }
}

/// Network errors are the path's, file errors the caller's; what is left is not known to be either.
fn of_io(kind: io::ErrorKind) -> Option<Kind> {
    match kind {
        io::ErrorKind::ConnectionRefused
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::NetworkDown
        | io::ErrorKind::NotConnected
        | io::ErrorKind::TimedOut
        | io::ErrorKind::UnexpectedEof
        | io::ErrorKind::BrokenPipe => Some(Kind::Unreachable),
        io::ErrorKind::NotFound
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::AlreadyExists
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::FileTooLarge
        | io::ErrorKind::InvalidFilename
        | io::ErrorKind::AddrInUse
        | io::ErrorKind::AddrNotAvailable
        | io::ErrorKind::Unsupported => Some(Kind::Usage),
        _ => None,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What a user reads of an error: the chain of causes, and the advice on the next line.
    pub(crate) fn words(error: &anyhow::Error) -> String {
        let advice = advice(error).map(|advice| format!("\n  {advice}"));
        format!("error: {}{}", sentence(error), advice.unwrap_or_default())
    }

    #[test]
    fn the_cause_decides_the_kind() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let named = linux::error::OsError::new("connect", "10.0.0.2:5210", refused);
        let error = anyhow::Error::new(named).context("reach the server");
        assert_eq!(Kind::of(&error), Kind::Unreachable);
        let full =
            anyhow::Error::new(io::Error::from(io::ErrorKind::StorageFull)).context("write result.json");
        assert_eq!(Kind::of(&full), Kind::Usage);
        assert_eq!(Kind::of(&anyhow::Error::new(ProtocolError::Busy)), Kind::Unreachable);
        assert_eq!(Kind::of(&anyhow::Error::new(ProtocolError::Stopped("x".into()))), Kind::Void);
        assert_eq!(Kind::of(&anyhow::anyhow!("index out of step")), Kind::Fault);
    }

    #[test]
    fn a_cause_is_told_once() {
        let missing = io::Error::from_raw_os_error(2);
        let named = linux::error::OsError::new("set TCP_CONGESTION on", "tcp 10.0.0.2:5210", missing);
        let error = anyhow::Error::new(named).context("open data stream 0");
        assert_eq!(
            sentence(&error),
            "open data stream 0: set TCP_CONGESTION on tcp 10.0.0.2:5210: No such file or directory (os error 2)"
        );
    }
}
