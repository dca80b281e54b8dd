//! Answers in gzip (RFC 1952): what the page loads becomes a fraction of it.

use axum::body::{Body, HttpBody, to_bytes};
use axum::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;

/// The client takes gzip.
pub(crate) fn is_taken(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).any(|coding| {
        let (name, weight) = coding.split_once(';').unwrap_or((coding, ""));
        let refused = weight.trim().strip_prefix("q=").is_some_and(|q| q.trim().parse() == Ok(0.0_f32));
        name.trim().eq_ignore_ascii_case("gzip") && !refused
    })
}

/// The same answer in gzip, where that is worth it: a stream goes out as it comes.
pub(crate) async fn gzip(response: Response) -> Response {
    let size = response.body().size_hint().exact().unwrap_or_default();
    let is_text =
        response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).is_some_and(|kind| {
            ["text/", "application/json", "image/svg+xml"].iter().any(|text| kind.starts_with(text))
        });
    if size < LEAST || !is_text || response.status() != StatusCode::OK {
        return response;
    }
    let (mut parts, body) = response.into_parts();
    let Ok(bytes) = to_bytes(body, usize::MAX).await else {
        return StatusCode::INTERNAL_SERVER_ERROR.into_response();
    };
    let packed = if bytes.len() < MANY {
        packed(&bytes)
    } else {
        // Others are answered meanwhile.
        let bytes = bytes.clone();
        tokio::task::spawn_blocking(move || packed(&bytes)).await.ok().flatten()
    };
    let Some(packed) = packed else { return Response::from_parts(parts, Body::from(bytes)) };
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    Response::from_parts(parts, Body::from(packed))
}

/// Fast rather than small: what is measured meanwhile needs the CPUs.
fn packed(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).ok()?;
    encoder.finish().ok()
}

/// Smaller answers fit a packet as they are.
const LEAST: u64 = 1_400;
const MANY: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gzip_is_taken_where_it_is_named_and_not_refused() {
        for (value, taken) in [
            ("gzip", true),
            ("deflate, GZip;q=0.5, br", true),
            ("gzip;q=0", false),
            ("gzip; q=0.0", false),
            ("br", false),
            ("", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_str(value).unwrap());
            assert_eq!(is_taken(&headers), taken, "{value}");
        }
    }
}
