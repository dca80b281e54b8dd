//! Programs of this machine: where they are, and which version.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The program of this name in `PATH`.
pub(crate) fn in_path(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?).map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// The first line of its output with `--version`.
pub(crate) fn version(path: &Path) -> String {
    let Ok(output) = Command::new(path).arg("--version").output() else { return "no version".into() };
    // iPerf2 writes it to standard error.
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8_lossy(&text).lines().next().unwrap_or_default().to_owned()
}
