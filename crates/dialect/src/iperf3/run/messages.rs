//! Error messages, in iPerf3's words where it has some (scripts look for them), with ours behind.

use engine::error::{Error, Kind};
use std::io::ErrorKind;
use wire::ProtocolError;

/// The sentence of a client's error, which has `error - ` before it where it stands alone, and in JSON not.
pub(super) fn of_client(error: &Error) -> String {
    if let Some(failure) = error.failure() {
        let advice = failure.advice.as_ref().map(|advice| format!("; {advice}")).unwrap_or_default();
        let which = if failure.kind == Kind::Unreachable { "unable to connect to server: " } else { "" };
        // The kernel's text (strerror(3)): scripts look for it, and the failure's own text differs.
        let kernel = match error.system().map(|refused| refused.source.kind()) {
            Some(ErrorKind::ConnectionRefused) => "Connection refused: ",
            Some(ErrorKind::TimedOut) => "Connection timed out: ",
            _ => "",
        };
        return format!("{which}{kernel}{}{advice}", failure.message);
    }
    match error.protocol() {
        Some(ProtocolError::Busy) => "the server is busy running a test. try again later".into(),
        Some(ProtocolError::Closed(when)) => {
            format!("control socket has closed unexpectedly: the server closed it {when}")
        }
        Some(ProtocolError::PeerStopped(what)) if what == "the server was stopped" => {
            "the server has terminated".into()
        }
        _ => format!("{error:#}"),
    }
}

/// The server's message for a session that failed, after `iperf3: `.
pub(super) fn of_session(error: &ProtocolError) -> String {
    match error {
        ProtocolError::PeerStopped(_) => "the client has terminated".into(),
        ProtocolError::Closed(when) => {
            format!("error - the client has unexpectedly closed the connection {when}")
        }
        ProtocolError::Stopped(what) if what == "interrupted" => SERVER_ENDED.into(),
        other => format!("error - {other}"),
    }
}

/// The message of a client that was stopped.
pub(super) const CLIENT_ENDED: &str = "interrupt - the client has terminated";
/// The message of a server that was stopped.
pub(super) const SERVER_ENDED: &str = "interrupt - the server has terminated";
