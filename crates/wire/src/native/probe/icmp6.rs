//! ICMPv6 packet-too-big messages about the probes of a flow (RFC 4443 section 3.2).

use packet::icmp::Quote;
use std::net::SocketAddr;

/// A packet-too-big message that quotes a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotedTooBig {
    /// The MTU that it reports.
    pub mtu: u32,
    /// UDP payload of the probe.
    pub size: u32,
}

/// Reads an ICMPv6 message; `None`: the message is of another type, or does not quote a probe sent from `local` to `remote`.
pub fn packet_too_big(message: &[u8], local: SocketAddr, remote: SocketAddr) -> Option<QuotedTooBig> {
    let reported = Quote::too_big(message)?;
    let ours = [local, remote].map(|end| (end.ip(), end.port()));
    if [reported.source, reported.destination].map(|end| (end.ip(), end.port())) != ours {
        return None;
    }
    let (_, _, size) = super::quoted(reported.payload)?;
    Some(QuotedTooBig { mtu: reported.mtu, size })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::probe::ProbeDatagram;
    use packet::HandMade;
    use proptest::prelude::*;

    fn message() -> (Vec<u8>, SocketAddr, SocketAddr) {
        let (source, destination) =
            ("[2001:db8::1]:9".parse().unwrap(), "[2001:db8::2]:5210".parse().unwrap());
        let payload = ProbeDatagram::Probe { id: 1, index: 2, size: 1452 }.encode(0);
        let packet =
            HandMade { source, destination, payload: &payload, id: 0, hops: 64, label: 0 }.whole().unwrap();
        ([&[2, 0, 0, 0, 0, 0, 0x05, 0x78], &packet[..200]].concat(), source, destination)
    }

    #[test]
    fn a_message_about_a_probe_is_read() {
        let (bytes, local, remote) = message();
        let reported = Some(QuotedTooBig { mtu: 1400, size: 1452 });
        assert_eq!(packet_too_big(&bytes, local, remote), reported);
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
