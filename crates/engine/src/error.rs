//! The one error of the engine: its kind, the operation and its object, the cause, and advice.

#[cfg(feature = "device")]
use lab::error::LabError;
use linux::OsError;
use linux::error::is_out_of_files;
use std::fmt::{Display, Formatter};
use std::io;
use wire::ProtocolError;

/// Result of the engine's calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// The kind of an error, by its origin.
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

/// An error of the engine.
///
/// `{}` prints the outermost layer, `{:#}` all of them on one line, from the operation down to the cause; the layers are those
/// of [`std::error::Error::source`].
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[must_use]
pub enum Error {
    /// A refusal or a failure whose reason is known here.
    Failure(Failure),
    /// The same, of what the system refused.
    Explained {
        /// Its meaning here.
        failure: Failure,
        /// The system's error, which the failure reports in its own words.
        refused: Box<OsError>,
    },
    /// The dialogue with the far end failed.
    #[error(transparent)]
    Protocol(#[from] ProtocolError),
    /// The system refused an operation on an object; both are named.
    #[error(transparent)]
    System(#[from] OsError),
    /// Reading or writing failed. A layer above names the object.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// TLS could not be set up; a handshake that fails is a [`Error::Failure`].
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    /// A topology could not be built or used.
    #[cfg(feature = "device")]
    #[error(transparent)]
    Lab(Box<LabError>),
    /// The layer above another error: what was being done, with what, and what may help.
    During {
        /// The operation and its object: `open data stream 0`; or the object alone: `10.0.0.2:5210`.
        doing: String,
        /// Advice on the error.
        advice: Option<String>,
        /// The error below this layer.
        source: Box<Error>,
    },
}

impl Error {
    /// The kind of the cause.
    pub fn kind(&self) -> Kind {
        match self.cause() {
            Error::Failure(failure) | Error::Explained { failure, .. } => failure.kind,
            Error::Protocol(ProtocolError::Stopped(_)) => Kind::Void,
            Error::Protocol(_) => Kind::Unreachable,
            Error::System(OsError { source: error, .. }) | Error::Io(error) => of_io(error),
            #[cfg(feature = "device")]
            Error::Lab(error) => of_lab(error),
            Error::Tls(_) | Error::During { .. } => Kind::Fault,
        }
    }

    /// The advice, where one is known: that of the outermost layer that has one.
    pub fn advice(&self) -> Option<&str> {
        match self {
            Error::During { advice: Some(advice), .. } => Some(advice),
            Error::During { source, .. } => source.advice(),
            Error::Failure(failure) | Error::Explained { failure, .. } => failure.advice.as_deref(),
            Error::System(OsError { source: error, .. }) | Error::Io(error) if is_out_of_files(error) => {
                Some(MORE_FILES)
            }
            _ => None,
        }
    }

    /// The innermost error.
    pub fn cause(&self) -> &Error {
        match self {
            Error::During { source, .. } => source.cause(),
            cause => cause,
        }
    }

    /// The cause, where its reason was known.
    pub fn failure(&self) -> Option<&Failure> {
        match self.cause() {
            Error::Failure(failure) | Error::Explained { failure, .. } => Some(failure),
            _ => None,
        }
    }

    /// The cause, where the dialogue with the far end failed.
    pub fn protocol(&self) -> Option<&ProtocolError> {
        let Error::Protocol(error) = self.cause() else { return None };
        Some(error)
    }

    /// The cause, where the system refused something.
    pub fn system(&self) -> Option<&OsError> {
        match self.cause() {
            Error::System(error) => Some(error),
            Error::Explained { refused, .. } => Some(refused),
            _ => None,
        }
    }

    /// The same error with the thing it is about and what to try.
    pub fn advised(self, thing: impl Display, advice: impl Into<String>) -> Error {
        Error::During { doing: thing.to_string(), advice: Some(advice.into()), source: Box::new(self) }
    }

    /// The same error with what was being done.
    pub fn context(self, doing: impl Display) -> Error {
        Error::During { doing: doing.to_string(), advice: None, source: Box::new(self) }
    }
}

impl Display for Error {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            _ if f.alternate() => f.write_str(&sentence(self)),
            Error::Failure(failure) | Error::Explained { failure, .. } => failure.fmt(f),
            Error::Protocol(error) => error.fmt(f),
            Error::System(error) => error.fmt(f),
            Error::Io(error) => error.fmt(f),
            Error::Tls(error) => error.fmt(f),
            #[cfg(feature = "device")]
            Error::Lab(error) => error.fmt(f),
            Error::During { doing, .. } => f.write_str(doing),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Error {
        Error::Failure(failure)
    }
}

#[cfg(feature = "device")]
impl From<LabError> for Error {
    fn from(error: LabError) -> Error {
        Error::Lab(Box::new(error))
    }
}

/// Adds the operation to an error.
pub trait Context<T> {
    /// Puts a layer above the error, if there is one.
    ///
    /// # Errors
    /// The error of `self`, below the operation and its object.
    fn context(self, doing: impl Display) -> Result<T>;

    /// Like [`Context::context`]; the text is made only when there is an error.
    ///
    /// # Errors
    /// The error of `self`, below the operation and its object.
    fn with_context<D: Display>(self, doing: impl FnOnce() -> D) -> Result<T>;
}

impl<T, E: Into<Error>> Context<T> for Result<T, E> {
    fn context(self, doing: impl Display) -> Result<T> {
        self.map_err(|error| error.into().context(doing))
    }

    fn with_context<D: Display>(self, doing: impl FnOnce() -> D) -> Result<T> {
        self.map_err(|error| error.into().context(doing()))
    }
}

/// A missing value is an internal error.
impl<T> Context<T> for Option<T> {
    fn context(self, doing: impl Display) -> Result<T> {
        self.ok_or_else(|| fault(doing.to_string()))
    }

    fn with_context<D: Display>(self, doing: impl FnOnce() -> D) -> Result<T> {
        self.ok_or_else(|| fault(doing().to_string()))
    }
}

/// A reason that is known where the error arises: its kind, the message, and advice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The kind of the error.
    pub kind: Kind,
    /// The error and its object.
    pub message: String,
    /// Advice on the error.
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

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

/// Makes an internal error, [`Kind::Fault`].
pub fn fault(message: impl Into<String>) -> Error {
    Failure { kind: Kind::Fault, message: message.into(), advice: None }.into()
}

/// A peer refused, was refused or fell silent, and there is nothing to advise. [`Kind::Unreachable`].
pub(crate) fn refused(message: impl Into<String>) -> Error {
    Failure { kind: Kind::Unreachable, message: message.into(), advice: None }.into()
}

/// The error of a user who stopped before anything was measured.
pub fn too_early() -> Failure {
    let message = "stopped before anything was measured".into();
    Failure { kind: Kind::Void, message, advice: None }
}

/// A timeout of a socket or an interrupted call: nothing is wrong, look at the orders and go on.
pub(crate) fn is_pause(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), WouldBlock | TimedOut | Interrupted)
}

/// The chain of causes on one line. A cause that is already at the end of the text is not repeated.
pub fn sentence(error: &(dyn std::error::Error + 'static)) -> String {
    let layers = std::iter::successors(Some(error), |error| error.source());
    layers.fold(String::new(), |chain, cause| match cause.to_string() {
        text if chain.ends_with(&text) => chain,
        text if chain.is_empty() => text,
        text => format!("{chain}: {text}"),
    })
}

/// Steps that the system refused are of the kind of the refusal.
#[cfg(feature = "device")]
fn of_lab(error: &LabError) -> Kind {
    match error {
        LabError::Node { source, .. } | LabError::System(source) => of_io(&source.source),
        LabError::Start { source, .. } => of_io(source),
        _ => Kind::Fault,
    }
}

/// Advice for a process that may open no more files.
pub(crate) const MORE_FILES: &str = "let this shell's programs open more files: ulimit -n 4096";

/// Network errors are the path's, file errors the caller's; what is left is not known to be either.
fn of_io(error: &io::Error) -> Kind {
    match error.kind() {
        _ if is_out_of_files(error) => Kind::Usage,
        io::ErrorKind::ConnectionRefused
        | io::ErrorKind::ConnectionReset
        | io::ErrorKind::ConnectionAborted
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::NetworkDown
        | io::ErrorKind::NotConnected
        | io::ErrorKind::TimedOut
        | io::ErrorKind::UnexpectedEof
        | io::ErrorKind::BrokenPipe => Kind::Unreachable,
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
        | io::ErrorKind::Unsupported => Kind::Usage,
        _ => Kind::Fault,
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// The text of an error for a user: the layers, and the advice on the next line.
    pub(crate) fn printed(error: &Error) -> String {
        let advice = error.advice().map(|advice| format!("\n  {advice}"));
        format!("error: {error:#}{}", advice.unwrap_or_default())
    }

    #[test]
    fn the_cause_decides_the_kind() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let error = Error::from(OsError::new("connect", "10.0.0.2:5210", refused));
        assert_eq!(error.context("reach the server").kind(), Kind::Unreachable);
        let full = Error::from(io::Error::from(io::ErrorKind::StorageFull)).context("write result.json");
        assert_eq!(full.kind(), Kind::Usage);
        assert_eq!(Error::from(ProtocolError::Busy).kind(), Kind::Unreachable);
        assert_eq!(Error::from(ProtocolError::Stopped("x".into())).kind(), Kind::Void);
        assert_eq!(fault("index out of step").kind(), Kind::Fault);
    }

    #[test]
    fn a_cause_is_reported_once() {
        let missing = io::Error::from_raw_os_error(linux::errno::ENOENT);
        let named = OsError::new("set TCP_CONGESTION on", "tcp 10.0.0.2:5210", missing);
        let error = Error::from(named).context("open data stream 0");
        assert_eq!(error.to_string(), "open data stream 0");
        assert_eq!(
            format!("{error:#}"),
            "open data stream 0: set TCP_CONGESTION on tcp 10.0.0.2:5210: No such file or directory (os error 2)"
        );
    }

    #[test]
    fn the_outermost_advice_is_given() {
        let failure = Failure::usage("-P 0: at least one stream is needed", "give -P 1 to -P 128");
        let error = Error::from(failure).context("read the command line");
        assert_eq!(error.advice(), Some("give -P 1 to -P 128"));
        let error = error.advised("the plan", "look at --help");
        assert_eq!((error.advice(), error.kind()), (Some("look at --help"), Kind::Usage));
        assert_eq!(
            format!("{error:#}"),
            "the plan: read the command line: -P 0: at least one stream is needed"
        );
    }
}
