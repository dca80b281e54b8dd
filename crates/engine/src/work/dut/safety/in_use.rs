//! Uses of an interface: routes and connections through it, from the kernel's own tables.
//!
//! Sources: `proc_net(5)` (`/proc/net/tcp`), `net/ipv4/fib_trie.c` and `net/ipv6/route.c` for the tables of routes.

use linux::namespace::Namespace;
use linux::netlink::{Link, Network};
use linux::nic::Nic;
use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// An interface and those above it: the bridge or bond it is a part of, VLANs on it.
pub(super) struct Around {
    network: Network,
    links: Vec<Link>,
    /// All their addresses.
    pub(super) addresses: Vec<IpAddr>,
    /// Addresses of everything in the namespace.
    own: BTreeSet<IpAddr>,
    /// The namespace is that of this host, whose default route leads to the world. In one that was made for a test it leads
    /// to the device.
    is_host: bool,
}

impl Around {
    /// Reads the surroundings of an interface of the calling thread's namespace. `unnamed`: the user named no other namespace
    /// than the host's.
    pub(super) fn from_nic(nic: &Nic, unnamed: bool) -> linux::Result<Around> {
        let mut network = Network::open()?;
        let links = above(&nic.link, network.links()?);
        let all = network.addresses()?;
        let is_above = |index| links.iter().any(|link| link.index == index);
        Ok(Around {
            addresses: all.iter().filter(|own| is_above(own.link)).map(|own| own.address).collect(),
            own: all.iter().map(|own| own.address).collect(),
            network,
            links,
            is_host: is_host(unnamed)?,
        })
    }

    pub(super) fn has_default_route(&self) -> bool {
        let v4 = read("/proc/thread-self/net/route");
        let v6 = read("/proc/thread-self/net/ipv6_route");
        let by = default_routes(&v4, &v6);
        self.is_host && self.links.iter().any(|link| by.contains(link.name.as_str()))
    }

    /// The far ends of open TCP connections that run through these interfaces: an SSH session, a control connection.
    pub(super) fn connections(&mut self) -> Vec<SocketAddr> {
        let all = read("/proc/thread-self/net/tcp") + &read("/proc/thread-self/net/tcp6");
        let mut found = BTreeSet::new();
        for (local, remote) in connections(&all).take(MOST_CONNECTIONS) {
            if !self.own.contains(&remote.ip()) && self.carries(local.ip(), remote.ip()) {
                found.insert(remote);
            }
        }
        found.into_iter().collect()
    }

    fn carries(&mut self, local: IpAddr, remote: IpAddr) -> bool {
        let direction = self.network.route_to(remote).ok();
        self.addresses.contains(&local)
            || direction.is_some_and(|direction| self.links.iter().any(|link| link.index == direction.link))
    }
}

/// A link, what it is a part of, and what is made on top of it.
fn above(link: &Link, all: Vec<Link>) -> Vec<Link> {
    let is_above = |other: &Link| {
        other.index == link.index || Some(other.index) == link.master || other.lower == Some(link.index)
    };
    all.into_iter().filter(is_above).collect()
}

/// The first process is in the namespace of the host, or of the container; not everybody may look there.
fn is_host(unnamed: bool) -> linux::Result<bool> {
    match Namespace::open("/proc/1/ns/net") {
        Ok(first) => Namespace::current()?.is_same(&first),
        Err(_) => Ok(unnamed),
    }
}

/// Without the file that family is not there.
fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

/// The interfaces that default routes leave by. Each line for IPv4 has interface, destination, gateway, flags, count, use,
/// metric, mask; one for IPv6 has destination and its prefix first, the interface last.
fn default_routes<'a>(v4: &'a str, v6: &'a str) -> BTreeSet<&'a str> {
    let of_v4 = v4.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_default = fields.get(1) == Some(&"00000000") && fields.get(7) == Some(&"00000000");
        is_default.then(|| fields[0])
    });
    let of_v6 = v6.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_default = fields.first().is_some_and(|to| to.bytes().all(|digit| digit == b'0'))
            && fields.get(1) == Some(&"00");
        // Where there is no route the kernel shows one that leads nowhere, by the loopback interface.
        is_default.then(|| fields.last().copied())?.filter(|name| *name != "lo")
    });
    of_v4.chain(of_v6).collect()
}

/// Local and remote ends of what is established, of lines such as `0: 0100007F:0016 0200000A:C350 01 …`.
fn connections(text: &str) -> impl Iterator<Item = (SocketAddr, SocketAddr)> {
    text.lines().filter_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (local, remote) = (fields.next()?, fields.next()?);
        (fields.next()? == ESTABLISHED).then_some(())?;
        Some((end(local)?, end(remote)?))
    })
}

/// Address and port in hexadecimal; the address in words of 32 bits in the host's byte order.
fn end(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let word = |at: usize| u32::from_str_radix(address.get(at..at + 8)?, 16).ok().map(u32::to_ne_bytes);
    let address: IpAddr = match address.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let bytes = [word(0)?, word(8)?, word(16)?, word(24)?];
            Ipv6Addr::from(<[u8; 16]>::try_from(bytes.concat()).ok()?).into()
        }
        _ => return None,
    };
    Some(SocketAddr::new(address.to_canonical(), u16::from_str_radix(port, 16).ok()?))
}

const ESTABLISHED: &str = "01";
/// A server of thousands of clients need not look at all of them.
const MOST_CONNECTIONS: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn default_routes_are_found_in_the_tables_of_both_families() {
        let v4 = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
                  eth0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
                  tun0\t00000000\t0102A8C0\t0003\t0\t0\t0\t00000080\t0\t0\t0\n\
                  eth1\t0002A8C0\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n";
        let zero = "0".repeat(32);
        let v6 = format!(
            "fe800000000000000000000000000000 40 {zero} 00 {zero} 00000100 00000001 00000000 00000001     eth1\n\
             {zero} 00 {zero} 00 fe80000000000000000000000000000a 00000400 00000001 00000000 00000003     eth2\n\
             {zero} 00 {zero} 00 {zero} ffffffff 00000001 00000000 00200200       lo\n"
        );
        assert_eq!(default_routes(v4, &v6), BTreeSet::from(["eth0", "eth2"]));
        assert!(default_routes("", "").is_empty());
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn open_connections_are_read_with_both_ends() {
        let text = "  sl  local_address rem_address   st tx_queue rx_queue\n\
                    0: 0200A8C0:0016 0300A8C0:C350 01 00000000:00000000\n\
                    1: 00000000:0016 00000000:0000 0A 00000000:00000000\n\
                    2: 0000000000000000FFFF00000200A8C0:0016 0000000000000000FFFF00000400A8C0:0050 01 0\n\
                    3: B80D0120000000000000000001000000:0016 B80D0120000000000000000002000000:0050 01 0\n\
                    4: nonsense 1:2 01\n";
        let found: Vec<(SocketAddr, SocketAddr)> = connections(text).collect();
        let expected = [
            ("192.168.0.2:22", "192.168.0.3:50000"),
            ("192.168.0.2:22", "192.168.0.4:80"),
            ("[2001:db8::1]:22", "[2001:db8::2]:80"),
        ];
        assert_eq!(found, expected.map(|(local, remote)| (local.parse().unwrap(), remote.parse().unwrap())));
    }

    /// The parser understands the kernel's format: a connection made here is found.
    #[test]
    fn a_connection_of_this_process_is_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let ends = (client.local_addr().unwrap(), client.peer_addr().unwrap());
        assert!(connections(&read("/proc/thread-self/net/tcp")).any(|found| found == ends));
    }
}
