//! Rights that a server gives up before the first client comes: root's rights, but for those that measuring needs. Every command that
//! listens gets its [`Confined`] here, when its ports are open and its secrets are read, and before it has a second thread.

use engine::error::{Failure, Result};
use engine::server::Confined;
use linux::privilege::drop::User;
use linux::privilege::{Capability, is_root, user_id};
#[cfg(any(feature = "fleet", feature = "web"))]
use std::os::unix::fs::MetadataExt;
#[cfg(any(feature = "fleet", feature = "web"))]
use std::path::Path;

/// Packets made by hand and captured, buffers and priorities that rates need.
const KEPT: &[Capability] = &[Capability::NetAdmin, Capability::NetRaw, Capability::SysNice];

/// The wishes of a command line.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RunAs<'a> {
    /// `--user`.
    pub(crate) user: Option<&'a str>,
    /// `--no-capabilities`.
    pub(crate) no_capabilities: bool,
    /// The default user; absent: `nobody`.
    pub(crate) usual: Option<User>,
}

/// Gives up what the command does not need, for good.
///
/// # Errors
/// `Kind::Usage`: the user does not exist, cannot be become, or root's rights cannot be given up here.
pub(crate) fn confine(asked: RunAs<'_>) -> Result<Confined> {
    let kept = if asked.no_capabilities { &[] } else { KEPT };
    match asked.user {
        Some(name) => become_the(name, asked.no_capabilities),
        None if is_root() => {
            let user = asked.usual.unwrap_or_else(User::nobody);
            // A user namespace may know no other user.
            let confined = Confined::enter(Some(user), kept).or_else(|_| Confined::enter(None, kept));
            let advice = "start it as another user, or keep them with --user root";
            Ok(confined.map_err(|e| Failure::usage(format!("root's rights stay here: {e}"), advice))?)
        }
        None => {
            let advice = "start it as another user, or as root with --user";
            Ok(Confined::enter(None, kept).map_err(|e| Failure::usage(e.to_string(), advice))?)
        }
    }
}

fn become_the(name: &str, no_capabilities: bool) -> Result<Confined> {
    let advice = "give --user the name or number of a user of this host";
    let failed = |e: linux::OsError| Failure::usage(format!("--user {name}: {e}"), advice);
    let user = User::named(name).map_err(failed)?;
    let kept = if no_capabilities { &[] } else { KEPT };
    match (user.id == user_id(), is_root()) {
        // The user requested it: no right is given up.
        (true, true) if !no_capabilities => Ok(Confined::with_all_rights()),
        (true, _) => Ok(Confined::enter(None, kept).map_err(failed)?),
        (false, true) => Ok(Confined::enter(Some(user), kept).map_err(failed)?),
        (false, false) => {
            let advice = "start it as root, or without --user";
            Err(Failure::usage(format!("--user {name}: only root can go on as somebody else"), advice).into())
        }
    }
}

/// The user that `asked` will go on as, where that is another one than now.
#[cfg(any(feature = "fleet", feature = "web"))]
pub(crate) fn next_user(asked: RunAs<'_>) -> Result<Option<User>> {
    if !is_root() {
        return Ok(None);
    }
    let user = match asked.user {
        Some(name) => User::named(name).map_err(|e| {
            Failure::usage(format!("--user {name}: {e}"), "give the name or number of a user of this host")
        })?,
        None => asked.usual.unwrap_or_else(User::nobody),
    };
    Ok((user.id != user_id()).then_some(user))
}

/// The owner of a file, or of the nearest folder above it that there is; absent: root, or not known.
#[cfg(feature = "web")]
pub(crate) fn owner(file: &Path) -> Option<User> {
    let found = file.ancestors().find_map(|path| std::fs::metadata(path).ok())?;
    (found.uid() != 0).then(|| User { id: found.uid(), group: found.gid() })
}

/// Gives a store of root's to the user as whom the program goes on, where that user can get to it: the file, and those beside it
/// that there are while it is open.
#[cfg(feature = "web")]
pub(crate) fn hand_over_store(file: &Path, user: User) {
    let may_enter = |folder: &Path| {
        std::fs::metadata(folder).is_ok_and(|found| found.uid() == user.id || found.mode() & 0o001 != 0)
    };
    if !file.ancestors().skip(1).filter(|folder| !folder.as_os_str().is_empty()).all(may_enter) {
        return;
    }
    for end in ["", "-wal", "-shm"] {
        let mut path = file.as_os_str().to_owned();
        path.push(end);
        if is_plain(Path::new(&path)) {
            // Whether the user can use it shows when it is opened.
            std::os::unix::fs::lchown(&path, Some(user.id), Some(user.group)).ok();
        }
    }
}

/// A file of its own: a link could lead to any other one of the host.
#[cfg(any(feature = "fleet", feature = "web"))]
fn is_plain(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file() && found.nlink() == 1)
}

/// Makes a folder of this program's own files, and gives it and them to the user as whom the program goes on. A folder that
/// holds anything else keeps its owner.
///
/// # Errors
/// The folder cannot be made.
#[cfg(feature = "fleet")]
pub(crate) fn hand_over(folder: &Path, user: Option<User>) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let Some(user) = user else { return Ok(()) };
    let own = |path: &Path| path.extension().is_some_and(|kind| kind == "jsonl" || kind == "new");
    let entries = std::fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path()));
    let files = entries.collect::<std::io::Result<Vec<_>>>()?;
    if files.iter().all(|path| own(path) && is_plain(path)) {
        for path in files.iter().map(std::path::PathBuf::as_path).chain([folder]) {
            std::os::unix::fs::lchown(path, Some(user.id), Some(user.group))?;
        }
    }
    Ok(())
}
