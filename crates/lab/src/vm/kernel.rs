//! The kernel a virtual machine boots: one that was fetched, the host's own, or another that is installed.

use crate::vm_error::VmError;
use linux::privilege::{Uname, is_root};
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A kernel image and its modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The image.
    pub image: PathBuf,
    /// Its release: `6.1.0-56-cloud-amd64`.
    pub release: String,
    /// The directory of its modules; absent: it has all built in.
    pub modules: Option<PathBuf>,
}

impl Kernel {
    /// The kernel to boot: one that [`super::fetch_kernel`] brought, else the one this host runs, else the newest installed.
    ///
    /// # Errors
    /// When there is none that this user can read.
    pub fn find() -> Result<Self, VmError> {
        let mut roots = stores();
        roots.push("/".into());
        Self::find_in(&roots, &Uname::get().release)
    }

    /// Like [`Self::find`], in directories that are laid out as `/` is; the `running` version is preferred within one directory.
    ///
    /// # Errors
    /// When there is none that this user can read.
    pub fn find_in(roots: &[PathBuf], running: &str) -> Result<Self, VmError> {
        let best = |root: &PathBuf| {
            let found = installed_in(root).into_iter();
            found.max_by_key(|kernel| (kernel.release == running, version_key(&kernel.release)))
        };
        let looked = || {
            roots.iter().map(|root| root.join("boot").display().to_string()).collect::<Vec<_>>().join(", ")
        };
        roots.iter().find_map(best).ok_or_else(|| VmError::NoKernel { looked: looked(), package: package() })
    }
}

/// Directories that hold fetched kernels: this user's first, then that of all users.
#[must_use]
pub fn stores() -> Vec<PathBuf> {
    let of_user = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let of_user = of_user.or_else(|| std::env::home_dir().map(|home| home.join(".cache")));
    let of_user = of_user.filter(|_| !is_root());
    of_user
        .into_iter()
        .chain([PathBuf::from("/var/cache")])
        .map(|cache| cache.join("pathmeter/kernel"))
        .collect()
}

/// The package with a kernel for virtual machines, by Debian's name.
pub(super) const fn package() -> &'static str {
    if cfg!(target_arch = "aarch64") { "linux-image-cloud-arm64" } else { "linux-image-cloud-amd64" }
}

fn installed_in(root: &Path) -> Vec<Kernel> {
    let Ok(entries) = fs::read_dir(root.join("boot")) else { return Vec::new() };
    let kernel = |entry: fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        let release = name.strip_prefix("vmlinuz-")?.to_owned();
        // Ubuntu lets only root read its kernels.
        File::open(entry.path()).ok()?;
        let modules = Some(root.join("lib/modules").join(&release)).filter(|modules| modules.is_dir());
        Some(Kernel { image: entry.path(), release, modules })
    };
    entries.filter_map(Result::ok).filter_map(kernel).collect()
}

/// Orders `6.1.0-9` before `6.1.0-56`.
fn version_key(release: &str) -> Vec<u64> {
    release.split(|byte: char| !byte.is_ascii_digit()).filter_map(|part| part.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_running_kernel_is_preferred_else_the_newest_else_what_is_missing_is_named() {
        let root = std::env::temp_dir().join(format!("pathmeter-kernels-{}", std::process::id()));
        fs::create_dir_all(root.join("boot")).unwrap();
        fs::create_dir_all(root.join("lib/modules/6.1.0-9")).unwrap();
        for release in ["6.1.0-9", "6.1.0-56", "5.10.0-99"] {
            fs::write(root.join(format!("boot/vmlinuz-{release}")), "").unwrap();
        }
        let roots = [root.clone()];
        let own = Kernel::find_in(&roots, "6.1.0-9").unwrap();
        assert_eq!(own.modules, Some(root.join("lib/modules/6.1.0-9")));
        let newest = Kernel::find_in(&roots, "6.18.0").unwrap();
        assert_eq!((newest.release.as_str(), newest.modules), ("6.1.0-56", None));
        fs::remove_dir_all(&root).unwrap();
        let error = Kernel::find_in(&roots, "6.1.0-9").unwrap_err().to_string();
        assert!(error.contains("pathmeter lab prepare") && error.contains(package()), "{error}");
    }
}
