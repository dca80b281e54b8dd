//! Options of IPv4 and IPv6 alike; on an IPv6 socket both are set, because it may carry IPv4-mapped traffic.

use super::{Opt, named, set_int, set_raw, set_v4_int};
use crate::error::Result;
use crate::sockaddr;
use rustix::net::sockopt::{self, Ipv4PathMtuDiscovery, Ipv6PathMtuDiscovery};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::AsFd;
use units::Bytes;

/// Handling of the path MTU by the socket (`IP_MTU_DISCOVER`, ip(7) and ipv6(7)).
///
/// On IPv6 a router never fragments, so a mode with DF clear merely loses what does not fit there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(i32)]
pub enum MtuDiscovery {
    /// DF clear; the sender and every router may fragment; the path MTU cache is obeyed.
    Dont = 0,
    /// The default: DF set on what fits the known path MTU, the rest is fragmented by the sender.
    Want = 1,
    /// DF always set; what exceeds the known path MTU is refused with `EMSGSIZE`.
    Do = 2,
    /// DF always set, the known path MTU ignored: the mode of path MTU probes.
    Probe = 3,
    /// DF clear, the known path MTU ignored, refused with `EMSGSIZE` above the interface's MTU.
    Interface = 4,
    /// DF clear, the known path MTU ignored, fragmented to the interface's MTU: the mode of fragment tests.
    Omit = 5,
}

/// Sets the type-of-service byte of IPv4 (DSCP and ECN) and the traffic class of IPv6.
///
/// # Errors
/// The errors of `setsockopt(2)`.
pub fn set_tos(fd: &impl AsFd, tos: u8) -> Result<()> {
    if is_v6(fd) {
        named("set IPV6_TCLASS on", fd, sockopt::set_ipv6_tclass(fd, tos.into()))?;
    }
    named("set IP_TOS on", fd, sockopt::set_ip_tos(fd, tos))
}

/// The byte of [`set_tos`], from the family the socket talks.
///
/// # Errors
/// The errors of `getsockopt(2)`.
pub fn tos(fd: &impl AsFd) -> Result<u8> {
    if talks_v6(fd) {
        return named("read IPV6_TCLASS of", fd, sockopt::ipv6_tclass(fd)).map(|class| (class & 0xff) as u8);
    }
    named("read IP_TOS of", fd, sockopt::ip_tos(fd))
}

/// Sets the interface, by its address, that packets to IPv4 groups leave through (`IP_MULTICAST_IF`).
///
/// # Errors
/// `EADDRNOTAVAIL` for an address that is not this host's; else what `setsockopt(2)` gives.
pub fn set_multicast_interface(fd: &impl AsFd, address: Ipv4Addr) -> Result<()> {
    named("set IP_MULTICAST_IF on", fd, sockopt::set_ip_multicast_if(fd, &address))
}

/// Sets the path MTU mode.
///
/// # Errors
/// The errors of `setsockopt(2)`.
pub fn set_mtu_discovery(fd: &impl AsFd, mode: MtuDiscovery) -> Result<()> {
    if is_v6(fd) {
        set_family_mtu_discovery(fd, true, mode)?;
    }
    set_family_mtu_discovery(fd, false, mode)
}

/// The same for one family alone: a raw IPv6 socket takes no option of IPv4.
pub(crate) fn set_family_mtu_discovery(fd: &impl AsFd, ipv6: bool, mode: MtuDiscovery) -> Result<()> {
    match ipv6 {
        true => {
            let mode = Ipv6PathMtuDiscovery::from_raw(mode as i32);
            named("set IPV6_MTU_DISCOVER on", fd, sockopt::set_ipv6_mtu_discover(fd, mode))
        }
        false => {
            let mode = Ipv4PathMtuDiscovery::from_raw(mode as i32);
            named("set IP_MTU_DISCOVER on", fd, sockopt::set_ip_mtu_discover(fd, mode))
        }
    }
}

/// The path MTU the kernel believes in for a connected socket (`IP_MTU`, `IPV6_MTU`): the interface's or the route's MTU, or
/// less once an ICMP message reported it. Other programs share that knowledge.
///
/// # Errors
/// `ENOTCONN` when the socket is not connected.
pub fn path_mtu(fd: &impl AsFd) -> Result<Bytes> {
    let mtu = match talks_v6(fd) {
        true => named("read IPV6_MTU of", fd, sockopt::ipv6_mtu(fd)),
        false => named("read IP_MTU of", fd, sockopt::ip_mtu(fd)),
    }?;
    Ok(Bytes(mtu.into()))
}

/// Keeps errors from the network (ICMP) in the error queue, with their sender; see [`crate::error_queue`].
///
/// # Errors
/// The errors of `setsockopt(2)`.
pub fn set_receive_errors(fd: &impl AsFd, on: bool) -> Result<()> {
    if is_v6(fd) {
        set_int(fd, IPV6_RECVERR, u32::from(on))?;
    }
    set_int(fd, IP_RECVERR, u32::from(on))
}

/// Makes the kernel report where the extensions of messages in the error queue begin (RFC 4884): `IP_RECVERR_RFC4884`, since
/// Linux 5.9.
///
/// # Errors
/// The errors of `setsockopt(2)`: `ENOPROTOOPT` before that.
pub fn set_receive_extensions(fd: &impl AsFd) -> Result<()> {
    if is_v6(fd) {
        return set_int(fd, IPV6_RECVERR_RFC4884, 1);
    }
    set_int(fd, IP_RECVERR_RFC4884, 1)
}

/// Adds to every received datagram the size of its largest IP fragment (`IP_RECVFRAGSIZE`).
///
/// # Errors
/// The errors of `setsockopt(2)`.
pub fn set_receive_fragment_size(fd: &impl AsFd, on: bool) -> Result<()> {
    if is_v6(fd) {
        set_int(fd, IPV6_RECVFRAGSIZE, u32::from(on))?;
    }
    set_int(fd, IP_RECVFRAGSIZE, u32::from(on))
}

/// How many hops a datagram may go (`IP_TTL`, `IPV6_UNICAST_HOPS`).
///
/// # Errors
/// `EINVAL` for 0.
pub fn set_hops(fd: &impl AsFd, hops: u8) -> Result<()> {
    if is_v6(fd) {
        named("set IPV6_UNICAST_HOPS on", fd, sockopt::set_ipv6_unicast_hops(fd, Some(hops)))?;
    }
    set_v4_int(fd, IP_TTL, hops.into())
}

/// Makes the fragments of what an IPv6 socket sends at most `mtu` bytes (`IPV6_MTU`). Only datagrams that exceed the
/// path MTU the socket goes by are cut at all, and those that may not be cut are refused above `mtu`. 0: as usual.
///
/// # Errors
/// `EINVAL` below 1280 or above the interface's MTU, and on an IPv4 socket.
pub fn set_fragment_mtu(fd: &impl AsFd, mtu: u32) -> Result<()> {
    set_int(fd, IPV6_MTU, mtu)
}

/// Whether an IPv6 socket refuses IPv4-mapped addresses; to be set before it is bound.
///
/// # Errors
/// The errors of `setsockopt(2)`, also on an IPv4 socket.
pub fn set_v6_only(fd: &impl AsFd, on: bool) -> Result<()> {
    named("set IPV6_V6ONLY on", fd, sockopt::set_ipv6_v6only(fd, on))
}

/// Leases the IPv6 flow `label` (20 bits) towards `peer` and lets the socket send it. To be done before the connect,
/// whose address must carry the label in `flowinfo` ([`crate::socket::with_flow_label`] makes that address).
///
/// # Errors
/// The errors of `setsockopt(2)`: `EPERM` when another process owns the label.
pub fn lease_flow_label(fd: &impl AsFd, peer: Ipv6Addr, label: u32) -> Result<()> {
    let mut request = [0_u8; 32];
    request[..16].copy_from_slice(&peer.octets());
    request[16..20].copy_from_slice(&(label & 0xf_ffff).to_be_bytes());
    request[20] = IPV6_FL_A_GET;
    request[21] = IPV6_FL_S_ANY;
    request[22..24].copy_from_slice(&IPV6_FL_F_CREATE.to_ne_bytes());
    set_raw(fd, IPV6_FLOWLABEL_MGR, &request)?;
    set_int(fd, IPV6_FLOWINFO_SEND, 1)
}

/// The socket is of the IPv6 family.
pub(crate) fn is_v6(fd: &impl AsFd) -> bool {
    sockaddr::local(fd.as_fd()).is_ok_and(|local| local.is_ipv6())
}

/// The socket is of the IPv6 family, and not connected to an IPv4-mapped address.
fn talks_v6(fd: &impl AsFd) -> bool {
    is_v6(fd)
        && !matches!(sockaddr::peer(fd.as_fd()), Ok(SocketAddr::V6(peer)) if peer.ip().to_ipv4_mapped().is_some())
}

pub(crate) const IP_RECVERR: Opt = Opt(libc::SOL_IP, libc::IP_RECVERR, "IP_RECVERR");
pub(crate) const IP_RECVFRAGSIZE: Opt = Opt(libc::SOL_IP, 25, "IP_RECVFRAGSIZE");
const IP_RECVERR_RFC4884: Opt = Opt(libc::SOL_IP, 26, "IP_RECVERR_RFC4884");
const IP_TTL: Opt = Opt(libc::SOL_IP, libc::IP_TTL, "IP_TTL");
const IPV6_MTU: Opt = Opt(libc::SOL_IPV6, libc::IPV6_MTU, "IPV6_MTU");
pub(crate) const IPV6_RECVERR: Opt = Opt(libc::SOL_IPV6, libc::IPV6_RECVERR, "IPV6_RECVERR");
const IPV6_RECVERR_RFC4884: Opt = Opt(libc::SOL_IPV6, 31, "IPV6_RECVERR_RFC4884");
pub(crate) const IPV6_RECVFRAGSIZE: Opt = Opt(libc::SOL_IPV6, 77, "IPV6_RECVFRAGSIZE");
const IPV6_FLOWLABEL_MGR: Opt = Opt(libc::SOL_IPV6, 32, "IPV6_FLOWLABEL_MGR");
const IPV6_FLOWINFO_SEND: Opt = Opt(libc::SOL_IPV6, 33, "IPV6_FLOWINFO_SEND");
/// linux/in6.h: get a label, creating it, for any process to share.
const IPV6_FL_A_GET: u8 = 0;
const IPV6_FL_S_ANY: u8 = 255;
const IPV6_FL_F_CREATE: u16 = 1;

#[cfg(test)]
mod tests {
    use super::super::get_int;
    use super::*;
    use std::net::UdpSocket;

    fn sockets() -> impl Iterator<Item = UdpSocket> {
        let peers =
            [("127.0.0.1:0", "127.0.0.1:9"), ("[::1]:0", "[::1]:9"), ("[::]:0", "[::ffff:127.0.0.1]:9")];
        peers.into_iter().map(|(local, peer)| {
            let socket = UdpSocket::bind(local).unwrap();
            socket.connect(peer).unwrap();
            socket
        })
    }

    #[test]
    fn the_interface_of_groups_is_one_of_this_hosts() {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        set_multicast_interface(&socket, Ipv4Addr::LOCALHOST).unwrap();
        assert_eq!(sockopt::ip_multicast_if(&socket), Ok(Ipv4Addr::LOCALHOST));
        let error = set_multicast_interface(&socket, Ipv4Addr::new(192, 0, 2, 1)).unwrap_err();
        assert!(error.to_string().starts_with("set IP_MULTICAST_IF on udp 0.0.0.0:"), "{error}");
    }

    #[test]
    fn tos_and_mtu_mode_come_back_in_each_family() {
        for socket in sockets() {
            set_tos(&socket, 0xb8).unwrap();
            assert_eq!(tos(&socket).unwrap(), 0xb8);
            for mode in [MtuDiscovery::Probe, MtuDiscovery::Omit, MtuDiscovery::Want] {
                set_mtu_discovery(&socket, mode).unwrap();
                let set = match talks_v6(&socket) {
                    true => sockopt::ipv6_mtu_discover(&socket).unwrap().as_raw(),
                    false => sockopt::ip_mtu_discover(&socket).unwrap().as_raw(),
                };
                assert_eq!(set, mode as i32);
            }
        }
    }

    #[test]
    fn path_mtu_is_the_loopback_devices() {
        let mtu: u64 = std::fs::read_to_string("/sys/class/net/lo/mtu").unwrap().trim().parse().unwrap();
        let largest_v4 = 65535;
        for (socket, mtu) in sockets().zip([mtu.min(largest_v4), mtu, mtu.min(largest_v4)]) {
            assert_eq!(path_mtu(&socket).unwrap(), Bytes(mtu));
        }
        let unconnected = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(path_mtu(&unconnected).unwrap_err().errno(), Some(libc::ENOTCONN));
    }

    #[test]
    fn switches_are_taken_in_each_family() {
        for socket in sockets() {
            set_receive_errors(&socket, true).unwrap();
            set_receive_fragment_size(&socket, true).unwrap();
            set_hops(&socket, 7).unwrap();
            assert_eq!(get_int(&socket, IP_TTL).unwrap(), 7);
            assert!(set_hops(&socket, 0).is_err());
            assert_eq!(get_int(&socket, IP_RECVERR).unwrap(), 1);
            assert_eq!(get_int(&socket, IP_RECVFRAGSIZE).unwrap(), 1);
        }
    }
}
