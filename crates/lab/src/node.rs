//! A node that is up, and commands in it.

use crate::command::Running;
use crate::configure::Configured;
use crate::error::LabError;
use crate::programs::search_path;
use crate::vm::Vm;
use linux::namespace::Namespace;
use linux::process::pin;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// A node of a lab.
#[derive(Debug)]
pub struct RunningNode {
    /// Its name.
    pub name: String,
    /// The CPUs its commands may run on; empty: any.
    pub(crate) cpus: Vec<u32>,
    pub(crate) inside: Inside,
    /// Its links' ends and devices, as the topology names them.
    pub(crate) interfaces: Vec<String>,
}

/// Where a node lives.
#[derive(Debug)]
pub(crate) enum Inside {
    /// A network namespace of this host, and what it keeps.
    Namespace(Namespace, Configured),
    /// A virtual machine.
    Machine(Vm),
}

impl RunningNode {
    /// Its network, where it is one of this host.
    #[must_use]
    pub fn namespace(&self) -> Option<&Namespace> {
        match &self.inside {
            Inside::Namespace(namespace, _) => Some(namespace),
            Inside::Machine(_) => None,
        }
    }

    /// The machine that it is, where it is one.
    pub(crate) fn machine(&self) -> Option<&Vm> {
        match &self.inside {
            Inside::Namespace(..) => None,
            Inside::Machine(vm) => Some(vm),
        }
    }

    /// Starts a command in the node, without input; it is killed when the value returned is dropped.
    ///
    /// # Errors
    /// When the program is not there or cannot be started.
    pub fn start(&self, argv: &[String]) -> Result<Running, LabError> {
        let namespace = match &self.inside {
            Inside::Namespace(namespace, _) => namespace,
            // A machine's own CPUs are not those of the host, on which qemu runs.
            Inside::Machine(vm) => return Ok(Running::of_machine(vm.start(argv, &[])?, &self.name)),
        };
        let Some((program, rest)) = argv.split_first() else {
            let none = std::io::Error::other("it has no words");
            return Err(LabError::start(&self.name, "a command")(none));
        };
        let mut command = Command::new(program);
        command.args(rest).env("PATH", search_path()).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        pin(&mut command, &self.cpus);
        namespace.spawn_inside(&mut command).map_err(LabError::in_node(&self.name))?;
        let child = command.spawn().map_err(LabError::start(&self.name, program))?;
        Ok(Running::new(child, &self.name))
    }
}
