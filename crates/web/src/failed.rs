//! Reply to a failed request: a status, the error, and advice.

use crate::backend::Refused;
use axum::http::StatusCode;
use axum::http::header::{CONTENT_TYPE, RETRY_AFTER};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use store::StoreError;

/// A request that failed.
#[derive(Debug)]
pub(crate) struct Failed {
    pub(crate) status: StatusCode,
    pub(crate) why: Refused,
    /// Seconds after which it may be tried again.
    pub(crate) retry: Option<u64>,
}

impl Failed {
    pub(crate) fn new(status: StatusCode, error: impl Into<String>) -> Failed {
        Failed { status, why: Refused { error: error.into(), advice: None }, retry: None }
    }

    pub(crate) fn bad(error: impl Into<String>) -> Failed {
        Failed::new(StatusCode::BAD_REQUEST, error)
    }

    pub(crate) fn advised(mut self, advice: impl Into<String>) -> Failed {
        self.why.advice = Some(advice.into());
        self
    }

    pub(crate) fn unknown() -> Failed {
        Failed::new(StatusCode::NOT_FOUND, "there is nothing at this address")
    }

    pub(crate) fn internal() -> Failed {
        Failed::new(StatusCode::INTERNAL_SERVER_ERROR, "internal error: this request was not answered")
    }
}

impl From<Refused> for Failed {
    fn from(why: Refused) -> Failed {
        Failed { status: StatusCode::UNPROCESSABLE_ENTITY, why, retry: None }
    }
}

impl From<StoreError> for Failed {
    fn from(error: StoreError) -> Failed {
        let status = match error {
            StoreError::Label(_) | StoreError::Note(_) => StatusCode::BAD_REQUEST,
            StoreError::NoRun(_) => StatusCode::NOT_FOUND,
            StoreError::Ambiguous { .. } => StatusCode::CONFLICT,
            StoreError::Run { .. } => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::SERVICE_UNAVAILABLE,
        };
        Failed::new(status, error.to_string()).advised(error.advice())
    }
}

impl IntoResponse for Failed {
    fn into_response(self) -> Response {
        let mut response = json(self.status, &self.why);
        if let Some(seconds) = self.retry {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}

/// A value as an answer.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Response {
    match serde_json::to_vec(value) {
        Ok(bytes) => (status, [(CONTENT_TYPE, "application/json")], bytes).into_response(),
        Err(_) => Failed::internal().status.into_response(),
    }
}
