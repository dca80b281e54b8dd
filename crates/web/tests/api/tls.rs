//! The page with a certificate: who speaks TLS is answered, and who does not learns where to go.

use crate::common::{Answer, NO_TOKEN, Page, read, run};
use pathmeter_web::{Limits, Tls, Tokens, WebError};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned, SupportedProtocolVersion};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

const TOKEN: &str = "a token that is never guessed";

/// A page that speaks TLS, and its certificate.
fn page(token: Option<&str>, limits: Limits) -> (Page, CertificateDer<'static>) {
    let made = rcgen::generate_simple_self_signed(["page.example".to_owned()]).unwrap();
    let tls = Tls::from_pem(made.cert.pem().as_bytes(), made.signing_key.serialize_pem().as_bytes()).unwrap();
    let tokens = Tokens { full: token.map(Into::into).into_iter().collect(), read: Vec::new() };
    (Page::serving(Vec::new(), tokens, Some(tls), limits), made.cert.der().clone())
}

type Encrypted = StreamOwned<ClientConnection, TcpStream>;

/// A client that trusts this certificate.
fn connect(
    page: &Page,
    trusted: &CertificateDer<'static>,
    version: &'static SupportedProtocolVersion,
) -> Encrypted {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_protocol_versions(&[version])
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("page.example").unwrap();
    StreamOwned::new(ClientConnection::new(Arc::new(config), name).unwrap(), page.connect())
}

/// Sends a request through TLS, by the name of the certificate.
fn ask(page: &Page, trusted: &CertificateDer<'static>, head: &str, body: &str) -> Answer {
    let mut stream = connect(page, trusted, &rustls::version::TLS13);
    let length = if body.is_empty() {
        String::new()
    } else {
        format!("Content-Type: application/json\r\nContent-Length: {}\r\n", body.len())
    };
    let port = page.address.port();
    write!(stream, "{head}Host: page.example:{port}\r\nConnection: close\r\n{length}\r\n{body}").unwrap();
    read(&mut stream)
}

#[test]
fn a_certificate_needs_its_own_key() {
    let made = |name: &str| rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let (one, other) = (made("page.example"), made("page.example"));
    let (chain, key) = (one.cert.pem(), one.signing_key.serialize_pem());
    assert!(Tls::from_pem(chain.as_bytes(), key.as_bytes()).is_ok());
    let both = format!("{key}{chain}");
    assert!(Tls::from_pem(both.as_bytes(), both.as_bytes()).is_ok(), "one file for both");
    let refused = |chain: &str, key: &str, why: &str| {
        let error = Tls::from_pem(chain.as_bytes(), key.as_bytes()).unwrap_err();
        assert!(matches!(error, WebError::Certificate(_)) && error.to_string().contains(why), "{error}");
    };
    refused("", &key, "has none in PEM form");
    refused(&key, &key, "has none in PEM form");
    refused(&chain, "", "the key cannot be read");
    refused(&chain, &chain, "the key cannot be read");
    refused(&chain, &other.signing_key.serialize_pem(), "do not belong together");
}

#[test]
fn a_client_with_tls_logs_in_and_its_cookie_never_leaves_tls() {
    let (page, trusted) = page(Some(TOKEN), Limits::default());
    page.keep(&run("01a-one", 0, 3), "far.example", "before");
    let session = ask(&page, &trusted, "GET /api/session HTTP/1.1\r\n", "").json();
    let csrf = format!("X-CSRF-Token: {}\r\n", session["csrf"].as_str().unwrap());
    let port = page.address.port();
    let login = |origin: &str| {
        let head = format!("POST /api/login HTTP/1.1\r\n{csrf}Origin: {origin}://page.example:{port}\r\n");
        ask(&page, &trusted, &head, &format!(r#"{{"token":"{TOKEN}"}}"#))
    };
    assert_eq!(login("http").status, 403, "a page without TLS is one of another site");
    let entered = login("https");
    assert_eq!(entered.status, 204, "{entered:?}");
    let cookie = entered.header("set-cookie").unwrap();
    assert!(cookie.ends_with("; Secure") && cookie.contains("HttpOnly"), "{cookie}");
    let cookie = cookie.split(';').next().unwrap();
    let listed = ask(&page, &trusted, &format!("GET /api/runs HTTP/1.1\r\nCookie: {cookie}\r\n"), "");
    assert_eq!(listed.json()["runs"][0]["id"], "01a-one");
    let bearer = format!("GET /metrics HTTP/1.1\r\nAuthorization: Bearer {TOKEN}\r\n");
    assert_eq!(ask(&page, &trusted, &bearer, "").status, 200);
}

#[test]
fn both_versions_of_tls_are_spoken() {
    let (page, trusted) = page(NO_TOKEN, Limits::default());
    for version in [&rustls::version::TLS12, &rustls::version::TLS13] {
        let mut stream = connect(&page, &trusted, version);
        let host = page.address;
        write!(stream, "GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").unwrap();
        let answer = read(&mut stream);
        assert_eq!(answer.status, 200, "{answer:?}");
        assert!(answer.body.contains("<html"), "{answer:?}");
    }
}

#[test]
fn a_browser_without_tls_is_led_to_it() {
    let (page, _) = page(Some(TOKEN), Limits::default());
    let port = page.address.port();
    let host = format!("Host: page.example:{port}");
    let moved = page.request("GET", "/run/01a?x=%22", &[&host], "");
    assert_eq!(moved.status, 307, "{moved:?}");
    assert_eq!(moved.header("location").unwrap(), format!("https://page.example:{port}/run/01a?x=%22"));
    // An address of another host is none of this page's.
    let foreign = page.request("GET", "/", &["Host: evil.example"], "");
    assert!(foreign.status != 307 && foreign.header("location").is_none(), "{foreign:?}");
}

#[test]
fn a_program_without_tls_gets_an_error_and_nothing_else() {
    let (page, _) = page(Some(TOKEN), Limits::default());
    page.keep(&run("01a-one", 0, 3), "far.example", "before");
    let bearer = format!("Authorization: Bearer {TOKEN}");
    for (method, path) in [("GET", "/api/runs"), ("GET", "/metrics"), ("GET", "/api/session"), ("POST", "/x")]
    {
        let refused = page.request(method, path, &[&bearer], "");
        assert_eq!(refused.status, 400, "{method} {path}: {refused:?}");
        assert!(refused.json()["error"].as_str().unwrap().contains("TLS alone"), "{refused:?}");
        assert!(refused.json()["advice"].as_str().unwrap().contains("https://"), "{refused:?}");
        assert!(!refused.body.contains("01a-one"));
    }
    let login = page.request("POST", "/api/login", &[], &format!(r#"{{"token":"{TOKEN}"}}"#));
    assert!(login.status == 400 && login.header("set-cookie").is_none(), "{login:?}");
}

#[test]
fn a_handshake_without_end_and_a_broken_one_are_closed() {
    let (page, trusted) = page(NO_TOKEN, Limits { head: Duration::from_secs(1), ..Limits::default() });
    // Nothing, the begin of a record, a record of another version, noise that begins as a record.
    for bytes in [&b""[..], &[22, 3, 1, 2, 0, 1], &[22, 3, 1, 0, 4, 1, 0, 0, 0], &[22; 400]] {
        let mut stream = page.connect();
        stream.write_all(bytes).unwrap();
        let mut rest = Vec::new();
        // A reset closes it, too.
        let ended = stream.read_to_end(&mut rest).map_err(|error| error.kind());
        assert!(ended != Err(ErrorKind::WouldBlock), "it is still open after half a minute: {bytes:?}");
        assert!(rest.len() < 16, "an alert at most: {rest:?}");
    }
    let mut stream = connect(&page, &trusted, &rustls::version::TLS13);
    write!(stream, "GET / HTTP/1.1\r\nHost: {}\r\nConnection: close\r\n\r\n", page.address).unwrap();
    assert_eq!(read(&mut stream).status, 200, "others are answered as before");
}
