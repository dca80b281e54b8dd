//! Labs that stay up: held by a process of their own, and looked into from others.

use crate::build::Lab;
use crate::error::LabError;
use crate::node::RunningNode;
use crate::programs::search_path;
use crate::state::{Directory, HeldLab, HeldNode};
use crate::topology::Topology;
use crate::vm::CommandServer;
use linux::namespace::Namespace;
use linux::process::{self, Signal, own_pid, started_at};
use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::process::Command;
use std::time::Duration;

/// A lab that this process holds up under a name.
#[derive(Debug)]
pub struct Held {
    lab: Lab,
    server: Option<CommandServer>,
    directory: Directory,
    state: HeldLab,
}

impl Held {
    /// Claims the name and builds the topology.
    ///
    /// # Errors
    /// When a lab of this name is up, or as [`Lab::build`].
    pub fn build(name: &str, topology: &Topology, directory: Directory) -> Result<Self, LabError> {
        check_name(name)?;
        let pid = own_pid()?;
        let started = started_at(pid)
            .ok_or_else(|| LabError::NotUp("this process has no beginning in /proc".into()))?;
        let mut state = HeldLab {
            name: name.into(),
            topology: topology.name.clone(),
            title: topology.title.clone(),
            pid,
            started,
            ready: false,
            nodes: Vec::new(),
        };
        directory.claim(&state)?;
        let built = Lab::build(topology).and_then(|lab| {
            state.nodes = lab.nodes().iter().map(held_node).collect();
            state.ready = true;
            let server = serve(&lab, name, &directory)?;
            directory.write(&state).map(|()| (lab, server))
        });
        match built {
            Ok((lab, server)) => Ok(Self { lab, server, directory, state }),
            Err(error) => {
                // The first error is the one to report.
                let _ = directory.remove(&state);
                Err(error)
            }
        }
    }

    /// The lab.
    #[must_use]
    pub fn lab(&self) -> &Lab {
        &self.lab
    }

    /// Takes the lab away, and its files.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn take_down(self) -> Result<(), LabError> {
        // First, so that its clients learn that the lab goes, and not its machines alone.
        drop(self.server);
        drop(self.lab);
        self.directory.remove(&self.state)
    }
}

/// Takes orders of other processes for the machines, if there are any: namespaces those enter themselves.
fn serve(lab: &Lab, name: &str, directory: &Directory) -> Result<Option<CommandServer>, LabError> {
    let mut machines = lab.nodes().iter().filter_map(RunningNode::machine).peekable();
    if machines.peek().is_none() {
        return Ok(None);
    }
    let started = directory.at_socket(name, |path| {
        let listener = UnixListener::bind(path)?;
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        CommandServer::start(listener, machines)
    });
    started.map(Some)
}

fn held_node(node: &RunningNode) -> HeldNode {
    let namespace = node.namespace().map(Namespace::as_raw_fd);
    HeldNode { name: node.name.clone(), namespace, cpus: node.cpus.clone() }
}

/// Ends a lab that another process holds, and all that runs in it: asks first, then kills.
///
/// # Errors
/// When it is not up, belongs to another user, or does not go.
pub fn take_down(lab: &HeldLab, directory: &Directory) -> Result<(), LabError> {
    if let Some(holder) = lab.holder()? {
        holder.signal(Signal::Terminate)?;
        if !holder.wait(TO_END) {
            holder.signal(Signal::Kill)?;
            if !holder.wait(TO_END) {
                let text = format!("the lab {} does not go: process {} does not end", lab.name, lab.pid);
                return Err(LabError::NotUp(text));
            }
        }
    }
    directory.remove(lab)
}

/// The lab of this name; without a name the only one that is up.
///
/// # Errors
/// When there is none, or more than one to choose from.
pub fn find(labs: &[HeldLab], name: Option<&str>) -> Result<HeldLab, LabError> {
    let up: Vec<&HeldLab> = labs.iter().filter(|lab| lab.ready && lab.is_up()).collect();
    let names: Vec<&str> = up.iter().map(|lab| lab.name.as_str()).collect();
    let reported = |text: String| Err(LabError::NotUp(text));
    match (name, &up[..]) {
        (None, []) => reported("no lab is up: `pathmeter lab up NAME` builds one".into()),
        (None, [lab]) => Ok((*lab).clone()),
        (None, _) => reported(format!("several labs are up ({}): say which with --lab", names.join(", "))),
        (Some(name), _) => match up.iter().find(|lab| lab.name == name) {
            Some(lab) => Ok((*lab).clone()),
            None if names.is_empty() => reported(format!("no lab named {name} is up, nor any other")),
            None => reported(format!("no lab named {name} is up; there is {}", names.join(", "))),
        },
    }
}

/// The node of this name in a lab.
///
/// # Errors
/// When there is none.
pub fn node<'a>(lab: &'a HeldLab, name: &str) -> Result<&'a HeldNode, LabError> {
    lab.nodes.iter().find(|there| there.name == name).ok_or_else(|| {
        let names: Vec<&str> = lab.nodes.iter().map(|node| node.name.as_str()).collect();
        LabError::NoNode { name: name.to_owned(), there: names.join(", ") }
    })
}

/// A command in a namespace of a lab that another process holds, with the terminal, input and output of this one; killed
/// when this process is. To be called before the first thread is started: the process joins the lab, so that it ends with
/// it.
///
/// # Errors
/// When the node is a virtual machine, for which see [`crate::vm::RemoteCommand`], or the lab goes meanwhile.
pub fn command(lab: &HeldLab, node: &HeldNode, program: &OsString) -> Result<Command, LabError> {
    let Some(namespace) = node.namespace else {
        let cannot = "its commands have neither a terminal nor input: name one".to_owned();
        return Err(LabError::NotHere { node: node.name.clone(), what: "a virtual machine", cannot });
    };
    let path = format!("/proc/{}/fd/{namespace}", lab.pid);
    let file = File::open(&path).map_err(|source| LabError::State { path, source })?;
    let namespace = Namespace::from(file);
    // The check comes after the opening: the lab that is alive now is the one that was opened.
    if !lab.is_up() {
        return Err(LabError::NotUp(format!("the lab {} has gone", lab.name)));
    }
    process::join(lab.pid)?;
    let mut command = Command::new(program);
    command.env("PATH", search_path());
    process::pin(&mut command, &node.cpus);
    namespace.spawn_inside(&mut command)?;
    linux::spawn::die_with_this_thread(&mut command);
    Ok(command)
}

/// A name is part of a file's name.
fn check_name(name: &str) -> Result<(), LabError> {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    let plain = !name.is_empty() && name.len() <= 64 && !name.starts_with('.') && name.chars().all(fits);
    if plain {
        return Ok(());
    }
    let why = "a lab's name is made of at most 64 letters, digits, `-`, `_` and `.`, the first no `.`";
    Err(LabError::State { path: name.to_owned(), source: io::Error::other(why) })
}

const TO_END: Duration = Duration::from_secs(10);
