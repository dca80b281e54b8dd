//! Addresses of interfaces: listing them, adding and deleting one.

use super::message::{Reply, u32_at};
use super::{Message, Network};
use crate::error::Result;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// An address of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// Number of the interface.
    pub link: u32,
    /// The address.
    pub address: IpAddr,
    /// Length of its network's prefix.
    pub prefix: u8,
    /// The address is of use beyond the link and here to stay: neither loopback nor link-local, not under duplicate address
    /// detection or failed in it, not deprecated, not temporary (RFC 8981).
    pub is_lasting: bool,
    /// The kernel takes it away after a time, unless that is renewed.
    pub expires: bool,
}

impl Network {
    /// Every address of the namespace, of both families.
    ///
    /// # Errors
    /// When the kernel does not answer.
    pub fn addresses(&mut self) -> Result<Vec<InterfaceAddress>> {
        let request = Message::new(libc::RTM_GETADDR, libc::NLM_F_DUMP, &[0; IFADDRMSG]);
        Ok(self.ask("list", "addresses", request)?.iter().filter_map(parse).collect())
    }

    /// Gives an interface an address and the prefix length of its network.
    ///
    /// IPv6 addresses are usable at once: duplicate address detection (RFC 4862 §5.4) is skipped.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, when the interface is missing, the address is there already, or IPv6 is switched off.
    pub fn add_address(&mut self, link: &str, address: IpAddr, prefix: u8) -> Result<()> {
        self.give_address(link, (address, prefix), None)
    }

    /// Adds an address like [`Network::add_address`], which the kernel removes after this time, in seconds. The time of an
    /// address that was lent before begins anew.
    ///
    /// # Errors
    /// Those of `add_address`, except that the address may exist.
    pub fn lend_address(&mut self, link: &str, address: IpAddr, prefix: u8, seconds: u32) -> Result<()> {
        self.give_address(link, (address, prefix), Some(seconds))
    }

    fn give_address(
        &mut self,
        link: &str,
        (address, prefix): (IpAddr, u8),
        seconds: Option<u32>,
    ) -> Result<()> {
        let index = self.link(link)?.index;
        let (family, bytes) = family_and_bytes(address);
        let mut body = ifaddrmsg(family, prefix, index);
        if address.is_ipv6() {
            body[2] = u8::try_from(libc::IFA_F_NODAD).expect("IFA_F_NODAD is 2");
        }
        let once = if seconds.is_some() { libc::NLM_F_REPLACE } else { libc::NLM_F_EXCL };
        let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | once;
        let mut request = Message::new(libc::RTM_NEWADDR, flags, &body);
        request.attribute(libc::IFA_LOCAL, &bytes).attribute(libc::IFA_ADDRESS, &bytes);
        if let Some(seconds) = seconds {
            // struct ifa_cacheinfo: preferred and valid for so many seconds; when made and changed is the kernel's.
            let info: Vec<u8> = [seconds, seconds, 0, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
            request.attribute(libc::IFA_CACHEINFO, &info);
        }
        self.ask(&format!("add address {address}/{prefix} to link"), link, request).map(drop)
    }

    /// Takes an address from an interface.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, or when the interface has no such address.
    pub fn delete_address(&mut self, link: &str, address: IpAddr, prefix: u8) -> Result<()> {
        let index = self.link(link)?.index;
        let (family, bytes) = family_and_bytes(address);
        let body = ifaddrmsg(family, prefix, index);
        let mut request = Message::new(libc::RTM_DELADDR, libc::NLM_F_ACK, &body);
        request.attribute(libc::IFA_LOCAL, &bytes);
        self.ask(&format!("delete address {address}/{prefix} of link"), link, request).map(drop)
    }
}

/// `struct ifaddrmsg`: family, prefix length, flags, scope, interface.
fn ifaddrmsg(family: u8, prefix: u8, link: u32) -> [u8; IFADDRMSG] {
    let [a, b, c, d] = link.to_ne_bytes();
    [family, prefix, 0, 0, a, b, c, d]
}

pub(super) fn parse(reply: &Reply) -> Option<InterfaceAddress> {
    let attributes = reply.attributes(IFADDRMSG);
    let (prefix, scope) = (*reply.payload.get(1)?, *reply.payload.get(3)?);
    // On a point-to-point interface, IFA_ADDRESS is the other end's.
    let own = attributes.value(libc::IFA_LOCAL).or_else(|| attributes.value(libc::IFA_ADDRESS))?;
    let flags = attributes.u32(libc::IFA_FLAGS).or_else(|| reply.payload.get(2).copied().map(u32::from))?;
    Some(InterfaceAddress {
        link: u32_at(&reply.payload, 4)?,
        address: address_from(own)?,
        prefix,
        is_lasting: scope < libc::RT_SCOPE_LINK && flags & PASSING == 0,
        expires: flags & libc::IFA_F_PERMANENT == 0,
    })
}

/// The family number and the bytes in network order, as netlink carries them.
pub(super) fn family_and_bytes(address: IpAddr) -> (u8, Vec<u8>) {
    match address {
        IpAddr::V4(address) => (FAMILY_IPV4, address.octets().to_vec()),
        IpAddr::V6(address) => (FAMILY_IPV6, address.octets().to_vec()),
    }
}

/// The address of these bytes: 4 or 16.
pub(super) fn address_from(bytes: &[u8]) -> Option<IpAddr> {
    match *bytes {
        [a, b, c, d] => Some(Ipv4Addr::new(a, b, c, d).into()),
        _ => <[u8; 16]>::try_from(bytes).ok().map(|octets| Ipv6Addr::from(octets).into()),
    }
}

const IFADDRMSG: usize = 8;
const PASSING: u32 =
    libc::IFA_F_TENTATIVE | libc::IFA_F_DADFAILED | libc::IFA_F_DEPRECATED | libc::IFA_F_TEMPORARY;
/// `AF_INET` and `AF_INET6` in the one byte netlink has for them.
const FAMILY_IPV4: u8 = 2;
const FAMILY_IPV6: u8 = 10;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_of_wrong_length_is_none() {
        assert_eq!(address_from(&[1, 2, 3]), None);
        assert_eq!(address_from(&[10, 0, 0, 1]), Some(Ipv4Addr::new(10, 0, 0, 1).into()));
    }
}
