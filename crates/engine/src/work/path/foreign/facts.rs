//! The facts that this host has about the path to the far end before it probes.

use crate::error::Result;
use crate::work::path::pieces::pieces;
use crate::work::probe::numbered::Numbered;
use linux::nic::Nic;
use linux::options::{self, MtuDiscovery};
use model::framing::LARGEST_PACKET;
use model::path::{FragmentShape, FragmentTest, PathPlan, headers};
use packet::header;

/// Sizes that this host sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::work::path) struct Facts {
    /// IPv6; else IPv4.
    pub(in crate::work::path) ipv6: bool,
    /// Largest packet that its interface sends.
    pub(in crate::work::path) interface: u32,
    /// Largest packet to try.
    pub(in crate::work::path) most: u32,
    /// Path MTU that its kernel believes in.
    pub(in crate::work::path) cached: Option<u32>,
}

impl Facts {
    /// Asks the kernel, and sends nothing.
    pub(in crate::work::path) fn from_plan(plan: &PathPlan) -> Result<Facts> {
        let mut remote = plan.target.address;
        let ipv6 = remote.is_ipv6();
        if remote.port() == 0 {
            remote.set_port(DISCARD);
        }
        let probe = Numbered::open(remote, &plan.local, MtuDiscovery::Want)?;
        let cached = options::path_mtu(probe.socket()).ok().and_then(|mtu| u32::try_from(mtu.0).ok());
        let nic = match &plan.local.device {
            Some(device) => Nic::named(device),
            None => Nic::toward(remote.ip().to_canonical()),
        };
        let limit = if ipv6 { LARGEST_V6 } else { LARGEST_PACKET };
        let interface = nic.ok().map(|nic| nic.link.mtu).or(cached).unwrap_or(USUAL_MTU).min(limit);
        let most = plan.largest.unwrap_or(interface).min(interface);
        Ok(Facts { ipv6, interface, most, cached })
    }

    /// A packet that this host has to cut; `None`: its interface carries all.
    pub(in crate::work::path) fn cut_size(&self) -> Option<u32> {
        Some(self.interface + OVER).filter(|size| *size <= LARGEST_PACKET)
    }

    /// The outcome of packets of this size, sent and received, that this host's kernel cut, where the largest that crosses is `mtu`.
    pub(in crate::work::path) fn cut_test(
        &self,
        size: u32,
        mtu: u32,
        (sent, received): (u32, u32),
    ) -> FragmentTest {
        FragmentTest {
            shape: FragmentShape::ByKernel,
            payload: size - headers(self.ipv6),
            pieces: self.pieces(size, mtu),
            sent,
            received,
            pieces_received: None,
            largest_piece: None,
        }
    }

    /// How many pieces arrive of such a packet.
    fn pieces(&self, size: u32, mtu: u32) -> u32 {
        // A kernel that knows the path cuts IPv6 to its measure.
        let own = if self.ipv6 { mtu } else { self.interface };
        pieces(self.ipv6, size.saturating_sub(header::ip(self.ipv6) as u32), own, mtu)
    }
}

/// How much more than its interface carries this host is asked to send: more than a whole header.
const OVER: u32 = 200;
/// RFC 8200: the header is not counted, but UDP's length has 16 bits.
const LARGEST_V6: u32 = LARGEST_PACKET + header::IPV6 as u32;
const USUAL_MTU: u32 = 1500;
/// RFC 863, where no port was given: nothing is sent to it.
const DISCARD: u16 = 9;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn datagrams_are_cut_once_or_twice() {
        let v4 = Facts { ipv6: false, interface: 1500, most: 1500, cached: None };
        assert_eq!((v4.cut_size(), v4.pieces(1700, 1500), v4.pieces(1700, 1400)), (Some(1700), 2, 3));
        let v6 = Facts { ipv6: true, ..v4 };
        assert_eq!((v6.pieces(1700, 1500), v6.pieces(1700, 1280)), (2, 2));
        let loopback = Facts { interface: 65_535, ..v4 };
        assert_eq!(loopback.cut_size(), None);
        assert_eq!(v4.pieces(0, 0), 0, "no panic");
    }
}
