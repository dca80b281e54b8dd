//! The states of the control connection, one signed byte each, and the error codes a server reports.

use std::fmt::{Display, Formatter};

/// A state as sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Server: the streams are open, start the clock.
    TestStart,
    /// Server: send.
    TestRunning,
    /// Client: the test is over.
    TestEnd,
    /// Server: send the parameters.
    ParamExchange,
    /// Server: open the streams.
    CreateStreams,
    /// Server: it is being stopped.
    ServerTerminate,
    /// Client: it is being stopped.
    ClientTerminate,
    /// Server: send your results.
    ExchangeResults,
    /// Server: the results are complete.
    DisplayResults,
    /// Client: goodbye.
    IperfDone,
    /// Server: it is busy.
    AccessDenied,
    /// Server: an error; two 32-bit words with its code follow.
    ServerError,
}

/// A server's error code (iPerf3's `i_errno`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorCode(pub i32);

impl State {
    /// The byte on the wire.
    #[must_use]
    pub fn byte(self) -> u8 {
        STATES.iter().find(|row| row.1 == self).map_or(0, |row| row.0)
    }

    /// The state of a byte; `None` for a byte that no version sends.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<State> {
        STATES.iter().find(|row| row.0 == byte).map(|row| row.1)
    }
}

/// Reply of a server to a connection it cannot accept, before it closes it.
#[must_use]
pub fn access_denied() -> [u8; 1] {
    [State::AccessDenied.byte()]
}

/// Message of a server before it closes a session on an error. The second word, the system's errno, is 0.
#[must_use]
pub fn error_message(code: ErrorCode) -> [u8; 9] {
    let mut bytes = [0; 9];
    bytes[0] = State::ServerError.byte();
    bytes[1..5].copy_from_slice(&code.0.to_be_bytes());
    bytes
}

impl ErrorCode {
    /// Test longer than 86,400 s.
    pub(super) const DURATION: ErrorCode = ErrorCode(5);
    pub(super) const STREAMS: ErrorCode = ErrorCode(6);
    pub(super) const BLOCK_SIZE: ErrorCode = ErrorCode(7);
    pub(super) const BUFFER_SIZE: ErrorCode = ErrorCode(8);
    pub(super) const MSS: ErrorCode = ErrorCode(10);
    pub(super) const OMIT: ErrorCode = ErrorCode(12);
    pub(super) const BURST: ErrorCode = ErrorCode(15);
    pub(super) const NO_SCTP: ErrorCode = ErrorCode(18);
    pub(super) const UDP_BLOCK_SIZE: ErrorCode = ErrorCode(20);
    pub(super) const TOS: ErrorCode = ErrorCode(21);
    pub(super) const REVERSE_BIDIR: ErrorCode = ErrorCode(25);
    /// Above the server's rate.
    pub(super) const TOTAL_RATE: ErrorCode = ErrorCode(27);
    /// Longer than the server allows.
    pub(super) const MAX_DURATION: ErrorCode = ErrorCode(37);
    pub(super) const MESSAGE: ErrorCode = ErrorCode(110);
    pub(super) const PARAMS: ErrorCode = ErrorCode(114);
    pub(super) const RESULTS: ErrorCode = ErrorCode(117);
    pub(super) const FLOW_LABEL: ErrorCode = ErrorCode(127);
    pub(super) const AFFINITY: ErrorCode = ErrorCode(132);
    pub(super) const AUTHORIZATION: ErrorCode = ErrorCode(142);
    pub(super) const NO_DATA: ErrorCode = ErrorCode(144);
    pub(super) const EXPIRED: ErrorCode = ErrorCode(160);
    /// A stream could not be accepted.
    pub(super) const ACCEPT: ErrorCode = ErrorCode(204);

    /// The meaning of the code, and the advice where there is one.
    #[must_use]
    pub fn meaning(self) -> (&'static str, &'static str) {
        MEANINGS
            .iter()
            .find(|row| row.0 == self.0)
            .map_or(("an error this version does not know", ""), |row| (row.1, row.2))
    }
}

/// The meaning, the advice, and the number.
impl Display for ErrorCode {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let (meaning, advice) = self.meaning();
        write!(f, "{meaning} (iPerf3 error {})", self.0)?;
        if advice.is_empty() { Ok(()) } else { write!(f, "; {advice}") }
    }
}

const STATES: [(u8, State); 12] = [
    (1, State::TestStart),
    (2, State::TestRunning),
    (4, State::TestEnd),
    (9, State::ParamExchange),
    (10, State::CreateStreams),
    (11, State::ServerTerminate),
    (12, State::ClientTerminate),
    (13, State::ExchangeResults),
    (14, State::DisplayResults),
    (16, State::IperfDone),
    (0xff, State::AccessDenied),
    (0xfe, State::ServerError),
];

const MEANINGS: [(i32, &str, &str); 39] = [
    (5, "it takes no test this long", "ask for at most 86,400 s"),
    (6, "it takes no test with this many streams", "ask for 1 to 128 streams"),
    (7, "it takes no blocks of this size", "set the length to 1 byte to 1 MiB"),
    (8, "it takes no socket buffer of this size", "ask for at most 512 MiB"),
    (10, "it takes no segments of this size", "set the MSS to at most 32,767 bytes"),
    (11, "its system has no sendfile", "send without zero copy"),
    (12, "it omits no time this long", "omit at most 600 s"),
    (15, "it takes no bursts of this size", "ask for 1 to 1000 blocks in a burst"),
    (18, "it has no SCTP", "use TCP or UDP"),
    (20, "it takes no datagrams of this size", "set the UDP payload to 16 to 65,507 bytes"),
    (21, "it takes no such TOS", "set it to 0 to 255"),
    (25, "it cannot be both reverse and bidirectional", "choose one"),
    (27, "the rate asked for is above its limit", "lower the bit rate or the number of streams"),
    (34, "it writes to a file, which works with TCP only", "use TCP"),
    (37, "the test is longer than it allows", "ask for a shorter test, ended by time"),
    (39, "its system cannot receive without copying", "leave that option away"),
    (101, "it could not set up the test", ""),
    (102, "it could not listen for the data streams", "see the log of the server"),
    (106, "it could not read the session's name", "something on the path changes or delays the data"),
    (
        109,
        "the control connection closed",
        "where it asks for a user and password, they may be what is wrong",
    ),
    (110, "it got a message it does not know", "see that both ends speak iPerf3"),
    (112, "it could not read a control message", ""),
    (114, "it could not use the parameters", "its version may be too old for one of the options"),
    (117, "it could not use the results", ""),
    (118, "waiting for input failed", "see the log of the server"),
    (119, "the client was stopped", ""),
    (120, "the server was stopped", ""),
    (121, "it is busy with another test", "try again later"),
    (127, "it cannot set this IPv6 flow label", "leave that option away"),
    (131, "it does not have this transport", "use TCP or UDP"),
    (132, "it cannot run on the CPU asked for", "choose another CPU"),
    (134, "it does not have this congestion control", "choose one that is loaded at the server"),
    (
        141,
        "its kernel gave another socket buffer size",
        "ask for a smaller window, or raise its sysctl limits",
    ),
    (
        142,
        "authorization failed: it did not accept the user and password",
        "check name, password, key and both clocks; servers before 3.17 take `--use-pkcs1-padding`",
    ),
    (144, "no data arrived for too long", "see whether something between the ends drops it"),
    (160, "the test ran longer than agreed", ""),
    (204, "it could not accept a data stream", "see whether a firewall stops the data connections"),
    (206, "it could not read from a data stream", ""),
    (208, "a stream number in the results was wrong", ""),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_its_own_byte() {
        for (byte, state) in STATES {
            assert_eq!(state.byte(), byte);
            assert_eq!(State::from_byte(byte), Some(state));
        }
        for byte in [0, 3, 5, 6, 7, 8, 15, 17, 127, 128, 253] {
            assert_eq!(State::from_byte(byte), None);
        }
    }

    #[test]
    fn error_codes_say_what_to_do() {
        assert_eq!(
            ErrorCode::STREAMS.to_string(),
            "it takes no test with this many streams (iPerf3 error 6); ask for 1 to 128 streams"
        );
        assert_eq!(ErrorCode(-7).to_string(), "an error this version does not know (iPerf3 error -7)");
        assert!(MEANINGS.is_sorted_by(|a, b| a.0 < b.0));
    }

    #[test]
    fn an_error_message_is_a_state_and_two_words() {
        assert_eq!(error_message(ErrorCode::BLOCK_SIZE), [0xfe, 0, 0, 0, 7, 0, 0, 0, 0]);
        assert_eq!(access_denied(), [0xff]);
    }
}
