//! Kernel modules, loaded from files.

use crate::error::{Named, Result};
use rustix::system::finit_module;
use std::fs::File;
use std::path::Path;

/// Loads a module; one that is loaded or built in already is no error. Its dependencies must be loaded before.
///
/// Compressed files (`.ko.xz`, `.ko.zst`, `.ko.gz`) are left to the kernel to unpack. Source: `finit_module(2)`.
///
/// # Errors
/// Without the file or `CAP_SYS_MODULE`, for a module of another kernel, or where the kernel cannot unpack it.
pub fn load(path: &Path) -> Result<()> {
    let object = || path.display().to_string();
    let file = File::open(path).named("open module", object)?;
    let flags = if path.extension().is_some_and(|end| end == "ko") { 0 } else { COMPRESSED_FILE };
    match finit_module(&file, c"", flags).named("load module", object) {
        Err(error) if error.errno() == Some(libc::EEXIST) => Ok(()),
        other => other,
    }
}

/// `MODULE_INIT_COMPRESSED_FILE`, `linux/module.h`, since Linux 5.17.
const COMPRESSED_FILE: libc::c_int = 4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_module_is_named() {
        let error = load(Path::new("/nowhere/veth.ko")).unwrap_err();
        assert!(error.to_string().starts_with("open module /nowhere/veth.ko"), "{error}");
    }
}
