//! The words by which runs are found, as choices of forms.

use super::{App, answer};
use crate::failed::Failed;
use axum::extract::State;
use axum::response::Response;
use serde_json::json;
use store::Names;

/// Those of the latest runs first; and the far ends that the configuration names.
pub(super) async fn list(State(app): State<App>) -> Result<Response, Failed> {
    let names = answer(&app, |store, backend| {
        let [targets, labels, kinds] =
            [Names::Targets, Names::Labels, Names::Kinds].map(|names| store.names(names, MOST));
        Ok(json!({ "targets": targets?, "labels": labels?, "kinds": kinds?, "configured": backend.targets }))
    });
    names.await
}

const MOST: u64 = 200;
