//! The client: numbers and stamps requests, and recognises them in the replies of STAMP and TWAMP-Light reflectors.

use super::auth::Key;
use super::clock::{Clock, ErrorEstimate, Format, Timestamp};
use super::packet::{Mode, ReflectorPacket, SenderPacket};
use super::tlv::{Tlv, write_padding};
use crate::echo::{Exchange, FarSequence, FarTimes, Reply, Request, Stray};
use model::units::Nanos;
use std::collections::VecDeque;

/// Options of a sender.
#[derive(Clone, Debug)]
pub struct SenderOptions {
    /// This end's clock.
    pub clock: Clock,
    /// The format of timestamps; every reflector reads NTP.
    pub format: Format,
    /// Does this end's clock follow an external source?
    pub synced: bool,
    /// Largest error of this end's clock.
    pub error: Nanos,
    /// Name of the session (RFC 8972 section 3), one for each socket; 0 for none.
    pub ssid: u16,
    /// The authenticated mode, with this key.
    pub key: Option<Key>,
    /// The reflector is known to count its replies. Otherwise this is detected by the first number that differs: until a request
    /// is lost, a reflector that counts looks like one that copies.
    pub far_counts: bool,
}

/// One session's sender. Every request gets a reply: STAMP has no requests without reply.
#[derive(Debug)]
pub struct Sender {
    options: SenderOptions,
    mode: Mode,
    error: ErrorEstimate,
    /// The last requests, oldest first, and the number on the wire of the oldest. RFC 8762 section 4.2.1: numbers begin at 0 and
    /// have no gaps.
    sent: VecDeque<Sent>,
    oldest: u64,
    /// Whether the reflector counts, its last count, and its count before the first request: it may know this address from an
    /// earlier session.
    far_counts: bool,
    far_sequence: u64,
    far_before: Option<u64>,
}

/// No STAMP message has this size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a STAMP message has {base} bytes, or {least} and more; {size} bytes cannot be made")]
pub struct SizeError {
    size: usize,
    base: usize,
    least: usize,
}

#[derive(Clone, Copy, Debug)]
struct Sent {
    sequence: u64,
    timestamp: Timestamp,
}

impl Sender {
    /// A sender that has sent nothing.
    pub fn new(options: SenderOptions) -> Sender {
        // The memory is written once here, so that no request waits for a page or a larger table.
        let mut sent = VecDeque::from(vec![Sent { sequence: 0, timestamp: Timestamp(1) }; REMEMBERED]);
        sent.clear();
        Sender {
            mode: Mode::for_key(options.key.as_ref()),
            error: ErrorEstimate::new(options.format, options.synced, options.error),
            sent,
            oldest: 0,
            far_counts: options.far_counts,
            far_sequence: 0,
            far_before: None,
            options,
        }
    }

    /// Can a message of `size` bytes be made? Valid sizes are that of the base packet, and those with room for the header of
    /// Extra Padding behind it. ([`Exchange::request`] fills the sizes between with zeros.)
    ///
    /// # Errors
    /// The size is not valid: the error names those that are.
    pub fn check_size(mode: Mode, size: usize) -> Result<(), SizeError> {
        let base = mode.base_len();
        let least = base + Tlv::HEADER_LEN;
        if size == base || size >= least { Ok(()) } else { Err(SizeError { size, base, least }) }
    }

    /// Remembers a request and returns its number on the wire. A request that is written again (the socket had no room) keeps its
    /// number.
    fn number(&mut self, sent: Sent) -> u64 {
        match self.sent.back_mut() {
            Some(last) if last.sequence == sent.sequence => *last = sent,
            _ => {
                if self.sent.len() == REMEMBERED {
                    self.sent.pop_front();
                    self.oldest += 1;
                }
                self.sent.push_back(sent);
            }
        }
        self.oldest + self.sent.len() as u64 - 1
    }

    /// The request whose number on the wire ends in these 32 bits.
    fn find(&self, number: u32) -> Option<Sent> {
        let index = number.wrapping_sub(self.oldest as u32);
        self.sent.get(usize::try_from(index).ok()?).copied()
    }

    /// Number of requests of this session that the reflector had answered before, if it counts them. A count that is ahead of
    /// ours at the first reply began with an earlier session.
    fn count(&mut self, packet: &ReflectorPacket) -> FarSequence {
        self.far_counts |= packet.own.sequence != packet.sender_sequence;
        // The number nearest to the last one that ends in these 32 bits.
        let step = packet.own.sequence.wrapping_sub(self.far_sequence as u32) as i32;
        self.far_sequence =
            self.far_sequence.checked_add_signed(step.into()).unwrap_or(packet.own.sequence.into());
        let ahead = packet.own.sequence.wrapping_sub(packet.sender_sequence) as i32;
        let before = *self.far_before.get_or_insert(u64::try_from(ahead).unwrap_or(0));
        FarSequence { before: self.far_sequence.saturating_sub(before), proven: self.far_counts }
    }

    fn checked(&self, message: &[u8]) -> Result<ReflectorPacket, Stray> {
        let least = if self.options.key.is_some() { self.mode.base_len() } else { TWAMP_REFLECTOR_LEN };
        if message.len() < least {
            return Err(Stray::Short(message.len()));
        }
        if self.options.key.as_ref().is_some_and(|key| !key.has_signed(message)) {
            return Err(Stray::Key);
        }
        Ok(ReflectorPacket::read(self.mode, message))
    }
}

impl Exchange for Sender {
    fn request(&mut self, request: Request, message: &mut [u8]) {
        let timestamp = Timestamp::new(self.options.format, self.options.clock.at(request.sent));
        let sequence = self.number(Sent { sequence: request.sequence, timestamp }) as u32;
        let packet = SenderPacket { sequence, timestamp, error: self.error, ssid: self.options.ssid };
        packet.write(self.mode, message);
        if let Some(key) = &self.options.key {
            key.sign(message);
        }
        match &mut message[self.mode.base_len()..] {
            padding if padding.len() >= Tlv::HEADER_LEN => write_padding(padding),
            few => few.fill(0),
        }
    }

    fn reply(&mut self, message: &[u8]) -> Result<Reply, Stray> {
        let packet = self.checked(message)?;
        let sent = self.find(packet.sender_sequence).ok_or(Stray::Foreign)?;
        // A reflector that does not know RFC 8972 returns no SSID; the session goes on.
        let named = packet.own.ssid == 0 || self.options.ssid == 0 || packet.own.ssid == self.options.ssid;
        if packet.sender_timestamp != sent.timestamp || !named {
            return Err(Stray::Foreign);
        }
        let format = packet.own.error.format();
        let (received, left) = (packet.received.since_1970(format), packet.own.timestamp.since_1970(format));
        Ok(Reply {
            sequence: sent.sequence,
            far: received.zip(left).map(|(received, sent)| FarTimes { received, sent }),
            far_sequence: Some(self.count(&packet)),
        })
    }

    fn skip(&mut self) {
        // No request has this time, so no reply can match it.
        self.number(Sent { sequence: 0, timestamp: Timestamp(0) });
    }

    fn frame(&self, _: &[u8]) -> Result<Option<usize>, Stray> {
        Ok(None)
    }
}

/// Number of requests remembered: the reply to an older one counts as foreign. 2 MiB; 13 s at 10,000 packets/s.
const REMEMBERED: usize = 1 << 17;

/// Length of a TWAMP-Light reflector's open packet, up to the Sender Error Estimate. With the Sender TTL, which some leave out,
/// it has 41 bytes (RFC 5357 section 4.2.1).
const TWAMP_REFLECTOR_LEN: usize = 38;

#[cfg(test)]
mod tests {
    use super::*;
    use model::time::{MonoTime, WallTime};

    /// Wall time 1970-01-01T00:00:01.5 at monotonic 1000 ns.
    fn options() -> SenderOptions {
        SenderOptions {
            clock: Clock { mono: MonoTime(1000), wall: WallTime(1_500_000_000) },
            format: Format::Ntp,
            synced: true,
            error: Nanos::from_nanos(976_562),
            ssid: 0x0a0b,
            key: None,
            far_counts: false,
        }
    }

    fn ask(sender: &mut Sender, sequence: u64, length: usize) -> Vec<u8> {
        let mut message = vec![0xee; length];
        let sent = MonoTime(1000 + 250_000_000 * (sequence - 1));
        sender.request(Request { sequence, sent, wants_reply: true }, &mut message);
        message
    }

    /// The reflector's packet for the request.
    fn answer(request: &[u8], sequence: u32) -> ReflectorPacket {
        let sent = SenderPacket::read(Mode::Open, request);
        ReflectorPacket {
            own: SenderPacket {
                sequence,
                timestamp: Timestamp::new(Format::Ptp, WallTime(9_000)),
                error: ErrorEstimate::new(Format::Ptp, true, Nanos::from_nanos(1)),
                ssid: sent.ssid,
            },
            received: Timestamp::new(Format::Ptp, WallTime(8_000)),
            sender_sequence: sent.sequence,
            sender_timestamp: sent.timestamp,
            sender_error: sent.error,
            sender_ttl: 64,
        }
    }

    /// The packet with this name of the session.
    fn named(ssid: u16, packet: ReflectorPacket) -> ReflectorPacket {
        ReflectorPacket { own: SenderPacket { ssid, ..packet.own }, ..packet }
    }

    fn read(sender: &mut Sender, packet: ReflectorPacket) -> Result<Reply, Stray> {
        let mut message = [0; 44];
        packet.write(Mode::Open, &mut message);
        sender.reply(&message)
    }

    #[test]
    fn a_request_is_these_bytes() {
        let mut sender = Sender::new(options());
        assert_eq!(ask(&mut sender, 1, 44)[..4], [0; 4]);
        let expected = [
            [0, 0, 0, 1].as_slice(),
            &[0x83, 0xaa, 0x7e, 0x81, 0xc0, 0, 0, 0],
            &[0x8f, 0x80, 0x0a, 0x0b],
            &[0; 28],
            &[0x80, 1, 0, 2, 0xee, 0xee],
        ];
        assert_eq!(ask(&mut sender, 2, 50), expected.concat());
        assert_eq!(ask(&mut sender, 3, 47)[44..], [0; 3]);
    }

    #[test]
    fn sizes_that_cannot_be_are_refused_with_those_that_can() {
        for (mode, size, possible) in [
            (Mode::Open, 43, false),
            (Mode::Open, 44, true),
            (Mode::Open, 45, false),
            (Mode::Open, 47, false),
            (Mode::Open, 48, true),
            (Mode::Open, 65_507, true),
            (Mode::Authenticated, 44, false),
            (Mode::Authenticated, 112, true),
            (Mode::Authenticated, 115, false),
            (Mode::Authenticated, 116, true),
        ] {
            assert_eq!(Sender::check_size(mode, size).is_ok(), possible, "{mode:?} {size}");
        }
        let text = Sender::check_size(Mode::Open, 45).unwrap_err().to_string();
        assert_eq!(text, "a STAMP message has 44 bytes, or 48 and more; 45 bytes cannot be made");
    }

    #[test]
    fn a_reply_has_the_far_times_in_the_far_format() {
        let mut sender = Sender::new(options());
        let request_bytes = ask(&mut sender, 1, 44);
        let far = Some(FarTimes { received: Nanos::from_micros(8), sent: Nanos::from_micros(9) });
        let reply = read(&mut sender, answer(&request_bytes, 0)).unwrap();
        assert_eq!(reply, Reply { sequence: 1, far, far_sequence: number(0, false) });
        // Without a receive time there are no far times.
        let silent = ReflectorPacket { received: Timestamp(0), ..answer(&request_bytes, 0) };
        assert_eq!(read(&mut sender, silent).unwrap().far, None);
    }

    #[test]
    fn a_twamp_light_reply_may_end_before_the_ttl() {
        let mut sender = Sender::new(options());
        let request_bytes = ask(&mut sender, 1, 44);
        let mut message = [0; 44];
        named(0, answer(&request_bytes, 0)).write(Mode::Open, &mut message);
        for length in [38, 41] {
            assert_eq!(sender.reply(&message[..length]).map(|reply| reply.sequence), Ok(1));
        }
        assert_eq!(sender.reply(&message[..37]), Err(Stray::Short(37)));
    }

    #[test]
    fn what_is_not_ours_is_foreign() {
        let mut sender = Sender::new(options());
        let request_bytes = ask(&mut sender, 1, 44);
        let right = answer(&request_bytes, 0);
        for wrong in [
            ReflectorPacket { sender_sequence: 1, ..right },
            ReflectorPacket { sender_sequence: u32::MAX, ..right },
            ReflectorPacket { sender_timestamp: Timestamp(right.sender_timestamp.0 + 1), ..right },
            named(0x0a0c, right),
        ] {
            assert_eq!(read(&mut sender, wrong), Err(Stray::Foreign), "{wrong:?}");
        }
        assert!(read(&mut sender, right).is_ok());
        assert!(read(&mut sender, named(0, right)).is_ok());
        // A sender without a name ignores the name in replies.
        let mut nameless = Sender::new(SenderOptions { ssid: 0, ..options() });
        ask(&mut nameless, 1, 44);
        assert!(read(&mut nameless, right).is_ok());
    }

    #[test]
    fn a_reflector_that_counts_is_found_out() {
        let mut sender = Sender::new(options());
        let request_bytes: Vec<_> = (1..=4).map(|sequence| ask(&mut sender, sequence, 44)).collect();
        let mut count =
            |at: usize, counted| read(&mut sender, answer(&request_bytes[at], counted)).unwrap().far_sequence;
        assert_eq!(count(0, 0), number(0, false));
        // Request 2 was lost before it arrived.
        assert_eq!(count(2, 1), number(1, true));
        assert_eq!(count(3, 2), number(2, true));
        let mut knowing = Sender::new(SenderOptions { far_counts: true, ..options() });
        let request_bytes = ask(&mut knowing, 1, 44);
        assert_eq!(read(&mut knowing, answer(&request_bytes, 0)).unwrap().far_sequence, number(0, true));
    }

    #[test]
    fn a_number_left_out_shows_who_counts() {
        for (counted, proven) in [(1, true), (2, false)] {
            let mut sender = Sender::new(options());
            let first = ask(&mut sender, 1, 44);
            assert_eq!(read(&mut sender, answer(&first, 0)).unwrap().far_sequence, number(0, false));
            sender.skip();
            let next = ask(&mut sender, 2, 44);
            assert_eq!(SenderPacket::read(Mode::Open, &next).sequence, 2);
            let reply = read(&mut sender, answer(&next, counted)).unwrap();
            assert_eq!((reply.sequence, reply.far_sequence), (2, number(counted.into(), proven)));
        }
    }

    fn number(before: u64, proven: bool) -> Option<FarSequence> {
        Some(FarSequence { before, proven })
    }

    #[test]
    fn what_was_counted_before_this_session_is_left_out() {
        let mut sender = Sender::new(options());
        let request_bytes: Vec<_> = (1..=4).map(|sequence| ask(&mut sender, sequence, 44)).collect();
        let mut count =
            |at: usize, counted| read(&mut sender, answer(&request_bytes[at], counted)).unwrap().far_sequence;
        assert_eq!(count(1, 1001), number(1, true));
        assert_eq!(count(3, 1002), number(2, true));
        assert_eq!(count(0, 999), number(0, true));
    }

    #[test]
    fn numbers_go_on_beyond_32_bits() {
        let mut sender = Sender::new(options());
        sender.oldest = (1 << 32) - 1;
        sender.far_sequence = (1 << 32) - 2;
        let request_bytes: Vec<_> = (1..=2).map(|sequence| ask(&mut sender, sequence, 44)).collect();
        assert_eq!(SenderPacket::read(Mode::Open, &request_bytes[1]).sequence, 0);
        let reply = read(&mut sender, answer(&request_bytes[1], u32::MAX)).unwrap();
        assert_eq!((reply.sequence, reply.far_sequence), (2, number((1 << 32) - 1, true)));
        let reply = read(&mut sender, answer(&request_bytes[0], 0)).unwrap();
        assert_eq!((reply.sequence, reply.far_sequence), (1, number(1 << 32, true)));
    }

    #[test]
    fn memory_does_not_grow_with_the_test() {
        let mut sender = Sender::new(options());
        let first = ask(&mut sender, 1, 44);
        for sequence in 2..=REMEMBERED as u64 + 1 {
            ask(&mut sender, sequence, 44);
        }
        let last = ask(&mut sender, REMEMBERED as u64 + 2, 44);
        assert_eq!(sender.sent.len(), REMEMBERED);
        assert_eq!(read(&mut sender, answer(&first, 0)), Err(Stray::Foreign));
        assert_eq!(read(&mut sender, answer(&last, 7)).unwrap().sequence, REMEMBERED as u64 + 2);
    }

    #[test]
    fn a_request_written_again_keeps_its_number() {
        let mut sender = Sender::new(options());
        ask(&mut sender, 1, 44);
        let again = ask(&mut sender, 1, 44);
        assert_eq!(SenderPacket::read(Mode::Open, &again).sequence, 0);
        assert_eq!(read(&mut sender, answer(&again, 0)).unwrap().sequence, 1);
    }
}
