//! Why a message was not delivered, and whether another attempt may change that.

/// Why a message was not delivered.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Undelivered {
    pub(crate) why: String,
    /// Another attempt would have the same outcome.
    pub(crate) is_final: bool,
}

impl Undelivered {
    pub(crate) fn for_now(why: String) -> Undelivered {
        Undelivered { why, is_final: false }
    }

    pub(crate) fn for_good(why: String) -> Undelivered {
        Undelivered { why, is_final: true }
    }
}
