//! The network of `pathmeter demo`: a client, a router that drops IP fragments, and a server, all on this machine.
//!
//! ```text
//! client 192.0.2.2 ---- 192.0.2.1 router 198.51.100.1 ---- 198.51.100.2 server      (RFC 5737)
//! 2001:db8:1::2 -- 2001:db8:1::1         2001:db8:2::1 -- 2001:db8:2::2             (RFC 3849)
//! ```
//! Each is a network namespace without a name, joined by veth pairs of MTU 1500. Everything vanishes with the process,
//! however that ends.

use anyhow::Context;
use linux::namespace::{self, Namespace};
use linux::netlink::Network;
use linux::nft::{DroppedFragments, FragmentFilter, Hook};
use linux::privilege::{Capabilities, Capability};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::path::Path;

/// The three namespaces and what is between them.
#[derive(Debug)]
pub(crate) struct DemoLab {
    client: Namespace,
    server: Namespace,
    // Held so that it lives as long as the lab.
    _router: Namespace,
    filter: Option<FragmentFilter>,
    notes: Vec<String>,
}

/// Makes this process able to build the lab: nothing for root; an ordinary user becomes root of a user namespace.
///
/// Must be called before the first thread is started, and changes the process for good: its network is then empty but
/// for the lab.
///
/// # Errors
/// When the host allows neither; says what would.
pub(crate) fn gain_privileges() -> anyhow::Result<()> {
    let rights = Capabilities::of_this_thread()?;
    if rights.has(Capability::SysAdmin) && rights.has(Capability::NetAdmin) {
        return Ok(());
    }
    namespace::try_user_namespace().context(HOW_TO_GAIN)?;
    namespace::enter_user_namespace().context(HOW_TO_GAIN)
}

impl DemoLab {
    /// Builds the network and sets it up. See [`gain_privileges`] for what must come first.
    ///
    /// # Errors
    /// When the kernel refuses a step. A kernel without IPv6 or nf_tables is no error, see [`DemoLab::notes`].
    pub(crate) fn build() -> anyhow::Result<Self> {
        let (client, router, server) = (Namespace::new()?, Namespace::new()?, Namespace::new()?);
        let has_ipv6 = Path::new("/proc/sys/net/ipv6").exists();
        prepare([&client, &router, &server], has_ipv6)?;
        join(&router, &client, &CLIENT_SIDE, has_ipv6).context("join client and router")?;
        join(&router, &server, &SERVER_SIDE, has_ipv6).context("join server and router")?;
        let mut notes = Vec::new();
        if !has_ipv6 {
            notes.push("this kernel has no IPv6, so the demonstration is over IPv4 alone".to_owned());
        }
        let filter = match router.run(|| FragmentFilter::install(Hook::Forward))? {
            Ok(filter) => Some(filter),
            Err(refused) => {
                notes.push(format!("the router lets IP fragments pass, for it cannot filter: {refused}"));
                None
            }
        };
        Ok(Self { client, server, _router: router, filter, notes })
    }

    /// Where the measuring end belongs: run its work with [`Namespace::run`]; threads started in there stay there.
    pub(crate) fn client(&self) -> &Namespace {
        &self.client
    }

    /// Where the answering end belongs.
    pub(crate) fn server(&self) -> &Namespace {
        &self.server
    }

    /// The server's IPv4 address, as the client reaches it through the router.
    pub(crate) fn server_ipv4(&self) -> IpAddr {
        SERVER_SIDE.host_v4.into()
    }

    /// Fragments the router has dropped so far; `None` when it cannot filter.
    ///
    /// # Errors
    /// When the filter has been tampered with.
    pub(crate) fn dropped_fragments(&mut self) -> anyhow::Result<Option<DroppedFragments>> {
        Ok(self.filter.as_mut().map(FragmentFilter::dropped).transpose()?)
    }

    /// What this machine cannot show, in plain words; to be printed as warnings.
    pub(crate) fn notes(&self) -> &[String] {
        &self.notes
    }
}

/// One of the router's two networks.
struct Side {
    router_link: &'static str,
    router_v4: Ipv4Addr,
    host_v4: Ipv4Addr,
    /// The third group of its IPv6 network, `2001:db8:N::/64`.
    network_v6: u16,
}

impl Side {
    fn router_v6(&self) -> Ipv6Addr {
        Ipv6Addr::new(0x2001, 0xdb8, self.network_v6, 0, 0, 0, 0, 1)
    }

    fn host_v6(&self) -> Ipv6Addr {
        Ipv6Addr::new(0x2001, 0xdb8, self.network_v6, 0, 0, 0, 0, 2)
    }
}

/// Settings that must be there before the first interface, and forwarding.
fn prepare([client, router, server]: [&Namespace; 3], has_ipv6: bool) -> anyhow::Result<()> {
    for namespace in [client, router, server] {
        if has_ipv6 {
            // A host may have IPv6 switched off by default, and duplicate address detection takes two seconds.
            namespace.set_sysctl("net/ipv6/conf/default/disable_ipv6", "0")?;
            namespace.set_sysctl("net/ipv6/conf/default/accept_dad", "0")?;
        }
        namespace.run(|| Network::open()?.set_up("lo"))??;
    }
    router.set_sysctl("net/ipv4/ip_forward", "1")?;
    if has_ipv6 {
        router.set_sysctl("net/ipv6/conf/all/forwarding", "1")?;
    }
    Ok(())
}

/// Joins a host to the router and gives both ends their addresses, the host its way out.
fn join(router: &Namespace, host: &Namespace, side: &Side, has_ipv6: bool) -> linux::Result<()> {
    let mut at_router = router.run(Network::open)??;
    let mut at_host = host.run(Network::open)??;
    at_router.add_veth(side.router_link, HOST_LINK, host)?;
    for (network, link) in [(&mut at_router, side.router_link), (&mut at_host, HOST_LINK)] {
        network.set_mtu(link, MTU)?;
        network.set_up(link)?;
    }
    at_router.add_address(side.router_link, side.router_v4.into(), PREFIX_V4)?;
    at_host.add_address(HOST_LINK, side.host_v4.into(), PREFIX_V4)?;
    at_host.add_route(None, side.router_v4.into())?;
    if has_ipv6 {
        at_router.add_address(side.router_link, side.router_v6().into(), PREFIX_V6)?;
        at_host.add_address(HOST_LINK, side.host_v6().into(), PREFIX_V6)?;
        at_host.add_route(None, side.router_v6().into())?;
    }
    Ok(())
}

const CLIENT_SIDE: Side = Side {
    router_link: "to-client",
    router_v4: Ipv4Addr::new(192, 0, 2, 1),
    host_v4: Ipv4Addr::new(192, 0, 2, 2),
    network_v6: 1,
};
const SERVER_SIDE: Side = Side {
    router_link: "to-server",
    router_v4: Ipv4Addr::new(198, 51, 100, 1),
    host_v4: Ipv4Addr::new(198, 51, 100, 2),
    network_v6: 2,
};
const HOST_LINK: &str = "eth0";
const MTU: u32 = 1500;
const PREFIX_V4: u8 = 24;
const PREFIX_V6: u8 = 64;
const HOW_TO_GAIN: &str = "the demonstration makes its own network, which needs root or user namespaces: \
                           run it with sudo, or allow them (sysctl kernel.unprivileged_userns_clone=1 on Debian, \
                           sysctl kernel.apparmor_restrict_unprivileged_userns=0 on Ubuntu, \
                           sysctl user.max_user_namespaces=10000 elsewhere)";

#[cfg(test)]
#[expect(clippy::print_stderr, reason = "a skipped test says so, loudly")]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::time::Duration;

    #[test]
    fn small_datagrams_cross_and_large_ones_do_not() {
        let rights = Capabilities::of_this_thread().expect("/proc is there");
        if !(rights.has(Capability::SysAdmin) && rights.has(Capability::NetAdmin)) {
            eprintln!("SKIPPED: the demonstration's network needs root here");
            return;
        }
        let mut lab = DemoLab::build().expect("root can build it");
        assert!(lab.notes().is_empty(), "{:?}", lab.notes());
        let servers = [lab.server_ipv4(), SERVER_SIDE.host_v6().into()];
        for (server, largest) in servers.into_iter().zip([1472, 1452]) {
            assert_eq!(first_to_arrive(&lab, server, &[largest + 1, largest]), largest);
        }
        let dropped = lab.dropped_fragments().expect("the filter is there").expect("the kernel can filter");
        assert_eq!((dropped.ipv4, dropped.ipv6), (2, 2));
    }

    fn first_to_arrive(lab: &DemoLab, server: IpAddr, sizes: &[usize]) -> usize {
        let receiver = lab.server().run(|| UdpSocket::bind((server, 0)));
        let receiver = receiver.expect("the server opens").expect("it has this address");
        receiver.set_read_timeout(Some(Duration::from_secs(10))).expect("a deadline can be set");
        let to = receiver.local_addr().expect("a bound socket has an address");
        let unspecified: IpAddr =
            if to.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
        let sender = lab.client().run(|| UdpSocket::bind((unspecified, 0)));
        let sender = sender.expect("the client opens").expect("any port will do");
        for size in sizes {
            sender.send_to(&vec![0; *size], to).expect("the path takes it");
        }
        receiver.recv(&mut [0; 4096]).expect("the small one arrives")
    }
}
