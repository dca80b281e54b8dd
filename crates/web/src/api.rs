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
use crate::failed::Failed;
use crate::guard::{EMBEDDED, METRICS, guard};
use axum::Router;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::middleware::from_fn_with_state;
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodRouter, delete, get, post, put};
use store::Store;

/// An operation.
struct Operation {
    path: &'static str,
    /// Handler of the method that `openapi.json` has for it.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test holds the description against it"))]
    method: &'static str,
    handler: fn() -> MethodRouter<App>,
}

const fn operation(
    method: &'static str,
    path: &'static str,
    handler: fn() -> MethodRouter<App>,
) -> Operation {
    Operation { path, method, handler }
}

/// All of them.
static OPERATIONS: [Operation; 35] = [
    operation("get", "/api/session", || get(login::session)),
    operation("post", "/api/login", || post(login::enter)),
    operation("post", "/api/logout", || post(login::leave)),
    operation("get", "/api/runs", || get(runs::list)),
    operation("get", "/api/runs/{id}", || get(runs::show)),
    operation("delete", "/api/runs/{id}", || delete(runs::forget)),
    operation("put", "/api/runs/{id}/label", || put(runs::label)),
    operation("put", "/api/runs/{id}/note", || put(runs::note)),
    operation("get", "/api/runs/{id}/document", || get(runs::document)),
    operation("get", "/api/runs/{id}/series", || get(runs::series)),
    operation("get", "/api/runs/{id}/report", || get(runs::report)),
    operation("get", "/api/runs/{id}/charts/{number}", || get(runs::chart)),
    operation("get", "/api/export", || get(export::export)),
    operation("get", "/api/figures", || get(figures::list)),
    operation("post", "/api/import", || post(upload::upload)),
    operation("post", "/api/bulk/label", || post(bulk::label)),
    operation("post", "/api/bulk/forget", || post(bulk::forget)),
    operation("get", "/api/names", || get(names::list)),
    operation("get", "/api/overlay", || get(overlay::overlay)),
    operation("get", "/api/path", || get(path::show)),
    operation("get", "/api/alerts", || get(alerts::list)),
    operation("get", "/api/schedules", || get(schedules::list)),
    operation("delete", "/api/schedules", || delete(schedules::forget)),
    operation("get", "/api/compare", || get(compare::compare)),
    operation("get", "/api/paths", || get(paths::list)),
    operation("get", "/api/meshes", || get(meshes::list)),
    operation("get", METRICS, || get(metrics::latest)),
    operation("get", "/api/embed", || get(embed::link)),
    operation("get", EMBEDDED, || get(embed::chart)),
    operation("get", "/api/lab", || get(lab::list)),
    operation("get", "/api/live", || get(live::events)),
    operation("post", "/api/live", || post(live::start)),
    operation("get", "/api/live/standing", || get(live::standing)),
    operation("post", "/api/live/stop", || post(live::stop)),
    operation("get", "/api/openapi.json", || get(openapi)),
];

/// Every address that is answered.
pub(crate) fn router(app: App) -> Router {
    let with = |router: Router<App>, one: &Operation| {
        let handler = (one.handler)().fallback(|| async { wrong_method() });
        router.route(one.path, handler)
    };
    // Operations on one path share a router of methods, which has one fallback.
    let mut paths: Vec<&'static str> = Vec::new();
    let mut router = Router::new();
    for one in &OPERATIONS {
        router = match paths.contains(&one.path) {
            true => router.route(one.path, (one.handler)()),
            false => with(router, one),
        };
        paths.push(one.path);
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
        let answered = OPERATIONS.iter().map(|one| (one.path.to_owned(), one.method.to_owned())).collect();
        assert_eq!(described, answered);
    }
}
