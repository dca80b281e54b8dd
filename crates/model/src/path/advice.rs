//! A number to set on a path, with the command that sets it.

use crate::framing::Encaps;
use serde::{Deserialize, Serialize};

/// One number to set.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Advice {
    /// The setting.
    pub setting: Setting,
    /// The number, bytes (of `tcp_mtu_probing`: the mode).
    pub value: u32,
    /// The host where it is set, in words.
    pub place: String,
    /// The commands that set it, any one of them. Names in capitals are to be filled in.
    pub commands: Vec<String>,
    /// Why this number, in a sentence.
    pub why: String,
}

/// The setting that a number is for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// The MTU of the interface towards the path.
    InterfaceMtu,
    /// RFC 4821 in the kernel: `net.ipv4.tcp_mtu_probing`, which serves IPv6 too.
    MtuProbing,
    /// The maximum segment size that a router between writes into SYNs of IPv4.
    MssClampIpv4,
    /// The same of IPv6.
    MssClampIpv6,
    /// The largest UDP payload that needs no fragments.
    UdpPayload,
    /// The MTU of a tunnel through this path.
    TunnelMtu(Encaps),
}
