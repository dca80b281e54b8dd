//! `-I`: a file with the process id, there as long as the program runs.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// The file; removed on drop, or emptied where a server that gave root's rights up may not remove it.
#[derive(Debug)]
pub(super) struct PidFile(Option<(PathBuf, File)>);

impl PidFile {
    /// Writes the file, where one was requested.
    ///
    /// # Errors
    /// A sentence for the user: it names a process that runs, or cannot be written.
    pub(super) fn write(path: Option<&Path>) -> Result<PidFile, String> {
        let Some(path) = path else { return Ok(PidFile(None)) };
        if std::fs::read_to_string(path).is_ok_and(|text| runs(&text)) {
            return Err(format!("Another instance of iperf3 appears to be running ({})", path.display()));
        }
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path);
        let file = file
            .and_then(|mut file| write!(file, "{}", std::process::id()).map(|()| file))
            .map_err(|error| format!("error - unable to write PID file: {}: {error}", path.display()))?;
        Ok(PidFile(Some((path.to_owned(), file))))
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        let Some((path, file)) = self.0.take() else { return };
        if std::fs::remove_file(path).is_err() {
            // Where another process has removed it, this changes nothing.
            let _ = file.set_len(0);
        }
    }
}

/// Is this the number of a process that lives, other than this one?
fn runs(text: &str) -> bool {
    let pid: u32 = text.trim_end_matches('\0').trim().parse().unwrap_or(0);
    pid > 0 && pid != std::process::id() && Path::new("/proc").join(pid.to_string()).exists()
}
