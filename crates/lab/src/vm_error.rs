//! Why a virtual machine could not be had.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// A virtual machine that cannot be started, or that failed.
#[derive(Debug, thiserror::Error)]
pub enum VmError {
    /// The emulator is not installed.
    #[error("no {program} on this host: install the package {package}")]
    NoQemu {
        /// The program looked for.
        program: String,
        /// The package that has it, by Debian's name.
        package: &'static str,
    },
    /// No kernel that this user can read.
    #[error(
        "no kernel for a virtual machine on this host (looked in {looked}): run `pathmeter lab prepare`, which downloads \
         the package {package} and unpacks it without installing it"
    )]
    NoKernel {
        /// Where kernels were looked for.
        looked: String,
        /// The package that has one.
        package: &'static str,
    },
    /// Machines can be had on some architectures only.
    #[error("virtual machines are known for x86_64 and aarch64 only, not for {0}")]
    Architecture(&'static str),
    /// The kernel has no driver that is needed.
    #[error("kernel {kernel} has no module {module}, without which it cannot be a node of a lab")]
    NoModule {
        /// The kernel's image.
        kernel: PathBuf,
        /// The module's name.
        module: String,
    },
    /// A program that was to be taken along.
    #[error("{program} cannot be taken into a virtual machine: {reason}")]
    Program {
        /// The missing program.
        program: String,
        /// Why not.
        reason: String,
    },
    /// Downloading a kernel failed.
    #[error("{command}: {reason}")]
    Download {
        /// The command that failed.
        command: String,
        /// The program's message.
        reason: String,
    },
    /// The machine did not boot.
    #[error("the virtual machine of {name} {what}; its last output:\n{console}")]
    Boot {
        /// The node.
        name: String,
        /// The failure.
        what: String,
        /// Its last lines.
        console: String,
    },
    /// The machine went away.
    #[error("the virtual machine of {name} ended while it was needed; its last output:\n{console}")]
    Lost {
        /// The node.
        name: String,
        /// Its last lines.
        console: String,
    },
    /// The machine took too long to answer.
    #[error("the virtual machine of {name} did not {what} within {limit:?}")]
    Slow {
        /// The node.
        name: String,
        /// The action that it did not complete.
        what: String,
        /// The time it had.
        limit: Duration,
    },
    /// The machine refused, in its own words.
    #[error("in the virtual machine of {name}: {reason}")]
    Refused {
        /// The node.
        name: String,
        /// Why.
        reason: String,
    },
    /// A file or a process of this host.
    #[error("{operation} {object}: {source}")]
    Io {
        /// The attempted operation.
        operation: &'static str,
        /// On what.
        object: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A system call of this host.
    #[error(transparent)]
    System(#[from] linux::OsError),
}

/// Adds operation and object to a bare I/O result.
pub(crate) trait During<T> {
    fn during(self, operation: &'static str, object: impl ToString) -> Result<T, VmError>;
}

impl<T> During<T> for io::Result<T> {
    fn during(self, operation: &'static str, object: impl ToString) -> Result<T, VmError> {
        self.map_err(|source| VmError::Io { operation, object: object.to_string(), source })
    }
}
