//! Checks of every request (host, origin, client), and the headers of every answer.

use crate::app::App;
use crate::compress;
use crate::failed::Failed;
use crate::login::{Denied, Rights};
use crate::places::ConnectionSlot;
use crate::secret::is_same;
use axum::extract::{Request, State};
use axum::http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, LOCATION, ORIGIN, REFERRER_POLICY, VARY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::{IpAddr, SocketAddr};
use std::time::Instant;

/// The connection of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer {
    /// Its far end.
    pub(crate) address: SocketAddr,
    /// The client speaks TLS with this server.
    pub(crate) is_encrypted: bool,
}

/// Lets a request through, and gives every answer its headers.
pub(crate) async fn guard(State(app): State<App>, request: Request, next: Next) -> Response {
    let is_api = is_api(request.uri().path());
    let takes_gzip = compress::is_taken(request.headers());
    let mut response = match check(&app, &request) {
        Ok(()) => {
            let answered = tokio::time::timeout(app.limits.answer, next.run(request)).await;
            answered.unwrap_or_else(|_| {
                Failed::new(StatusCode::SERVICE_UNAVAILABLE, "the answer took too long").into_response()
            })
        }
        Err(Barred::Failed(failed)) => failed.into_response(),
        Err(Barred::Moved(to)) => (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, to)]).into_response(),
    };
    if takes_gzip {
        response = compress::gzip(response).await;
    }
    let headers = response.headers_mut();
    headers.entry(VARY).or_insert(HeaderValue::from_static("accept-encoding"));
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
    let policy = if is_api { API_POLICY } else { PAGE_POLICY };
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(policy));
    let cache = if is_api { "no-store" } else { "no-cache" };
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static(cache));
    response
}

/// The reason why a request is not answered.
enum Barred {
    Failed(Failed),
    /// The page is at this address.
    Moved(String),
}

impl From<Failed> for Barred {
    fn from(failed: Failed) -> Barred {
        Barred::Failed(failed)
    }
}

fn check(app: &App, request: &Request) -> Result<(), Barred> {
    let (headers, path) = (request.headers(), request.uri().path());
    check_host(app, headers)?;
    check_encrypted(app, request)?;
    match path {
        // Other sites show it; its key is in the address.
        EMBEDDED => Ok(()),
        path if is_api(path) => check_client(app, request).map_err(Barred::Failed),
        _ => Ok(()),
    }
}

/// A server with TLS answers nothing else. A browser that comes to the page by plain HTTP is led on; a program gets an error, as
/// its token has crossed the network in plain text, and would do so again.
fn check_encrypted(app: &App, request: &Request) -> Result<(), Barred> {
    let peer = request.extensions().get::<Peer>();
    if !app.encrypts || peer.is_some_and(|peer| peer.is_encrypted) {
        return Ok(());
    }
    let host = request.headers().get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let looks = matches!(*request.method(), Method::GET | Method::HEAD);
    if looks && !is_api(request.uri().path()) {
        let path = request.uri().path_and_query().map_or("/", |path| path.as_str());
        return Err(Barred::Moved(format!("https://{host}{path}")));
    }
    let failed = Failed::bad("this server speaks TLS alone, and the request came without it");
    Err(failed.advised(format!("ask https://{host}; replace a token that was sent without TLS")).into())
}

/// A client of the interface must come from no other site, and have a session or a token.
fn check_client(app: &App, request: &Request) -> Result<(), Failed> {
    let (headers, path) = (request.headers(), request.uri().path());
    check_site(app, headers)?;
    let changes = !matches!(*request.method(), Method::GET | Method::HEAD);
    let peer =
        request.extensions().get::<Peer>().map_or(IpAddr::from([0, 0, 0, 0]), |peer| peer.address.ip());
    let is_known = || {
        if let Some(place) = request.extensions().get::<ConnectionSlot>().filter(|_| app.logins.is_needed()) {
            place.is_known();
        }
    };
    if let Some(token) = bearer(headers) {
        // A client that can set this header is not a page of another site.
        let checked = app.logins.check(client(app, headers, peer), token, Instant::now());
        let rights = checked.map_err(denied)?;
        is_known();
        return check_rights(rights, changes, path);
    }
    let (csrf, rights) = match app.logins.known(app.session_of(headers), Instant::now()) {
        Some(known) => {
            is_known();
            known
        }
        // Logging in is open to all, and nothing else that changes anything.
        None if OPEN.contains(&path) => (app.logins.anonymous().to_owned(), Rights::Change),
        None => {
            return Err(Failed::new(StatusCode::UNAUTHORIZED, "log in first")
                .advised("give the token of this server to the page, or as `Authorization: Bearer TOKEN`"));
        }
    };
    let given = headers.get(CSRF).and_then(|value| value.to_str().ok()).unwrap_or_default();
    if changes && !is_same(given, &csrf) {
        return Err(Failed::new(StatusCode::FORBIDDEN, "the header x-csrf-token is missing or out of date")
            .advised("reload the page; programs read the token from /api/session"));
    }
    check_rights(rights, changes, path)
}

/// A user who may only look may all the same log in and out.
fn check_rights(rights: Rights, changes: bool, path: &str) -> Result<(), Failed> {
    if rights == Rights::Change || !changes || SESSION.contains(&path) {
        return Ok(());
    }
    Err(Failed::new(StatusCode::FORBIDDEN, "your token is for looking only")
        .advised("log in with a token of --token-file to start tests and to change what is kept"))
}

/// True for paths that return data or change it; all others belong to the front end.
fn is_api(path: &str) -> bool {
    path.starts_with("/api/") || path == METRICS
}

/// A page that has made its own name point here (DNS rebinding) is one of this server to the browser: so the name must
/// be one that this server goes by. An address cannot be made to point elsewhere.
fn check_host(app: &App, headers: &HeaderMap) -> Result<(), Failed> {
    let mut given = headers.get_all(HOST).iter();
    let (host, more) = (given.next().and_then(|host| host.to_str().ok()), given.next());
    let name = host.filter(|_| more.is_none()).map(without_port).unwrap_or_default();
    let known = match name.trim_matches(['[', ']']).parse::<IpAddr>() {
        Ok(address) => !app.loopback || address.to_canonical().is_loopback(),
        Err(_) => {
            name.eq_ignore_ascii_case("localhost")
                || app.names.iter().any(|own| own.eq_ignore_ascii_case(name))
        }
    };
    if known {
        return Ok(());
    }
    Err(Failed::new(StatusCode::MISDIRECTED_REQUEST, "this server does not go by the name in the address")
        .advised("use its address, or start it with --name NAME"))
}

fn without_port(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.ends_with(':') => name,
        _ => host,
    }
}

/// No page of another site may ask for anything; browsers say whose page asks.
fn check_site(app: &App, headers: &HeaderMap) -> Result<(), Failed> {
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("unreadable"));
    let host = text(HOST).unwrap_or_default();
    let own = |origin: &str| {
        // Behind a proxy with TLS the browser's scheme is another one than this server's.
        let origin = match origin.strip_prefix("http://").filter(|_| !app.encrypts) {
            None => origin.strip_prefix("https://"),
            plain => plain,
        };
        origin.is_some_and(|origin| origin.eq_ignore_ascii_case(host))
    };
    let origin = text(ORIGIN).is_none_or(own);
    let site = text(SITE).is_none_or(|site| matches!(site, "same-origin" | "none"));
    if origin && site {
        return Ok(());
    }
    Err(Failed::new(StatusCode::FORBIDDEN, "pages of other sites may not use this server"))
}

/// The address of a client: that of its connection, or behind a named proxy the last one in `X-Forwarded-For` that is no proxy.
/// Other peers can write there whatever they like: it is not looked at.
pub(crate) fn client(app: &App, headers: &HeaderMap, peer: IpAddr) -> IpAddr {
    let is_proxy = |address: &IpAddr| app.proxies.contains(&address.to_canonical());
    if !is_proxy(&peer) {
        return peer;
    }
    let values = headers.get_all(FORWARDED).iter().filter_map(|value| value.to_str().ok());
    let listed: Vec<&str> = values.flat_map(|value| value.split(',')).map(str::trim).collect();
    let parsed = listed.iter().rev().map_while(|address| address.parse::<IpAddr>().ok());
    parsed.into_iter().find(|address| !is_proxy(address)).unwrap_or(peer)
}

/// The token of a program. The name of the scheme has no case (RFC 9110 section 11.1).
fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim_start())
}

/// The browser's connection is encrypted up to this server, or up to a named proxy before it.
pub(crate) fn is_encrypted(app: &App, headers: &HeaderMap, peer: Peer) -> bool {
    let proxied = app.proxies.contains(&peer.address.ip().to_canonical());
    peer.is_encrypted
        || proxied
            && headers
                .get(FORWARDED_PROTO)
                .is_some_and(|proto| proto.as_bytes().eq_ignore_ascii_case(b"https"))
}

/// Turns the reason of a denial into an answer.
pub(crate) fn denied(denied: Denied) -> Failed {
    match denied {
        Denied::Wrong => Failed::new(StatusCode::UNAUTHORIZED, "the token is wrong")
            .advised("it is the content of the file that --token-file named"),
        Denied::Wait(wait) => {
            let seconds = wait.as_secs().max(1);
            let failed =
                Failed::new(StatusCode::TOO_MANY_REQUESTS, "too many wrong tokens came from your address");
            Failed { retry: Some(seconds), ..failed }.advised(format!("try again in {seconds} s"))
        }
        Denied::NoEntropy => Failed::internal(),
    }
}

/// A chart for pages of other sites.
pub(crate) const EMBEDDED: &str = "/api/embed/chart.svg";
/// Where Prometheus looks.
pub(crate) const METRICS: &str = "/metrics";
const CSRF: &str = "x-csrf-token";
const FORWARDED: HeaderName = HeaderName::from_static("x-forwarded-for");
const FORWARDED_PROTO: HeaderName = HeaderName::from_static("x-forwarded-proto");
const SITE: HeaderName = HeaderName::from_static("sec-fetch-site");
/// Changes of the session itself.
const SESSION: [&str; 2] = ["/api/login", "/api/logout"];
/// Paths that need no session.
const OPEN: [&str; 3] = ["/api/session", "/api/login", "/api/openapi.json"];

/// The page loads its scripts and styles from here and connects to no other host.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                           connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
const API_POLICY: &str = "default-src 'none'; frame-ancestors 'none'; sandbox";
const HEADERS: [(HeaderName, &str); 6] = [
    (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (X_FRAME_OPTIONS, "DENY"),
    (REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("permissions-policy"), "camera=(), geolocation=(), microphone=()"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_no_part_of_names() {
        for (host, name) in [
            ("localhost:5280", "localhost"),
            ("localhost", "localhost"),
            ("127.0.0.1:1", "127.0.0.1"),
            ("[::1]:5280", "[::1]"),
            ("[::1]", "[::1]"),
            ("evil.example:x", "evil.example:x"),
        ] {
            assert_eq!(without_port(host), name);
        }
    }
}
