//! Real NATS servers, each in a folder and on ports of its own, ended with their handle.

use pathmeter_fleet::FleetError;
use pathmeter_fleet::broker::nats::{Nats, NatsOptions, Reactor};
use pathmeter_fleet::setup::{MeshFiles, MeshSetup, read_seed};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use tempfile::TempDir;

/// The program, or why there is none.
pub(crate) fn program() -> Result<PathBuf, String> {
    let named = std::env::var_os("PATHMETER_NATS_SERVER").map(PathBuf::from);
    let program = named.unwrap_or_else(|| PathBuf::from("nats-server"));
    let found = Command::new(&program).arg("--version").output();
    found.map(|_| program.clone()).map_err(|error| format!("no {}: {error}", program.display()))
}

/// A server that runs.
pub(crate) struct Server {
    child: Child,
    pub(crate) port: u16,
    pub(crate) files: MeshFiles,
    /// Removed at the end.
    _folder: TempDir,
    reactor: Arc<Reactor>,
}

impl Server {
    /// One for these agents, on a port that the system chooses; with TLS when it has names.
    pub(crate) fn start(agents: &[&str], names: &[&str]) -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        let setup = MeshSetup {
            agents: agents.iter().map(|name| (*name).to_owned()).collect(),
            listen: "127.0.0.1:-1".to_owned(),
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        let files = setup.write(folder.path()).expect("the server's files");
        let (child, port) = run(&files.configuration);
        Server { child, port, files, _folder: folder, reactor: Reactor::start().expect("a thread") }
    }

    /// Kills it as a power cut would, and starts it on the same port with what is on its disk.
    pub(crate) fn crash(&mut self) {
        self.stop();
        let text = std::fs::read_to_string(&self.files.configuration).expect("a configuration");
        let text = text.replace("127.0.0.1:-1", &format!("127.0.0.1:{}", self.port));
        std::fs::write(&self.files.configuration, text).expect("a configuration");
        self.child = run(&self.files.configuration).0;
    }

    /// Kills it.
    pub(crate) fn stop(&mut self) {
        self.child.kill().expect("kill");
        self.child.wait().expect("its end");
    }

    /// A connection with the coordinator's key, or with an agent's.
    pub(crate) fn connect(&self, who: &str) -> Result<Nats, FleetError> {
        let key = self.files.agents.iter().find(|(name, _)| name == who).map(|(_, key)| key);
        self.connect_with(who, key.unwrap_or(&self.files.coordinator))
    }

    pub(crate) fn connect_with(&self, who: &str, key: &Path) -> Result<Nats, FleetError> {
        let scheme = if self.files.authority.is_some() { "tls" } else { "nats" };
        let options = NatsOptions {
            server: format!("{scheme}://localhost:{}", self.port),
            name: who.to_owned(),
            seed: Some(read_seed(key)?),
            authority: self.files.authority.clone(),
            ..NatsOptions::default()
        };
        Nats::connect(&self.reactor, &options)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Starts a server and reads its log until it is ready.
fn run(configuration: &Path) -> (Child, u16) {
    let mut command = Command::new(program().expect("checked before"));
    let mut child = command.arg("-c").arg(configuration).stderr(Stdio::piped()).spawn().expect("nats-server");
    let mut lines = BufReader::new(child.stderr.take().expect("piped")).lines();
    let (mut port, mut log) = (0, String::new());
    for line in lines.by_ref().map_while(Result::ok) {
        if let Some((_, address)) = line.split_once("Listening for client connections on ") {
            port = address.rsplit(':').next().and_then(|port| port.parse().ok()).unwrap_or(0);
        }
        let is_ready = line.contains("Server is ready");
        log = format!("{log}{line}\n");
        if is_ready {
            // What it reports later must not fill the pipe.
            thread::spawn(move || lines.for_each(drop));
            return (child, port);
        }
    }
    panic!("nats-server did not start:\n{log}");
}
