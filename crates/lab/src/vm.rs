//! Virtual machines as nodes: booted in seconds from a kernel of the host's or of a package and an image made here.
//!
//! This program itself is the machine's first process ([`guest`]); it receives requests over a virtio serial port. The machine's
//! NICs end at taps of the host. Nothing is written to a disk, and when the [`Vm`] goes, however that happens, so does the machine.

mod accel;
mod client;
mod control;
mod counted;
mod cpio;
mod elf;
mod fetch;
mod frame;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzzing;
pub mod guest;
mod image;
mod inside;
mod kernel;
mod modules;
mod process;
mod program;
mod qemu;
mod server;

pub use crate::vm_error::VmError;
pub use client::{Asker, Lost, RemoteCommand};
pub use control::VmOutput;
pub use fetch::fetch_kernel;
pub use frame::Ended;
pub use inside::{Done, Inside};
pub use kernel::{Kernel, stores};
pub use process::VmProcess;
pub use qemu::Program as QemuProgram;

use crate::interfaces::InterfaceCounters;
use crate::topology::Machine;
use crate::vm_error::During;
use control::Control;
pub(crate) use control::Silence;
use counted::Counted;
use frame::{Kind, Start};
use guest::Role;
use linux::nft::DroppedFragments;
use linux::tap::Tap;
use serde::Serialize;
use serde::de::DeserializeOwned;
pub(crate) use server::CommandServer;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// The machine's access to CPUs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// By the host's CPUs.
    Kvm,
    /// In software, and why: tens of times slower, so that rates say nothing about the hardware.
    Emulation {
        /// Why not by the host's CPUs.
        because: String,
    },
}

/// A virtual machine to boot.
#[derive(Debug)]
pub struct VmSpec {
    /// The node it is, for messages.
    pub name: String,
    /// Its CPUs and memory.
    pub machine: Machine,
    /// CPUs of the host it may run on; empty: any.
    pub host_cpus: Vec<u32>,
    /// Its network interfaces, in order.
    pub nics: Vec<Nic>,
    /// This program: it must call [`guest::run`] first thing in its `main`.
    pub executable: PathBuf,
    /// Programs of the host to take along, by name or path, with their libraries.
    pub tools: Vec<String>,
    /// Files of the host to take along, each with its path in the machine.
    pub files: Vec<(PathBuf, PathBuf)>,
}

/// A network interface of a machine: the near end of a cable whose far end is a tap of the host.
#[derive(Debug)]
pub struct Nic {
    /// The file behind the tap, made with virtio headers.
    pub tap: Tap,
    /// The hardware address in the machine.
    pub mac: [u8; 6],
    /// Segmentation and checksum offloads are offered to the machine.
    pub offload: bool,
}

/// A running virtual machine.
#[derive(Debug)]
pub struct Vm {
    // Dropped in this order: the control channel outlives qemu, and no request is sent after it.
    qemu: qemu::Qemu,
    control: Arc<Control>,
    name: String,
    accelerator: Accelerator,
    notes: Vec<String>,
}

impl Vm {
    /// Boots a machine and waits until it takes orders: seconds, in emulation too.
    ///
    /// # Errors
    /// When qemu, a kernel, a driver or a program is missing, or the machine does not come up; with its last words.
    pub fn boot(spec: VmSpec) -> Result<Self, VmError> {
        let program = QemuProgram::find()?;
        let kernel = Kernel::find()?;
        let accelerator = Accelerator::find(&program, &kernel);
        let image = image::build(&kernel, &spec)?;
        let (near, far) = UnixStream::pair().during("make", "a socket for a virtual machine")?;
        let (name, notes) = (spec.name.clone(), notes(&spec, &kernel, &accelerator));
        let command = qemu::command(&program, &kernel, image, far.into(), &accelerator, spec);
        let qemu = qemu::Qemu::start(command)?;
        let control = Arc::new(Control::new(near).during("start", "a thread for a virtual machine")?);
        let limit = if accelerator == Accelerator::Kvm { BOOT_LIMIT } else { BOOT_LIMIT * SLOWER };
        let vm = Self { qemu, control, name, accelerator, notes };
        vm.control.wait_ready(limit).map_err(|silence| vm.did_not_boot(silence, limit))?;
        Ok(vm)
    }

    /// Facts about it for the user: the kernel, and whether its CPUs are emulated.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether its CPUs are had in software.
    #[must_use]
    pub fn is_emulated(&self) -> bool {
        self.accelerator != Accelerator::Kvm
    }

    /// The process that is the machine, whose CPU time is the machine's.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.qemu.pid
    }

    /// Makes the machine the node it is to be; the notes of that.
    ///
    /// # Errors
    /// What its kernel lacks or refuses.
    pub fn configure(&self, role: &Role) -> Result<Vec<String>, VmError> {
        self.ask(Kind::Configure, role, "configure itself")
    }

    /// The counters of interfaces of these names, and of the filter of fragments if there is one.
    ///
    /// # Errors
    /// When the machine does not answer.
    pub fn counters(
        &self,
        names: &[String],
    ) -> Result<(Vec<InterfaceCounters>, Option<DroppedFragments>), VmError> {
        self.ask(Kind::Count, &names, "count").map(Counted::read)
    }

    /// An order that ends with an answer.
    fn ask<T: DeserializeOwned>(
        &self,
        kind: Kind,
        request: &impl Serialize,
        what: &str,
    ) -> Result<T, VmError> {
        let process = VmProcess::request(&self.control, kind, request).map_err(|_| self.lost())?;
        process.wait(ANSWER_LIMIT).map_err(|silence| self.silent(silence, what, ANSWER_LIMIT))?;
        let output = process.collect();
        let refused = |reason: String| VmError::Refused { name: self.name.clone(), reason };
        match output.ended.and_then(|ended| ended.error) {
            Some(reason) => Err(refused(reason)),
            None => serde_json::from_slice(&output.stdout).map_err(|error| refused(error.to_string())),
        }
    }

    /// Starts a command in it.
    ///
    /// # Errors
    /// When the machine has gone. A program that it does not have is reported by the end of the command.
    pub fn start(&self, command: &[String], cpus: &[u32]) -> Result<VmProcess, VmError> {
        let start = Start { command: command.to_vec(), cpus: cpus.to_vec() };
        VmProcess::request(&self.control, Kind::Start, &start).map_err(|_| self.lost())
    }

    /// Runs a command in it to its end.
    ///
    /// # Errors
    /// When the machine has gone, or time is up: then the command is killed.
    pub fn run(&self, command: &[String], limit: Duration) -> Result<VmOutput, VmError> {
        let process = self.start(command, &[])?;
        process.wait(limit).map_err(|silence| {
            let program = command.first().map_or("a command", String::as_str);
            self.silent(silence, &format!("end {program}"), limit)
        })?;
        Ok(process.collect())
    }

    /// Whether it has ended, by itself or in a fault.
    fn has_ended(&self) -> bool {
        self.control.is_lost()
    }

    fn silent(&self, silence: Silence, what: &str, limit: Duration) -> VmError {
        match silence {
            Silence::Lost => self.lost(),
            Silence::Late => VmError::Slow { name: self.name.clone(), what: what.to_owned(), limit },
        }
    }

    fn lost(&self) -> VmError {
        VmError::Lost { name: self.name.clone(), console: self.qemu.last_lines() }
    }

    fn did_not_boot(&self, silence: Silence, limit: Duration) -> VmError {
        let what = match silence {
            Silence::Lost => "ended while it booted".to_owned(),
            Silence::Late => format!("did not come up within {} s", limit.as_secs()),
        };
        VmError::Boot { name: self.name.clone(), what, console: self.qemu.last_lines() }
    }
}

fn notes(spec: &VmSpec, kernel: &Kernel, accelerator: &Accelerator) -> Vec<String> {
    let cpus = spec.machine.cpus;
    let plural = if cpus == 1 { "" } else { "s" };
    let how = match accelerator {
        Accelerator::Kvm => "run by KVM".to_owned(),
        Accelerator::Emulation { because } => {
            format!("emulated in software, so that rates do not represent the hardware ({because})")
        }
    };
    vec![format!("{} is a virtual machine: {cpus} CPU{plural}, Linux {}, {how}", spec.name, kernel.release)]
}

/// With KVM a boot takes a second, in emulation two or three; but the host may be busy.
const BOOT_LIMIT: Duration = Duration::from_secs(20);
const SLOWER: u32 = 6;
const ANSWER_LIMIT: Duration = Duration::from_secs(60);
