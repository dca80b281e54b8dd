//! The test that runs: begun, followed, stopped.

use super::App;
use super::request::{Json, check_label, is_printable, query};
use crate::backend::TestRequest;
use crate::failed::{Failed, json};
use crate::live::{LogPosition, Next, NotBegun};
use axum::body::Body;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde::Deserialize;
use serde_json::{Value, json};
use std::convert::Infallible;
use std::time::Instant;

/// Begins a test; it is kept when it ends.
pub(super) async fn start(
    State(app): State<App>,
    Json(asked): Json<TestRequest>,
) -> Result<Response, Failed> {
    check(&asked)?;
    let begun = tokio::task::spawn_blocking(move || app.live.start(asked, &app.backend)).await;
    match begun.map_err(|_| Failed::internal())? {
        Ok(()) => Ok(json(StatusCode::ACCEPTED, &json!({ "running": true }))),
        Err(NotBegun::Busy) => Err(Failed::new(StatusCode::CONFLICT, "a test runs already")
            .advised("tests beside each other measure each other: stop it, or wait")),
        Err(NotBegun::Refused(why)) => Err(why.into()),
    }
}

fn check(asked: &TestRequest) -> Result<(), Failed> {
    let is_scalar = |value: &Value| matches!(value, Value::Bool(_) | Value::Number(_) | Value::String(_));
    if let Some((name, _)) = asked.keys.iter().find(|(_, value)| !is_scalar(value)) {
        return Err(Failed::bad(format!("{name} must be a text, a number, true or false")));
    }
    if !matches!(asked.family, None | Some(4 | 6)) {
        return Err(Failed::bad("family is to be 4 or 6"));
    }
    let host = asked.host.trim();
    if host.is_empty() || host.len() > LONGEST || !is_printable(host) {
        return Err(
            Failed::bad("the far end has no name").advised("a name or an address, such as far.example:5210")
        );
    }
    check_label(&asked.label)
}

/// Asks it to end.
pub(super) async fn stop(State(app): State<App>) -> Response {
    json(StatusCode::OK, &json!({ "running": app.live.stop() }))
}

/// The part of the test that a page has already.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Known {
    server: String,
    number: u64,
    next: usize,
}

/// How the test stands, and what is new of it.
pub(super) async fn standing(State(app): State<App>, uri: Uri) -> Result<Response, Failed> {
    let Known { server, number, next } = query(&uri)?;
    Ok(([(CONTENT_TYPE, "application/json")], app.live.since(&server, number, next)).into_response())
}

/// The story of the test that runs, or of the last one, from its begin, as server-sent events. It ends with the session.
pub(super) async fn events(State(app): State<App>, headers: HeaderMap) -> Response {
    let session = app.session_of(&headers).map(str::to_owned);
    let by_token = headers.contains_key(AUTHORIZATION);
    let first = app.live.idle();
    let reported = unfold((LogPosition::default(), first), move |(mut place, first)| {
        let (app, session) = (app.clone(), session.clone());
        async move {
            if let Some(line) = first {
                return Some((Ok::<_, Infallible>(format!("data: {line}\n\n")), (place, None)));
            }
            let text = match app.live.next(&mut place).await {
                Next::Line(line) => format!("data: {line}\n\n"),
                Next::Nothing => ":\n\n".to_owned(),
                Next::End => return None,
            };
            let lasts = by_token || app.logins.known(session.as_deref(), Instant::now()).is_some();
            lasts.then_some((Ok(text), (place, None)))
        }
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(reported)).into_response()
}

const LONGEST: usize = 255;
