//! Addresses of interfaces: adding and deleting one.

use super::{Message, Network};
use crate::error::Result;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

impl Network {
    /// Gives an interface an address and the prefix length of its network.
    ///
    /// IPv6 addresses are usable at once: duplicate address detection (RFC 4862 §5.4) is skipped.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, when the interface is missing, the address is there already, or IPv6 is switched off.
    pub fn add_address(&mut self, link: &str, address: IpAddr, prefix: u8) -> Result<()> {
        let index = self.link(link)?.index;
        let (family, bytes) = family_and_bytes(address);
        // struct ifaddrmsg: family, prefix length, flags, scope, interface.
        let mut body = [family, prefix, 0, 0, 0, 0, 0, 0];
        if address.is_ipv6() {
            body[2] = u8::try_from(libc::IFA_F_NODAD).expect("IFA_F_NODAD is 2");
        }
        body[4..8].copy_from_slice(&index.to_ne_bytes());
        let flags = libc::NLM_F_ACK | libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let mut request = Message::new(libc::RTM_NEWADDR, flags, &body);
        request.attribute(libc::IFA_LOCAL, &bytes).attribute(libc::IFA_ADDRESS, &bytes);
        self.ask(&format!("add address {address}/{prefix} to link"), link, request).map(drop)
    }

    /// Takes an address from an interface.
    ///
    /// # Errors
    /// Without `CAP_NET_ADMIN`, or when the interface has no such address.
    pub fn delete_address(&mut self, link: &str, address: IpAddr, prefix: u8) -> Result<()> {
        let index = self.link(link)?.index;
        let (family, bytes) = family_and_bytes(address);
        let mut body = [family, prefix, 0, 0, 0, 0, 0, 0];
        body[4..8].copy_from_slice(&index.to_ne_bytes());
        let mut request = Message::new(libc::RTM_DELADDR, libc::NLM_F_ACK, &body);
        request.attribute(libc::IFA_LOCAL, &bytes);
        self.ask(&format!("delete address {address}/{prefix} of link"), link, request).map(drop)
    }
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
