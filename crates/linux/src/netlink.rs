//! Netlink: asking the kernel for links, addresses, routes and packet filters, and changing them.
//!
//! A connection belongs to the network namespace in which it was opened and keeps acting there, whichever thread uses it.
//! Sources: `netlink(7)`, `rtnetlink(7)`.

mod address;
mod device;
#[cfg(fuzzing)]
pub(crate) mod fuzzing;
mod generic;
mod link;
mod message;
mod napi;
mod neighbour;
mod nl80211;
mod pause;
mod qdisc;
mod route;
mod route_spec;
mod rule;
mod wireguard;

pub use address::InterfaceAddress;
pub use device::VxlanSpec;
pub use link::{Bond, Link, LinkStatistics, OperState};
pub use neighbour::{Neighbour, NeighbourChanges};
pub use qdisc::{Netem, Qdisc, QdiscStatistics, Tbf};
pub use route::{ConfiguredRoute, HostRoute, Route};
pub use route_spec::{Encap, RouteSpec};
pub use rule::Rule;
pub use wireguard::{WireguardPeer, WireguardSpec, configure_wireguard};

pub(crate) use message::{Attributes, Message};
pub use napi::napi_threads;
pub use nl80211::{WifiPeer, wifi_peers};
pub use pause::{PauseFrames, pause_frames};

use crate::clock::mono_now;
use crate::error::{Named, OsError, Result};
use crate::options::{Opt, set_int, setsockopt};
use crate::poll::{self, Interest};
use message::{HEADER, Reply};
pub(crate) use message::{text, u16_at, u32_at, u64_at};
use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{self, AddressFamily, Protocol, RecvFlags, SendFlags, SocketFlags, SocketType};
use std::io;
use std::num::NonZeroU32;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use units::Nanos;

/// Links, addresses and routes of one network namespace (`NETLINK_ROUTE`).
#[derive(Debug)]
pub struct Network {
    netlink: Netlink,
}

impl Network {
    /// Opens the network namespace of the calling thread.
    ///
    /// # Errors
    /// When the kernel gives no netlink socket.
    pub fn open() -> Result<Self> {
        Ok(Self { netlink: Netlink::open(libc::NETLINK_ROUTE)? })
    }

    fn ask(&mut self, operation: &str, object: &str, request: Message) -> Result<Vec<Reply>> {
        self.netlink.ask(operation, object, vec![request], 1)
    }
}

/// A netlink socket that sends a request and collects its answer.
#[derive(Debug)]
pub(crate) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

impl Netlink {
    /// Opens a socket of this netlink protocol.
    pub(crate) fn open(protocol: i32) -> Result<Self> {
        let object = || format!("netlink socket of protocol {protocol}");
        // Routing is number 0, which is also that of none.
        let number = u32::try_from(protocol).ok().and_then(NonZeroU32::new).map(Protocol::from_raw);
        let (family, kind) = (AddressFamily::NETLINK, SocketType::RAW);
        let socket = net::socket_with(family, kind, SocketFlags::CLOEXEC, number).named("open", object)?;
        set_socket_timeout(&socket, Timeout::Recv, Some(TIMEOUT)).named("set a deadline on", object)?;
        // Only for better messages: kernels before 4.12 have neither, and say the number alone.
        set_int(&socket, EXT_ACK, 1).ok();
        set_int(&socket, CAP_ACK, 1).ok();
        Ok(Self { socket, sequence: 0 })
    }

    /// Sends the requests in one datagram and collects what comes, until `answers` acknowledgements or ends of a dump.
    pub(crate) fn ask(
        &mut self,
        operation: &str,
        object: &str,
        requests: Vec<Message>,
        answers: usize,
    ) -> Result<Vec<Reply>> {
        let first = self.sequence.wrapping_add(1);
        let mut datagram = Vec::new();
        for request in requests {
            self.sequence = self.sequence.wrapping_add(1);
            datagram.extend(request.into_bytes(self.sequence));
        }
        let replies = self.send(&datagram).map_err(Refusal::from).and_then(|()| self.collect(first, answers));
        replies.map_err(|Refusal { source, words }| {
            let reported = words.map(|words| format!(" (the kernel reports: {words})")).unwrap_or_default();
            OsError::new(operation, format!("{object}{reported}"), source)
        })
    }

    fn collect(&self, first: u32, answers: usize) -> std::result::Result<Vec<Reply>, Refusal> {
        let (mut collected, mut answered) = (Vec::new(), 0);
        let mut buffer = vec![0; RECEIVE_BYTES];
        while answered < answers {
            let length = self.receive(&mut buffer)?;
            for reply in Reply::parse_all(&buffer[..length]) {
                // This reply belongs to an earlier request that failed half-way.
                if reply.sequence.wrapping_sub(first) > self.sequence.wrapping_sub(first) {
                    continue;
                }
                match i32::from(reply.kind) {
                    libc::NLMSG_ERROR => verdict(&reply)?,
                    libc::NLMSG_DONE => {}
                    _ => {
                        collected.push(reply);
                        continue;
                    }
                }
                answered += 1;
            }
        }
        Ok(collected)
    }

    /// Subscribes to this multicast group of the kernel.
    fn join(&self, group: u32) -> Result<()> {
        let object = || format!("group {group} of netlink");
        // The kernel sends no notification to a socket without a number, which sending would also assign.
        net::bind(&self.socket, &SocketAddrNetlink::new(0, 0)).named("bind for", object)?;
        setsockopt(self.socket.as_fd(), ADD_MEMBERSHIP, &group.to_ne_bytes()).named("join", object)
    }

    /// Notifications of the kernel within `timeout`: one datagram's messages, or none.
    fn notifications(&self, timeout: Nanos) -> Result<Vec<Reply>> {
        let object = || "the kernel's changes".to_owned();
        let ready = poll::wait(&mut [Interest::readable(&self.socket)], Some(mono_now() + timeout));
        if ready.named("wait for", object)? == 0 {
            return Ok(Vec::new());
        }
        let mut buffer = vec![0; RECEIVE_BYTES];
        let length = self.receive(&mut buffer).named("read", object)?;
        Ok(Reply::parse_all(&buffer[..length]))
    }

    fn send(&self, datagram: &[u8]) -> io::Result<()> {
        net::send(&self.socket, datagram, SendFlags::empty())?;
        Ok(())
    }

    fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match net::recv(&self.socket, &mut *buffer, RecvFlags::TRUNC) {
                Ok((_, length)) if length <= buffer.len() => return Ok(length),
                Ok(_) => return Err(io::Error::other("the kernel's answer is larger than expected")),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    return Err(io::Error::new(io::ErrorKind::TimedOut, "the kernel did not answer"));
                }
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// An error number, and the kernel's own words where it has any.
struct Refusal {
    source: io::Error,
    words: Option<String>,
}

impl From<io::Error> for Refusal {
    fn from(source: io::Error) -> Self {
        Self { source, words: None }
    }
}

/// The kernel's verdict in a reply of type `NLMSG_ERROR`; number 0 is success.
fn verdict(reply: &Reply) -> std::result::Result<(), Refusal> {
    let code = u32_at(&reply.payload, 0).map_or(-libc::EPROTO, u32::cast_signed);
    if code == 0 {
        return Ok(());
    }
    let flags = i32::from(reply.flags);
    // The request is quoted behind the number; of it NETLINK_CAP_ACK leaves the header alone.
    let quoted = match flags & libc::NLM_F_CAPPED {
        0 => u32_at(&reply.payload, 4).and_then(|length| usize::try_from(length).ok()).unwrap_or(HEADER),
        _ => HEADER,
    };
    let message = match flags & libc::NLM_F_ACK_TLVS {
        0 => None,
        _ => reply.attributes(quoted.saturating_add(4).next_multiple_of(4)).string(NLMSGERR_ATTR_MSG),
    };
    Err(Refusal { source: io::Error::from_raw_os_error(code.saturating_neg()), words: message })
}

/// The error for an answer that lacks a mandatory attribute.
fn incomplete(operation: &str, object: &str) -> OsError {
    let why = io::Error::new(io::ErrorKind::InvalidData, "the kernel's answer is incomplete");
    OsError::new(operation, object, why)
}

const TIMEOUT: Duration = Duration::from_secs(5);
const EXT_ACK: Opt = Opt(libc::SOL_NETLINK, libc::NETLINK_EXT_ACK, "NETLINK_EXT_ACK");
const CAP_ACK: Opt = Opt(libc::SOL_NETLINK, libc::NETLINK_CAP_ACK, "NETLINK_CAP_ACK");
const ADD_MEMBERSHIP: Opt = Opt(libc::SOL_NETLINK, libc::NETLINK_ADD_MEMBERSHIP, "NETLINK_ADD_MEMBERSHIP");
/// The kernel fills at most 32 KiB of a dump into one datagram; an acknowledgement quotes at most the request.
const RECEIVE_BYTES: usize = 64 * 1024;
const NLMSGERR_ATTR_MSG: u16 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_states_why_it_refuses() {
        let mut network = Network::open().expect("anybody may ask for links");
        let error = network.link("no-such-link").expect_err("there is no such link");
        assert!(error.to_string().starts_with("look up link no-such-link: "), "{error}");
        // The next question is not confused by the refusal of the last.
        assert_eq!(network.link("lo").expect("every namespace has a loopback").name, "lo");
    }
}
