//! The MSS that a router writes into SYNs, so that TCP's segments fit the path.

use super::{Advice, Setting, caution};

/// The clamp of IPv4 and that of IPv6.
pub(super) fn both(mtu: u32, whole: bool) -> impl Iterator<Item = Advice> {
    let ip4 = clamp_advice(Setting::MssClampIpv4, mtu, whole, IPV4, "IPv4", "ipv4", "iptables");
    let ip6 = clamp_advice(Setting::MssClampIpv6, mtu, whole, IPV6, "IPv6", "ipv6", "ip6tables");
    ip4.into_iter().chain(ip6)
}

fn clamp_advice(
    setting: Setting,
    mtu: u32,
    whole: bool,
    headers: u32,
    name: &str,
    protocol: &str,
    tables: &str,
) -> Option<Advice> {
    let mss = mtu.checked_sub(headers).filter(|mss| *mss > 0)?;
    let nft = format!(
        "nft add rule inet filter forward meta nfproto {protocol} tcp flags syn tcp option maxseg size set {mss}"
    );
    let tables =
        format!("{tables} -t mangle -A FORWARD -p tcp --tcp-flags SYN,RST SYN -j TCPMSS --set-mss {mss}");
    Some(Advice {
        setting,
        value: mss,
        place: "a router on the path, for both directions".into(),
        commands: vec![nft, tables],
        why: format!(
            "{mtu} less {headers}, the headers of {name} and TCP without options (RFC 6691){}",
            caution(whole)
        ),
    })
}

/// Headers of IP and TCP without options.
const IPV4: u32 = 40;
const IPV6: u32 = 60;
