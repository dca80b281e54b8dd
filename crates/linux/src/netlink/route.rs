//! Routes: the one the kernel would use to a destination, and adding one through a gateway.

use super::address::{address_from, family_and_bytes};
use super::message::{Attributes, Reply};
use super::{Link, Message, Network, incomplete};
use crate::error::Result;
use std::net::IpAddr;

/// Where packets to a destination go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// Number of the interface they leave through.
    pub link: u32,
    /// The address they leave with, when nothing else was bound.
    pub source: Option<IpAddr>,
    /// The next router; `None` when the destination is on the link.
    pub gateway: Option<IpAddr>,
    /// MTU of the route, when one was set or learnt (path MTU discovery), else the interface's applies.
    pub mtu: Option<u32>,
}

/// A route as it stands in the routing table, before path MTU discovery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfiguredRoute {
    /// The network that it leads to; `None`: everything.
    pub network: Option<(IpAddr, u8)>,
    /// The route itself, with the MTU that was set for it.
    pub route: Route,
    /// Path MTU discovery may not change that MTU (`mtu lock`).
    pub is_locked: bool,
}

/// A route to one host with an MTU of its own, marked as ours so that no other is changed or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRoute {
    /// The host.
    pub destination: IpAddr,
    /// The route to the host, which this route keeps.
    pub route: Route,
}

impl Network {
    /// Makes a route to one host along its present path, with this MTU, which path MTU discovery does not change (`mtu lock`);
    /// `replace`: there is one from an earlier call.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, or with `File exists` when the host has a route of its own that is not ours.
    pub fn set_host_route(&mut self, route: &HostRoute, mtu: u32, replace: bool) -> Result<()> {
        let exclusive = if replace { libc::NLM_F_REPLACE } else { libc::NLM_F_EXCL };
        let mut request = route.message(libc::RTM_NEWROUTE, libc::NLM_F_CREATE | exclusive);
        request.attribute(libc::RTA_OIF, &route.route.link.to_ne_bytes());
        if let Some(gateway) = route.route.gateway {
            request.attribute(libc::RTA_GATEWAY, &family_and_bytes(gateway).1);
        }
        if let Some(source) = route.route.source {
            request.attribute(libc::RTA_PREFSRC, &family_and_bytes(source).1);
        }
        request.nest(libc::RTA_METRICS, |metrics| {
            metrics.attribute(RTAX_LOCK, &(1_u32 << RTAX_MTU).to_ne_bytes());
            metrics.attribute(RTAX_MTU, &mtu.to_ne_bytes());
        });
        self.ask(&format!("set MTU {mtu} on the route to"), &route.destination.to_string(), request).map(drop)
    }

    /// Deletes a route that [`Network::set_host_route`] made, and no other.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, or with `No such process` when there is none.
    pub fn delete_host_route(&mut self, route: &HostRoute) -> Result<()> {
        let request = route.message(libc::RTM_DELROUTE, 0);
        self.ask("delete the route to", &route.destination.to_string(), request).map(drop)
    }

    /// The route the kernel would take to a destination.
    ///
    /// # Errors
    /// When there is none: `Network is unreachable`.
    pub fn route_to(&mut self, destination: IpAddr) -> Result<Route> {
        self.look_up("look up the route to", destination, 0, |reply| parse(&reply.attributes(RTMSG)))
    }

    /// The interface that packets to a destination leave through.
    ///
    /// # Errors
    /// When no route leads there.
    pub fn link_toward(&mut self, destination: IpAddr) -> Result<Link> {
        let index = self.route_to(destination)?.link;
        self.link_by_index(index)
    }

    /// The entry of the routing table that the kernel would use to a destination, as it was configured.
    ///
    /// # Errors
    /// When there is none, and on kernels before Linux 4.13.
    pub fn configured_route_to(&mut self, destination: IpAddr) -> Result<ConfiguredRoute> {
        self.look_up("look up the configured route to", destination, RTM_F_FIB_MATCH, |reply| {
            configured(&reply.attributes(RTMSG), reply.payload.get(1).copied().unwrap_or_default())
        })
    }

    fn look_up<T>(
        &mut self,
        operation: &str,
        destination: IpAddr,
        flags: u32,
        read: impl Fn(&Reply) -> Option<T>,
    ) -> Result<T> {
        let (family, bytes) = family_and_bytes(destination);
        let mut body = route(family, if destination.is_ipv4() { 32 } else { 128 });
        body[8..12].copy_from_slice(&flags.to_ne_bytes());
        let mut request = Message::new(libc::RTM_GETROUTE, libc::NLM_F_ACK, &body);
        request.attribute(libc::RTA_DST, &bytes);
        let object = destination.to_string();
        let replies = self.ask(operation, &object, request)?;
        replies.iter().find_map(read).ok_or_else(|| incomplete(operation, &object))
    }
}

impl HostRoute {
    fn message(&self, kind: u16, flags: i32) -> Message {
        let (family, bytes) = family_and_bytes(self.destination);
        let mut body = route(family, u8::try_from(bytes.len() * 8).expect("an address has at most 128 bits"));
        body[4] = libc::RT_TABLE_MAIN;
        body[5] = OUR_PROTOCOL;
        body[6] = match (kind, self.route.gateway) {
            (libc::RTM_DELROUTE, _) => libc::RT_SCOPE_NOWHERE,
            (_, None) => libc::RT_SCOPE_LINK,
            _ => libc::RT_SCOPE_UNIVERSE,
        };
        body[7] = libc::RTN_UNICAST;
        let mut message = Message::new(kind, flags | libc::NLM_F_ACK, &body);
        message.attribute(libc::RTA_DST, &bytes);
        message
    }
}

/// `struct rtmsg`: family, lengths of destination and source prefix, TOS, table, protocol, scope, type, flags.
pub(super) fn route(family: u8, prefix: u8) -> [u8; RTMSG] {
    let mut body = [0; RTMSG];
    body[0] = family;
    body[1] = prefix;
    body
}

pub(super) fn parse(attributes: &Attributes<'_>) -> Option<Route> {
    Some(Route {
        link: attributes.u32(libc::RTA_OIF)?,
        source: attributes.value(libc::RTA_PREFSRC).and_then(address_from),
        gateway: attributes.value(libc::RTA_GATEWAY).and_then(address_from),
        mtu: attributes.inside(libc::RTA_METRICS).u32(RTAX_MTU),
    })
}

fn configured(attributes: &Attributes<'_>, prefix: u8) -> Option<ConfiguredRoute> {
    let network = attributes.value(libc::RTA_DST).and_then(address_from).map(|address| (address, prefix));
    let locks = attributes.inside(libc::RTA_METRICS).u32(RTAX_LOCK).unwrap_or_default();
    Some(ConfiguredRoute { network, route: parse(attributes)?, is_locked: locks & (1 << RTAX_MTU) != 0 })
}

const RTMSG: usize = 12;
/// Answer with the entry of the table, and not with what is cached of it (`linux/rtnetlink.h`).
const RTM_F_FIB_MATCH: u32 = 0x2000;
const RTAX_LOCK: u16 = 1;
pub(super) const RTAX_MTU: u16 = 2;
/// Identifies our routes (`rtm_protocol`): a number that `/etc/iproute2/rt_protos` does not assign.
const OUR_PROTOCOL: u8 = 210;

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn loopback_is_reached_over_loopback() {
        let mut network = Network::open().expect("anybody may ask for routes");
        let lo = network.link("lo").expect("every namespace has a loopback");
        let route = network.route_to(Ipv4Addr::LOCALHOST.into()).expect("127.0.0.1 is always reachable");
        assert_eq!(route.link, lo.index);
        assert_eq!(route.source, Some(Ipv4Addr::LOCALHOST.into()));
        assert_eq!(route.gateway, None);
        let configured =
            network.configured_route_to(Ipv4Addr::LOCALHOST.into()).expect("it stands in a table");
        assert_eq!(
            (configured.route.link, configured.route.mtu, configured.is_locked),
            (lo.index, None, false)
        );
    }
}
