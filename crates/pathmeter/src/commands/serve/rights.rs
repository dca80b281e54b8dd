//! What a server gives up before the first client comes: root's rights, but for those that measuring needs.

use cli::ServeArgs;
use engine::error::{Failure, Result};
use engine::work::observer::Observer;
use linux::privilege::drop::{User, go_on_as, keep};
use linux::privilege::{Capability, is_root, user_id};

/// Packets made by hand and captured, buffers and priorities that rates need.
const KEPT: &[Capability] = &[Capability::NetAdmin, Capability::NetRaw, Capability::SysNice];

/// Goes on as another user where root started the server: its ports are open, its secrets are read.
///
/// # Errors
/// `Kind::Usage`: the user asked for does not exist, or cannot be become.
pub(super) fn give_up(args: &ServeArgs, observer: &dyn Observer) -> Result<()> {
    match args.user.as_deref() {
        Some(name) => become_the(name),
        // Frames are sent and counted by programs in the kernel, in interfaces that are configured meanwhile.
        None if !is_root() || !args.frames_port.is_empty() => Ok(()),
        None => {
            let nobody = User::named("nobody").unwrap_or(User::NOBODY);
            // A user namespace may know no other user.
            if go_on_as(nobody, KEPT).or_else(|_| keep(KEPT)).is_err() {
                observer.note("root's rights cannot be given up here: the server keeps them");
            }
            Ok(())
        }
    }
}

fn become_the(name: &str) -> Result<()> {
    let advice = "give --user the name or number of a user of this host";
    let user = User::named(name).map_err(|e| Failure::usage(format!("--user {name}: {e}"), advice))?;
    if user.id == user_id() {
        return Ok(());
    }
    if !is_root() {
        let advice = "start the server as root, or without --user";
        return Err(
            Failure::usage(format!("--user {name}: only root can go on as somebody else"), advice).into()
        );
    }
    go_on_as(user, KEPT).map_err(|e| Failure::usage(format!("--user {name}: {e}"), advice).into())
}
