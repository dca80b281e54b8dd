//! HTTPS: certificates that are trusted, unknown, for another name, or not asked for.

use super::common::{TIMEOUT, answer, head, measured, transfer, transfers};
use super::support::{Running, Scratch, free_port, pathmeter};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::pki_types::PrivateKeyDer;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;

/// A web server with a certificate for these names; answers every request with a text of 100 000 bytes, or with the length
/// of what came up. Ends with the test's process.
fn serve(issuer: &CertifiedIssuer<'_, KeyPair>, names: &[&str]) -> u16 {
    serve_behind(issuer, names, usize::MAX)
}

/// The same behind a box that drops every Client Hello of more than so many bytes.
fn serve_behind(issuer: &CertifiedIssuer<'_, KeyPair>, names: &[&str], largest: usize) -> u16 {
    let key = KeyPair::generate().unwrap();
    let names: Vec<String> = names.iter().map(ToString::to_string).collect();
    let certificate = CertificateParams::new(names).unwrap().signed_by(&key, issuer).unwrap();
    let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let config = config.clone();
            std::thread::spawn(move || {
                socket.set_read_timeout(Some(TIMEOUT)).unwrap();
                // A record begins with its type, its version, and its length.
                let mut record = [0; 5];
                while socket.peek(&mut record).is_ok_and(|count| (1..5).contains(&count)) {}
                if usize::from(u16::from_be_bytes([record[3], record[4]])) > largest {
                    std::thread::sleep(std::time::Duration::from_secs(10));
                    return;
                }
                let mut stream = StreamOwned::new(ServerConnection::new(config).unwrap(), socket);
                let head = head(&mut stream);
                let length = head.lines().find_map(|line| {
                    let (name, value) = line.split_once(": ")?;
                    name.eq_ignore_ascii_case("content-length").then(|| value.parse::<u64>().ok())?
                });
                let up = std::io::copy(
                    &mut std::io::Read::take(&mut stream, length.unwrap_or(0)),
                    &mut std::io::sink(),
                );
                match length {
                    None => answer(&mut stream, "200 OK", "", &"x".repeat(100_000)),
                    Some(_) => answer(&mut stream, "200 OK", "", &up.unwrap().to_string()),
                }
                stream.conn.send_close_notify();
                stream.flush().ok();
            });
        }
    });
    port
}

fn issuer() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

#[test]
fn a_certificate_is_checked_against_the_authorities_given() {
    let (ours, another) = (issuer(), issuer());
    let scratch = Scratch::new("tls");
    let file = scratch.file("ca.pem", Some(&ours.pem()));
    let foreign = scratch.file("other.pem", Some(&another.pem()));
    let nothing = scratch.file("empty.pem", Some("no certificate"));
    let url = format!("https://localhost:{}/file", serve(&ours, &["localhost", "127.0.0.1"]));
    let run = measured(&[&url, "-n", "2", "--cacert", &file, "-4"]);
    for one in transfers(&run) {
        assert_eq!(one["bytes"], 100_000);
        assert!(one["times"]["tls_ns"].as_u64().is_some_and(|time| time > 0), "{one:#}");
        assert!(one["times"]["dns_ns"].is_u64(), "localhost is a name: {one:#}");
    }
    assert_eq!(run["summary"]["warnings"], serde_json::json!([]));
    let up = measured(&[&url, "-n", "1", "--cacert", &file, "-4", "--size", "3MB"]);
    assert_eq!((&transfers(&up)[0]["bytes"], &transfers(&up)[0]["status"]), (&3_000_000.into(), &200.into()));
    // Its address is in the certificate too.
    measured(&[&url.replace("localhost", "127.0.0.1"), "-n", "1", "--cacert", &file]);
    transfer(&[&url, "-4", "--cacert", &foreign]).code(3).prints("certificate").prints("--cacert");
    // A system whose own authorities are others.
    let mut command = pathmeter(None, &["transfer", &url, "-4"]);
    command.env("SSL_CERT_FILE", &foreign).env_remove("SSL_CERT_DIR");
    Running::start(command).end().code(3).prints("certificate").prints("--cacert");
    // The system's own authorities are those of SSL_CERT_FILE, where it is set.
    let mut command = pathmeter(None, &["transfer", &url, "-4", "-n", "1"]);
    command.env("SSL_CERT_FILE", &file).env_remove("SSL_CERT_DIR");
    Running::start(command).end().code(0);
    transfer(&[&url, "--cacert", &nothing]).code(2).prints("has no certificate").prints("PEM");
    transfer(&[&url, "--cacert", "/no/such/file"]).code(2).prints("/no/such/file");
}

#[test]
fn a_certificate_for_another_name_is_none_and_insecure_is_reported_loudly() {
    let ours = issuer();
    let scratch = Scratch::new("tls-name");
    let file = scratch.file("ca.pem", Some(&ours.pem()));
    let url = format!("https://127.0.0.1:{}/file", serve(&ours, &["elsewhere.example"]));
    transfer(&[&url, "--cacert", &file]).code(3).prints("elsewhere.example").prints("--insecure");
    let ended = transfer(&[&url, "-n", "1", "--insecure", "--json"]).code(0);
    let run = ended.json();
    assert_eq!(
        (&run["summary"]["warnings"][0]["id"], &run["work"]["transfer"]["trust"]),
        (&"insecure".into(), &"everybody".into())
    );
    ended.prints("warning: --insecure: no certificate is checked");
    let text = transfer(&[&url, "-n", "1", "--insecure"]).code(0).stdout;
    assert!(text.contains("INSECURE"), "{text}");
}

#[test]
fn a_port_that_speaks_no_tls_is_reported() {
    let web =
        super::common::Web::start(|_, _, stream| drop(stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n")));
    let url = format!("https://{}/", web.address);
    transfer(&[&url, "--insecure"]).code(3).prints("TLS with 127.0.0.1");
    transfer(&[&format!("https://127.0.0.1:{}/", free_port()), "--insecure"])
        .code(3)
        .prints("Connection refused");
}

#[test]
fn a_box_that_drops_large_client_hellos_is_named() {
    let ours = issuer();
    let scratch = Scratch::new("tls-hello");
    let file = scratch.file("ca.pem", Some(&ours.pem()));
    let url = |port: u16| format!("https://127.0.0.1:{port}/file");
    // Browsers' are of some 1,700 bytes.
    let passed = url(serve_behind(&ours, &["127.0.0.1"], 2_000));
    let run = measured(&[&passed, "-n", "1", "--cacert", &file, "--timeout", "4s"]);
    assert_eq!(run["summary"]["warnings"], serde_json::json!([]));
    let dropped = url(serve_behind(&ours, &["127.0.0.1"], 1_600));
    let run = measured(&[&dropped, "-n", "3", "--cacert", &file, "--timeout", "4s"]);
    let warnings = run["summary"]["warnings"].as_array().unwrap();
    assert_eq!((warnings.len(), &warnings[0]["id"]), (1, &"large-client-hello".into()), "{warnings:#?}");
    // One that is known to stall is left out from then on.
    let times = transfers(&run).iter().map(|one| one["times"]["total_ns"].as_u64().unwrap());
    assert_eq!(times.filter(|time| *time > 2_000_000_000).count(), 1, "{run:#}");
    let deaf = url(serve_behind(&ours, &["127.0.0.1"], 100));
    let ended = transfer(&[&deaf, "-n", "1", "--cacert", &file, "--timeout", "4s", "--no-explain"]).code(3);
    assert!(ended.stderr.contains("stalled for 4.00 s"), "{}", ended.stderr);
}
