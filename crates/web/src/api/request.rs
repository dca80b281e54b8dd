//! Reading what a request brings, with a clear word on what is wrong with it.

use super::App;
use crate::failed::Failed;
use axum::body::Body;
use axum::extract::{FromRequest, Query, Request};
use axum::http::header::CONTENT_TYPE;
use axum::http::{StatusCode, Uri};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use model::bidi::turns_direction;
use model::time::WallTime;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::time::Duration;

/// The parameters behind the question mark.
pub(super) fn query<T: DeserializeOwned>(uri: &Uri) -> Result<T, Failed> {
    let parsed = Query::<T>::try_from_uri(uri);
    parsed.map(|query| query.0).map_err(|refused| {
        let why =
            std::error::Error::source(&refused).map_or_else(|| refused.to_string(), ToString::to_string);
        Failed::bad(format!("the parameters cannot be read: {why}"))
            .advised("/api/openapi.json describes them")
    })
}

/// The far end that is wanted; absent: all.
pub(super) fn target(uri: &Uri) -> Result<Option<String>, Failed> {
    #[derive(Default, Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Wanted {
        target: Option<String>,
    }
    Ok(query::<Wanted>(uri)?.target.filter(|target| !target.is_empty()))
}

/// A body of JSON, of bounded size and time.
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<App> for Json<T> {
    type Rejection = Failed;

    async fn from_request(request: Request, app: &App) -> Result<Json<T>, Failed> {
        let kind =
            request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if kind.split(';').next().is_none_or(|kind| !kind.trim().eq_ignore_ascii_case("application/json")) {
            return Err(Failed::new(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "the body is to be application/json",
            ));
        }
        let bytes = read(request.into_body(), LARGEST_BODY, app.limits.body).await?;
        let value = serde_json::from_slice(&bytes);
        value.map(Json).map_err(|error| {
            Failed::bad(format!("the body cannot be read: {error}")).advised("/api/openapi.json describes it")
        })
    }
}

/// A body of at most so many bytes, which comes in this time.
pub(super) async fn read(body: Body, largest: usize, time: Duration) -> Result<Vec<u8>, Failed> {
    let whole = tokio::time::timeout(time, Limited::new(body, largest).collect()).await;
    match whole {
        Ok(Ok(whole)) => Ok(whole.to_bytes().to_vec()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Failed::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!("the body is larger than {largest} bytes"),
        )),
        Ok(Err(_)) => Err(Failed::bad("the body broke off")),
        Err(_) => Err(Failed::new(StatusCode::REQUEST_TIMEOUT, "the body took too long to come")),
    }
}

/// A date or a time (RFC 3339).
pub(super) fn time(name: &str, text: Option<&str>) -> Result<Option<WallTime>, Failed> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    let time = text.parse().ok().or_else(|| format!("{text}T00:00:00Z").parse().ok());
    time.map(Some).ok_or_else(|| {
        Failed::bad(format!("{name} is neither a date nor a time"))
            .advised("write it such as 2026-11-01 or 2026-11-01T12:00:00Z")
    })
}

/// Refuses a label that the store would not take, before anything is done.
pub(super) fn check_label(label: &str) -> Result<(), Failed> {
    if label.chars().count() <= LONGEST_LABEL && is_printable(label) {
        return Ok(());
    }
    Err(Failed::bad(format!("a label has at most {LONGEST_LABEL} characters, all of them printable")))
}

/// Nothing in it is unseen, or changes the order in which others are shown.
pub(super) fn is_printable(text: &str) -> bool {
    !text.chars().any(|c| c.is_control() || turns_direction(c))
}

const LONGEST_LABEL: usize = 100;
const LARGEST_BODY: usize = 16 * 1024;
