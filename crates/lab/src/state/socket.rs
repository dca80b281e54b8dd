//! The socket beside a lab's file, at which the process that holds it takes orders for its virtual machines.

use super::Directory;
use crate::error::LabError;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

impl Directory {
    /// Does something at the path of the socket at which a lab takes orders for its machines. The path goes by a
    /// descriptor of the directory, since that of a socket has a length of at most 107 bytes (`unix(7)`).
    pub(crate) fn at_socket<T>(
        &self,
        lab: &str,
        act: impl FnOnce(&Path) -> io::Result<T>,
    ) -> Result<T, LabError> {
        let acted = File::open(&self.0).and_then(|directory| {
            act(Path::new(&format!("/proc/self/fd/{}/{lab}.{SOCKET}", directory.as_raw_fd())))
        });
        acted.map_err(LabError::state(&self.socket(lab)))
    }

    pub(super) fn remove_socket(&self, lab: &str) -> Result<(), LabError> {
        let path = self.socket(lab);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(LabError::state(&path)(error)),
            _ => Ok(()),
        }
    }

    fn socket(&self, lab: &str) -> PathBuf {
        self.0.join(format!("{lab}.{SOCKET}"))
    }
}

/// The state file of the lab to which another file belongs.
pub(super) fn lab_of(path: &Path) -> PathBuf {
    let is_socket = path.extension().is_some_and(|end| end == SOCKET);
    if is_socket { path.with_extension("json") } else { path.to_owned() }
}

pub(super) const SOCKET: &str = "socket";
