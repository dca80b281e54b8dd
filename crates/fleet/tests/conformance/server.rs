//! Real NATS servers, each in a folder and on ports of its own, ended with their handle.

use pathmeter_fleet::FleetError;
use pathmeter_fleet::broker::nats::{Authority, Nats, NatsOptions, Reactor};
use pathmeter_fleet::setup::{MeshFiles, MeshSetup, seed};
use std::io::{BufRead, BufReader};
use std::net::TcpListener;
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
        Server::start_with(agents, names, "")
    }

    /// The same with more settings of JetStream.
    pub(crate) fn start_with(agents: &[&str], names: &[&str], settings: &str) -> Server {
        let folder = tempfile::tempdir().expect("a folder");
        let setup = MeshSetup {
            agents: agents.iter().map(|name| (*name).to_owned()).collect(),
            listen: "127.0.0.1:-1".to_owned(),
            websocket: None,
            names: names.iter().map(|name| (*name).to_owned()).collect(),
        };
        let files = setup.write(folder.path()).expect("the server's files");
        let text = std::fs::read_to_string(&files.configuration).expect("a configuration");
        let text = text.replace("jetstream {\n", &format!("jetstream {{\n{settings}\n"));
        std::fs::write(&files.configuration, text).expect("a configuration");
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

    pub(crate) fn process(&self) -> u32 {
        self.child.id()
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
            seed: Some(seed(key, &std::fs::read(key).expect("a key"))?),
            authority: self.files.authority.as_deref().map(Authority::read).transpose()?,
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

/// Three servers that keep every stream three times.
pub(crate) struct Cluster {
    servers: Vec<(Child, u16)>,
    _folder: TempDir,
    reactor: Arc<Reactor>,
}

impl Cluster {
    pub(crate) fn start() -> Cluster {
        let folder = tempfile::tempdir().expect("a folder");
        let free = || TcpListener::bind("127.0.0.1:0").expect("a port");
        let listeners: Vec<TcpListener> = (0..3).map(|_| free()).collect();
        let routes: Vec<String> = listeners
            .iter()
            .map(|listener| format!("\"nats://{}\"", listener.local_addr().expect("an address")))
            .collect();
        let configurations: Vec<PathBuf> = listeners
            .iter()
            .enumerate()
            .map(|(number, listener)| {
                let store = folder.path().join(format!("s{number}"));
                let text = format!(
                    "server_name: s{number}\nlisten: \"127.0.0.1:-1\"\njetstream {{ store_dir: \"{}\", sync_interval: always }}\n\
                     cluster {{ name: c, listen: \"{}\", routes: [{}] }}\n",
                    store.display(),
                    listener.local_addr().expect("an address"),
                    routes.join(", ")
                );
                let file = folder.path().join(format!("s{number}.conf"));
                std::fs::write(&file, text).expect("a configuration");
                file
            })
            .collect();
        drop(listeners);
        let servers = configurations.iter().map(|file| run(file)).collect();
        Cluster { servers, _folder: folder, reactor: Reactor::start().expect("a thread") }
    }

    pub(crate) fn connect(&self) -> Nats {
        let urls: Vec<String> =
            self.servers.iter().map(|(_, port)| format!("nats://127.0.0.1:{port}")).collect();
        let options =
            NatsOptions { server: urls.join(","), name: "coordinator".to_owned(), ..NatsOptions::default() };
        Nats::connect(&self.reactor, &options).expect("a connection")
    }

    /// Kills the server that leads the stream of outcomes.
    pub(crate) fn kill_leader(&mut self) {
        let urls: Vec<String> = self.servers.iter().map(|(_, port)| format!("127.0.0.1:{port}")).collect();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a thread");
        let leader = runtime.block_on(async {
            let client = async_nats::connect(urls[0].clone()).await.expect("a connection");
            let stream =
                async_nats::jetstream::new(client).get_stream("PM_OUTCOME").await.expect("the stream");
            stream
                .cached_info()
                .cluster
                .as_ref()
                .and_then(|cluster| cluster.leader.clone())
                .expect("a leader")
        });
        let number: usize = leader[1..].parse().expect("its number");
        let (mut child, _) = self.servers.remove(number);
        child.kill().expect("kill");
        child.wait().expect("its end");
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for (child, _) in &mut self.servers {
            let _ = child.kill();
            let _ = child.wait();
        }
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
            break;
        }
    }
    if log.contains("Server is ready") {
        // Later output must not fill the pipe.
        thread::spawn(move || lines.for_each(drop));
    } else {
        let _ = child.kill();
        let _ = child.wait();
        panic!("nats-server did not start:\n{log}");
    }
    (child, port)
}
