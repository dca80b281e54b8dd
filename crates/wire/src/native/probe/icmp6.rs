//! ICMPv6 packet-too-big messages about the probes of a flow (RFC 4443 section 3.2).

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// A packet-too-big message that quotes a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotedTooBig {
    /// The MTU it tells.
    pub mtu: u32,
    /// UDP payload of the probe.
    pub size: u32,
}

/// Reads an ICMPv6 message; `None`: it is another, or it does not quote a probe that went from `local` to `remote`.
pub fn packet_too_big(message: &[u8], local: SocketAddr, remote: SocketAddr) -> Option<QuotedTooBig> {
    let (header, packet) = message.split_at_checked(8)?;
    let (ip, udp) = packet.split_at_checked(40)?;
    let (ports, beginning) = udp.split_at_checked(8)?;
    let address = |at: usize| ip.get(at..at + 16)?.first_chunk::<16>().map(|octets| Ipv6Addr::from(*octets));
    let ends = [(address(8)?, [ports[0], ports[1]]), (address(24)?, [ports[2], ports[3]])]
        .map(|(address, port)| (IpAddr::V6(address), u16::from_be_bytes(port)));
    let ours = [local, remote].map(|end| (end.ip(), end.port()));
    if header[0] != PACKET_TOO_BIG || ip[0] >> 4 != 6 || ip[6] != UDP || ends != ours {
        return None;
    }
    let (_, _, size) = super::quoted(beginning)?;
    Some(QuotedTooBig { mtu: u32::from_be_bytes(*header[4..].first_chunk()?), size })
}

const PACKET_TOO_BIG: u8 = 2;
const UDP: u8 = 17;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::probe::ProbeDatagram;
    use crate::packet::HandMade;
    use proptest::prelude::*;

    fn message() -> (Vec<u8>, SocketAddr, SocketAddr) {
        let (source, destination) =
            ("[2001:db8::1]:9".parse().unwrap(), "[2001:db8::2]:5210".parse().unwrap());
        let payload = ProbeDatagram::Probe { id: 1, index: 2, size: 1452 }.encode(0);
        let packet = HandMade { source, destination, payload: &payload, id: 0, hops: 64 }.whole().unwrap();
        ([&[2, 0, 0, 0, 0, 0, 0x05, 0x78], &packet[..200]].concat(), source, destination)
    }

    #[test]
    fn a_message_about_a_probe_is_read() {
        let (bytes, local, remote) = message();
        let told = Some(QuotedTooBig { mtu: 1400, size: 1452 });
        assert_eq!(packet_too_big(&bytes, local, remote), told);
        assert_eq!(packet_too_big(&bytes, remote, local), None, "another flow's");
        for (at, value) in [(0, 3), (8, 0x45), (14, 6), (30, 1), (56, 0)] {
            let mut other = bytes.clone();
            other[at] = value;
            assert_eq!(packet_too_big(&other, local, remote), None, "byte {at}");
        }
        assert_eq!(packet_too_big(&bytes[..70], local, remote), None, "cut short");
    }

    proptest! {
        #[test]
        fn any_bytes_are_harmless(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let (_, local, remote) = message();
            prop_assert_eq!(packet_too_big(&bytes, local, remote), None);
        }
    }
}
