//! The kernel's state of a TCP connection (`TCP_INFO`, linux/tcp.h), in named fields with units.

use crate::error::Result;
use crate::options::{Opt, get_raw};
use crate::sockaddr::array;
use std::os::fd::AsFd;
use units::{Bytes, Nanos};

/// One reading of a connection's state. Counters run from the connection's start; 32-bit ones wrap at 2³².
///
/// A field is `None` where the kernel is too old to have it (the Linux version is named) or has no value yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TcpInfo {
    /// The connection's state.
    pub state: TcpState,
    /// The options both ends agreed on.
    pub options: NegotiatedOptions,
    /// Maximum segment size sent: payload of a full segment.
    pub send_mss: Bytes,
    /// Maximum segment size received, estimated from what arrived.
    pub recv_mss: Bytes,
    /// The maximum segment size announced to the peer, less the options each segment carries.
    pub advertised_mss: Bytes,
    /// The path MTU believed in, IP header included.
    pub path_mtu: Bytes,
    /// Segments sent and neither acknowledged nor selectively acknowledged.
    pub unacknowledged: u32,
    /// Segments taken for lost at this moment.
    pub lost: u32,
    /// Retransmission timeouts in a row, without an acknowledgement since the first.
    pub timeouts_in_a_row: u8,
    /// Segments retransmitted since the start.
    pub retransmits: u32,
    /// Smoothed round-trip time.
    pub rtt: Nanos,
    /// Mean deviation of the round-trip time.
    pub rtt_variation: Nanos,
    /// The shortest round trip of the kernel's recent window (5 min by default; Linux 4.6).
    pub min_rtt: Option<Nanos>,
    /// Congestion window in segments.
    pub cwnd: u32,
    /// Congestion window in payload bytes: segments times [`TcpInfo::send_mss`].
    pub cwnd_bytes: Bytes,
    /// Observed extent of reordering in segments (at least 3).
    pub reordering: u32,
    /// Payload acknowledged by the peer, the SYN counted as one byte (Linux 4.1).
    pub bytes_acked: Option<Bytes>,
    /// Payload received in order (Linux 4.1).
    pub bytes_received: Option<Bytes>,
    /// Segments sent (Linux 4.2).
    pub segments_out: Option<u32>,
    /// Segments received (Linux 4.2).
    pub segments_in: Option<u32>,
    /// Segments with payload received (Linux 4.6).
    pub data_segments_in: Option<u32>,
    /// Segments with payload sent, retransmissions included (Linux 4.6).
    pub data_segments_out: Option<u32>,
    /// Bytes written and not yet sent (Linux 4.6).
    pub not_sent: Option<Bytes>,
    /// Time with data to send (Linux 4.10).
    pub busy: Option<Nanos>,
    /// Part of [`TcpInfo::busy`] limited by the peer's window (Linux 4.10).
    pub window_limited: Option<Nanos>,
    /// Part of [`TcpInfo::busy`] limited by the own send buffer (Linux 4.10).
    pub buffer_limited: Option<Nanos>,
    /// Segments delivered, retransmissions included (Linux 4.18).
    pub delivered: Option<u32>,
    /// Payload sent, retransmissions included (Linux 4.19).
    pub bytes_sent: Option<Bytes>,
    /// Payload retransmitted (Linux 4.19).
    pub bytes_retransmitted: Option<Bytes>,
    /// Duplicates the peer reported: retransmissions that were not needed (Linux 4.19).
    pub duplicate_reports: Option<u32>,
    /// Segments received out of order (Linux 5.4).
    pub out_of_order_in: Option<u32>,
    /// The window the peer offers (Linux 5.4).
    pub send_window: Option<Bytes>,
    /// Segments received with a congestion mark (Linux 6.18).
    pub received_marked: Option<u32>,
}

/// A TCP connection's state (RFC 9293, section 3.3.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of the RFC")]
pub enum TcpState {
    Established,
    SynSent,
    SynReceived,
    FinWait1,
    FinWait2,
    TimeWait,
    Close,
    CloseWait,
    LastAck,
    Listen,
    Closing,
    /// A number this program does not know.
    Other(u8),
}

/// The TCP options both ends agreed on when connecting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NegotiatedOptions {
    /// Timestamps (RFC 7323): 12 bytes less payload per segment.
    pub timestamps: bool,
    /// Window scaling (RFC 7323): the peer's shift, then ours.
    pub window_scale: Option<(u8, u8)>,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
}

/// Reads the state of the connection `fd`.
///
/// # Errors
/// The errors of `getsockopt(2)`; `EOPNOTSUPP` or `ENOPROTOOPT` when it is not TCP.
pub fn tcp_info(fd: &impl AsFd) -> Result<TcpInfo> {
    let mut bytes = [0_u8; LARGEST];
    let len = get_raw(fd, TCP_INFO, &mut bytes)?;
    Ok(parse(&bytes[..len]))
}

/// Reads `struct tcp_info`, of which an older kernel gives less. The offsets are part of the kernel's ABI.
pub(crate) fn parse(bytes: &[u8]) -> TcpInfo {
    let raw = Raw(bytes);
    let (send_mss, cwnd) = (raw.word(16), raw.word(80));
    TcpInfo {
        state: state(raw.byte(0)),
        options: negotiated(raw.byte(5), raw.byte(6)),
        send_mss: Bytes(send_mss.into()),
        recv_mss: Bytes(raw.word(20).into()),
        advertised_mss: Bytes(raw.word(84).into()),
        path_mtu: Bytes(raw.word(60).into()),
        unacknowledged: raw.word(24),
        lost: raw.word(32),
        timeouts_in_a_row: raw.byte(2),
        retransmits: raw.word(100),
        rtt: raw.micros(68),
        rtt_variation: raw.micros(72),
        min_rtt: raw.u32(148).filter(|&rtt| rtt != u32::MAX).map(|rtt| Nanos::from_micros(rtt.into())),
        cwnd,
        cwnd_bytes: Bytes(u64::from(cwnd) * u64::from(send_mss)),
        reordering: raw.word(88),
        bytes_acked: raw.u64(120).map(Bytes),
        bytes_received: raw.u64(128).map(Bytes),
        segments_out: raw.u32(136),
        segments_in: raw.u32(140),
        data_segments_in: raw.u32(152),
        data_segments_out: raw.u32(156),
        not_sent: raw.bytes(144),
        busy: raw.long_micros(168),
        window_limited: raw.long_micros(176),
        buffer_limited: raw.long_micros(184),
        delivered: raw.u32(192),
        bytes_sent: raw.u64(200).map(Bytes),
        bytes_retransmitted: raw.u64(208).map(Bytes),
        duplicate_reports: raw.u32(216),
        out_of_order_in: raw.u32(224),
        send_window: raw.bytes(228),
        received_marked: raw.u32(248),
    }
}

fn state(number: u8) -> TcpState {
    match number {
        1 => TcpState::Established,
        2 => TcpState::SynSent,
        3 => TcpState::SynReceived,
        4 => TcpState::FinWait1,
        5 => TcpState::FinWait2,
        6 => TcpState::TimeWait,
        7 => TcpState::Close,
        8 => TcpState::CloseWait,
        9 => TcpState::LastAck,
        10 => TcpState::Listen,
        11 => TcpState::Closing,
        other => TcpState::Other(other),
    }
}

fn negotiated(flags: u8, scales: u8) -> NegotiatedOptions {
    NegotiatedOptions {
        timestamps: flags & 1 != 0,
        window_scale: (flags & 4 != 0).then_some((scales & 0xf, scales >> 4)),
        ecn: flags & 8 != 0,
    }
}

/// The kernel's structure, of whatever length it gave.
struct Raw<'a>(&'a [u8]);

impl Raw<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.0.get(at).copied().unwrap_or(0)
    }

    /// A field every kernel has.
    fn word(&self, at: usize) -> u32 {
        self.u32(at).unwrap_or(0)
    }

    fn u32(&self, at: usize) -> Option<u32> {
        array(self.0, at).map(u32::from_ne_bytes)
    }

    fn u64(&self, at: usize) -> Option<u64> {
        array(self.0, at).map(u64::from_ne_bytes)
    }

    fn micros(&self, at: usize) -> Nanos {
        Nanos::from_micros(self.word(at).into())
    }

    fn long_micros(&self, at: usize) -> Option<Nanos> {
        self.u64(at).map(Nanos::from_micros)
    }

    fn bytes(&self, at: usize) -> Option<Bytes> {
        self.u32(at).map(|bytes| Bytes(bytes.into()))
    }
}

const TCP_INFO: Opt = Opt(libc::IPPROTO_TCP, libc::TCP_INFO, "TCP_INFO");
/// Room for more than Linux 6.18 gives.
const LARGEST: usize = 320;

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream, UdpSocket};

    #[test]
    fn counts_a_transfer_on_both_ends() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let data = vec![7; 20_000];
        client.write_all(&data).unwrap();
        server.read_exact(&mut vec![0; data.len()]).unwrap();
        server.write_all(b"ok").unwrap();
        client.read_exact(&mut [0; 2]).unwrap();

        let (sender, receiver) = (tcp_info(&client).unwrap(), tcp_info(&server).unwrap());
        assert_eq!(sender.state, TcpState::Established);
        assert_eq!(sender.bytes_acked, Some(Bytes(20_001)), "the SYN counts as one");
        assert_eq!(receiver.bytes_received, Some(Bytes(20_000)));
        assert_eq!(sender.bytes_received, Some(Bytes(2)));
        let retransmitted = sender.bytes_retransmitted.unwrap();
        assert_eq!(sender.bytes_sent, Some(Bytes(20_000) + retransmitted));
        assert!(sender.data_segments_out.unwrap() >= 1 && receiver.data_segments_in.unwrap() >= 1);
        assert!(sender.rtt > Nanos::ZERO && sender.min_rtt.unwrap() <= sender.rtt + Nanos::from_millis(1));
        assert_eq!(sender.cwnd_bytes.0, u64::from(sender.cwnd) * sender.send_mss.0);
        assert!(sender.path_mtu > sender.send_mss);
        assert_eq!(
            sender.options.window_scale.map(|(theirs, ours)| (ours, theirs)),
            receiver.options.window_scale
        );
        assert!(sender.send_window.unwrap() > Bytes(0));
    }

    #[test]
    fn an_old_kernels_structure_leaves_the_newer_fields_empty() {
        let mut bytes = [0_u8; 104];
        bytes[0] = 1;
        bytes[16..20].copy_from_slice(&1448_u32.to_ne_bytes());
        bytes[80..84].copy_from_slice(&10_u32.to_ne_bytes());
        bytes[100..104].copy_from_slice(&3_u32.to_ne_bytes());
        let info = parse(&bytes);
        assert_eq!((info.cwnd_bytes, info.retransmits), (Bytes(14_480), 3));
        assert_eq!((info.bytes_acked, info.send_window), (None, None));
        assert_eq!(info.received_marked, None);
    }

    #[test]
    fn no_length_of_structure_is_too_short() {
        for len in 0..LARGEST {
            let info = parse(&vec![0xff; len]);
            assert_eq!(info.received_marked.is_some(), len >= 252);
        }
    }

    #[test]
    fn a_listener_is_listening_and_udp_is_refused() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert_eq!(tcp_info(&listener).unwrap().state, TcpState::Listen);
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        assert!(tcp_info(&udp).unwrap_err().to_string().starts_with("read TCP_INFO of udp 127.0.0.1:"));
    }
}
