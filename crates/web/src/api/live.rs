//! The test that runs: begun, followed, stopped.

use super::App;
use super::request::Json;
use crate::backend::{Asked, Refused};
use crate::failed::{Failed, json};
use crate::live::{Next, NotBegun, Place};
use axum::body::Body;
use axum::extract::State;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;
use serde_json::json;
use std::convert::Infallible;

/// Begins a test; it is kept when it ends.
pub(super) async fn start(State(app): State<App>, Json(asked): Json<Asked>) -> Result<Response, Failed> {
    check(&asked)?;
    let begun = tokio::task::spawn_blocking(move || app.live.start(asked, &app.backend)).await;
    match begun.map_err(|_| Failed::internal())? {
        Ok(()) => Ok(json(StatusCode::ACCEPTED, &json!({ "running": true }))),
        Err(NotBegun::Busy) => Err(Failed::new(StatusCode::CONFLICT, "a test runs already")
            .advised("tests beside each other measure each other: stop it, or wait")),
        Err(NotBegun::Refused(Refused { error, advice })) => {
            let failed = Failed::new(StatusCode::UNPROCESSABLE_ENTITY, error);
            Err(advice.into_iter().fold(failed, Failed::advised))
        }
    }
}

fn check(asked: &Asked) -> Result<(), Failed> {
    let within = |name: &str, value: Option<u32>, most: u32| match value {
        Some(value) if !(1..=most).contains(&value) => {
            Err(Failed::bad(format!("{name} is to be from 1 to {most}")))
        }
        _ => Ok(()),
    };
    within("seconds", asked.seconds, 3_600)?;
    within("streams", asked.streams, 128)?;
    if asked.host.trim().is_empty() || asked.host.len() > LONGEST || asked.host.chars().any(char::is_control)
    {
        return Err(
            Failed::bad("the far end has no name").advised("a name or an address, such as far.example:5210")
        );
    }
    let long = asked.label.len() > LONGEST || asked.label.chars().any(char::is_control);
    if long {
        Err(Failed::bad(format!("a label has at most {LONGEST} bytes, all printable")))
    } else {
        Ok(())
    }
}

/// Asks it to end.
pub(super) async fn stop(State(app): State<App>) -> Response {
    json(StatusCode::OK, &json!({ "running": app.live.stop() }))
}

/// The story of the test that runs, or of the last one, from its begin, as server-sent events.
pub(super) async fn events(State(app): State<App>) -> Response {
    let reported = unfold(Place::default(), move |mut place| {
        let live = app.live.clone();
        async move {
            let text = match live.next(&mut place).await {
                Next::Line(line) => format!("data: {line}\n\n"),
                Next::Nothing => ":\n\n".to_owned(),
                Next::End => return None,
            };
            Some((Ok::<_, Infallible>(text), place))
        }
    });
    ([(CONTENT_TYPE, "text/event-stream")], Body::from_stream(reported)).into_response()
}

const LONGEST: usize = 255;
