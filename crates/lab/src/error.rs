//! Why a lab could not be built, or something in it not be done.

use crate::vm_error::VmError;
use linux::OsError;
use std::io;
use std::path::Path;

/// An error that names the node and the object.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The kernel lacks something that the topology needs: not a fault of either.
    #[error("not on this kernel: {node} needs {needs}")]
    NotOnThisKernel {
        /// The node.
        node: String,
        /// The feature that it needs.
        needs: String,
    },
    /// The kernel refused a step in a node.
    #[error("node {node}: {source}")]
    Node {
        /// The node.
        node: String,
        /// The kernel's error.
        source: OsError,
    },
    /// The kernel refused something that belongs to no node.
    #[error(transparent)]
    System(#[from] OsError),
    /// A virtual machine cannot be had, or failed.
    #[error(transparent)]
    Machine(#[from] VmError),
    /// A program is not installed.
    #[error("{program} is not installed: it comes with the package {package}")]
    ProgramMissing {
        /// Its name.
        program: String,
        /// The package of Debian and Ubuntu that has it.
        package: String,
    },
    /// A program of ours failed in a node.
    #[error("node {node}: {program}: {output}")]
    ProgramFailed {
        /// The node.
        node: String,
        /// Its name.
        program: String,
        /// The program's output.
        output: String,
    },
    /// A command could not be started.
    #[error("node {node}: start {program}: {source}")]
    Start {
        /// The node.
        node: String,
        /// The command's first word.
        program: String,
        /// Why not.
        source: io::Error,
    },
    /// No node of this name.
    #[error("there is no node {name}; there is {there}")]
    NoNode {
        /// The name.
        name: String,
        /// The names there are.
        there: String,
    },
    /// A node that is not made here cannot do this.
    #[error("node {node} is {what}: {cannot}")]
    NotHere {
        /// The node.
        node: String,
        /// The kind of the node.
        what: &'static str,
        /// The action that is not possible with it, and those that are.
        cannot: String,
    },
    /// An interface of this host cannot be taken into a lab.
    #[error("interface {interface}: {why}")]
    Interface {
        /// Its name.
        interface: String,
        /// Why not.
        why: String,
    },
    /// A lab of this name is up.
    #[error("a lab named {name} is up (process {pid})")]
    NameInUse {
        /// The name.
        name: String,
        /// The process that holds it.
        pid: u32,
    },
    /// No lab of this name is up.
    #[error("{0}")]
    NotUp(String),
    /// A file of the lab's state cannot be read or written.
    #[error("{path}: {source}")]
    State {
        /// The file.
        path: String,
        /// Why not.
        source: io::Error,
    },
}

impl LabError {
    /// Names the node in which the kernel refused; a missing feature is an error of its own.
    pub(crate) fn in_node(node: &str) -> impl Fn(OsError) -> Self + '_ {
        move |source| {
            let node = node.to_owned();
            if source.is_unsupported() {
                return Self::NotOnThisKernel { node, needs: source.to_string() };
            }
            Self::Node { node, source }
        }
    }

    /// Names the node in which a command could not be started.
    pub(crate) fn start(node: &str, program: &str) -> impl Fn(io::Error) -> Self {
        move |source| Self::Start { node: node.to_owned(), program: program.to_owned(), source }
    }

    /// Names the file of the lab's state.
    pub(crate) fn state(path: &Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::State { path: path.display().to_string(), source }
    }
}
