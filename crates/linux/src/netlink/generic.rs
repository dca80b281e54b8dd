//! Generic netlink: families of requests that a kernel may have or lack.

use super::message::{Message, u16_at};
use super::{Netlink, incomplete};
use crate::error::Result;

/// Opens generic netlink for a family of it; returns the message type that this kernel gave the family, too.
pub(super) fn open(name: &str) -> Result<(Netlink, u16)> {
    const OPERATION: &str = "look up generic netlink family";
    let mut netlink = Netlink::open(libc::NETLINK_GENERIC)?;
    let mut request = generic(GENL_ID_CTRL, CTRL_CMD_GETFAMILY, libc::NLM_F_ACK);
    request.string(CTRL_ATTR_FAMILY_NAME, name);
    let replies = netlink.ask(OPERATION, name, vec![request], 1);
    let replies = replies.map_err(|error| error.if_lacking("this kernel does not have it"))?;
    let id =
        replies.iter().find_map(|reply| u16_at(reply.attributes(GENLMSGHDR).value(CTRL_ATTR_FAMILY_ID)?, 0));
    Ok((netlink, id.ok_or_else(|| incomplete(OPERATION, name))?))
}

/// A request that begins with `struct genlmsghdr`: command, version, nothing.
pub(super) fn generic(family: u16, command: u8, flags: i32) -> Message {
    Message::new(family, flags, &[command, 1, 0, 0])
}

/// Bytes before the attributes.
pub(super) const GENLMSGHDR: usize = 4;
const GENL_ID_CTRL: u16 = 0x10;
const CTRL_CMD_GETFAMILY: u8 = 3;
const CTRL_ATTR_FAMILY_ID: u16 = 1;
const CTRL_ATTR_FAMILY_NAME: u16 = 2;
