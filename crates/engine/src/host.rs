//! The fingerprint of this host, as seen on the way to a peer.

use crate::error::{Result, fault};
use linux::nic::Nic;
use model::host::Host;
use std::net::IpAddr;

/// Describes this host. `toward`: the peer, to name the interface on the way to it.
pub fn describe(toward: Option<IpAddr>) -> Host {
    Host {
        nic: toward.and_then(|peer| Nic::toward(peer.to_canonical()).ok()).map(|nic| nic.fingerprint()),
        ..linux::privilege::fingerprint(concat!("pathmeter ", env!("CARGO_PKG_VERSION")))
    }
}

/// Random bytes from the operating system.
pub fn entropy<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    aws_lc_rs::rand::fill(&mut bytes).map_err(|_| fault("the system's random generator failed"))?;
    Ok(bytes)
}
