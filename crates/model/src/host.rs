//! The fingerprint of a host: what a reader must know of it to judge a number.

use crate::units::BitRate;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// One end of a test.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Host {
    /// Host name.
    pub name: String,
    /// Software and version, e.g. `pathmeter 0.1.0`.
    pub version: String,
    /// Kernel name, release and architecture.
    pub kernel: String,
    /// CPU model.
    pub cpu: String,
    /// CPUs online.
    pub cpus: u32,
    /// The CPU with the highest number that the program may use, where it may use several: one to keep for a thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare_cpu: Option<u32>,
    /// Kernel clock source, e.g. `tsc`.
    pub clock_source: String,
    /// The system's default TCP congestion control.
    pub congestion: String,
    /// The interface towards the peer.
    pub nic: Option<Nic>,
}

/// A network interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Nic {
    /// Interface name.
    pub name: String,
    /// Driver name.
    pub driver: Option<String>,
    /// Interface MTU in bytes.
    pub mtu: u32,
    /// Link speed in bits per second; absent when the device has none of its own (virtual devices).
    pub link_bps: Option<BitRate>,
    /// Offloads that are on, in ethtool's short names (`tso`, `gso`, `gro`, `lro`, `tx-udp-segmentation`).
    pub offloads: Vec<String>,
    /// True for a device without hardware: loopback, veth, bridge, tunnel.
    pub is_virtual: bool,
    /// Its lasting addresses beyond the link: neither link-local, nor temporary, nor deprecated.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<IpAddr>,
}
