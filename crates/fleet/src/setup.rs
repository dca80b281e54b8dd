//! The files of a mesh's server: configuration, keys and certificates, with exactly the rights that each agent needs.

mod certificates;
mod folder;
mod join;

pub use certificates::{Validity, validity};
pub use folder::{MeshFolder, Reloaded};
pub use join::JoinFile;

use crate::error::{FleetError, Result, check_name};
use folder::State;
use nkeys::KeyPair;
use std::fs::{DirBuilder, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// Settings of a new mesh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshSetup {
    /// The agents, by name: each gets a key of its own.
    pub agents: Vec<String>,
    /// Address and port on which the server listens: `0.0.0.0:4222`; port `-1` lets the system choose.
    pub listen: String,
    /// Address and port on which it takes WebSocket, too, for agents that may open nothing but HTTPS.
    pub websocket: Option<String>,
    /// Names and addresses by which agents reach the server; with none of them it speaks without TLS.
    pub names: Vec<String>,
}

/// The files that were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeshFiles {
    /// The server's configuration: `nats-server -c` takes it.
    pub configuration: PathBuf,
    /// The certificate that clients trust; without TLS none.
    pub authority: Option<PathBuf>,
    /// The coordinator's key.
    pub coordinator: PathBuf,
    /// Each agent's name and key.
    pub agents: Vec<(String, PathBuf)>,
    /// The token by which the agents know each other when they test; every agent gets the same.
    pub token: PathBuf,
}

pub use crate::lease::COORDINATOR;

impl MeshSetup {
    /// Writes all files into a folder that is made for them; keys can be read by this user alone.
    ///
    /// # Errors
    /// A name that cannot be used, or twice; the folder exists with a configuration already; a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<MeshFiles> {
        self.check()?;
        if let Ok(known) = MeshFolder::open(folder) {
            let agents = known.agents().map(str::to_owned).collect();
            return Err(FleetError::MeshExists { folder: folder.to_owned(), agents });
        }
        make_folder(folder)?;
        make_folder(&folder.join(KEYS))?;
        make_folder(&folder.join(AGENTS))?;
        let authority =
            if self.names.is_empty() { None } else { Some(certificates::write(folder, &self.names)?) };
        let token = folder.join("mesh.token");
        // Random and long, as every seed.
        write_new(&token, &format!("{}\n", new_key()?.0), 0o600)?;
        let state = State {
            listen: self.listen.clone(),
            websocket: self.websocket.clone(),
            names: self.names.clone(),
            ..State::default()
        };
        let mut made = MeshFolder::new(folder, state);
        let mut agents = Vec::new();
        made.write_key(COORDINATOR)?;
        for name in &self.agents {
            made.write_key(name)?;
            agents.push((name.clone(), key_file(folder, name)));
        }
        made.write()?;
        let coordinator = key_file(folder, COORDINATOR);
        Ok(MeshFiles { configuration: folder.join(CONFIGURATION), authority, coordinator, agents, token })
    }

    fn check(&self) -> Result<()> {
        let mut names = std::collections::BTreeSet::from([COORDINATOR]);
        for name in &self.agents {
            check_name("an agent", name)?;
            if !names.insert(name) {
                return Err(FleetError::Name { what: "two users of the mesh", name: name.clone() });
            }
        }
        Ok(())
    }
}

/// The subjects of one user.
struct Rights {
    publish: Vec<String>,
    subscribe: Vec<String>,
}

impl Rights {
    fn of_coordinator() -> Rights {
        let publish = ["pm.>", "$JS.API.>", "$JS.ACK.>"].map(str::to_owned).to_vec();
        Rights { publish, subscribe: vec![format!("_INBOX_{COORDINATOR}.>"), "pm.>".to_owned()] }
    }

    /// An agent may take its own jobs, hold its own name and leases, and report as itself; it sees no jobs or results of others.
    fn of_agent(name: &str) -> Rights {
        let publish = vec![
            format!("pm.lease.name.{name}"),
            // The leases that it holds itself, and its heartbeats.
            format!("pm.lease.on.{name}.>"),
            format!("pm.lease.beat.{name}.>"),
            format!("pm.agent.{name}"),
            format!("pm.outcome.{name}"),
            "pm.sink".to_owned(),
            "$JS.API.STREAM.MSG.GET.PM_LEASE".to_owned(),
            format!("$JS.API.CONSUMER.CREATE.PM_JOB.{name}.pm.job.{name}"),
            format!("$JS.API.CONSUMER.MSG.NEXT.PM_JOB.{name}"),
            format!("$JS.ACK.PM_JOB.{name}.>"),
        ];
        Rights {
            publish,
            subscribe: vec![format!("_INBOX_{name}.>"), format!("pm.cmd.{name}"), "pm.go.>".to_owned()],
        }
    }
}

fn user_block(public: &str, rights: &Rights) -> String {
    let list = |subjects: &[String]| serde_json::Value::from(subjects.to_vec()).to_string();
    format!(
        "        {{\n            nkey: {public}\n            permissions: {{\n                publish: {{ allow: {} }}\n                \
         subscribe: {{ allow: {} }}\n                allow_responses: true\n            }}\n        }}\n",
        list(&rights.publish),
        list(&rights.subscribe),
    )
}

fn key_file(folder: &Path, name: &str) -> PathBuf {
    folder.join(KEYS).join(format!("{name}.seed"))
}

fn new_key() -> Result<(String, String)> {
    let pair = KeyPair::new_user();
    let seed = pair.seed().map_err(|error| FleetError::malformed("a new key", error))?;
    Ok((seed, pair.public_key()))
}

fn make_folder(folder: &Path) -> Result<()> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(FleetError::file("make the folder", folder))
}

/// Writes a file that must not exist: a key is never overwritten.
fn write_new(file: &Path, text: &str, mode: u32) -> Result<()> {
    let opened = OpenOptions::new().write(true).create_new(true).mode(mode).open(file);
    let written =
        opened.and_then(|mut opened| opened.write_all(text.as_bytes()).and_then(|()| opened.sync_all()));
    written.map_err(FleetError::file("write", file))
}

/// Writes a file in the place of one that may be there, at once.
fn make_new(file: &Path, text: &str, mode: u32) -> Result<()> {
    let beside = file.with_extension("new");
    let fault = FleetError::file("write", file);
    match std::fs::remove_file(&beside) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(fault(error)),
        _ => {}
    }
    write_new(&beside, text, mode)?;
    std::fs::rename(&beside, file).map_err(fault)
}

/// A key that [`MeshSetup::write`] wrote: the bytes of this file.
///
/// # Errors
/// They are no seed of a user.
pub fn seed(file: &Path, bytes: &[u8]) -> Result<String> {
    let seed = String::from_utf8_lossy(bytes).trim().to_owned();
    KeyPair::from_seed(&seed).map_err(|error| FleetError::unusable("key", file, error))?;
    Ok(seed)
}

const KEYS: &str = "keys";
/// The files of the agents: each has all that its host needs.
const AGENTS: &str = "agents";
const CONFIGURATION: &str = "server.conf";

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn setup(agents: &[&str]) -> MeshSetup {
        let agents = agents.iter().map(|name| (*name).to_owned()).collect();
        let listen = "127.0.0.1:-1".to_owned();
        MeshSetup { agents, listen, websocket: None, names: vec!["localhost".to_owned()] }
    }

    #[test]
    fn keys_are_private_and_never_overwritten() {
        let folder = tempfile::tempdir().expect("a folder");
        let files = setup(&["ams", "fra"]).write(folder.path()).expect("written");
        for (_, key) in &files.agents {
            assert_eq!(std::fs::metadata(key).expect("a key").permissions().mode() & 0o777, 0o600);
            assert!(seed(key, &std::fs::read(key).expect("a key")).expect("a seed").starts_with("SU"));
        }
        let token = std::fs::metadata(&files.token).expect("a token");
        assert!(token.len() > 16 && token.permissions().mode() & 0o777 == 0o600);
        let before = std::fs::read(&files.coordinator).expect("a key");
        let error = setup(&["lon"]).write(folder.path()).expect_err("a mesh is there");
        assert!(
            error.to_string().contains("of the agents ams, fra") && error.advice().contains("mesh agent add"),
            "{error}"
        );
        assert_eq!(std::fs::read(&files.coordinator).expect("a key"), before);
        let text = std::fs::read_to_string(&files.configuration).expect("a configuration");
        assert!(
            text.contains("sync_interval: always")
                && text.contains("pm.job.fra")
                && text.contains("cert_file")
        );
    }

    #[test]
    fn names_that_would_widen_rights_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        for agents in [&["a.b"][..], &[">"], &["*"], &[""], &["a", "a"], &["coordinator"], &["a b"], &["ä"]]
        {
            let error = setup(agents).write(folder.path()).expect_err("a bad name");
            assert!(matches!(error, FleetError::Name { .. }), "{agents:?}: {error}");
        }
        let none = seed(Path::new("none"), b"no seed").expect_err("it is none");
        assert!(none.to_string().contains("none"));
    }
}
