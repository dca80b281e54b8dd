//! The server: answers STAMP and TWAMP-Light senders.

use super::auth::Key;
use super::clock::{Clock, ErrorEstimate, Format, Timestamp};
use super::observed::Observation;
use super::packet::{Mode, ReflectorPacket, SenderPacket, is_reflected};
use super::reflected;
use super::sessions::Sessions;
use crate::echo::{Arrival, Reflect, Stray};
use model::time::MonoTime;
use model::units::Nanos;

/// Options of a reflector.
#[derive(Clone, Debug)]
pub struct ReflectorOptions {
    /// This end's clock.
    pub clock: Clock,
    /// The format of timestamps. A TWAMP-Light sender reads NTP alone (RFC 8762 section 4.6).
    pub format: Format,
    /// Does this end's clock follow an external source?
    pub synced: bool,
    /// Largest error of this end's clock.
    pub error: Nanos,
    /// Count the replies of each session, so that a sender knows in which direction packets were lost. Otherwise the sender's
    /// number is copied.
    pub stateful: bool,
    /// Answer only packets authenticated with this key.
    pub key: Option<Key>,
}

/// Answers each request with one reply of its length. A request shorter than a base packet, as TWAMP-Light's may be, gets a base
/// packet, as RFC 8762 section 4.6 demands (44 bytes for at least 14: the only reply that is longer).
#[derive(Debug)]
pub struct Reflector {
    options: ReflectorOptions,
    mode: Mode,
    /// TWAMP alone: no extensions, and this DSCP and ECN in every reply.
    twamp: Option<u8>,
    error: ErrorEstimate,
    sessions: Sessions,
    counts: ReflectorCounts,
    /// DSCP and ECN of the last reply.
    class: u8,
}

/// Counters of a reflector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReflectorCounts {
    /// Requests answered.
    pub answered: u64,
    /// Dropped: too short to be a request.
    pub short: u64,
    /// Dropped: not authenticated, or with another key.
    pub key: u64,
    /// Dropped: a reflector's packet, with which two reflectors would answer each other for ever.
    pub reflected: u64,
}

impl Reflector {
    /// A reflector without sessions.
    pub fn new(options: ReflectorOptions) -> Reflector {
        Reflector {
            mode: Mode::for_key(options.key.as_ref()),
            twamp: None,
            error: ErrorEstimate::new(options.format, options.synced, options.error),
            sessions: Sessions::new(MOST_SESSIONS),
            counts: ReflectorCounts::default(),
            class: 0,
            options,
        }
    }

    /// The reflector of one test that TWAMP's control connection agreed on (RFC 5357 section 4.2): it counts, bytes behind the
    /// fields are padding, and replies have this DSCP.
    pub fn twamp(clock: Clock, error: Nanos, dscp: u8) -> Reflector {
        let (format, synced) = (Format::Ntp, false);
        let options = ReflectorOptions { clock, format, synced, error, stateful: true, key: None };
        Reflector { twamp: Some(dscp << 2), ..Reflector::new(options) }
    }

    /// The counters so far.
    pub fn counts(&self) -> ReflectorCounts {
        self.counts
    }

    /// Sets the clock again, for when the host's clock was set after the server began. A running test measures the step.
    pub fn set_clock(&mut self, clock: Clock) {
        self.options.clock = clock;
    }

    /// Counts a request that is to be dropped.
    fn is_request(&mut self, message: &[u8]) -> bool {
        let signed = self.options.key.as_ref().map(|key| key.has_signed(message));
        let dropped = match signed {
            None if message.len() < TWAMP_SENDER_LEN => &mut self.counts.short,
            Some(false) => &mut self.counts.key,
            _ if is_reflected(self.mode, message) => &mut self.counts.reflected,
            _ => return true,
        };
        *dropped += 1;
        false
    }

    fn timestamp(&self, at: MonoTime) -> Timestamp {
        Timestamp::new(self.options.format, self.options.clock.at(at))
    }

    fn answer(&mut self, request: SenderPacket, arrival: Arrival, now: MonoTime) -> ReflectorPacket {
        let sequence = match self.options.stateful {
            true => self.sessions.count((arrival.from, request.ssid), request.sequence, arrival.received),
            false => request.sequence,
        };
        let (timestamp, error, ssid) = (self.timestamp(now), self.error, request.ssid);
        ReflectorPacket {
            own: SenderPacket { sequence, timestamp, error, ssid },
            received: self.timestamp(arrival.received),
            sender_sequence: request.sequence,
            sender_timestamp: request.timestamp,
            sender_error: request.error,
            sender_ttl: arrival.ttl.unwrap_or(UNKNOWN_TTL),
        }
    }
}

impl Reflect for Reflector {
    fn reflect(&mut self, arrival: Arrival, now: MonoTime, buf: &mut [u8], len: usize) -> Option<usize> {
        let base = if self.twamp.is_some() { TWAMP_REFLECTOR_LEN } else { self.mode.base_len() };
        let length = len.max(base);
        let message = buf.get(..len)?;
        if length > buf.len() || !self.is_request(message) {
            return None;
        }
        let mut request = SenderPacket::read(self.mode, message);
        if self.twamp.is_some() {
            // The bytes are padding, not a name.
            request.ssid = 0;
        }
        let answer = self.answer(request, arrival, now);
        self.counts.answered += 1;
        if let Some(class) = self.twamp {
            let mut packet = [0; Mode::Open.base_len()];
            answer.write(Mode::Open, &mut packet);
            buf[..base].copy_from_slice(&packet[..base]);
            self.class = class;
            return Some(length);
        }
        let (packet, tlvs) = buf[..length].split_at_mut(base);
        answer.write(self.mode, packet);
        let key = self.options.key.as_ref();
        let count = self.options.stateful.then(|| answer.own.sequence.wrapping_add(1));
        let observation = Observation { arrival, count };
        self.class = reflected::reflect(tlvs, request.sequence, answer.own.sequence, key, &observation);
        if let Some(key) = key {
            key.sign(packet);
        }
        Some(length)
    }

    fn stamps(&self) -> bool {
        true
    }

    fn class(&self) -> u8 {
        self.class
    }

    fn frame(&self, _: &[u8]) -> Result<Option<usize>, Stray> {
        Ok(None)
    }
}

/// Sessions that are counted at a time: half a MiB.
const MOST_SESSIONS: usize = 8192;

/// A TWAMP-Light sender's open packet without padding (RFC 5357 section 4.1.2).
const TWAMP_SENDER_LEN: usize = 14;

/// A TWAMP reflector's open packet without padding (RFC 5357 section 4.2.1).
const TWAMP_REFLECTOR_LEN: usize = 41;

/// TTL field of a reflector that cannot read the TTL (RFC 5357 section 4.2.1; RFC 8762 has no value for it).
const UNKNOWN_TTL: u8 = 255;

#[cfg(test)]
mod tests {
    use super::*;
    use model::time::WallTime;
    use proptest::prelude::*;

    /// Wall time 1970-01-01T00:00:01.5 at monotonic 1000 ns.
    fn options() -> ReflectorOptions {
        ReflectorOptions {
            clock: Clock { mono: MonoTime(1000), wall: WallTime(1_500_000_000) },
            format: Format::Ntp,
            synced: true,
            error: Nanos::from_nanos(976_562),
            stateful: false,
            key: None,
        }
    }

    fn keyed() -> (ReflectorOptions, Key) {
        let key = Key::new(b"a key of 17 bytes").unwrap();
        (ReflectorOptions { key: Some(key.clone()), ..options() }, key)
    }

    fn arrival(port: u16) -> Arrival {
        Arrival { ttl: Some(61), ..Arrival::new(([192, 0, 2, 1], port).into(), MonoTime(250_001_000)) }
    }

    fn answer(reflector: &mut Reflector, request: &[u8]) -> Option<Vec<u8>> {
        let mut buf = [request, &[0xdd; 112]].concat();
        let length = reflector.reflect(arrival(9), MonoTime(500_001_000), &mut buf, request.len())?;
        Some(buf[..length].to_vec())
    }

    fn request(mode: Mode, sequence: u32, ssid: u16) -> Vec<u8> {
        let mut packet = vec![0; mode.base_len()];
        let timestamp = Timestamp(0x1112_1314_1516_1718);
        SenderPacket { sequence, timestamp, error: ErrorEstimate(0x2122), ssid }.write(mode, &mut packet);
        packet
    }

    #[test]
    fn a_reply_is_these_bytes() {
        let request_bytes = [request(Mode::Open, 7, 0x3132), vec![0x80, 1, 0, 2, 0xab, 0xcd]].concat();
        let expected = [
            [0, 0, 0, 7].as_slice(),
            &[0x83, 0xaa, 0x7e, 0x82, 0, 0, 0, 0],
            &[0x8f, 0x80, 0x31, 0x32],
            &[0x83, 0xaa, 0x7e, 0x81, 0xc0, 0, 0, 0],
            &[0, 0, 0, 7],
            &[0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18],
            &[0x21, 0x22, 0, 0, 61, 0, 0, 0],
            &[0, 1, 0, 2, 0xab, 0xcd],
        ];
        assert_eq!(answer(&mut Reflector::new(options()), &request_bytes), Some(expected.concat()));
    }

    #[test]
    fn a_twamp_light_request_gets_the_base_packet() {
        let mut reflector = Reflector::new(options());
        let request_bytes = request(Mode::Open, 7, 0);
        for (length, replied) in [(14, 44), (41, 44), (44, 44)] {
            assert_eq!(answer(&mut reflector, &request_bytes[..length]).unwrap().len(), replied);
        }
        let padded = [&request_bytes[..14], &[0xaa; 100]].concat();
        let reply = answer(&mut reflector, &padded).unwrap();
        assert_eq!((reply.len(), reply[44..48].to_vec()), (114, vec![0xc0, 0xaa, 0xaa, 0xaa]));
        assert_eq!(answer(&mut reflector, &request_bytes[..13]), None);
        let counts = reflector.counts();
        assert_eq!((counts.answered, counts.short), (4, 1));
    }

    #[test]
    fn a_twamp_test_knows_no_extensions() {
        let mut reflector = Reflector::twamp(options().clock, Nanos::from_nanos(1), 46);
        // Read as STAMP, the padding is a Class of Service extension and one that is longer than the packet.
        let padding = [0x80, 4, 0, 4, 0xff, 0xff, 0, 0, 0x80, 9, 0xff, 0xff];
        let request_bytes = [request(Mode::Open, 7, 0x3132), padding.to_vec()].concat();
        let reply = answer(&mut reflector, &request_bytes).unwrap();
        assert_eq!((&reply[44..], reflector.class()), (&padding[..], 46 << 2));
        let reported = ReflectorPacket::read(Mode::Open, &reply);
        assert_eq!((reported.own.sequence, reported.sender_sequence, reported.own.ssid), (0, 7, 0));
        for (length, replied) in [(14, 41), (41, 41), (43, 43)] {
            assert_eq!(answer(&mut reflector, &request_bytes[..length]).unwrap().len(), replied);
        }
        let other = answer(&mut reflector, &request(Mode::Open, 8, 0x9999)).unwrap();
        assert_eq!(
            ReflectorPacket::read(Mode::Open, &other).own.sequence,
            4,
            "what would be a name is padding"
        );
        assert_eq!(answer(&mut reflector, &request_bytes[..13]), None);
        assert_eq!((reflector.counts().answered, reflector.counts().short), (5, 1));
    }

    #[test]
    fn a_buffer_without_room_gives_no_reply() {
        let mut buf = request(Mode::Open, 7, 0);
        let mut reflector = Reflector::new(options());
        assert_eq!(reflector.reflect(arrival(9), MonoTime(0), &mut buf[..20], 20), None);
        assert_eq!(reflector.reflect(arrival(9), MonoTime(0), &mut buf, 45), None);
        assert_eq!(reflector.reflect(arrival(9), MonoTime(0), &mut buf, 20), Some(44));
    }

    #[test]
    fn with_a_key_only_its_owner_is_answered() {
        let (options, key) = keyed();
        let mut reflector = Reflector::new(options);
        let mut request_bytes = request(Mode::Authenticated, 7, 0);
        assert_eq!(answer(&mut reflector, &request_bytes), None);
        assert_eq!(answer(&mut reflector, &request_bytes[..44]), None);
        Key::new(&[1; 16]).unwrap().sign(&mut request_bytes);
        assert_eq!(answer(&mut reflector, &request_bytes), None);
        key.sign(&mut request_bytes);
        let reply = answer(&mut reflector, &request_bytes).unwrap();
        assert!(key.has_signed(&reply));
        assert_eq!(reply[80], 61);
        assert_eq!(reflector.counts(), ReflectorCounts { answered: 1, key: 3, ..ReflectorCounts::default() });
    }

    #[test]
    fn a_stateful_reflector_counts_each_session() {
        let mut reflector = Reflector::new(ReflectorOptions { stateful: true, ..options() });
        let mut count = |sequence, ssid| {
            let reply = answer(&mut reflector, &request(Mode::Open, sequence, ssid)).unwrap();
            let reply = ReflectorPacket::read(Mode::Open, &reply);
            assert_eq!(reply.sender_sequence, sequence);
            reply.own.sequence
        };
        assert_eq!((count(0, 1), count(2, 1), count(5, 2), count(3, 1)), (0, 1, 0, 2));
    }

    #[test]
    fn an_unknown_ttl_is_255() {
        let mut buf = request(Mode::Open, 7, 0);
        let arrival = Arrival { ttl: None, ..arrival(9) };
        assert_eq!(Reflector::new(options()).reflect(arrival, MonoTime(0), &mut buf, 44), Some(44));
        assert_eq!(buf[40], 255);
    }

    #[test]
    fn two_reflectors_do_not_answer_each_other() {
        let mut reflector = Reflector::new(options());
        let reply = answer(&mut reflector, &request(Mode::Open, 7, 0)).unwrap();
        assert_eq!(answer(&mut reflector, &reply), None);
        let (options, key) = keyed();
        let mut reflector = Reflector::new(options);
        let mut request_bytes = request(Mode::Authenticated, 7, 0);
        key.sign(&mut request_bytes);
        let reply = answer(&mut reflector, &request_bytes).unwrap();
        assert_eq!(answer(&mut reflector, &reply), None);
        assert_eq!(reflector.counts().reflected, 1);
    }

    #[test]
    fn the_clock_can_be_set_anew() {
        let mut reflector = Reflector::new(ReflectorOptions { format: Format::Ptp, ..options() });
        reflector.set_clock(Clock { mono: MonoTime(250_001_000), wall: WallTime(7) });
        let reply = answer(&mut reflector, &request(Mode::Open, 7, 0)).unwrap();
        assert_eq!(ReflectorPacket::read(Mode::Open, &reply).received, Timestamp(7));
    }

    proptest! {
        #[test]
        fn any_bytes_get_a_reply_of_their_length_or_none(
            bytes in proptest::collection::vec(any::<u8>(), 0..300),
            stateful: bool,
            authenticated: bool,
            genuine: bool,
        ) {
            let (keyed, key) = keyed();
            let mut bytes = bytes;
            if authenticated && genuine && bytes.len() >= 112 {
                key.sign(&mut bytes);
            }
            let options = if authenticated { keyed } else { options() };
            let reply = answer(&mut Reflector::new(ReflectorOptions { stateful, ..options }), &bytes);
            let due = if authenticated { genuine && bytes.len() >= 112 } else { bytes.len() >= 14 };
            let looped = is_reflected(Mode::for_key(authenticated.then_some(&key)), &bytes);
            let expected = (due && !looped).then_some(bytes.len().max(44));
            prop_assert_eq!(reply.as_ref().map(Vec::len), expected);
            if let (Some(reply), true) = (reply, authenticated) {
                prop_assert!(key.has_signed(&reply));
            }
        }
    }
}
