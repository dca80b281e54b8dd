//! The options of a SYN as it arrived (`TCP_SAVED_SYN`, tcp(7)), after any changes by middleboxes.

use super::{Ip, be16, header};
use serde::{Deserialize, Serialize};

/// The options and fields of a SYN as it arrived.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Syn {
    /// Maximum segment size (RFC 9293, 3.7.1).
    pub mss: Option<u32>,
    /// Window scale, bits (RFC 7323).
    pub window_scale: Option<u8>,
    /// Selective acknowledgements permitted (RFC 2018).
    pub sack: bool,
    /// Timestamps (RFC 7323).
    pub timestamps: bool,
    /// TTL or hop limit.
    pub ttl: u8,
    /// Requests explicit congestion notification (RFC 3168): ECE and CWR.
    pub ecn: bool,
}

/// Reads the headers of IP and TCP from `TCP_SAVED_SYN`; `None` when they are not those of a SYN.
///
/// Options (RFC 9293 section 3.2) that are cut or have an impossible length end the list; those before it count.
pub fn syn_options(bytes: &[u8]) -> Option<Syn> {
    let ip = Ip::parse(bytes)?;
    if ip.protocol != Ip::TCP || !ip.begins_transport() {
        return None;
    }
    let tcp = bytes.get(ip.header as usize..)?;
    let flags = be16(tcp, 12)?;
    let length = usize::from(flags >> 12) * 4;
    if length < header::TCP || flags & SYN == 0 {
        return None;
    }
    let mut syn = Syn { ttl: ip.ttl, ecn: flags & (ECE | CWR) == ECE | CWR, ..Syn::default() };
    let mut rest = tcp.get(header::TCP..length.min(tcp.len()))?;
    while let Some((kind, value, next)) = option(rest) {
        match (kind, value) {
            (2, value) => syn.mss = be16(value, 0).map(u32::from).or(syn.mss),
            (3, [shift]) => syn.window_scale = Some(*shift),
            (4, []) => syn.sack = true,
            (8, [_, _, _, _, _, _, _, _]) => syn.timestamps = true,
            _ => {}
        }
        rest = next;
    }
    Some(syn)
}

/// The links that a packet with this TTL has crossed, when it began with 64 as Linux has it; `None`: more than any path has.
#[must_use]
pub fn links_crossed(ttl: u8) -> Option<u8> {
    Some(LINUX_TTL.saturating_sub(ttl).saturating_add(1)).filter(|links| *links <= MOST_LINKS)
}

/// The next option: its kind, its value, the remaining bytes; `None` at the end of the list.
fn option(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    match bytes {
        [0, ..] | [] => None,
        [1, rest @ ..] => Some((1, &[], rest)),
        [kind, length, ..] => {
            let (option, rest) = bytes.split_at_checked(usize::from(*length))?;
            Some((*kind, option.get(2..)?, rest))
        }
        [_] => None,
    }
}

/// `net.ipv4.ip_default_ttl`, and the hop limit of IPv6.
const LINUX_TTL: u8 = 64;
const MOST_LINKS: u8 = 40;
const SYN: u16 = 0x02;
const ECE: u16 = 0x40;
const CWR: u16 = 0x80;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A SYN of Linux over IPv4: MSS, SACK, timestamps, padding, window scale.
    fn saved(options: &[u8], flags: u8) -> Vec<u8> {
        let mut bytes = vec![0x45, 0, 0, 60, 0, 1, 0x40, 0, 61, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let offset = ((20 + options.len()) / 4) as u8;
        bytes.extend([
            0xc0,
            0,
            0x14,
            0x51,
            0,
            0,
            0,
            1,
            0,
            0,
            0,
            0,
            offset << 4,
            flags,
            0xff,
            0xff,
            0,
            0,
            0,
            0,
        ]);
        bytes.extend(options);
        bytes
    }

    const LINUX: [u8; 20] = [2, 4, 0x05, 0x3a, 4, 2, 8, 10, 0, 0, 0, 1, 0, 0, 0, 0, 1, 3, 3, 7];

    #[test]
    fn the_options_of_a_syn_are_read() {
        let expected =
            Syn { mss: Some(1338), window_scale: Some(7), sack: true, timestamps: true, ttl: 61, ecn: false };
        assert_eq!(syn_options(&saved(&LINUX, 0x02)), Some(expected));
        assert_eq!(syn_options(&saved(&LINUX, 0xc2)), Some(Syn { ecn: true, ..expected }));
    }

    #[test]
    fn a_syn_of_ipv6_without_options_is_read() {
        let mut bytes = vec![0x60, 0, 0, 0, 0, 20, 6, 255];
        bytes.extend([0; 32]);
        bytes.extend(&saved(&[], 0x02)[20..]);
        assert_eq!(syn_options(&bytes), Some(Syn { ttl: 255, ..Syn::default() }));
    }

    #[test]
    fn what_is_no_syn_is_refused() {
        assert_eq!(syn_options(&saved(&LINUX, 0x10)), None);
        assert_eq!(syn_options(&[]), None);
        let mut udp = saved(&LINUX, 0x02);
        udp[9] = 17;
        assert_eq!(syn_options(&udp), None);
    }

    #[test]
    fn an_impossible_option_ends_the_list() {
        let mut options = LINUX;
        options[5] = 0;
        let syn = syn_options(&saved(&options, 0x02)).unwrap();
        assert_eq!((syn.mss, syn.sack, syn.timestamps), (Some(1338), false, false));
        options[5] = 200;
        assert_eq!(syn_options(&saved(&options, 0x02)).unwrap().mss, Some(1338));
    }

    proptest! {
        #[test]
        fn any_options_do_no_harm(options in prop::collection::vec(any::<u8>(), 40), cut in 0usize..=80) {
            let bytes = saved(&options, 0x02);
            let syn = syn_options(&bytes[..cut]);
            prop_assert_eq!(syn.is_some(), cut >= 40);
        }
    }
}
