//! Every datagram of the native protocol. An unauthenticated sender never gets more bytes than it sent.

use model::time::MonoTime;
use std::net::Ipv6Addr;
use wire::Datagram;
use wire::native::probe::{ProbeDatagram, echo_reply, packet_too_big, quoted};
use wire::native::udp::{GateAnswer, UdpGate};
use wire::native::load::{LoadHeader, requested_reports};
use wire::native::{DataHeader, HEADER_LEN};
use wire::work::load::StepReport;

/// One input.
pub(crate) fn run(data: &[u8]) {
    let (local, remote) = ((Ipv6Addr::LOCALHOST, 9).into(), (Ipv6Addr::LOCALHOST, 5210).into());
    for datagram in [data, &[b"PMTRPRB", data].concat()] {
        if let Some(probe) = ProbeDatagram::decode(datagram) {
            assert!(!probe.encode(100).is_empty());
        }
        quoted(datagram);
        packet_too_big(datagram, local, remote);
        if let Some(report) = StepReport::from_datagram(datagram) {
            assert!(requested_reports(datagram).is_empty() && LoadHeader::read(datagram).is_none());
            assert_eq!(StepReport::from_datagram(&report.to_datagram()), Some(report));
        }
        assert!(echo_reply(datagram).is_none_or(|reply| reply.len() <= datagram.len()));
    }
    if let GateAnswer::Challenge(_, answer) =
        UdpGate::new([7; 32]).input(([192, 0, 2, 1], 9).into(), data, MonoTime(1 << 40))
    {
        assert!(answer.len() <= data.len());
    }
    let header = DataHeader { stream: 0 };
    if let Some(stamp) = header.read(data) {
        let mut again = [0; HEADER_LEN];
        header.write(stamp, &mut again);
        assert_eq!(again, data[..HEADER_LEN]);
    }
}
