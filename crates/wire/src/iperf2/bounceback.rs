//! Round trips over TCP (`--bounceback`): the server stamps each record and writes it back.
//!
//! ```text
//! 0       4      8    12      14    16     20          28            36            44     48    52     60           64
//! | flags | size | id | flags | tos | time | client sent | server had | server sent | hold | rtt | read | reply size |
//! ```
//!
//! No header precedes the first record. The last field exists from 2.2 on, where a flag announces it. The server of 2.1.8
//! takes requests from 64 bytes on, that of 2.2 from 68.

use super::fields::{half, put, put_half, put_time, time, word};
use super::flags;
use crate::echo::{Arrival, Exchange, FarTimes, Reflect, Reply, Request, Stray};
use crate::stamp::Clock;
use model::units::Nanos;

/// Shortest request that every server takes, bytes.
pub const MIN_BOUNCE: usize = 68;
/// Longest request that is answered, bytes.
pub const MAX_BOUNCE: usize = 1 << 20;
/// Shortest reply that may be requested, bytes.
pub const MIN_REPLY: usize = RECORD;
/// Default length of a request, as in iPerf2.
pub const DEFAULT_BOUNCE: usize = 100;

/// The client's half.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Bouncer {
    /// This end's clocks.
    clock: Clock,
    /// TOS byte of the server's replies.
    tos: u8,
    /// Bytes of a reply, where they differ from those of the request (2.2 and newer): [`MIN_REPLY`] to [`MAX_BOUNCE`].
    pub reply: Option<u32>,
    /// The server is to acknowledge at once; otherwise its kernel acknowledges as it likes.
    pub quick_ack: bool,
    /// Both clocks are taken to be synchronised.
    pub trip_times: bool,
    /// Sequence number of the last request.
    sequence: u64,
    length: usize,
}

/// The server's half, for one connection.
#[derive(Clone, Copy, Debug)]
pub struct Bounce {
    /// This end's clocks.
    pub clock: Clock,
}

/// Does a connection begin with a record? `None`: four bytes are needed to decide.
#[must_use]
pub fn is_bounceback(first: &[u8]) -> Option<bool> {
    Some(word(first, 0)? == flags::BOUNCEBACK)
}

/// The fields of a client's first request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BounceRequest {
    /// Bytes of a request.
    pub size: u32,
    /// Bytes of a reply, where they differ from those of the request.
    pub reply: Option<u32>,
    /// Microseconds for which the server is to hold a request.
    pub hold: u32,
    /// TOS byte of replies.
    pub tos: Option<u8>,
    /// The server is to acknowledge at once (TCP_QUICKACK).
    pub quick_ack: bool,
    /// The client takes both clocks to be synchronised (`--trip-times`).
    pub trip_times: bool,
}

/// Bytes of a first request that contain all of its fields.
pub const BOUNCE_HEAD: usize = RECORD;

impl BounceRequest {
    /// Reads the first request; `None`: more bytes are needed.
    #[must_use]
    pub fn read(first: &[u8]) -> Option<BounceRequest> {
        let flags = half(first, 12)?;
        let has = |flag: u16| flags & flag != 0;
        Some(BounceRequest {
            size: word(first, 4)?,
            hold: word(first, 44)?,
            reply: word(first, 60).filter(|_| has(HAS_REPLY_SIZE)),
            tos: half(first, 14).filter(|_| has(HAS_TOS)).map(|tos| tos as u8),
            quick_ack: has(WANTS_QUICK_ACK),
            trip_times: has(CLOCKS_AGREE),
        })
    }
}

impl Bouncer {
    /// For one connection.
    pub fn new(clock: Clock, tos: u8) -> Bouncer {
        Bouncer { clock, tos, reply: None, quick_ack: true, trip_times: false, sequence: 0, length: 0 }
    }
}

impl Exchange for Bouncer {
    fn request(&mut self, request: Request, message: &mut [u8]) {
        (self.sequence, self.length) = (request.sequence, message.len());
        message[..RECORD].fill(0);
        put(message, 0, flags::BOUNCEBACK);
        put(message, 4, u32::try_from(message.len()).unwrap_or(u32::MAX));
        put(message, 8, request.sequence as u32);
        let tos = if self.tos > 0 { HAS_TOS } else { 0 };
        let reply = if self.reply.is_some() { HAS_REPLY_SIZE } else { 0 };
        let quick_ack = if self.quick_ack { WANTS_QUICK_ACK } else { 0 };
        let trip_times = if self.trip_times { CLOCKS_AGREE } else { 0 };
        put_half(message, 12, quick_ack | tos | reply | trip_times);
        put(message, 60, self.reply.unwrap_or(0));
        put_half(message, 14, self.tos.into());
        put_time(message, 20, self.clock.at(request.sent));
        message[28..44].fill(0xff);
    }

    fn reply(&mut self, message: &[u8]) -> Result<Reply, Stray> {
        let (Some(first), Some(size), Some(id), Some(_)) =
            (word(message, 0), word(message, 4), word(message, 8), message.get(..RECORD - 4))
        else {
            return Err(Stray::Short(message.len()));
        };
        if first != flags::BOUNCEBACK {
            return Err(Stray::Foreign);
        }
        // The size field is the request's, whatever the reply's.
        let wanted = self.reply.map_or(self.length, |reply| reply as usize);
        if size as usize != self.length || message.len() != wanted {
            return Err(Stray::Length { claimed: size.into(), had: message.len() });
        }
        // Ids have 32 bits: this one is that of the last request or of an earlier one.
        let back = (self.sequence as u32).wrapping_sub(id);
        let sequence = self.sequence.checked_sub(back.into()).filter(|sequence| *sequence > 0);
        let nanos = |at| time(message, at).map(|time| Nanos(time.0));
        let far = nanos(28).zip(nanos(36)).map(|(received, sent)| FarTimes { received, sent });
        Ok(Reply { sequence: sequence.ok_or(Stray::Foreign)?, far, far_sequence: None })
    }

    fn frame(&self, head: &[u8]) -> Result<Option<usize>, Stray> {
        let whole = frame(head, self.length)?;
        Ok(whole.map(|whole| self.reply.map_or(whole, |reply| reply as usize)))
    }
}

impl Reflect for Bounce {
    fn reflect(
        &mut self,
        arrival: Arrival,
        now: model::time::MonoTime,
        buf: &mut [u8],
        len: usize,
    ) -> Option<usize> {
        let wanted = self.reply_len(buf.get(..len)?);
        let (room, message) = (buf.len(), buf.get_mut(..len)?);
        if !matches!(frame(message, MAX_BOUNCE), Ok(Some(size)) if size == len) {
            return None;
        }
        put_time(message, 28, self.clock.at(arrival.received));
        put_time(message, 36, self.clock.at(now));
        Some(wanted.min(room))
    }

    fn reply_len(&self, message: &[u8]) -> usize {
        let has_size = half(message, 12).is_some_and(|flags| flags & HAS_REPLY_SIZE != 0);
        let wanted = word(message, 60).filter(|_| has_size).map(|wanted| wanted as usize);
        wanted.map_or(message.len(), |wanted| wanted.clamp(MIN_REPLY, MAX_BOUNCE))
    }

    fn stamps(&self) -> bool {
        true
    }

    fn frame(&self, head: &[u8]) -> Result<Option<usize>, Stray> {
        frame(head, MAX_BOUNCE)
    }
}

fn frame(head: &[u8], max: usize) -> Result<Option<usize>, Stray> {
    let Some(first) = word(head, 0) else { return Ok(None) };
    if first != flags::BOUNCEBACK {
        return Err(Stray::Foreign);
    }
    let Some(claimed) = word(head, 4) else { return Ok(None) };
    if !(SMALLEST..=max).contains(&(claimed as usize)) {
        return Err(Stray::Length { claimed: claimed.into(), had: max });
    }
    Ok(Some(claimed as usize))
}

const RECORD: usize = 64;
/// The shortest request a server takes: 2.1.8 reads its record and four more bytes.
const SMALLEST: usize = 64;
const WANTS_QUICK_ACK: u16 = 0x8000;
const CLOCKS_AGREE: u16 = 0x4000;
const HAS_TOS: u16 = 0x2000;
const HAS_REPLY_SIZE: u16 = 0x0800;

#[cfg(test)]
mod tests {
    use super::*;
    use model::time::{MonoTime, WallTime};
    use proptest::prelude::*;

    /// The front of what `iperf -c 127.0.0.1 --bounceback=200 --bounceback-hold 5 -S 0x10` of 2.1.8 sends.
    const REQUEST: &[u8] =
        b"\0\x80\0\0\0\0\0\x64\0\0\0\x01\xa0\0\0\x10\0\0\0\0\x6b\x01\x4a\x73\0\x09\xcd\x2c\
        \xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\0\0\x13\x88";

    fn clock() -> Clock {
        Clock { mono: MonoTime(1_000_000), wall: WallTime(0x6b01_4a73 * 1_000_000_000) }
    }

    fn arrival(received: u64) -> Arrival {
        Arrival::new(([192, 0, 2, 1], 9).into(), MonoTime(received))
    }

    fn request(bouncer: &mut Bouncer, sequence: u64, len: usize) -> Vec<u8> {
        let mut message = vec![0x30; len];
        let sent = MonoTime(1_000_000 + 0x9_cd2c * 1000);
        bouncer.request(Request { sequence, sent, wants_reply: true }, &mut message);
        message
    }

    #[test]
    fn requests_are_those_of_2_1_8() {
        let mut message = request(&mut Bouncer::new(clock(), 0x10), 1, 100);
        assert_eq!(message[..44], REQUEST[..44]);
        message[44..48].copy_from_slice(&REQUEST[44..]);
        let read = BounceRequest::read(&message);
        let expected = BounceRequest {
            size: 100,
            reply: None,
            hold: 5000,
            tos: Some(0x10),
            quick_ack: true,
            trip_times: false,
        };
        assert_eq!(read, Some(expected));
        let usual = Bouncer::new(clock(), 0);
        let mut slow = Bouncer { quick_ack: false, trip_times: true, reply: Some(300), ..usual };
        let other = BounceRequest {
            reply: Some(300),
            hold: 0,
            tos: None,
            quick_ack: false,
            trip_times: true,
            ..expected
        };
        assert_eq!(BounceRequest::read(&request(&mut slow, 1, 100)), Some(other));
        assert_eq!(
            (is_bounceback(&message), is_bounceback(b"0123"), is_bounceback(b"\0")),
            (Some(true), Some(false), None)
        );
    }

    #[test]
    fn a_round_trip_has_the_times_of_both_clocks() {
        let (mut bouncer, mut bounce) = (Bouncer::new(clock(), 0), Bounce { clock: clock() });
        for sequence in [1, 2, u64::from(u32::MAX), 1 << 32, (1 << 32) + 1] {
            let mut message = request(&mut bouncer, sequence, 100);
            assert_eq!(bounce.frame(&message), Ok(Some(100)));
            assert_eq!(bounce.reflect(arrival(3_000_000), MonoTime(5_000_000), &mut message, 100), Some(100));
            assert_eq!(bouncer.frame(&message[..8]), Ok(Some(100)));
            let base = clock().wall.0;
            let far = FarTimes { received: Nanos(base + 2_000_000), sent: Nanos(base + 4_000_000) };
            assert_eq!(bouncer.reply(&message), Ok(Reply { sequence, far: Some(far), far_sequence: None }));
        }
    }

    #[test]
    fn a_reply_may_have_a_size_of_its_own() {
        let mut message = request(&mut Bouncer::new(clock(), 0), 1, 100);
        put_half(&mut message, 12, HAS_REPLY_SIZE);
        put(&mut message, 60, 300);
        message.resize(1000, 0);
        let reply = Bounce { clock: clock() }.reflect(arrival(0), MonoTime(0), &mut message, 100);
        assert_eq!(reply, Some(300));
        put(&mut message, 60, u32::MAX);
        let reply = Bounce { clock: clock() }.reflect(arrival(0), MonoTime(0), &mut message, 100);
        assert_eq!(reply, Some(1000), "no more than there is room for");
        assert_eq!(Bounce { clock: clock() }.reply_len(&message[..100]), MAX_BOUNCE);
        put(&mut message, 60, 1);
        assert_eq!(Bounce { clock: clock() }.reply_len(&message[..100]), MIN_REPLY);
    }

    #[test]
    fn a_client_may_ask_for_longer_and_shorter_replies() {
        for reply in [64, 500, 2000] {
            let (mut bouncer, mut bounce) =
                (Bouncer { reply: Some(reply), ..Bouncer::new(clock(), 0) }, Bounce { clock: clock() });
            let mut message = request(&mut bouncer, 7, 100);
            assert_eq!(bounce.reply_len(&message), reply as usize);
            message.resize(2000, 0);
            assert_eq!(bounce.reflect(arrival(0), MonoTime(0), &mut message, 100), Some(reply as usize));
            assert_eq!(bouncer.frame(&message[..8]), Ok(Some(reply as usize)));
            assert_eq!(bouncer.reply(&message[..reply as usize]).map(|reply| reply.sequence), Ok(7));
            assert!(matches!(
                bouncer.reply(&message[..reply as usize - 1]),
                Err(Stray::Length { .. } | Stray::Short(_))
            ));
        }
    }

    #[test]
    fn every_malformed_record_has_its_error() {
        let bounce = Bounce { clock: clock() };
        assert_eq!(bounce.frame(b"GET "), Err(Stray::Foreign));
        assert_eq!(bounce.frame(b"\0\x80\0\0\0\0"), Ok(None));
        for length in [0, 63, MAX_BOUNCE as u32 + 1, u32::MAX] {
            let head = [[0, 0x80, 0, 0], length.to_be_bytes()].concat();
            assert!(matches!(bounce.frame(&head), Err(Stray::Length { .. })), "{length}");
        }
        let mut bouncer = Bouncer::new(clock(), 0);
        let message = request(&mut bouncer, 7, 100);
        assert_eq!(bouncer.reply(&message[..59]), Err(Stray::Short(59)));
        let mut later = message.clone();
        put(&mut later, 8, 8);
        assert_eq!(bouncer.reply(&later), Err(Stray::Foreign), "a request that was not sent");
    }

    proptest! {
        #[test]
        fn any_bytes_are_an_answer(bytes: Vec<u8>, longer: bool) {
            let mut bytes = bytes;
            if longer {
                bytes.splice(0..0, [0, 0x80, 0, 0, 0, 0, 0, 0x64]);
                bytes.resize(100, 0);
            }
            let mut bouncer = Bouncer::new(clock(), 0);
            let _ = (bouncer.frame(&bytes), bouncer.reply(&bytes), BounceRequest::read(&bytes), is_bounceback(&bytes));
            let len = bytes.len();
            if let Some(reply) = (Bounce { clock: clock() }).reflect(arrival(0), MonoTime(0), &mut bytes, len) {
                prop_assert!(reply <= len);
            }
        }
    }
}
