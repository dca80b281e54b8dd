//! A PostgreSQL server of a test's own, and what holds of servers alone.

use crate::support::{begun, figures, ids, place, run, warning};
use model::finding::Status;
use model::history::{Kept, Measured};
use pathmeter_store::{Content, Filter, Location, Placed, Store, StoreError};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The server; it is stopped and its folder taken away when dropped.
pub(crate) struct Server {
    folder: TempDir,
    port: u16,
    process: Option<Child>,
}

impl Server {
    /// Makes a database and serves it. `None`, and the test is counted as skipped, where this machine has no PostgreSQL.
    pub(crate) fn start() -> Option<Server> {
        let Some(programs) = programs() else {
            skip::skip("no PostgreSQL server is installed (Debian: postgresql)");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Server { folder, port, process: None };
        let data = server.data();
        std::fs::create_dir(&data).unwrap();
        let password = server.folder.path().join("password");
        std::fs::write(&password, PASSWORD).unwrap();
        for path in [server.folder.path(), &data, &password] {
            std::os::unix::fs::chown(path, Some(USER), Some(USER)).unwrap();
        }
        let mut make = as_user(&programs.join("initdb"));
        make.args(["-U", "pathmeter", "-A", "scram-sha-256", "-N", "-E", "UTF8", "--locale=C.UTF-8", "-D"]);
        let made = make.arg(&data).arg("--pwfile").arg(&password).output().unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        server.serve();
        Some(server)
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts it, and waits until it answers.
    pub(crate) fn serve(&mut self) {
        let programs = programs().unwrap();
        let mut serve = as_user(&programs.join("postgres"));
        serve.arg("-D").arg(self.data()).args(["-h", "127.0.0.1", "-p", &self.port.to_string()]);
        serve.arg("-k").arg(self.folder.path()).args(["-c", "fsync=off", "-c", "shared_buffers=16MB"]);
        self.process = Some(serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let mut ready = Command::new(programs.join("pg_isready"));
        ready.args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()]);
        while !ready.status().unwrap().success() {
            std::thread::yield_now();
        }
    }

    /// Kills it at once, as a power failure does.
    pub(crate) fn kill(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        // Its children end when it is gone (immediate shutdown).
        let _ = Command::new("kill").args(["-QUIT", &process.id().to_string()]).status();
        let _ = process.wait();
    }

    pub(crate) fn location(&self) -> Location {
        Location::from(format!("postgres://pathmeter:{PASSWORD}@127.0.0.1:{}/postgres", self.port))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Where the server's programs are: Debian puts them beside the path.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?;
    let mut folders: Vec<PathBuf> = versions.flatten().map(|version| version.path().join("bin")).collect();
    folders.retain(|folder| folder.join("initdb").exists());
    folders.sort();
    folders.pop()
}

/// PostgreSQL does not run as root.
fn as_user(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.uid(USER).gid(USER).env_remove("HOME").current_dir("/");
    command
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
    // Until the thread that writes has noticed.
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
fn a_wrong_password_is_told_and_not_printed() {
    let Some(server) = Server::start() else { return };
    let url = format!("postgres://pathmeter:guessed-secret@127.0.0.1:{}/postgres", server.port);
    let error = Store::open(url.as_str()).unwrap_err();
    assert!(matches!(error, StoreError::Refused { .. }), "{error:?}");
    assert!(!format!("{error} {error:?} {}", error.advice()).contains("guessed-secret"), "{error:?}");
}

const PASSWORD: &str = "a-password";
/// Debian's `nobody`.
const USER: u32 = 65534;
