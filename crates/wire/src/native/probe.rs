//! Single datagrams of chosen sizes, and echoes: they measure the largest datagram and the round-trip time.
//!
//! ```text
//! 0         7      8    12      16     20 …
//! | PMTRPRB | kind | id | index | size | zeros up to size      PROBE
//! 0         7      8          16         24 …
//! | PMTRPRB | kind | sequence | clock ns | zeros               ECHO, and ECHO REPLY with the same bytes
//! ```

use model::framing::LARGEST_UDP_PAYLOAD;
use model::latency::LatencySpec;
use model::plan::{TestSpec, Transport};
use model::time::MonoTime;

pub use super::message::{ProbeSend, SizeCount};
pub use client::{ProbeClient, ProbeReply};
pub use icmp6::{QuotedTooBig, packet_too_big};
pub use ledger::Ledger;
pub(super) use schedule::ProbeSchedule;

mod client;
mod icmp6;
mod ledger;
mod schedule;
pub(super) mod server;

/// The flow of a latency session as a test: one stream, every message sent at once.
pub(super) fn latency_test(spec: &LatencySpec) -> TestSpec {
    TestSpec { tos: spec.tos, nodelay: true, length: Some(spec.size), ..TestSpec::new(spec.transport) }
}

/// The flows of a session of load as a test.
pub(super) fn load_test() -> TestSpec {
    TestSpec { streams: super::load::FLOWS, offload: false, ..TestSpec::new(Transport::Udp) }
}

/// Smallest probe or echo, bytes of UDP payload.
pub const MIN_SIZE: u32 = 24;
/// Largest, bytes of UDP payload over IPv4.
pub const MAX_SIZE: u32 = LARGEST_UDP_PAYLOAD;
/// Most sizes in one request.
pub const MAX_SIZES: usize = 64;
/// Most datagrams of one size in one request.
pub const MAX_COUNT: u32 = 100;
/// On a long path the nine orders of one round trip go one by one and may arrive together, after a retransmit. What they cost is held by their
/// bytes: each is refused beyond its own limit, and all beyond that of the session.
pub const MAX_ORDERS: usize = 12;

/// A datagram of a probe session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeDatagram {
    /// A datagram of a request.
    Probe {
        /// Number of the request.
        id: u32,
        /// Number within its size, from 0.
        index: u32,
        /// Bytes of UDP payload.
        size: u32,
    },
    /// A request that the server answers with the same bytes.
    Echo(Echo),
    /// The reply.
    EchoReply(Echo),
}

/// The fields of an echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Echo {
    /// Number of the echo.
    pub sequence: u64,
    /// The client's clock at sending.
    pub sent: MonoTime,
}

impl ProbeDatagram {
    /// The bytes, `size` of them; never fewer than [`MIN_SIZE`] nor more than [`MAX_SIZE`]. A probe has its own size.
    pub fn encode(&self, size: u32) -> Vec<u8> {
        let size = if let ProbeDatagram::Probe { size, .. } = self { *size } else { size };
        let mut bytes = vec![0; size.clamp(MIN_SIZE, MAX_SIZE) as usize];
        bytes[..7].copy_from_slice(&MAGIC);
        match self {
            ProbeDatagram::Probe { id, index, size } => {
                bytes[7] = PROBE;
                bytes[8..12].copy_from_slice(&id.to_be_bytes());
                bytes[12..16].copy_from_slice(&index.to_be_bytes());
                bytes[16..20].copy_from_slice(&size.to_be_bytes());
            }
            ProbeDatagram::Echo(echo) => echo.write(ECHO, &mut bytes),
            ProbeDatagram::EchoReply(echo) => echo.write(ECHO_REPLY, &mut bytes),
        }
        bytes
    }

    /// Reads a datagram; `None`: the datagram is foreign, or a probe whose length differs from its size field.
    pub fn decode(datagram: &[u8]) -> Option<ProbeDatagram> {
        let header = datagram.first_chunk::<{ MIN_SIZE as usize }>()?.strip_prefix(MAGIC.as_slice())?;
        let (&kind, rest) = header.split_first()?;
        match kind {
            PROBE => {
                let (id, rest) = rest.split_first_chunk()?;
                let (index, rest) = rest.split_first_chunk()?;
                let [id, index, size] =
                    [id, index, rest.first_chunk()?].map(|bytes| u32::from_be_bytes(*bytes));
                (size as usize == datagram.len()).then_some(ProbeDatagram::Probe { id, index, size })
            }
            ECHO => Some(ProbeDatagram::Echo(Echo::read(rest)?)),
            ECHO_REPLY => Some(ProbeDatagram::EchoReply(Echo::read(rest)?)),
            _ => None,
        }
    }
}

impl Echo {
    fn write(self, kind: u8, bytes: &mut [u8]) {
        bytes[7] = kind;
        bytes[8..16].copy_from_slice(&self.sequence.to_be_bytes());
        bytes[16..24].copy_from_slice(&self.sent.0.to_be_bytes());
    }

    fn read(bytes: &[u8]) -> Option<Echo> {
        let (sequence, rest) = bytes.split_first_chunk()?;
        let sent = MonoTime(u64::from_be_bytes(*rest.first_chunk()?));
        Some(Echo { sequence: u64::from_be_bytes(*sequence), sent })
    }
}

/// Number of the request, index and size of a probe of which only the beginning is present, as an ICMP message quotes it.
pub fn quoted(beginning: &[u8]) -> Option<(u32, u32, u32)> {
    let rest = beginning.strip_prefix(MAGIC.as_slice())?.strip_prefix(&[PROBE])?;
    let word = |at: usize| rest.get(at..at + 4)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
    Some((word(0)?, word(4)?, word(8)?))
}

/// The server's answer to a datagram, the same number of bytes; `None`: no answer is due.
pub fn echo_reply(datagram: &[u8]) -> Option<Vec<u8>> {
    let ProbeDatagram::Echo(_) = ProbeDatagram::decode(datagram)? else { return None };
    let mut reply = datagram.to_vec();
    reply[7] = ECHO_REPLY;
    Some(reply)
}

const MAGIC: [u8; 7] = *b"PMTRPRB";
const PROBE: u8 = 1;
const ECHO: u8 = 2;
const ECHO_REPLY: u8 = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_probe_is_known_by_its_first_twenty_bytes() {
        let bytes = ProbeDatagram::Probe { id: 1, index: 2, size: 300 }.encode(0);
        assert_eq!(quoted(&bytes[..20]), Some((1, 2, 300)));
        assert_eq!((quoted(&bytes[..19]), quoted(&bytes[1..])), (None, None));
        let echo = ProbeDatagram::Echo(Echo { sequence: 7, sent: MonoTime(8) });
        assert_eq!(quoted(&echo.encode(64)), None);
    }

    #[test]
    fn an_echo_is_answered_with_its_own_bytes() {
        let echo = Echo { sequence: 7, sent: MonoTime(8) };
        let question = ProbeDatagram::Echo(echo).encode(100);
        let answer = echo_reply(&question).unwrap();
        assert_eq!(answer.len(), 100);
        assert_eq!(ProbeDatagram::decode(&answer), Some(ProbeDatagram::EchoReply(echo)));
        assert_eq!(echo_reply(&answer), None, "an answer is not answered");
    }

    #[test]
    fn a_probe_cut_short_is_no_probe() {
        let probe = ProbeDatagram::Probe { id: 1, index: 2, size: 1472 };
        let bytes = probe.encode(0);
        assert_eq!(bytes.len(), 1472);
        assert_eq!(ProbeDatagram::decode(&bytes), Some(probe));
        assert_eq!(ProbeDatagram::decode(&bytes[..1400]), None);
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_do_not(bytes: Vec<u8>, kind in 0..5_u8) {
            let _ = ProbeDatagram::decode(&bytes);
            let bytes = [b"PMTRPRB".as_slice(), &[kind], &bytes].concat();
            if let Some(reply) = echo_reply(&bytes) {
                prop_assert_eq!(reply.len(), bytes.len());
            }
            let _ = ProbeDatagram::decode(&bytes);
        }
    }
}
