//! A kernel from the distribution's packages, unpacked into a cache directory and not installed: no boot loader is
//! touched and no root is needed. Works where `apt-get` and `dpkg-deb` are: Debian and what descends from it.

use super::kernel::{Kernel, package, stores};
use crate::vm_error::{During, VmError};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Downloads the packages of a kernel for virtual machines and unpacks them; returns the kernel that can be booted now.
///
/// # Errors
/// Without apt, its package lists or the network, in apt's own words.
pub fn fetch_kernel() -> Result<Kernel, VmError> {
    // Root's goes where every user finds it, as `stores` puts it.
    let store = stores().swap_remove(0);
    fs::create_dir_all(&store).during("make directory", store.display())?;
    let scratch = Scratch::new(&store)?;
    let packages = packages_of_a_kernel()?;
    run(Command::new("apt-get").arg("download").args(&packages).current_dir(&scratch.0))?;
    for file in fs::read_dir(&scratch.0).during("read", scratch.0.display())?.filter_map(Result::ok) {
        run(Command::new("dpkg-deb").arg("-x").arg(file.path()).arg(scratch.0.join("root")))?;
    }
    let fetched = Kernel::find_in(&[scratch.0.join("root")], "")?;
    install(&scratch.0.join("root"), &store, &fetched.release)?;
    Kernel::find_in(&[store], &fetched.release)
}

/// The packages behind the one whose name never changes: `linux-image-6.1.0-56-cloud-amd64`, and on Ubuntu its modules.
fn packages_of_a_kernel() -> Result<Vec<String>, VmError> {
    let mut refused = None;
    for name in [package(), "linux-image-virtual"] {
        let mut command = Command::new("apt-cache");
        command.args(["depends", "--recurse", "--important", name]);
        match run(&mut command) {
            Ok(listed) => {
                let packages: Vec<String> =
                    listed.lines().filter(|line| is_kernel_package(line)).map(str::to_owned).collect();
                if !packages.is_empty() {
                    return Ok(packages);
                }
            }
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.unwrap_or_else(|| VmError::Download {
        command: format!("apt-cache depends {}", package()),
        reason: "apt knows no such package; run `apt-get update` first".into(),
    }))
}

/// Lines that name a package begin without a space; those wanted have a number in their name.
fn is_kernel_package(line: &str) -> bool {
    ["linux-image-", "linux-image-unsigned-", "linux-modules-"].iter().any(|prefix| {
        line.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
    })
}

/// Moves image and modules into the store; the image last, since by it a kernel is found.
fn install(unpacked: &Path, store: &Path, release: &str) -> Result<(), VmError> {
    // On newer systems packages have it below /usr.
    let modules =
        [unpacked.join("lib/modules").join(release), unpacked.join("usr/lib/modules").join(release)];
    if let Some(modules) = modules.iter().find(|path| path.is_dir()) {
        replace(modules, &store.join("lib/modules").join(release))?;
    }
    let image = Path::new("boot").join(format!("vmlinuz-{release}"));
    replace(&unpacked.join(&image), &store.join(&image))
}

fn replace(from: &Path, to: &Path) -> Result<(), VmError> {
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).during("make directory", parent.display())?;
    }
    if to.is_dir() {
        fs::remove_dir_all(to).during("remove", to.display())?;
    }
    fs::rename(from, to).during("move to", to.display())
}

/// Runs a command to its end and gives its output. Downloads have no deadline of ours: apt has its own.
fn run(command: &mut Command) -> Result<String, VmError> {
    let reported = format!("{command:?}").replace('"', "");
    let failed = |reason: String| VmError::Download { command: reported.clone(), reason };
    let output = command
        .env("LC_ALL", "C")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(failed(if stderr.trim().is_empty() { output.status.to_string() } else { stderr.trim().to_owned() }))
}

/// A directory that is removed at the end, whatever that is.
struct Scratch(PathBuf);

impl Scratch {
    fn new(store: &Path) -> Result<Self, VmError> {
        let path = store.join(format!("incoming-{}", std::process::id()));
        fs::create_dir(&path).during("make directory", path.display())?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versioned_kernel_packages_differ_from_stable_names() {
        assert!(is_kernel_package("linux-image-6.1.0-56-cloud-amd64"));
        assert!(is_kernel_package("linux-modules-6.8.0-31-generic"));
        for other in ["linux-image-cloud-amd64", "  Depends: linux-image-6.1.0-56-cloud-amd64", "linux-base"]
        {
            assert!(!is_kernel_package(other), "{other}");
        }
    }

    #[test]
    fn a_failed_command_is_reported_with_its_output() {
        let error = run(Command::new("ls").arg("/nowhere-at-all")).unwrap_err().to_string();
        assert!(error.starts_with("ls /nowhere-at-all: ") && error.contains("No such file"), "{error}");
    }
}
