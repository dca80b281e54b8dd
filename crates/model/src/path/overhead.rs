//! Explanations of a path MTU: the encapsulation whose headers are missing to Ethernet's 1500, or a network known for it.

use crate::framing::{Encaps, Framing, Network, Transport};
use crate::units::Bytes;

/// The encapsulation that gives a path MTU of this size, in a phrase: `1420 = 1500 − 80: WireGuard over IPv6`. When several give
/// it, all are listed, the commonest first; `None` when no known one does.
#[must_use]
pub fn explanation(mtu: u32, ipv6: bool) -> Option<String> {
    let names: Vec<&str> = encapsulations(mtu, ipv6).chain(networks(mtu)).take(MOST).collect();
    let names = match names.as_slice() {
        [] => return None,
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{}, or {last}", first.join(", ")),
    };
    Some(match ETHERNET.checked_sub(mtu) {
        Some(missing) if missing > 0 => format!("{mtu} = {ETHERNET} − {missing}: {names}"),
        _ => format!("{mtu}: {names}"),
    })
}

/// Encapsulations that carry packets of at most this size over Ethernet.
fn encapsulations(mtu: u32, ipv6: bool) -> impl Iterator<Item = &'static str> {
    let network = if ipv6 { Network::V6 } else { Network::V4 };
    let fits = move |text: &str| {
        let encaps: Encaps = text.parse().ok()?;
        let framing = Framing { network, transport: Transport::Raw, encaps, link_mtu: None };
        framing.check().ok()?;
        framing.encaps.inner_mtu(Bytes(u64::from(ETHERNET))).filter(|room| room.0 == u64::from(mtu))
    };
    ENCAPSULATIONS.iter().filter(move |(text, _)| fits(text).is_some()).map(|(_, name)| *name)
}

fn networks(mtu: u32) -> impl Iterator<Item = &'static str> {
    NETWORKS.iter().filter(move |(size, _)| *size == mtu).map(|(_, name)| *name)
}

/// The MTU of plain Ethernet.
const ETHERNET: u32 = 1500;
/// Most explanations of one MTU.
const MOST: usize = 3;

/// Encapsulations by their name in `framing`, the commonest first.
const ENCAPSULATIONS: &[(&str, &str)] = &[
    ("pppoe", "PPPoE"),
    ("wireguard6", "WireGuard over IPv6 or with the default of wg-quick"),
    ("wireguard", "WireGuard over IPv4"),
    ("vxlan", "VXLAN or Geneve"),
    ("gre", "GRE"),
    ("ipip", "IPv4 in IPv4"),
    ("sit", "IPv6 in IPv4 (6in4)"),
    ("ipip6", "IPv4 in IPv6 (DS-Lite)"),
    ("ip6ip6", "IPv6 in IPv6"),
    ("ipip6:encaplimit", "IPv4 in IPv6 with Linux's encapsulation limit option"),
    ("ip6ip6:encaplimit", "IPv6 in IPv6 with Linux's encapsulation limit option"),
    ("esp-gcm", "IPsec ESP (AES-GCM)"),
    ("esp-gcm:natt", "IPsec ESP (AES-GCM) behind a NAT"),
    ("esp-cbc", "IPsec ESP (AES-CBC)"),
    ("esp-cbc:natt", "IPsec ESP (AES-CBC) behind a NAT"),
    ("esp6-gcm", "IPsec ESP (AES-GCM) over IPv6"),
    ("gre:key", "GRE with a key"),
    ("gre6", "GRE over IPv6"),
    ("gretap", "Ethernet in GRE"),
    ("vxlan6", "VXLAN or Geneve over IPv6"),
    ("mpls", "one MPLS label"),
    ("mpls:2", "two MPLS labels"),
    ("pppoe,wireguard6", "WireGuard over IPv6 through PPPoE"),
    ("pppoe,wireguard", "WireGuard over IPv4 through PPPoE"),
    ("pppoe,sit", "IPv6 in IPv4 through PPPoE"),
    ("pppoe,ipip6", "DS-Lite through PPPoE"),
    ("pppoe,esp-gcm:natt", "IPsec ESP (AES-GCM) behind a NAT through PPPoE"),
    ("vxlan,wireguard", "WireGuard over IPv4 in VXLAN"),
];

/// Networks known for a size that is no encapsulation's. GTP-U: 3GPP TS 29.281, IP, UDP 8 and 8.
const NETWORKS: &[(u32, &str)] = &[
    (9001, "the jumbo frames of AWS"),
    (9000, "jumbo frames"),
    (8896, "the largest of Google Cloud"),
    (8500, "AWS between its regions"),
    (3900, "the large packets of Azure's networks"),
    (1500, "plain Ethernet"),
    (1464, "GTP-U of a mobile network"),
    (1460, "the default of Google Cloud"),
    (1430, "some mobile networks"),
    (1428, "some mobile networks"),
    (1400, "the size at which Azure's virtual networks cut, and the setting of many VPNs"),
    (1300, "AWS towards Outposts and Wavelength"),
    (1280, "the least that IPv6 allows, the setting of Tailscale and of other careful tunnels"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overheads_are_those_of_the_framing() {
        for (mtu, ipv6, text) in [
            (1492, false, "1492 = 1500 − 8: PPPoE, or two MPLS labels"),
            (1480, false, "1480 = 1500 − 20: IPv4 in IPv4"),
            (1480, true, "1480 = 1500 − 20: IPv6 in IPv4 (6in4)"),
            (1476, false, "1476 = 1500 − 24: GRE"),
            (1460, true, "1460 = 1500 − 40: IPv6 in IPv6, or the default of Google Cloud"),
            (1450, false, "1450 = 1500 − 50: VXLAN or Geneve"),
            (1440, false, "1440 = 1500 − 60: WireGuard over IPv4"),
            (1438, false, "1438 = 1500 − 62: IPsec ESP (AES-GCM) behind a NAT, or IPsec ESP (AES-CBC)"),
            (9000, true, "9000: jumbo frames"),
        ] {
            assert_eq!(explanation(mtu, ipv6).as_deref(), Some(text));
        }
        assert!(
            explanation(1420, false)
                .is_some_and(|text| text.starts_with("1420 = 1500 − 80: WireGuard over IPv6"))
        );
        assert_eq!(explanation(1399, false), None);
    }

    #[test]
    fn every_encapsulation_of_the_table_exists_and_is_found() {
        for (text, name) in ENCAPSULATIONS {
            let encaps: Encaps = text.parse().unwrap();
            let mtu = u32::try_from(encaps.inner_mtu(Bytes(1500)).unwrap().0).unwrap();
            let found =
                [false, true].into_iter().any(|ipv6| encapsulations(mtu, ipv6).any(|each| each == *name));
            assert!(found, "{text} makes {mtu}");
        }
    }
}
