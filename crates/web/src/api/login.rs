//! Sessions.

use super::App;
use super::request::Json;
use crate::failed::{Failed, json};
use crate::guard::{Peer, client, denied, is_encrypted};
use crate::login::Rights;
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
    let known = app.logins.known(app.session_of(&headers), Instant::now());
    let value = json!({
        "version": app.backend.version,
        "login_needed": app.logins.is_needed(),
        "logged_in": known.is_some(),
        "may_change": known.as_ref().is_some_and(|(_, rights)| *rights == Rights::Change),
        "may_embed": known.is_some() && app.logins.sign("").is_some(),
        "csrf": known.map_or_else(|| app.logins.anonymous().to_owned(), |(csrf, _)| csrf),
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
        .enter(client(&app, &headers, peer.address.ip()), login.token.trim(), Instant::now())
        .map_err(denied)?;
    let secure = if is_encrypted(&app, &headers, peer) { "; Secure" } else { "" };
    let own = &app.cookie;
    let cookie = format!("{own}={name}; HttpOnly; SameSite=Strict; Path=/; Max-Age=43200{secure}");
    Ok((StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response())
}

/// Lets out.
pub(super) async fn leave(State(app): State<App>, headers: HeaderMap) -> Response {
    app.session_of(&headers).into_iter().for_each(|name| app.logins.leave(name));
    let cookie = format!("{}=; HttpOnly; SameSite=Strict; Path=/; Max-Age=0", app.cookie);
    (StatusCode::NO_CONTENT, [(SET_COOKIE, cookie)]).into_response()
}
