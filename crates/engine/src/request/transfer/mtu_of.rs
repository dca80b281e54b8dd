//! Which interface, or which routes, an MTU sweep changes.

use super::Transfer;
use crate::error::{Error, Failure, Result};
use linux::netlink::Network;
use model::transfer::{MtuOf, TransferFile};
use std::collections::BTreeSet;
use std::net::IpAddr;

/// The interface or routes that set the MTU of these files; none without `--mtu`.
pub(super) fn mtu_of(asked: &Transfer, files: &[TransferFile]) -> Result<Option<MtuOf>> {
    if asked.mtus.is_empty() {
        return Ok(None);
    }
    let to: BTreeSet<IpAddr> = files.iter().map(|file| file.address.ip().to_canonical()).collect();
    if asked.by_route {
        return Ok(Some(MtuOf::Route { to: to.into_iter().collect() }));
    }
    let mut network = Network::open()?;
    let names: BTreeSet<String> = match &asked.origin.device {
        Some(device) => BTreeSet::from([device.clone()]),
        None => {
            let name = |to: &IpAddr| {
                let route = network.route_to(*to)?;
                Ok::<_, Error>(network.link_by_index(route.link)?.name)
            };
            to.iter().map(name).collect::<Result<_>>()?
        }
    };
    let mut names = names.into_iter();
    match (names.next(), names.next()) {
        (Some(name), None) => {
            let mtu = network.link(&name)?.mtu;
            Ok(Some(MtuOf::Interface { name, mtu }))
        }
        (first, second) => {
            let both = first.into_iter().chain(second).collect::<Vec<_>>().join(" and ");
            let message = format!("--mtu: the URLs are reached through {both}");
            Err(Failure::usage(message, "name one with --device, or use --mtu-route").into())
        }
    }
}
