//! Files for programs under test.

use std::io::Write;

/// A new directory under the one for temporary files; removed on drop.
pub(crate) struct Scratch(pub(crate) std::path::PathBuf);

impl Scratch {
    /// Makes it; `name` must be used once.
    pub(crate) fn new(name: &str) -> Scratch {
        let path = std::env::temp_dir().join(format!(
            "pathmeter-{}-{}-{name}",
            env!("CARGO_CRATE_NAME"),
            std::process::id()
        ));
        std::fs::create_dir_all(&path).unwrap_or_else(|error| panic!("make {}: {error}", path.display()));
        Scratch(path)
    }

    /// A path in it.
    pub(crate) fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    /// Writes a file in it.
    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        let written = std::fs::File::create(&path).and_then(|mut file| file.write_all(bytes.as_ref()));
        written.unwrap_or_else(|error| panic!("write {path}: {error}"));
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A file that cannot be removed stays in the directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
