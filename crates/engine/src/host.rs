//! This host: its fingerprint toward a peer, its state of a far host, and the settings that are restored when a test ends.

pub mod address;
pub mod capture;
pub mod doctor;
pub mod facts;
pub mod guard;
pub mod host_port;
pub mod interrupt;
pub mod journal;
pub mod reach;

use crate::error::{Result, fault};
use linux::clock::clock_source;
use linux::cpu::spare_cpu;
use linux::cpu::{self, CpuSnapshot};
use linux::nic::Nic;
use linux::options::default_congestion;
use linux::privilege::Uname;
use model::host::{self, Host};
use std::net::IpAddr;

/// Describes this host. `toward` is the peer whose path the interface belongs to.
pub fn describe(toward: Option<IpAddr>) -> Host {
    let uname = Uname::get();
    Host {
        name: uname.host,
        version: concat!("pathmeter ", env!("CARGO_PKG_VERSION")).to_owned(),
        kernel: format!("{} {} {}", uname.system, uname.release, uname.machine),
        cpu: cpu::model_name().unwrap_or_else(|| uname.machine.clone()),
        spare_cpu: spare_cpu(),
        cpus: CpuSnapshot::take().map_or(1, |now| u32::try_from(now.cpus.len()).unwrap_or(u32::MAX)),
        clock_source: clock_source().unwrap_or_default(),
        congestion: default_congestion().unwrap_or_default(),
        nic: toward.and_then(|peer| Nic::toward(peer.to_canonical()).ok()).map(|nic| describe_nic(&nic)),
    }
}

/// Converts an interface for a result.
#[must_use]
pub fn describe_nic(nic: &Nic) -> host::Nic {
    host::Nic {
        name: nic.link.name.clone(),
        driver: nic.driver.clone(),
        mtu: nic.link.mtu,
        link_bps: nic.speed,
        offloads: nic.offloads.iter().map(|offload| offload.name().to_owned()).collect(),
        is_virtual: nic.is_virtual,
        addresses: nic.addresses.clone(),
    }
}

/// Random bytes from the operating system.
pub fn entropy<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| fault("the system's random generator failed"))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn this_host_has_a_fingerprint() {
        let host = describe(Some(Ipv4Addr::LOCALHOST.into()));
        assert!(host.kernel.starts_with("Linux ") && !host.cpu.is_empty() && host.cpus >= 1, "{host:?}");
        assert!(!host.congestion.is_empty(), "every kernel with TCP has one: {host:?}");
        let nic = host.nic.expect("loopback is reachable");
        assert!(nic.name == "lo" && nic.is_virtual && nic.offloads.contains(&"gso".to_owned()), "{nic:?}");
    }
}
