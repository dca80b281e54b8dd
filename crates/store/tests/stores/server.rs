//! The tests that hold for PostgreSQL servers alone.

use crate::postgres_server::{PASSWORD, USER};
use crate::support::{begun, figures, ids, place, run, warning};
use model::finding::Status;
use model::history::{Kept, Measured};
use pathmeter_store::{Content, Filter, Location, Placed, Store, StoreError};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

pub(crate) use crate::postgres_server::Server;

impl Server {
    /// A server with a certificate of this authority for 127.0.0.1, and no access without TLS.
    fn start_with_tls(authority: &Issuer<'_, KeyPair>) -> Option<Server> {
        let mut server = Server::start()?;
        server.kill();
        let key = KeyPair::generate().unwrap();
        let certificate =
            CertificateParams::new(vec!["127.0.0.1".into()]).unwrap().signed_by(&key, authority).unwrap();
        for (name, text) in [("server.crt", certificate.pem()), ("server.key", key.serialize_pem())] {
            let file = server.data().join(name);
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
            std::os::unix::fs::chown(&file, Some(USER), Some(USER)).unwrap();
        }
        std::fs::write(server.data().join("pg_hba.conf"), "hostssl all all 127.0.0.1/32 scram-sha-256\n")
            .unwrap();
        server.options = &["-c", "ssl=on"];
        server.serve();
        Some(server)
    }

    pub(crate) fn location(&self) -> Location {
        Location::from(self.url())
    }
}

#[test]
fn a_run_whose_server_is_lost_is_kept_here_and_delivered_later() {
    let Some(mut server) = Server::start() else { return };
    let (place, location) = (place(), server.location());
    let recorder = Store::open(&location).unwrap().begin(&begun("a", 1), Some(place.file.clone())).unwrap();
    recorder.event(&warning("one")).unwrap();
    let there = Store::open(&location).unwrap();
    while there.get("a").unwrap().content == Content::Events(Vec::new()) {
        std::thread::yield_now();
    }
    drop(there);
    server.kill();
    // Waits until the thread that writes has noticed.
    let lost = loop {
        if let Err(error) = recorder.event(&warning("more")) {
            break error;
        }
        std::thread::yield_now();
    };
    assert!(lost.is_unreachable(), "{lost:?}");
    let placed = recorder.finish(Measured::Run(&run("a", Status::Ok)), &figures()).unwrap();
    assert_eq!(placed, Placed::Waiting(place.file.clone()));
    assert!(matches!(Store::open(&location), Err(StoreError::Unreachable { .. })));
    server.serve();
    let store = Store::open(&location).unwrap();
    assert!(matches!(store.get("a").unwrap().content, Content::Events(_)), "as far as it went");
    assert_eq!(store.deliver(&place.file).unwrap(), 1);
    let stored = store.get("a").unwrap();
    assert_eq!(stored.content, Content::Kept(Kept::Run(Box::new(run("a", Status::Ok)))));
    assert_eq!(stored.entry.figures, figures());
    assert!(ids(&Store::open(&place.file).unwrap(), &Filter::default()).is_empty());
    assert_eq!(store.deliver(&place.file).unwrap(), 0);
}

#[test]
fn a_connection_that_was_lost_is_made_again() {
    let Some(mut server) = Server::start() else { return };
    let store = Store::open(server.location()).unwrap();
    crate::support::insert(&store, &begun("a", 1), Status::Ok);
    server.kill();
    assert!(store.list(&Filter::default()).unwrap_err().is_unreachable());
    server.serve();
    assert_eq!(ids(&store, &Filter::default()), ["a"]);
}

#[test]
fn a_wrong_password_is_reported_and_not_printed() {
    let Some(server) = Server::start() else { return };
    let url = format!("postgres://pathmeter:guessed-secret@127.0.0.1:{}/postgres", server.port);
    let error = Store::open(url.as_str()).unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error:?}");
    assert!(!format!("{error} {error:?} {}", error.advice()).contains("guessed-secret"), "{error:?}");
}

/// An authority, and its certificate in a file.
fn authority(folder: &Path, name: &str) -> (Issuer<'static, KeyPair>, String) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.distinguished_name.push(DnType::CommonName, name);
    let file = folder.join(name);
    std::fs::write(&file, params.self_signed(&key).unwrap().pem()).unwrap();
    (Issuer::new(params, key), file.display().to_string())
}

#[test]
fn a_connection_is_encrypted_and_the_server_is_who_it_should_be() {
    let folder = tempfile::tempdir().unwrap();
    let (own, trusted) = authority(folder.path(), "own.pem");
    let (_, other) = authority(folder.path(), "other.pem");
    let Some(server) = Server::start_with_tls(&own) else { return };
    let open = |host: &str, query: &str| {
        Store::open(format!("postgres://pathmeter:{PASSWORD}@{host}:{}/postgres?{query}", server.port))
    };
    let local = "127.0.0.1";
    let refused = open(local, "sslmode=disable").unwrap_err();
    assert!(matches!(refused, StoreError::Refused { .. }), "{refused:?}");
    for query in [
        "sslmode=prefer".into(),
        "sslmode=require".into(),
        format!("sslmode=verify-ca&sslrootcert={trusted}"),
    ] {
        open(local, &query).unwrap_or_else(|error| panic!("{query}: {error}"));
    }
    let full = |roots: &str| format!("sslmode=verify-full&sslrootcert={roots}");
    let store = open(local, &full(&trusted)).unwrap();
    crate::support::insert(&store, &begun("a", 1), Status::Ok);
    // Another authority, also with `require`, and the system's, which signed no such certificate.
    for query in [full(&other), format!("sslmode=require&sslrootcert={other}"), "sslmode=verify-full".into()]
    {
        let error = open(local, &query).unwrap_err();
        assert!(matches!(error, StoreError::Untrusted { .. }), "{query}: {error:?}");
        assert!(error.advice().contains("sslrootcert=FILE"), "{}", error.advice());
        assert!(!error.is_unreachable() && !error.to_string().contains(PASSWORD), "{error}");
    }
    // Another name is another host, unless only the authority counts.
    let error = open("localhost", &full(&trusted)).unwrap_err();
    assert!(matches!(error, StoreError::Untrusted { .. }), "{error:?}");
    let gone = open(local, &full("/no/such.pem")).unwrap_err();
    assert!(gone.to_string().contains("/no/such.pem"), "{gone}");
}

#[test]
fn a_server_without_tls_is_refused_where_tls_is_required() {
    let Some(server) = Server::start() else { return };
    let Location::Server(url) = server.location() else { panic!("it is a server") };
    let error = Store::open(format!("{url}?sslmode=require")).unwrap_err();
    assert!(matches!(error, StoreError::Untrusted { .. }), "{error:?}");
    Store::open(format!("{url}?sslmode=prefer")).unwrap();
}

/// The tests of files in `bad.rs`, for a server.
#[test]
fn a_server_that_may_not_be_written_or_has_later_tables_is_reported() {
    let Some(server) = Server::start() else { return };
    let Location::Server(url) = server.location() else { panic!("it is a server") };
    crate::support::insert(&Store::open(server.location()).unwrap(), &begun("a", 1), Status::Ok);
    let store = Store::open(format!("{url}?options=-c%20default_transaction_read_only%3Don")).unwrap();
    assert_eq!(ids(&store, &Filter::default()), ["a"]);
    let error = store.label("a", "other").unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly(_)), "{error:?}");
    server.sql("UPDATE pathmeter.version SET number = 99");
    let error = Store::open(server.location()).unwrap_err();
    assert!(matches!(error, StoreError::Newer { found: 99, .. }), "{error:?}");
    server.sql("UPDATE pathmeter.version SET number = 5");
    assert_eq!(ids(&Store::open(server.location()).unwrap(), &Filter::default()), ["a"]);
}
