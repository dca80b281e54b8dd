//! How a run ends that cannot go on: sockperf's sentence and number.

use super::note;
use crate::DONE;
use engine::error::{Error, sentence};

/// The result of a step, or why the program ends.
pub(super) type Stepped<T> = Result<T, End>;

/// A fault with its number, which is the exit code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct End {
    code: u8,
    what: String,
}

impl End {
    pub(super) fn with_code(code: u8, what: impl Into<String>) -> End {
        End { code, what: what.into() }
    }

    /// A value or combination that cannot be: 1.
    pub(super) fn bad(what: impl Into<String>) -> End {
        End::with_code(1, what)
    }

    /// A file's content is wrong: 2.
    pub(super) fn incorrect(what: impl Into<String>) -> End {
        End::with_code(2, what)
    }

    /// A file is not there: 4.
    pub(super) fn missing(what: impl Into<String>) -> End {
        End::with_code(4, what)
    }

    /// A fault of this host or of ours: 6.
    pub(super) fn fatal(what: impl Into<String>) -> End {
        End::with_code(6, what)
    }

    /// A socket, or the far end: 7.
    pub(super) fn socket(what: impl Into<String>) -> End {
        End::with_code(7, what)
    }

    /// Nothing ever came back: 8. (Sockperf ends with 0 here.)
    pub(super) fn silent(what: impl Into<String>) -> End {
        End::with_code(8, what)
    }

    /// Converts an error of the engine.
    pub(super) fn from_engine(error: &Error) -> End {
        let advice = error.advice().map(|advice| format!("\n  {advice}")).unwrap_or_default();
        End::socket(format!("{}{advice}", sentence(error)))
    }
}

/// Prints the reason on standard error and returns the exit code.
pub(super) fn exit(ended: Stepped<()>) -> u8 {
    match ended {
        Ok(()) => DONE,
        Err(end) => {
            note(&format!("ERROR: {}", end.what));
            end.code
        }
    }
}
