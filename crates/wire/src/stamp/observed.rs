//! A reflector's observations of a packet, written into the extensions by which its sender requests them (RFC 8972).

use super::tlv::{PORTS_LEN, Tlv, Tlvs};
use crate::echo::Arrival;
use std::net::IpAddr;

/// The facts about a packet and its session.
#[derive(Clone, Copy, Debug)]
pub(super) struct Observation {
    /// How the packet arrived.
    pub(super) arrival: Arrival,
    /// Packets of its session that have arrived, where they are counted: as many as replies, with the next reply.
    pub(super) count: Option<u32>,
}

impl Observation {
    /// Answers an extension in place. `false`: the extension is not understood, or the requested fact is not known.
    pub(super) fn answer(&self, kind: u8, value: &mut [u8]) -> bool {
        match kind {
            Tlv::LOCATION => self.location(value),
            Tlv::CLASS_OF_SERVICE => self.class(value),
            Tlv::DIRECT_MEASUREMENT => self.counts(value),
            _ => false,
        }
    }

    /// DSCP and ECN of the reply: the class that the sender requests, or else that of its packet without the congestion mark.
    pub(super) fn reply_class(&self, tlvs: &[u8]) -> u8 {
        let own = self.arrival.class.unwrap_or(0) & DSCP;
        let class = Tlvs::new(tlvs).find(|tlv| tlv.kind == Tlv::CLASS_OF_SERVICE && !tlv.is_malformed());
        class.and_then(|tlv| tlv.value.first()).map_or(own, |first| first & DSCP)
    }

    /// Section 4.4: `DSCP1 (6 bits, requested) | DSCP2 (6, received) | ECN (2, received) | RP (2) | 0 (16)`. RP 0: DSCP1 is used.
    fn class(&self, value: &mut [u8]) -> bool {
        let Some(class) = self.arrival.class else { return false };
        value[0] = value[0] & DSCP | class >> 6;
        value[1] = class << 2;
        value[2..].fill(0);
        true
    }

    /// Section 4.5: `sent by the sender (32 bits) | received here (32) | sent here (32)`. The packets of the session are counted.
    fn counts(&self, value: &mut [u8]) -> bool {
        let Some(count) = self.count else { return false };
        value[4..8].copy_from_slice(&count.to_be_bytes());
        value[8..12].copy_from_slice(&count.to_be_bytes());
        true
    }

    /// Section 4.2: `destination port (16 bits) | source port (16)`, and then extensions of its own that request addresses. Each
    /// is answered with the type of the address family.
    fn location(&self, value: &mut [u8]) -> bool {
        let Some(to) = self.arrival.to else { return false };
        let (ports, mut parts) = value.split_at_mut(PORTS_LEN);
        ports[..2].copy_from_slice(&to.port().to_be_bytes());
        ports[2..].copy_from_slice(&self.arrival.from.port().to_be_bytes());
        while let Some(([flags, kind, length @ ..], rest)) = parts.split_first_chunk_mut::<4>() {
            let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
            let Some((value, after)) = rest.split_at_mut_checked(length) else {
                *flags = Tlv::MALFORMED;
                break;
            };
            let address = match *kind {
                DESTINATION => Some(to.ip()),
                SOURCE => Some(self.arrival.from.ip()),
                _ => None,
            };
            *flags = match (address.map(|ip| ip.to_canonical()), value.len() == ADDRESS_LEN) {
                (Some(_), false) => Tlv::MALFORMED,
                (None, _) => Tlv::UNRECOGNIZED,
                (Some(address), true) => {
                    *kind += write_address(address, value);
                    0
                }
            };
            parts = after;
        }
        true
    }
}

/// Fills a value of 16 bytes; returns the distance from the requesting type to the type of this family.
fn write_address(address: IpAddr, value: &mut [u8]) -> u8 {
    value.fill(0);
    match address {
        IpAddr::V4(ip) => {
            value[..4].copy_from_slice(&ip.octets());
            1
        }
        IpAddr::V6(ip) => {
            value.copy_from_slice(&ip.octets());
            2
        }
    }
}

/// DSCP in the byte of the traffic class; the rest is ECN (RFC 3168).
const DSCP: u8 = 0xfc;
/// The value of a part of a location that is an address, of either family.
const ADDRESS_LEN: usize = 16;
/// Parts of a location (section 5.4) that request an address: the type of IPv4 is the next, that of IPv6 the one after it.
const DESTINATION: u8 = 4;
const SOURCE: u8 = 7;

#[cfg(test)]
mod tests {
    use super::*;
    use model::time::MonoTime;

    fn observed(class: Option<u8>, from: &str, to: Option<&str>) -> Observation {
        let arrival = Arrival::new(from.parse().unwrap(), MonoTime(0));
        let to = to.map(|to| to.parse().unwrap());
        Observation { arrival: Arrival { class, to, ..arrival }, count: Some(0x0102_0304) }
    }

    #[test]
    fn a_class_returns_the_received_one_and_is_used() {
        let observed = observed(Some(0b1011_1001), "192.0.2.1:9", None);
        // DSCP1 is 46; the other fields are to be filled in.
        let mut value = [0b1011_1011, 0xff, 0xff, 0xff];
        assert!(observed.answer(Tlv::CLASS_OF_SERVICE, &mut value));
        assert_eq!(value, [0b1011_1010, 0b1110_0100, 0, 0]);
        let tlv = [&[0x80, 4, 0, 4][..], &[40 << 2, 0, 0, 0]].concat();
        assert_eq!(observed.reply_class(&tlv), 40 << 2);
        assert_eq!(observed.reply_class(&[]), 46 << 2, "as it came, without ECN");
        assert_eq!(observed.reply_class(&[0x80, 4, 0, 3, 40 << 2, 0, 0]), 46 << 2, "malformed");
    }

    #[test]
    fn counts_are_those_of_the_session() {
        let mut value = [9; 12];
        assert!(observed(None, "192.0.2.1:9", None).answer(Tlv::DIRECT_MEASUREMENT, &mut value));
        assert_eq!(value, [9, 9, 9, 9, 1, 2, 3, 4, 1, 2, 3, 4]);
    }

    #[test]
    fn what_is_not_known_is_not_answered() {
        let observed = Observation { count: None, ..observed(None, "192.0.2.1:9", None) };
        for (kind, length) in
            [(Tlv::LOCATION, 4), (Tlv::CLASS_OF_SERVICE, 4), (Tlv::DIRECT_MEASUREMENT, 12), (3, 4)]
        {
            let mut value = vec![7; length];
            assert!(!observed.answer(kind, &mut value) && value == vec![7; length], "{kind}");
        }
    }

    #[test]
    fn a_location_has_ports_and_addresses() {
        let ask = |kind: u8| [&[0x80, kind, 0, 16][..], &[0; 16]].concat();
        let got = |flags: u8, kind: u8, value: &[u8]| {
            [&[flags, kind, 0, 16][..], value, &vec![0; 16 - value.len()]].concat()
        };
        let mut value = [vec![0; 4], ask(4), ask(7), ask(1), vec![0x80, 4, 0, 3, 0, 0, 0]].concat();
        assert!(
            observed(None, "[::ffff:192.0.2.1]:9", Some("192.0.2.2:862")).answer(Tlv::LOCATION, &mut value)
        );
        let expected = [
            vec![3, 94, 0, 9],
            got(0, 5, &[192, 0, 2, 2]),
            got(0, 8, &[192, 0, 2, 1]),
            got(0x80, 1, &[]),
            vec![0x40, 4, 0, 3, 0, 0, 0],
        ];
        assert_eq!(value, expected.concat());
        let mut value = [vec![0; 4], ask(7), vec![0x80, 7, 0, 9]].concat();
        assert!(
            observed(None, "[2001:db8::1]:9", Some("[2001:db8::2]:862")).answer(Tlv::LOCATION, &mut value)
        );
        let address = "2001:db8::1".parse::<std::net::Ipv6Addr>().unwrap().octets();
        assert_eq!(value, [vec![3, 94, 0, 9], got(0, 9, &address), vec![0x40, 7, 0, 9]].concat());
    }
}
