//! The text form of an encapsulation: a name, `6` for an outer IPv6 header, and parameters behind colons.

use super::FramingError;
use super::encap::{Encap, EspSuite, Gre, Network};
use std::fmt::{Display, Formatter};
use std::str::FromStr;

impl FromStr for Encap {
    type Err = FramingError;

    /// Reads `vlan`, `qinq`, `pppoe`, `ipip`, `ipip6[:encaplimit]`, `sit`, `ip6ip6[:encaplimit]`,
    /// `gre[6][:key][:csum][:seq][:encaplimit]`, `gretap…` likewise, `vxlan[6]`, `geneve[6][:OPTION-BYTES]`,
    /// `wireguard[6]`, `esp[6]-gcm[:natt]`, `esp[6]-cbc[:natt]`, `mpls[:LABELS]`, `srv6[:SEGMENTS][:reduced]`.
    fn from_str(text: &str) -> Result<Encap, FramingError> {
        encap(text)
    }
}

pub(super) fn encap(text: &str) -> Result<Encap, FramingError> {
    let mut parts = text.split(':');
    let name = parts.next().unwrap_or("");
    let mut parameters = Parameters { encap: text, parts: parts.collect() };
    let encap = named(name, &mut parameters)?;
    parameters.finish()?;
    encap.check()?;
    Ok(encap)
}

/// Every encapsulation, as it is written without its parameters.
pub const ENCAPSULATIONS: [&str; 23] = [
    "vlan",
    "qinq",
    "pppoe",
    "mpls",
    "ipip",
    "ipip6",
    "sit",
    "ip6ip6",
    "gre",
    "gre6",
    "gretap",
    "gretap6",
    "vxlan",
    "vxlan6",
    "geneve",
    "geneve6",
    "wireguard",
    "wireguard6",
    "esp-gcm",
    "esp6-gcm",
    "esp-cbc",
    "esp6-cbc",
    "srv6",
];

fn named(name: &str, parameters: &mut Parameters<'_>) -> Result<Encap, FramingError> {
    Ok(match name {
        "vlan" => Encap::Vlan,
        "qinq" => Encap::Qinq,
        "pppoe" => Encap::Pppoe,
        "ipip" | "4in4" => Encap::Ipip,
        "ipip6" | "4in6" | "dslite" => Encap::Ipip6 { encap_limit: parameters.flag("encaplimit") },
        "sit" | "6in4" => Encap::Sit,
        "ip6ip6" | "6in6" => Encap::Ip6Ip6 { encap_limit: parameters.flag("encaplimit") },
        "mpls" => Encap::Mpls { labels: parameters.number(1)? },
        "srv6" => Encap::Srv6 { reduced: parameters.flag("reduced"), segments: parameters.number(1)? },
        _ => return tunnel(name, parameters),
    })
}

/// The tunnels whose outer header may be of either version.
fn tunnel(name: &str, parameters: &mut Parameters<'_>) -> Result<Encap, FramingError> {
    let (base, suffix) = name.split_once('-').unwrap_or((name, ""));
    let (base, outer) = match (base.strip_suffix('4'), base.strip_suffix('6')) {
        (Some(base), _) => (base, Network::V4),
        (_, Some(base)) => (base, Network::V6),
        _ => (base, Network::V4),
    };
    Ok(match (base, suffix) {
        ("gre", "") => Encap::Gre(gre(outer, parameters)),
        ("gretap", "") => Encap::Gretap(gre(outer, parameters)),
        ("vxlan", "") => Encap::Vxlan(outer),
        ("geneve", "") => Encap::Geneve { outer, options: parameters.number(0)? },
        ("wireguard" | "wg", "") => Encap::WireGuard(outer),
        ("esp", "" | "gcm") => esp(outer, EspSuite::AesGcm128, parameters),
        ("esp", "cbc") => esp(outer, EspSuite::AesCbc128Sha1, parameters),
        _ => return Err(FramingError::UnknownEncap(parameters.encap.to_owned())),
    })
}

fn gre(outer: Network, parameters: &mut Parameters<'_>) -> Gre {
    Gre {
        outer,
        key: parameters.flag("key"),
        checksum: parameters.flag("csum"),
        sequence: parameters.flag("seq"),
        encap_limit: outer == Network::V6 && parameters.flag("encaplimit"),
    }
}

fn esp(outer: Network, suite: EspSuite, parameters: &mut Parameters<'_>) -> Encap {
    Encap::Esp { outer, suite, nat_traversal: parameters.flag("natt") }
}

/// The words behind the name that nothing has asked for yet.
struct Parameters<'a> {
    encap: &'a str,
    parts: Vec<&'a str>,
}

impl Parameters<'_> {
    fn flag(&mut self, name: &str) -> bool {
        let found = self.parts.iter().position(|word| *word == name);
        found.map(|at| self.parts.remove(at)).is_some()
    }

    fn number(&mut self, default: u8) -> Result<u8, FramingError> {
        match self.parts.iter().position(|word| word.starts_with(|first: char| first.is_ascii_digit())) {
            Some(at) => self.parts.remove(at).parse().map_err(|_| self.error("a number up to 255")),
            None => Ok(default),
        }
    }

    fn finish(&self) -> Result<(), FramingError> {
        if self.parts.is_empty() { Ok(()) } else { Err(self.error(PARAMETERS)) }
    }

    fn error(&self, accepted: &'static str) -> FramingError {
        FramingError::Parameter { encap: self.encap.to_owned(), accepted }
    }
}

impl Display for Encap {
    /// The shortest text that reads back as the same layer.
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let option = |name: &'static str, present: bool| if present { name } else { "" };
        match *self {
            Encap::Vlan => f.write_str("vlan"),
            Encap::Qinq => f.write_str("qinq"),
            Encap::Pppoe => f.write_str("pppoe"),
            Encap::Ipip => f.write_str("ipip"),
            Encap::Sit => f.write_str("sit"),
            Encap::Ipip6 { encap_limit } => write!(f, "ipip6{}", option(":encaplimit", encap_limit)),
            Encap::Ip6Ip6 { encap_limit } => write!(f, "ip6ip6{}", option(":encaplimit", encap_limit)),
            Encap::Gre(gre) => write!(f, "gre{gre}"),
            Encap::Gretap(gre) => write!(f, "gretap{gre}"),
            Encap::Vxlan(outer) => write!(f, "vxlan{}", six(outer)),
            Encap::Geneve { outer, options: 0 } => write!(f, "geneve{}", six(outer)),
            Encap::Geneve { outer, options } => write!(f, "geneve{}:{options}", six(outer)),
            Encap::WireGuard(outer) => write!(f, "wireguard{}", six(outer)),
            Encap::Esp { outer, suite, nat_traversal } => {
                let suite = match suite {
                    EspSuite::AesGcm128 => "gcm",
                    EspSuite::AesCbc128Sha1 => "cbc",
                };
                write!(f, "esp{}-{suite}{}", six(outer), option(":natt", nat_traversal))
            }
            Encap::Mpls { labels } => write!(f, "mpls:{labels}"),
            Encap::Srv6 { segments, reduced } => {
                write!(f, "srv6:{segments}{}", option(":reduced", reduced))
            }
        }
    }
}

impl Display for Gre {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(six(self.outer))?;
        let limit = self.encap_limit && self.outer == Network::V6;
        let flags =
            [(":key", self.key), (":csum", self.checksum), (":seq", self.sequence), (":encaplimit", limit)];
        flags.iter().filter(|flag| flag.1).try_for_each(|flag| f.write_str(flag.0))
    }
}

impl Display for Network {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Network::V4 => "IPv4",
            Network::V6 => "IPv6",
        })
    }
}

fn six(outer: Network) -> &'static str {
    match outer {
        Network::V4 => "",
        Network::V6 => "6",
    }
}

const PARAMETERS: &str = "gre and gretap take key, csum, seq and (over IPv6) encaplimit; ipip6 and ip6ip6 encaplimit; \
    geneve its option bytes; esp natt; mpls its labels; srv6 its segments and reduced; the others nothing";
