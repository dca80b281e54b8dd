//! This program run wholly inside a virtual machine, whose kernel has what this host's may lack.

use super::control::VmOutput;
use super::{Vm, VmError, VmSpec};
use crate::programs::programs;
use crate::topology::{Machine, Topology};
use model::units::Bytes;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A program to run in a machine.
#[derive(Debug)]
pub struct Inside<'a> {
    /// This program.
    pub executable: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// The topologies that will be built there: the programs they name are taken along.
    pub topologies: Vec<&'a Topology>,
    /// Files of this host to take along, each with its path in the machine.
    pub files: Vec<(PathBuf, PathBuf)>,
    /// Longest duration.
    pub limit: Duration,
}

/// The result.
#[derive(Debug)]
pub struct Done {
    /// Output and end of the program.
    pub output: VmOutput,
    /// Facts about the machine for the user.
    pub notes: Vec<String>,
    /// Whether the machine's CPUs were emulated: its timing is not meaningful then.
    pub emulated: bool,
}

impl Inside<'_> {
    /// Boots a machine and runs the program in it to its end. `on_stderr` receives its standard error as it comes.
    ///
    /// # Errors
    /// When there can be no machine, or it ends or takes too long.
    pub fn run(self, mut on_stderr: impl FnMut(&[u8])) -> Result<Done, VmError> {
        let name = "the whole lab".to_owned();
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let machine =
            Machine { cpus: u32::try_from(cpus).unwrap_or(MOST_CPUS).min(MOST_CPUS), memory: MEMORY };
        let mut tools: Vec<String> = self.topologies.iter().flat_map(|topology| programs(topology)).collect();
        tools.sort();
        tools.dedup();
        let command: Vec<String> =
            [self.executable.to_string_lossy().into_owned()].into_iter().chain(self.arguments).collect();
        let vm = Vm::boot(VmSpec {
            name: name.clone(),
            machine,
            host_cpus: Vec::new(),
            nics: Vec::new(),
            executable: self.executable,
            tools,
            files: self.files,
        })?;
        let process = vm.start(&command, &[])?;
        let until = Instant::now() + self.limit;
        while process.wait(STEP).is_err() {
            on_stderr(&process.take_stderr());
            if vm.has_ended() {
                return Err(vm.lost());
            }
            if Instant::now() > until {
                return Err(VmError::Slow { name, what: "measure".into(), limit: self.limit });
            }
        }
        on_stderr(&process.take_stderr());
        Ok(Done { output: process.collect(), notes: vm.notes().to_vec(), emulated: vm.is_emulated() })
    }
}

/// More do not forward faster, and each has its emulation to pay.
const MOST_CPUS: u32 = 4;
const MEMORY: Bytes = Bytes(1 << 30);
const STEP: Duration = Duration::from_millis(200);
