//! The host that measures: what a request is resolved against.

use crate::error::{Failure, Result};
use crate::host::address::{self, Family};
use crate::work::latency::choose;
use crate::work::throughput::flows;
use model::latency::WaitMode;
use model::plan::LocalOptions;
use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

/// The host that measures. Facts that are not given here are read when they are needed: addresses from the resolver, the
/// kernel's path MTU and spare CPUs from the kernel.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Host {
    names: BTreeMap<String, Vec<IpAddr>>,
    path_mtu: Option<u32>,
    wait: Option<(WaitMode, String)>,
}

impl Host {
    /// This host.
    pub fn here() -> Host {
        Host::default()
    }

    /// The same with addresses of a name, which is then not resolved.
    pub fn with_addresses(mut self, name: &str, addresses: &[IpAddr]) -> Host {
        self.names.insert(name.to_owned(), addresses.to_vec());
        self
    }

    /// The same with the MTU of the path to any host, in bytes of the IP packet.
    pub fn with_path_mtu(mut self, mtu: u32) -> Host {
        self.path_mtu = Some(mtu);
        self
    }

    /// The same with a default mode of waiting for replies, and the reason for it.
    pub fn with_wait(mut self, mode: WaitMode, reason: &str) -> Host {
        self.wait = Some((mode, reason.to_owned()));
        self
    }

    /// The first address of a host that the family admits.
    pub(super) fn address(&self, name: &str, port: u16, family: Family) -> Result<SocketAddr, Failure> {
        match self.names.get(name) {
            Some(known) => {
                let known: Vec<_> = known.iter().map(|address| SocketAddr::new(*address, port)).collect();
                address::first(name, &known, family)
            }
            None => address::lookup(name, port, family),
        }
    }

    /// The MTU of the path to a host as far as it is known here.
    pub(super) fn path_mtu(&self, remote: SocketAddr, local: &LocalOptions) -> Result<u32> {
        self.path_mtu.map_or_else(|| flows::believed_mtu(remote, local), Ok)
    }

    /// How to wait for replies, and why so.
    pub(super) fn wait(&self, beside_load: bool) -> (WaitMode, String) {
        self.wait.clone().unwrap_or_else(|| choose::automatic(beside_load))
    }
}
