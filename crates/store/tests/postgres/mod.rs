//! A PostgreSQL server started by a test; tests of other crates include this file, too.

use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The server; dropping it stops the server and removes its folder.
pub(crate) struct Server {
    folder: TempDir,
    pub(crate) port: u16,
    process: Option<Child>,
    pub(crate) options: &'static [&'static str],
}

impl Server {
    /// Creates a database and serves it. `None`, and the test is counted as skipped, where this machine has no PostgreSQL.
    pub(crate) fn start() -> Option<Server> {
        let Some(programs) = programs() else {
            skip::skip("no PostgreSQL server is installed (Debian: postgresql)");
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut server = Server { folder, port, process: None, options: &[] };
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

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts the server, and waits until it answers.
    pub(crate) fn serve(&mut self) {
        let programs = programs().unwrap();
        let mut serve = as_user(&programs.join("postgres"));
        serve.arg("-D").arg(self.data()).args(["-h", "127.0.0.1", "-p", &self.port.to_string()]);
        serve
            .arg("-k")
            .arg(self.folder.path())
            .args(["-c", "fsync=off", "-c", "shared_buffers=16MB"])
            .args(self.options);
        self.process = Some(serve.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        let mut ready = Command::new(programs.join("pg_isready"));
        ready.args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()]);
        while !ready.status().unwrap().success() {
            std::thread::yield_now();
        }
    }

    /// Kills the server at once, as a power failure does.
    pub(crate) fn kill(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        // Its children end when it is gone (immediate shutdown).
        let _ = Command::new("kill").args(["-QUIT", &process.id().to_string()]).status();
        let _ = process.wait();
    }

    /// Runs a statement beside the store.
    pub(crate) fn sql(&self, statement: &str) {
        let mut command = Command::new(programs().unwrap().join("psql"));
        command.env("PGPASSWORD", PASSWORD).args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()]);
        let ended = command.args(["-U", "pathmeter", "-d", "postgres", "-c", statement]).output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    }

    pub(crate) fn url(&self) -> String {
        format!("postgres://pathmeter:{PASSWORD}@127.0.0.1:{}/postgres", self.port)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The folder of the server's programs: Debian installs them outside of PATH.
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

pub(crate) const PASSWORD: &str = "a-password";
/// User id of Debian's unprivileged account.
pub(crate) const USER: u32 = 65534;
