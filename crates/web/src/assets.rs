//! The front end, built into the program: a fixed table of files, so that no path leads anywhere else.

use crate::failed::Failed;
use axum::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};

struct Asset {
    path: &'static str,
    kind: &'static str,
    bytes: &'static [u8],
}

static ASSETS: [Asset; 4] = [
    Asset {
        path: "/",
        kind: "text/html; charset=utf-8",
        bytes: include_bytes!("../../../web/dist/index.html"),
    },
    Asset {
        path: "/app.js",
        kind: "text/javascript; charset=utf-8",
        bytes: include_bytes!("../../../web/dist/app.js"),
    },
    Asset {
        path: "/app.css",
        kind: "text/css; charset=utf-8",
        bytes: include_bytes!("../../../web/dist/app.css"),
    },
    Asset { path: "/icon.svg", kind: "image/svg+xml", bytes: include_bytes!("../../../web/dist/icon.svg") },
];

/// A file of the front end; a view whose address was typed without the `#` is shown all the same.
pub(crate) fn asset(uri: &Uri, headers: &HeaderMap) -> Response {
    let Some(asset) = ASSETS.iter().find(|asset| asset.path == uri.path()) else {
        let view = uri.path().split('/').nth(1).unwrap_or_default();
        if VIEWS.contains(&view) && uri.path().bytes().all(is_plain) {
            return Redirect::temporary(&format!("/#{}", uri.path())).into_response();
        }
        return Failed::unknown().into_response();
    };
    let tag = format!("\"{}-{:016x}\"", asset.bytes.len(), digest(asset.bytes));
    let known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    if known {
        return (StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response();
    }
    ([(CONTENT_TYPE, asset.kind.to_owned()), (ETAG, tag)], asset.bytes).into_response()
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"/-._~%".contains(&byte)
}

/// First segments of the front end's addresses.
const VIEWS: [&str; 10] =
    ["runs", "run", "paths", "path", "mesh", "compare", "overlay", "lab", "live", "alerts"];

/// FNV-1a, 64 bits: it distinguishes builds and protects no secret.
fn digest(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
