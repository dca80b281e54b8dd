//! Labs that are up: one file for each, by which every other process of the user finds the lab.
//!
//! The files are in `$PATHMETER_LAB_DIR`, else in `/run/pathmeter/lab` for root, `$XDG_RUNTIME_DIR/pathmeter/lab` for others, and
//! `/tmp/pathmeter-lab-UID` where there is none. The start time of a process distinguishes it from a later one of the same number.

mod socket;

use crate::error::LabError;
use crate::real::{self, Record};
use linux::process::{Process, started_at};
use serde::{Deserialize, Serialize};
use socket::SOCKET;
use std::fs::{self, DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A lab as its file describes it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldLab {
    /// Name of the lab.
    pub name: String,
    /// The topology it was built from.
    pub topology: String,
    /// Description of the topology in one line.
    pub title: String,
    /// The process that holds it.
    pub pid: u32,
    /// When that process began, in clock ticks since the machine did.
    pub started: u64,
    /// Whether it is built, so that commands can be run in it.
    pub ready: bool,
    /// Its nodes on this host.
    pub nodes: Vec<HeldNode>,
}

/// A node of such a lab.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldNode {
    /// Its name.
    pub name: String,
    /// The holder's descriptor of its network namespace; `None`: it is a virtual machine.
    pub namespace: Option<i32>,
    /// CPUs its commands may run on; empty: any.
    pub cpus: Vec<u32>,
}

/// The directory of the files.
#[derive(Clone, Debug)]
pub struct Directory(PathBuf);

impl Directory {
    /// The user's directory, made where it is missing.
    ///
    /// # Errors
    /// When it cannot be made, or belongs to another user.
    pub fn open() -> Result<Self, LabError> {
        let path = place(linux::privilege::user_id());
        let failed = |source| LabError::state(&path)(source);
        DirBuilder::new().recursive(true).mode(0o700).create(&path).map_err(failed)?;
        let owner = fs::symlink_metadata(&path).map_err(failed)?.uid();
        if owner != linux::privilege::user_id() {
            let whose = format!("it belongs to user {owner}: name another directory in {VARIABLE}");
            return Err(failed(io::Error::other(whose)));
        }
        Ok(Self(path))
    }

    /// Every lab there is a file of, by name; files that cannot be understood are left out.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn labs(&self) -> Result<Vec<HeldLab>, LabError> {
        let mut labs: Vec<HeldLab> = self.files()?.iter().filter_map(|path| read(path)).collect();
        labs.sort_by(|one, other| one.name.cmp(&other.name));
        Ok(labs)
    }

    /// Claims a lab's name for the process in `lab`. What a dead process left behind of the name is taken away.
    ///
    /// # Errors
    /// When a lab of this name is up, or the file cannot be written.
    pub fn claim(&self, lab: &HeldLab) -> Result<(), LabError> {
        let _lock = self.lock()?;
        let path = self.file(&lab.name);
        if let Some(there) = read(&path).filter(HeldLab::is_up) {
            return Err(LabError::NameInUse { name: there.name, pid: there.pid });
        }
        self.remove_socket(&lab.name)?;
        self.write(lab)
    }

    /// Writes a lab's file anew.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, lab: &HeldLab) -> Result<(), LabError> {
        write_whole(&self.file(&lab.name), lab)
    }

    /// Takes a lab's files away, unless another process has claimed the name meanwhile.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, lab: &HeldLab) -> Result<(), LabError> {
        let _lock = self.lock()?;
        let path = self.file(&lab.name);
        match read(&path) {
            Some(there) if (there.pid, there.started) == (lab.pid, lab.started) => {
                self.remove_socket(&lab.name)?;
                fs::remove_file(&path).map_err(LabError::state(&path))
            }
            _ => Ok(()),
        }
    }

    /// Files that no living process has to do with: of labs whose holder is dead, of interfaces they had taken, and those
    /// that make no sense.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn stale(&self) -> Result<Vec<PathBuf>, LabError> {
        let _lock = self.lock()?;
        let stale = |path: &PathBuf| {
            !read(&socket::lab_of(path)).is_some_and(|lab| lab.is_up())
                && !read_record(path).is_some_and(|record| record.is_away())
        };
        Ok(self.files()?.into_iter().filter(stale).collect())
    }

    /// Removes the remains that [`Directory::stale`] finds, and returns a list of them. An interface of the host that a killed lab
    /// had, and that the kernel has returned, gets its name, MTU and addresses again; the record of one that cannot be restored is
    /// kept, with the reason.
    ///
    /// # Errors
    /// When the directory cannot be read.
    pub fn sweep(&self) -> Result<Swept, LabError> {
        let mut swept = Swept::default();
        for path in self.stale()? {
            match sweep_away(&path) {
                Ok(()) => swept.gone.push(path),
                Err(why) => swept.kept.push((path, why)),
            }
        }
        Ok(swept)
    }

    /// The user's directory where it is there already.
    pub(crate) fn existing() -> Result<Self, LabError> {
        let path = place(linux::privilege::user_id());
        fs::read_dir(&path).map_err(LabError::state(&path))?;
        Ok(Self(path))
    }

    /// Restores the interfaces of dead labs; returns whether all are back.
    pub(crate) fn put_back_interfaces(&self) -> Result<bool, LabError> {
        let mut all = true;
        for record in self.stale()?.iter().filter_map(|path| read_record(path)) {
            // One that resists for now is tried again, and keeps no other from what it was.
            let back = real::put_back(&record).unwrap_or(false);
            if back {
                // The sweep takes away what cannot be removed here.
                let _ = self.remove_borrowed(&record.name);
            }
            all &= back;
        }
        Ok(all)
    }

    /// Writes down what an interface was that is taken from the host.
    pub(crate) fn write_borrowed(&self, record: &Record) -> Result<(), LabError> {
        write_whole(&self.borrowed(&record.name), record)
    }

    /// The interface is back.
    pub(crate) fn remove_borrowed(&self, interface: &str) -> io::Result<()> {
        fs::remove_file(self.borrowed(interface))
    }

    fn borrowed(&self, interface: &str) -> PathBuf {
        self.0.join(format!("{interface}.interface"))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(format!("{name}.json"))
    }

    fn files(&self) -> Result<Vec<PathBuf>, LabError> {
        let failed = LabError::state(&self.0);
        let entries = fs::read_dir(&self.0).map_err(&failed)?;
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        let paths: Vec<PathBuf> = paths.collect::<io::Result<_>>().map_err(failed)?;
        let ours = |path: &PathBuf| {
            let ends = ["json", "new", "interface", SOCKET];
            path.extension().is_some_and(|end| ends.iter().any(|ours| end == *ours))
        };
        Ok(paths.into_iter().filter(ours).collect())
    }

    /// One process at a time looks and writes.
    fn lock(&self) -> Result<File, LabError> {
        let path = self.0.join("lock");
        let locked = File::create(&path).and_then(|file| file.lock().map(|()| file));
        locked.map_err(LabError::state(&path))
    }
}

impl HeldLab {
    /// The process that holds it; `None` when that is dead, and with it the lab.
    ///
    /// # Errors
    /// When the kernel is older than Linux 5.3.
    pub fn holder(&self) -> Result<Option<Process>, LabError> {
        Ok(Process::find(self.pid, self.started)?)
    }

    /// Whether the process that holds it lives. Looked up in `/proc`, which knows it in every PID namespace.
    #[must_use]
    pub fn is_up(&self) -> bool {
        started_at(self.pid) == Some(self.started)
    }
}

/// The result of a sweep.
#[derive(Debug, Default)]
pub struct Swept {
    /// Files that were taken away.
    pub gone: Vec<PathBuf>,
    /// Files that stay, and why.
    pub kept: Vec<(PathBuf, String)>,
}

/// Writes a file so that no reader finds half of it, even after the host has crashed.
fn write_whole(path: &Path, content: &impl Serialize) -> Result<(), LabError> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".new");
    let text = serde_json::to_string_pretty(content).map_err(io::Error::from);
    let written = text.and_then(|text| {
        let mut file = File::create(&beside)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&beside, path)
    });
    written.map_err(LabError::state(path))
}

/// One file, and what it stands for.
fn sweep_away(path: &Path) -> Result<(), String> {
    if let Some(record) = read_record(path) {
        let name = &record.name;
        match real::put_back(&record) {
            Ok(true) => {}
            Ok(false) => {
                return Err(format!("{name} is not there: should it never come back, remove this file"));
            }
            Err(error) => return Err(format!("{name} is not what it was: {error}")),
        }
    }
    fs::remove_file(path).map_err(|error| error.to_string())
}

fn read(path: &Path) -> Option<HeldLab> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn read_record(path: &Path) -> Option<Record> {
    path.extension().filter(|end| *end == "interface")?;
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}

fn place(user: u32) -> PathBuf {
    let named = |variable| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
    if let Some(path) = named(VARIABLE) {
        return path;
    }
    match named("XDG_RUNTIME_DIR") {
        _ if user == 0 => "/run/pathmeter/lab".into(),
        Some(path) => path.join("pathmeter/lab"),
        None => format!("/tmp/pathmeter-lab-{user}").into(),
    }
}

/// Names the directory.
pub const VARIABLE: &str = "PATHMETER_LAB_DIR";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sweep_keeps_what_it_cannot_put_back_and_goes_on_with_the_rest() {
        let scratch = std::env::temp_dir().join(format!("pathmeter-sweep-{}", std::process::id()));
        fs::create_dir_all(&scratch).unwrap();
        let directory = Directory(scratch.clone());
        let (pid, started) = (std::process::id(), 1);
        let lab = HeldLab {
            name: "dead".into(),
            topology: "pair".into(),
            title: String::new(),
            pid,
            started,
            ready: true,
            nodes: Vec::new(),
        };
        directory.write(&lab).unwrap();
        // An interface that the kernel has not returned, and one whose record makes no sense.
        let away = serde_json::json!({
            "name": "nosuch0", "inside": "inside0", "mtu": 1500, "mac": [2, 0, 0, 0, 0, 9], "is_up": true,
            "addresses": [["192.0.2.7", 24]], "pid": pid, "started": started
        });
        let away: Record = serde_json::from_value(away).unwrap();
        directory.write_borrowed(&away).unwrap();
        fs::write(scratch.join("cut.interface"), b"{\"name\":").unwrap();
        for gone in [2, 0] {
            let swept = directory.sweep().unwrap();
            assert_eq!(swept.gone.len(), gone, "{swept:?}");
            let [(path, why)] = swept.kept.as_slice() else { panic!("{swept:?}") };
            assert_eq!(path, &scratch.join("nosuch0.interface"));
            assert!(why.contains("nosuch0 is not there"), "{why}");
        }
        assert_eq!(read_record(&scratch.join("nosuch0.interface")).unwrap().name, "nosuch0");
        fs::remove_dir_all(&scratch).unwrap();
    }
}
