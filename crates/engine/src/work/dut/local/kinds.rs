//! Sources and sinks of a port, by its driver and the privilege of this process: candidates, to be tried.

use super::interface::Interface;
use crate::error::{Failure, Result};
use insight::fix;
use linux::privilege::{Capabilities, Capability};
use model::dut::{SinkKind, SourceKind};

/// The kinds that this process has the right to use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kinds {
    /// Programs in the kernel. The capabilities count in the first user namespace alone (`bpf(2)`).
    programs: bool,
    /// Packet sockets.
    sockets: bool,
    /// A driver that may use the memory of an `AF_XDP` socket.
    hardware: bool,
}

impl Kinds {
    /// The rights of the calling thread on this interface.
    pub(super) fn from_interface(interface: &Interface) -> Result<Kinds> {
        let rights = Capabilities::of_this_thread()?;
        let bpf = rights.has(Capability::Bpf) || rights.has(Capability::SysAdmin);
        let kinds = Kinds {
            programs: bpf && rights.has(Capability::NetAdmin) && is_first_user_namespace(),
            sockets: rights.has(Capability::NetRaw),
            hardware: !interface.nic.is_virtual,
        };
        if kinds.programs || kinds.sockets {
            return Ok(kinds);
        }
        let advice = format!(
            "run it as root (sudo), or once: {}; with cap_net_raw alone it works too, slower",
            fix::rights(None)
        );
        let what = format!("frames on {} need the capability CAP_NET_RAW", interface.name);
        Err(Failure::usage(what, advice).into())
    }

    pub(super) fn sources(self) -> Vec<SourceKind> {
        let all = [
            (SourceKind::LiveFrames, self.programs),
            (SourceKind::XskZeroCopy, self.sockets && self.hardware),
            (SourceKind::XskCopy, self.sockets),
            (SourceKind::Packet, self.sockets),
        ];
        all.into_iter().filter_map(|(kind, may)| may.then_some(kind)).collect()
    }

    pub(super) fn sinks(self) -> Vec<SinkKind> {
        let all = [
            (SinkKind::Xdp, self.programs),
            (SinkKind::XdpGeneric, self.programs),
            (SinkKind::Xsk, self.programs && self.sockets),
            (SinkKind::PacketRing, self.sockets),
            (SinkKind::Packet, self.sockets),
        ];
        all.into_iter().filter_map(|(kind, may)| may.then_some(kind)).collect()
    }
}

/// All users are themselves there (`user_namespaces(7)`).
fn is_first_user_namespace() -> bool {
    let map = linux::privilege::setting("/proc/self/uid_map").unwrap_or_default();
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn candidates_are_those_there_is_a_right_to() {
        let sockets = Kinds { programs: false, sockets: true, hardware: false };
        assert_eq!(sockets.sources(), [SourceKind::XskCopy, SourceKind::Packet]);
        assert_eq!(sockets.sinks(), [SinkKind::PacketRing, SinkKind::Packet]);
        let programs = Kinds { programs: true, sockets: false, hardware: true };
        assert_eq!(programs.sources(), [SourceKind::LiveFrames]);
        assert_eq!(programs.sinks(), [SinkKind::Xdp, SinkKind::XdpGeneric]);
        let all = Kinds { programs: true, sockets: true, hardware: true };
        assert_eq!((all.sources().len(), all.sinks().len()), (4, 5));
        assert!(all.sources().is_sorted() && all.sinks().is_sorted());
    }
}
