//! The documented exit codes, and which of them an error ends the program with.

use engine::error::{Error, Kind};
use std::process::ExitCode;

/// The exit codes of the program. The manual page and `docs/` list them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0: done, and every expectation held.
    Done,
    /// 1: done, and an expectation (`--expect`) was broken.
    ExpectationBroken,
    /// 2: the command line asks for something that cannot be.
    Usage,
    /// 3: the far end cannot be reached, or refused.
    Unreachable,
    /// 4: the result is void: it must not be trusted, and the output gives the reason.
    Void,
    /// 5: slower than what it was held against (`rfc2544 --against`).
    Regression,
    /// 70: an internal error.
    Fault,
    /// The code of a foreign tool whose command line was used.
    Dialect(u8),
}

impl Exit {
    /// The number the caller sees.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::ExpectationBroken => 1,
            Exit::Usage => 2,
            Exit::Unreachable => 3,
            Exit::Void => 4,
            Exit::Regression => 5,
            Exit::Fault => 70,
            Exit::Dialect(code) => code,
        }
    }

    /// The word that a document of JSON has for it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Exit::Done => "done",
            Exit::ExpectationBroken => "broken",
            Exit::Usage => "usage",
            Exit::Unreachable => "unreachable",
            Exit::Void => "void",
            Exit::Regression => "regression",
            Exit::Fault => "internal",
            Exit::Dialect(_) => "dialect",
        }
    }

    /// The code an error ends the program with.
    #[must_use]
    pub fn from_error(error: &Error) -> Exit {
        error.kind().into()
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// Every code that is documented, with what it means, in one line each.
pub const CODES: [(Exit, &str); 7] = [
    (Exit::Done, "Done, and every expectation held."),
    (Exit::ExpectationBroken, "Done, and an expectation (--expect, or of a topology) was broken."),
    (Exit::Usage, "The command line, or a file that it names, asks for something that cannot be."),
    (Exit::Unreachable, "The far end cannot be reached, or refused."),
    (Exit::Void, "The result is void: it must not be trusted, and the output gives the reason."),
    (Exit::Regression, "A regression against the baseline (compare --baseline, rfc2544 --against)."),
    (Exit::Fault, "Internal error: please report it."),
];

/// The kind of error with which another process of this program ended.
#[must_use]
pub fn kind(code: u8) -> Kind {
    let all = [Kind::Usage, Kind::Unreachable, Kind::Void];
    all.into_iter().find(|kind| Exit::from(*kind).code() == code).unwrap_or(Kind::Fault)
}

impl From<Kind> for Exit {
    fn from(kind: Kind) -> Exit {
        match kind {
            Kind::Usage => Exit::Usage,
            Kind::Unreachable => Exit::Unreachable,
            Kind::Void => Exit::Void,
            _ => Exit::Fault,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::error::fault;
    use std::io;

    #[test]
    fn codes_are_the_documented_ones() {
        assert_eq!(CODES.map(|(exit, _)| exit.code()), [0, 1, 2, 3, 4, 5, 70]);
        assert_eq!(Exit::Dialect(1).code(), 1);
    }

    /// The manual page and `docs/` have every code, and none that the program does not have.
    #[test]
    fn the_table_of_codes_is_complete() {
        let text = include_str!("../../../docs/exit-codes.md");
        let column = |line: &str| line.strip_prefix("| ")?.split('|').nth(1)?.trim().parse::<u8>().ok();
        let mut reported: Vec<u8> = text.lines().filter_map(column).collect();
        reported.dedup();
        assert_eq!(reported, CODES.map(|(exit, _)| exit.code()));
    }

    #[test]
    fn the_cause_decides_the_code() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let error = Error::from(linux::error::OsError::new("connect", "10.0.0.2:5210", refused));
        assert_eq!(Exit::from_error(&error.context("reach the server")), Exit::Unreachable);
        let full = Error::from(io::Error::from(io::ErrorKind::StorageFull)).context("write result.json");
        assert_eq!(Exit::from_error(&full), Exit::Usage);
        assert_eq!(Exit::from_error(&wire::ProtocolError::Busy.into()), Exit::Unreachable);
        assert_eq!(Exit::from_error(&wire::ProtocolError::Stopped("x".into()).into()), Exit::Void);
        assert_eq!(Exit::from_error(&fault("index out of step")), Exit::Fault);
    }
}
