//! The folder of a mesh: who has a key, and the configuration of the server that follows from it.

use super::certificates::{self, Validity};
use super::join::JoinFile;
use super::{AGENTS, CONFIGURATION, COORDINATOR, Rights, key_file, make_new, new_key, user_block};
use crate::error::{FleetError, Result, check_name};
use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// A folder that `mesh init` wrote.
#[derive(Debug)]
pub struct MeshFolder {
    path: PathBuf,
    state: State,
}

/// The inputs of a server's configuration.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct State {
    pub(super) listen: String,
    pub(super) websocket: Option<String>,
    pub(super) names: Vec<String>,
    /// The public key of the coordinator.
    pub(super) coordinator: String,
    /// The public key of each agent.
    pub(super) agents: BTreeMap<String, String>,
}

/// Whether the server has taken a changed configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reloaded {
    /// A signal was sent to this process.
    Asked(i32),
    /// None runs on this host from this folder.
    NotHere,
}

impl MeshFolder {
    pub(super) fn new(path: &Path, state: State) -> MeshFolder {
        MeshFolder { path: path.to_owned(), state }
    }

    /// Opens a folder that `mesh init` wrote.
    ///
    /// # Errors
    /// The folder has no such file, or one that cannot be read.
    pub fn open(path: &Path) -> Result<MeshFolder> {
        let file = path.join(STATE);
        let text = std::fs::read(&file).map_err(FleetError::file("read the mesh", &file))?;
        let unusable = |error| FleetError::unusable("description of a mesh", &file, error);
        Ok(MeshFolder::new(path, serde_json::from_slice(&text).map_err(unusable)?))
    }

    /// The agents that have a key.
    pub fn agents(&self) -> impl Iterator<Item = &str> {
        self.state.agents.keys().map(String::as_str)
    }

    /// The file that a host of this agent needs, and no other.
    #[must_use]
    pub fn join_file(&self, name: &str) -> PathBuf {
        self.path.join(AGENTS).join(format!("{name}.agent"))
    }

    /// Gives an agent a key of its own.
    ///
    /// # Errors
    /// The agent has one; the name is invalid; a file cannot be written.
    pub fn add(&mut self, name: &str) -> Result<()> {
        check_name("an agent", name)?;
        if name == COORDINATOR || self.state.agents.contains_key(name) {
            return Err(FleetError::Name { what: "two users of the mesh", name: name.to_owned() });
        }
        self.write_key(name)?;
        self.write()
    }

    /// Takes an agent's key away: the server knows it no more once it has the new configuration.
    ///
    /// # Errors
    /// No agent is called so; a file cannot be written or removed.
    pub fn remove(&mut self, name: &str) -> Result<()> {
        self.known(name)?;
        self.state.agents.remove(name);
        self.write()?;
        for file in [key_file(&self.path, name), self.join_file(name)] {
            match std::fs::remove_file(&file) {
                Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
                    return Err(FleetError::File { operation: "remove", file, source });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Gives an agent a new key in the place of the one that it has.
    ///
    /// # Errors
    /// No agent is called so; a file cannot be written.
    pub fn renew(&mut self, name: &str) -> Result<()> {
        self.known(name)?;
        self.write_key(name)?;
        self.write()
    }

    fn known(&self, name: &str) -> Result<()> {
        if self.state.agents.contains_key(name) {
            return Ok(());
        }
        let others = self.state.agents.keys().map(String::as_str);
        let meant = model::toml_file::suggest(name, others);
        Err(FleetError::NoAgent { name: name.to_owned(), meant, folder: self.path.clone() })
    }

    /// Writes a new key of somebody, and the file with all that its host needs.
    pub(super) fn write_key(&mut self, name: &str) -> Result<()> {
        let (seed, public) = new_key()?;
        make_new(&key_file(&self.path, name), &format!("{seed}\n"), 0o600)?;
        match name {
            COORDINATOR => self.state.coordinator = public,
            name => drop(self.state.agents.insert(name.to_owned(), public)),
        }
        let read = |file: &str| std::fs::read_to_string(self.path.join(file)).ok();
        let join = JoinFile {
            name: name.to_owned(),
            coordinator: self.url(),
            key: seed,
            token: read("mesh.token").map(|token| token.trim().to_owned()).unwrap_or_default(),
            authority: read("ca.pem").filter(|_| self.has_tls()),
            ..JoinFile::default()
        };
        make_new(&self.join_file(name), &join.text(), 0o600)
    }

    fn has_tls(&self) -> bool {
        !self.state.names.is_empty()
    }

    /// Where the server is reached, as far as that is known.
    fn url(&self) -> Option<String> {
        let (address, port) = self.state.listen.rsplit_once(':')?;
        let port: u16 = port.parse().ok()?;
        let is_any = ["0.0.0.0", "[::]", ""].contains(&address);
        let host = self.state.names.first().map(String::as_str).or((!is_any).then_some(address))?;
        let host =
            if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() };
        Some(format!("{}://{host}:{port}", if self.has_tls() { "tls" } else { "nats" }))
    }

    /// Writes what it knows, and the server's configuration.
    pub(super) fn write(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(&self.state).unwrap_or_default();
        make_new(&self.path.join(STATE), &format!("{text}\n"), 0o600)?;
        make_new(&self.path.join(CONFIGURATION), &self.configuration(), 0o600)
    }

    /// Whether the server's configuration is of an earlier version, by which any agent may end and free the leases of all.
    #[must_use]
    pub fn shares_leases(&self) -> bool {
        let text = std::fs::read_to_string(self.path.join(CONFIGURATION)).unwrap_or_default();
        text.contains("\"pm.lease.on.>\"")
    }

    /// Writes the server's configuration anew, with the rights of this version.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn renew_rights(&self) -> Result<()> {
        self.write()
    }

    /// Writes a new certificate of the server, by the authority that agents have; none: the server speaks without TLS. `names`: those
    /// by which it is reached from now on; empty: those that it has.
    ///
    /// # Errors
    /// The authority's key is not in the folder; a file cannot be read or written.
    pub fn renew_certificate(&mut self, names: &[String]) -> Result<Option<Validity>> {
        if !self.has_tls() {
            return Ok(None);
        }
        let validity = certificates::renew(&self.path, names)?;
        if self.state.names != validity.names {
            self.state.names.clone_from(&validity.names);
            self.write()?;
        }
        Ok(Some(validity))
    }

    /// Has a server that runs from this folder on this host take its configuration anew: who has no key any more is disconnected.
    ///
    /// # Errors
    /// This user may not send it a signal.
    pub fn reload(&self) -> Result<Reloaded> {
        let file = self.path.join(PROCESS);
        let process = std::fs::read_to_string(&file).ok().and_then(|text| text.trim().parse::<i32>().ok());
        let configuration = self.path.join(CONFIGURATION).display().to_string();
        // The number may be another program's by now.
        let is_ours = |process: &i32| {
            std::fs::read(format!("/proc/{process}/cmdline")).is_ok_and(|line| {
                String::from_utf8_lossy(&line).split('\0').any(|word| word == configuration)
            })
        };
        let Some((number, process)) =
            process.filter(is_ours).and_then(|one| Some((one, Pid::from_raw(one)?)))
        else {
            return Ok(Reloaded::NotHere);
        };
        let sent = kill_process(process, Signal::HUP).map_err(std::io::Error::from);
        sent.map_err(FleetError::file("reload the server of", &file))?;
        Ok(Reloaded::Asked(number))
    }

    fn configuration(&self) -> String {
        let (folder, has_tls) = (&self.path, self.has_tls());
        let agents = self.state.agents.iter();
        let coordinator = user_block(&self.state.coordinator, &Rights::of_coordinator());
        let agents = agents.map(|(name, public)| user_block(public, &Rights::of_agent(name)));
        let users: Vec<String> = std::iter::once(coordinator).chain(agents).collect();
        let quoted =
            |file: &str| serde_json::Value::from(folder.join(file).display().to_string()).to_string();
        let mut text = format!(
            "# Written by `pathmeter mesh init`.\n\
             listen: \"{}\"\n\
             pid_file: {}\n\
             server_name: \"pathmeter\"\n\
             # The document of a run is one message.\n\
             max_payload: 8MB\n\
             jetstream {{\n    store_dir: {}\n    # What was confirmed is on the disk.\n    sync_interval: always\n}}\n",
            self.state.listen,
            quoted(PROCESS),
            quoted("jetstream"),
        );
        let (certificate, key) = (quoted("server.pem"), quoted("server.key"));
        if has_tls {
            let _ = write!(
                text,
                "tls {{\n    cert_file: {certificate}\n    key_file: {key}\n    timeout: 5\n}}\n"
            );
        }
        if let Some(listen) = &self.state.websocket {
            let tls = match has_tls {
                true => format!("tls {{ cert_file: {certificate}, key_file: {key} }}"),
                false => "no_tls: true".to_owned(),
            };
            let _ = write!(text, "websocket {{\n    listen: \"{listen}\"\n    {tls}\n}}\n");
        }
        let _ = write!(text, "authorization {{\n    users = [\n{}    ]\n}}\n", users.concat());
        text
    }
}

const STATE: &str = "mesh.json";
/// The number of the server's process, which it writes itself.
const PROCESS: &str = "server.pid";

#[cfg(test)]
mod tests {
    use super::super::MeshSetup;
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_mesh_grows_and_shrinks_and_keeps_the_keys_of_the_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let setup = MeshSetup {
            agents: vec!["ams".into(), "fra".into()],
            listen: "0.0.0.0:4222".into(),
            websocket: None,
            names: vec!["hub.example".into()],
        };
        setup.write(folder.path()).expect("written");
        let mut mesh = MeshFolder::open(folder.path()).expect("there");
        let join = |mesh: &MeshFolder, name: &str| {
            let file = mesh.join_file(name);
            let mode = std::fs::metadata(&file).expect("a file").permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            JoinFile::parse(&file, &std::fs::read(&file).expect("a file")).expect("readable")
        };
        let (ams, fra) = (join(&mesh, "ams"), join(&mesh, "fra"));
        assert_eq!(ams.coordinator.as_deref(), Some("tls://hub.example:4222"));
        assert!(
            ams.authority.as_ref().is_some_and(|text| text.contains("BEGIN CERTIFICATE"))
                && ams.token.len() > 16
        );
        let configuration = || std::fs::read_to_string(folder.path().join("server.conf")).expect("there");
        let before = configuration();
        mesh.add("lon").expect("added");
        assert!(configuration().contains("pm.job.lon") && configuration().len() > before.len());
        assert!(matches!(mesh.add("lon"), Err(FleetError::Name { .. })));
        mesh.add("a.b").expect_err("a bad name");
        // The new key is on the disk: another command reads it.
        let mut mesh = MeshFolder::open(folder.path()).expect("there");
        assert_eq!(mesh.agents().collect::<Vec<_>>(), ["ams", "fra", "lon"]);
        mesh.renew("fra").expect("a new key");
        assert!(join(&mesh, "fra").key != fra.key && join(&mesh, "ams") == ams, "the others keep theirs");
        mesh.remove("lon").expect("removed");
        assert!(!configuration().contains("pm.job.lon") && !mesh.join_file("lon").exists());
        let unknown = mesh.remove("fro").expect_err("unknown").to_string();
        assert!(unknown.contains("no agent is called `fro`") && unknown.contains("`fra`"), "{unknown}");
        assert_eq!(mesh.reload().expect("nothing to do"), Reloaded::NotHere);
        // Each agent has rights of its own, and those of an earlier version are found and written anew.
        assert!(configuration().contains("pm.lease.beat.fra.>") && !mesh.shares_leases());
        let old = configuration().replace("pm.lease.on.fra.>", "pm.lease.on.>");
        std::fs::write(folder.path().join("server.conf"), old).expect("written");
        assert!(mesh.shares_leases());
        mesh.renew_rights().expect("written");
        assert!(!mesh.shares_leases());
    }
}
