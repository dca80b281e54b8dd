//! The threads in which an interface receives, where it has its own (family `netdev`).

use super::Reply;
use super::generic::{GENLMSGHDR, generic, open};
use crate::error::Result;

/// The threads of an interface's NAPI instances, in the **calling thread's** network namespace; none where it receives in
/// softirqs.
///
/// # Errors
/// Before Linux 6.8 ([`OsError::is_unsupported`](crate::OsError::is_unsupported)).
pub fn napi_threads(interface: u32) -> Result<Vec<libc::pid_t>> {
    let (mut netlink, family) = open("netdev")?;
    let mut request = generic(family, NETDEV_CMD_NAPI_GET, libc::NLM_F_DUMP);
    request.attribute(NETDEV_A_NAPI_IFINDEX, &interface.to_ne_bytes());
    let object = format!("interface {interface}");
    let replies = netlink.ask("list the NAPI instances of", &object, vec![request], 1)?;
    let thread = |reply: &Reply| reply.attributes(GENLMSGHDR).u32(NETDEV_A_NAPI_PID)?.try_into().ok();
    Ok(replies.iter().filter_map(thread).collect())
}

const NETDEV_CMD_NAPI_GET: u8 = 11;
const NETDEV_A_NAPI_IFINDEX: u16 = 1;
const NETDEV_A_NAPI_PID: u16 = 4;
