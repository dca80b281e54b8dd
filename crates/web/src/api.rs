//! The REST interface: a row for each operation, which `openapi.json` describes.

mod alerts;
mod bulk;
mod compare;
mod embed;
mod export;
mod figures;
mod lab;
mod live;
mod login;
mod meshes;
mod metrics;
mod names;
mod overlay;
mod path;
mod paths;
mod request;
mod rounds;
mod runs;
mod schedules;
mod upload;

use crate::app::App;
use crate::assets::asset;
use crate::backend::Backend;
use crate::failed::{Failed, json};
use crate::guard::{EMBEDDED, METRICS, guard};
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, post, put};
use serde::Serialize;
use store::Store;

/// An operation: the method that `openapi.json` has for it, its path, and its handler.
type Operation = (&'static str, &'static str, fn() -> MethodRouter<App>);

/// All of them.
static OPERATIONS: [Operation; 35] = [
    ("get", "/api/session", || get(login::session)),
    ("post", "/api/login", || post(login::enter)),
    ("post", "/api/logout", || post(login::leave)),
    ("get", "/api/runs", || get(runs::list)),
    ("get", "/api/runs/{id}", || get(runs::show)),
    ("delete", "/api/runs/{id}", || delete(runs::forget)),
    ("put", "/api/runs/{id}/label", || put(runs::label)),
    ("put", "/api/runs/{id}/note", || put(runs::note)),
    ("get", "/api/runs/{id}/document", || get(runs::document)),
    ("get", "/api/runs/{id}/series", || get(runs::series)),
    ("get", "/api/runs/{id}/report", || get(runs::report)),
    ("get", "/api/runs/{id}/charts/{number}", || get(runs::chart)),
    ("get", "/api/export", || get(export::export)),
    ("get", "/api/figures", || get(figures::list)),
    ("post", "/api/import", || post(upload::upload)),
    ("post", "/api/bulk/label", || post(bulk::label)),
    ("post", "/api/bulk/forget", || post(bulk::forget)),
    ("get", "/api/names", || get(names::list)),
    ("get", "/api/overlay", || get(overlay::overlay)),
    ("get", "/api/path", || get(path::show)),
    ("get", "/api/alerts", || get(alerts::list)),
    ("get", "/api/schedules", || get(schedules::list)),
    ("delete", "/api/schedules", || delete(schedules::forget)),
    ("get", "/api/compare", || get(compare::compare)),
    ("get", "/api/paths", || get(paths::list)),
    ("get", "/api/meshes", || get(meshes::list)),
    ("get", METRICS, || get(metrics::latest)),
    ("get", "/api/embed", || get(embed::link)),
    ("get", EMBEDDED, || get(embed::chart)),
    ("get", "/api/lab", || get(lab::list)),
    ("get", "/api/live", || get(live::events)),
    ("post", "/api/live", || post(live::start)),
    ("get", "/api/live/standing", || get(live::standing)),
    ("post", "/api/live/stop", || post(live::stop)),
    ("get", "/api/openapi.json", || get(openapi)),
];

/// Every address that is answered.
pub(crate) fn router(app: App) -> Router {
    let mut paths: Vec<&'static str> = Vec::new();
    let mut router = Router::new();
    for (_, path, handler) in OPERATIONS {
        // Operations on one path share a router of methods, which has one fallback.
        router = match paths.contains(&path) {
            true => router.route(path, handler()),
            false => router.route(path, handler().fallback(|| async { wrong_method() })),
        };
        paths.push(path);
    }
    router.fallback(elsewhere).layer(from_fn_with_state(app.clone(), guard)).with_state(app)
}

async fn elsewhere(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    if uri.path().starts_with("/api/") {
        Failed::unknown().into_response()
    } else if matches!(method, Method::GET | Method::HEAD) {
        asset(&uri, &headers)
    } else {
        wrong_method()
    }
}

fn wrong_method() -> Response {
    Failed::new(StatusCode::METHOD_NOT_ALLOWED, "this address does not take this method").into_response()
}

async fn openapi() -> Response {
    ([(CONTENT_TYPE, "application/json")], OPENAPI).into_response()
}

/// The description of this interface.
pub(crate) static OPENAPI: &str = include_str!("../openapi.json");

/// Asks the store, on a thread that may wait for it.
pub(crate) async fn ask<T: Send + 'static>(
    app: &App,
    work: impl FnOnce(&Store, &Backend) -> Result<T, Failed> + Send + 'static,
) -> Result<T, Failed> {
    let backend = app.backend.clone();
    let worker = tokio::task::spawn_blocking(move || work(&(backend.open)()?, &backend));
    worker.await.unwrap_or_else(|_| Err(Failed::internal()))
}

/// The same as an answer.
pub(crate) async fn answer<T: Serialize + Send + 'static>(
    app: &App,
    work: impl FnOnce(&Store, &Backend) -> Result<T, Failed> + Send + 'static,
) -> Result<Response, Failed> {
    Ok(json(StatusCode::OK, &ask(app, work).await?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;
    use std::collections::BTreeSet;

    #[test]
    fn the_description_has_every_operation_and_no_other() {
        let described: Value = serde_json::from_str(OPENAPI).unwrap();
        let paths = described["paths"].as_object().unwrap();
        let described: BTreeSet<(String, String)> = paths
            .iter()
            .flat_map(|(path, methods)| {
                methods.as_object().unwrap().keys().map(|m| (path.clone(), m.clone()))
            })
            .filter(|(_, method)| method != "parameters")
            .collect();
        let answered =
            OPERATIONS.iter().map(|(method, path, _)| ((*path).into(), (*method).into())).collect();
        assert_eq!(described, answered);
    }
}
