//! Labs that stay up: held by a process of their own, and looked into from others.

use crate::build::{BuildOptions, Lab};
use crate::command::search_path;
use crate::error::LabError;
use crate::node::RunningNode;
use crate::state::{Directory, HeldLab, HeldNode};
use crate::topology::Topology;
use linux::namespace::Namespace;
use linux::process::{self, Signal, own_pid, started_at};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::time::Duration;

/// A lab that this process holds up under a name.
#[derive(Debug)]
pub struct Held {
    lab: Lab,
    directory: Directory,
    state: HeldLab,
}

impl Held {
    /// Claims the name and builds the topology.
    ///
    /// # Errors
    /// When a lab of this name is up, or as [`Lab::build`].
    pub fn build(
        name: &str,
        topology: &Topology,
        options: &BuildOptions,
        directory: Directory,
    ) -> Result<Self, LabError> {
        check_name(name)?;
        let pid = own_pid()?;
        let started = started_at(pid)
            .ok_or_else(|| LabError::NotUp("this process has no beginning in /proc".into()))?;
        let (topology_name, title) = (topology.name.clone(), topology.title.clone());
        let mut state = HeldLab {
            name: name.into(),
            topology: topology_name,
            title,
            pid,
            started,
            ready: false,
            nodes: Vec::new(),
        };
        directory.claim(&state)?;
        let built = Lab::build(topology, options).and_then(|lab| {
            state.nodes = lab.nodes().iter().map(held_node).collect();
            state.ready = true;
            directory.write(&state).map(|()| lab)
        });
        match built {
            Ok(lab) => Ok(Self { lab, directory, state }),
            Err(error) => {
                // The first error is the one to be told.
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

    /// Takes the lab away, and its file.
    ///
    /// # Errors
    /// When the file cannot be removed.
    pub fn take_down(self) -> Result<(), LabError> {
        drop(self.lab);
        self.directory.remove(&self.state)
    }
}

fn held_node(node: &RunningNode) -> HeldNode {
    let namespace = node.namespace().map(Namespace::as_raw_fd);
    HeldNode { name: node.name().to_owned(), namespace, cpus: node.cpus().to_vec() }
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
    let told = |text: String| Err(LabError::NotUp(text));
    match (name, &up[..]) {
        (None, []) => told("no lab is up: `pathmeter lab up NAME` builds one".into()),
        (None, [lab]) => Ok((*lab).clone()),
        (None, _) => told(format!("several labs are up ({}): say which with --lab", names.join(", "))),
        (Some(name), _) => match up.iter().find(|lab| lab.name == name) {
            Some(lab) => Ok((*lab).clone()),
            None if names.is_empty() => told(format!("no lab named {name} is up, nor any other")),
            None => told(format!("no lab named {name} is up; there is {}", names.join(", "))),
        },
    }
}

/// A command in a node of a lab that another process holds, with the terminal, input and output of this one. To be called
/// before the first thread is started: the process joins the lab, so that it ends with it.
///
/// # Errors
/// When there is no such node, or the lab goes meanwhile.
pub fn command(lab: &HeldLab, node: &str, program: &OsString) -> Result<Command, LabError> {
    let Some(node) = lab.nodes.iter().find(|there| there.name == node) else {
        let names: Vec<&str> = lab.nodes.iter().map(|node| node.name.as_str()).collect();
        return Err(LabError::NoNode { name: node.to_owned(), there: names.join(", ") });
    };
    let Some(namespace) = node.namespace else {
        let cannot = "commands from outside reach namespaces only; `lab run` runs the tools that the topology names in it";
        return Err(LabError::NotHere {
            node: node.name.clone(),
            what: "a virtual machine",
            cannot: cannot.into(),
        });
    };
    let path = format!("/proc/{}/fd/{namespace}", lab.pid);
    let file = File::open(&path).map_err(|source| LabError::State { path, source })?;
    let namespace = Namespace::from(file);
    // Opened before it is asked: what lives now is what was opened.
    if !lab.is_up() {
        return Err(LabError::NotUp(format!("the lab {} has gone", lab.name)));
    }
    process::join(lab.pid)?;
    let mut command = Command::new(program);
    command.env("PATH", search_path());
    process::pin(&mut command, &node.cpus);
    namespace.spawn_inside(&mut command)?;
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
