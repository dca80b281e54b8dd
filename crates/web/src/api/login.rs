//! Sessions.

use super::App;
use super::request::Json;
use crate::failed::{Failed, json};
use crate::guard::{Peer, SESSION, client, denied, session as name_of};
use axum::Extension;
use axum::extract::State;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use serde::Deserialize;
use serde_json::json;
use std::time::Instant;

/// Whether one has to log in, and the token for what changes things.
pub(super) async fn session(State(app): State<App>, headers: HeaderMap) -> Response {
    let csrf = app.logins.csrf(name_of(&headers), Instant::now());
    let value = json!({
        "version": app.backend.version,
        "login_needed": app.logins.is_needed(),
        "logged_in": csrf.is_some(),
        "csrf": csrf.unwrap_or_else(|| app.logins.anonymous().to_owned()),
    });
    json(StatusCode::OK, &value)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Login {
    token: String,
}

/// Lets in.
pub(super) async fn enter(
    State(app): State<App>,
    Extension(peer): Extension<Peer>,
    headers: HeaderMap,
    Json(login): Json<Login>,
) -> Result<Response, Failed> {
    let name = app
        .logins
        .enter(client(&app, &headers, peer.0.ip()), login.token.trim(), Instant::now())
        .map_err(denied)?;
    // Without `Secure`: this server speaks plain HTTP, behind which ssh or a proxy may stand.
    let cookie = format!("{SESSION}={name}; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200");
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response())
}

/// Lets out.
pub(super) async fn leave(State(app): State<App>, headers: HeaderMap) -> Response {
    name_of(&headers).into_iter().for_each(|name| app.logins.leave(name));
    let cookie = format!("{SESSION}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0");
    (StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response()
}
