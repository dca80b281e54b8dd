//! Inside a virtual machine: this program as its first process, as the agent that takes orders, and as what the kernel
//! calls to load a module.

mod agent;
mod modprobe;

use super::image::{INDEX, NEEDED};
use crate::topology::{Node, Side};
use linux::boot;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitCode};

/// Configuration of a machine.
#[derive(Debug, Serialize, Deserialize)]
pub struct Role {
    /// The node.
    pub node: Node,
    /// Its ends of links, each an interface found by its hardware address.
    pub sides: Vec<(Side, [u8; 6])>,
    /// The secret from which the keys of tunnels are made.
    pub secret: [u8; 32],
}

/// Does the work of a machine's own processes, if this process is one of them; to be called first thing in `main`.
///
/// `None` everywhere else: only an image made by [`super::Vm::boot`] has the file that marks a machine.
#[must_use]
pub fn run(args: &[OsString]) -> Option<ExitCode> {
    let name = args.first().filter(|name| *name == INIT || *name == MODPROBE)?;
    if !Path::new(INDEX).exists() {
        return None;
    }
    if name == MODPROBE {
        return Some(modprobe::run(args));
    }
    if std::process::id() == 1 {
        return Some(init());
    }
    Some(match agent::run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("the agent: {error}"));
            ExitCode::FAILURE
        }
    })
}

/// The first process: makes the machine usable, starts the agent, and reaps whatever is left to it.
fn init() -> ExitCode {
    // First the one with the log.
    for (kind, target) in [("devtmpfs", "/dev"), ("proc", "/proc"), ("sysfs", "/sys")] {
        report_failure("", boot::mount(kind, target));
    }
    report_failure("name the machine: ", std::fs::write("/proc/sys/kernel/hostname", "vm"));
    for module in NEEDED {
        report_failure(&format!("module {module}: "), modprobe::load(module));
    }
    let agent =
        Command::new("/proc/self/exe").env_clear().env("PATH", PATH).env("HOME", "/root").arg0(INIT).spawn();
    match agent {
        Ok(agent) => while boot::reap().is_some_and(|child| child != agent.id()) {},
        Err(error) => say(&format!("start the agent: {error}")),
    }
    report_failure("", boot::power_off());
    ExitCode::FAILURE
}

fn report_failure(what: &str, outcome: Result<(), impl Display>) {
    if let Err(error) = outcome {
        say(&format!("{what}{error}"));
    }
}

/// A line on the machine's console, where the host finds it when something fails.
fn say(text: &str) {
    if let Ok(mut log) = OpenOptions::new().write(true).open("/dev/kmsg") {
        // Each write is a line. 3 is "error": the quiet console shows it (syslog(2)).
        let _ = log.write_all(format!("<3>pathmeter: {text}\n").as_bytes());
    }
}

const INIT: &str = "/init";
const MODPROBE: &str = "/sbin/modprobe";
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
