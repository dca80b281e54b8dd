//! Converts the server's reports to errors that name the operation and its object.

use crate::error::FleetError;
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::stream::{ConsumerError, ConsumerErrorKind};
use async_nats::jetstream::{self, ErrorCode};
use std::error::Error;

/// Something that is tried: what an error of it names.
#[derive(Clone, Debug)]
pub(super) struct Attempt {
    pub(super) operation: &'static str,
    pub(super) object: String,
    /// The subjects on which the server could refuse it.
    pub(super) subjects: Vec<String>,
    pub(super) server: String,
}

impl Attempt {
    pub(super) fn server(&self, error: &(dyn Error + 'static)) -> FleetError {
        if let Some(reported) = reported(error).filter(|reported| FULL.contains(&reported.error_code())) {
            return self.refused(reported);
        }
        let why = chain(error);
        if why.contains("timed out") || why.contains("deadline has elapsed") {
            return self.timed_out();
        }
        self.because(why)
    }

    pub(super) fn timed_out(&self) -> FleetError {
        FleetError::TimedOut { operation: self.operation, object: self.object.clone() }
    }

    /// Converts an error of JetStream.
    pub(super) fn refused(&self, error: &jetstream::Error) -> FleetError {
        if error.error_code() == ErrorCode::STREAM_NOT_FOUND {
            return self.no_stream();
        }
        if FULL.contains(&error.error_code()) {
            let (operation, object, server) = (self.operation, self.object.clone(), self.server.clone());
            return FleetError::Full { operation, object, server, why: error.to_string() };
        }
        self.because(error.to_string())
    }

    pub(super) fn consumer(&self, error: &ConsumerError) -> FleetError {
        match error.kind() {
            ConsumerErrorKind::JetStream(why) => self.refused(&why),
            _ => self.server(error),
        }
    }

    pub(super) fn no_stream(&self) -> FleetError {
        FleetError::NoStream {
            operation: self.operation,
            object: self.object.clone(),
            server: self.server.clone(),
        }
    }

    fn because(&self, why: String) -> FleetError {
        FleetError::Server { operation: self.operation, object: self.object.clone(), why }
    }
}

/// Whether a write failed as its key is not as expected. A cluster has a number of its own for that.
pub(super) fn is_conflict(error: &PublishError) -> bool {
    error.kind() == PublishErrorKind::WrongLastSequence
        || reported(error)
            .is_some_and(|answer| answer.error_code() == ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT)
}

/// The error of JetStream, where that is the cause of an error.
fn reported<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e jetstream::Error> {
    match error.downcast_ref() {
        Some(answer) => Some(answer),
        None => reported(error.source()?),
    }
}

/// The server's words for a disk, an account or a stream that takes no more.
const FULL: [ErrorCode; 5] = [
    ErrorCode::ACCOUNT_RESOURCES_EXCEEDED,
    ErrorCode::INSUFFICIENT_RESOURCES,
    ErrorCode::MEMORY_RESOURCES_EXCEEDED,
    ErrorCode::STORAGE_RESOURCES_EXCEEDED,
    ErrorCode::STREAM_STORE_FAILED,
];

/// An error with its causes, each once.
pub(super) fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(next) = cause {
        let more = next.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = next.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_reports_a_conflict_by_a_number_of_its_own() {
        let answer = |code: u64| -> jetstream::Error {
            let text = format!(r#"{{"code":400,"err_code":{code},"description":"wrong last sequence"}}"#);
            serde_json::from_str(&text).expect("an answer")
        };
        let failed = |code| is_conflict(&PublishError::with_source(PublishErrorKind::Other, answer(code)));
        assert!(failed(10164) && !failed(10047));
        assert!(is_conflict(&PublishError::with_source(PublishErrorKind::WrongLastSequence, answer(10071))));
    }
}
