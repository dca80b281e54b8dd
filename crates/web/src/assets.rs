//! The front end, built into the program: a fixed table of files, so that no path leads anywhere else.

use crate::failed::Failed;
use axum::http::header::{CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};

/// A file: its path, its media type and its bytes.
type Asset = (&'static str, &'static str, &'static [u8]);

static ASSETS: [Asset; 4] = [
    ("/", "text/html; charset=utf-8", include_bytes!("../../../web/dist/index.html")),
    ("/app.js", "text/javascript; charset=utf-8", include_bytes!("../../../web/dist/app.js")),
    ("/app.css", "text/css; charset=utf-8", include_bytes!("../../../web/dist/app.css")),
    ("/icon.svg", "image/svg+xml", include_bytes!("../../../web/dist/icon.svg")),
];

/// A file of the front end; a view whose address was typed without the `#` is shown all the same.
pub(crate) fn asset(uri: &Uri, headers: &HeaderMap) -> Response {
    let Some((_, kind, bytes)) = ASSETS.iter().find(|(path, ..)| *path == uri.path()) else {
        let view = uri.path().split('/').nth(1).unwrap_or_default();
        if VIEWS.contains(&view) && uri.path().bytes().all(is_plain) {
            return Redirect::temporary(&format!("/#{}", uri.path())).into_response();
        }
        return Failed::unknown().into_response();
    };
    let tag = format!("\"{}-{:016x}\"", bytes.len(), digest(bytes));
    let known = headers.get(IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    if known {
        return (StatusCode::NOT_MODIFIED, [(ETAG, tag)]).into_response();
    }
    ([(CONTENT_TYPE, (*kind).to_owned()), (ETAG, tag)], *bytes).into_response()
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
