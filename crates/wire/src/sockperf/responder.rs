//! The server's half of SockPerf.

use super::{CLIENT, HEADER_LEN, Header, PONG, TIMES, TIMES_LEN, WARM_UP, frame};
use crate::echo::{Arrival, Reflect, Stray};
use model::time::MonoTime;
use std::net::SocketAddr;
use std::sync::Arc;

/// Turns pings into pongs: clears the client's flag and leaves all else unchanged.
///
/// A datagram is one message. A message shorter than the header or than its own length field, or longer than allowed, gets no
/// answer. A reply is never longer than its request, so the server cannot amplify a flood.
#[derive(Clone)]
#[must_use]
pub struct Responder {
    max: usize,
    /// False: takes messages and never replies (sockperf's `--dont-reply`).
    pub replies: bool,
    times: bool,
    /// Called for each message.
    pub watch: Option<Watch>,
}

/// Called for each message of a client, also for those without a reply, after the reply is ready.
pub type Watch = Arc<dyn Fn(Observation) + Send + Sync>;

/// A message of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Observation {
    /// The client.
    pub from: SocketAddr,
    /// Its time of arrival, on the server's clock.
    pub received: MonoTime,
    /// Its number.
    pub sequence: u64,
    /// The message is a warm-up: it is not part of the test and has no reply.
    pub warm_up: bool,
}

impl Responder {
    /// The same as sockperf's server: takes messages of up to `max` bytes.
    pub const fn new(max: usize) -> Responder {
        Responder { max, replies: true, times: false, watch: None }
    }

    /// The same as [`Responder::new`], and returns its clock where [`TIMES`] requests it.
    pub fn native(max: usize) -> Responder {
        Responder { times: true, ..Responder::new(max) }
    }

    fn answer(&self, header: Header, arrival: Arrival, now: MonoTime, message: &mut [u8]) -> Option<usize> {
        if !self.replies || !header.has(PONG) {
            return None;
        }
        Header { flags: header.flags & !CLIENT, ..header }.write(message);
        if self.times && header.has(TIMES) && message.len() >= TIMES_LEN {
            message[HEADER_LEN..HEADER_LEN + 8].copy_from_slice(&arrival.received.0.to_be_bytes());
            message[HEADER_LEN + 8..TIMES_LEN].copy_from_slice(&now.0.to_be_bytes());
        }
        Some(message.len())
    }
}

impl Reflect for Responder {
    fn reflect(&mut self, arrival: Arrival, now: MonoTime, buf: &mut [u8], len: usize) -> Option<usize> {
        let datagram = buf.get_mut(..len)?;
        let header = Header::read(datagram)?;
        let length = header.bounded(self.max).ok()?;
        let message = datagram.get_mut(..length)?;
        if !header.has(CLIENT) {
            return None;
        }
        let warm_up = header.has(WARM_UP);
        let reply = if warm_up { None } else { self.answer(header, arrival, now, message) };
        if let Some(watch) = &self.watch {
            let Arrival { from, received, .. } = arrival;
            watch(Observation { from, received, sequence: header.sequence, warm_up });
        }
        reply
    }

    fn returns_time(&self, len: usize) -> bool {
        (self.times && len >= TIMES_LEN) || self.watch.is_some()
    }

    fn frame(&self, head: &[u8]) -> Result<Option<usize>, Stray> {
        frame(head, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Client;
    use super::*;
    use crate::echo::{Exchange, FarTimes, Reply, Request};
    use model::units::Nanos;
    use proptest::prelude::*;
    use std::sync::Mutex;

    fn arrival() -> Arrival {
        Arrival::new(([192, 0, 2, 1], 9).into(), MonoTime(1000))
    }

    fn message(flags: u16, len: u32, size: usize) -> Vec<u8> {
        let mut message = vec![0xab; size];
        Header { sequence: 5, flags, len }.write(&mut message);
        message
    }

    fn reply(responder: &mut Responder, mut message: Vec<u8>) -> Option<Vec<u8>> {
        let len = message.len();
        let reply = responder.reflect(arrival(), MonoTime(1300), &mut message, len)?;
        message.truncate(reply);
        Some(message)
    }

    #[test]
    fn a_ping_comes_back_without_the_clients_flag() {
        let mut server = Responder::new(100);
        assert_eq!(reply(&mut server, message(CLIENT | PONG, 64, 64)), Some(message(PONG, 64, 64)));
        // Captured from sockperf: unknown flags are echoed, the native one among them.
        assert_eq!(reply(&mut server, message(0xff03, 14, 14)), Some(message(0xff02, 14, 14)));
        let times = message(CLIENT | PONG | TIMES, 40, 40);
        assert_eq!(reply(&mut server, times), Some(message(PONG | TIMES, 40, 40)));
    }

    #[test]
    fn what_has_no_reply() {
        let mut server = Responder::new(100);
        for flags in [0, CLIENT, PONG, WARM_UP | PONG, CLIENT | WARM_UP, CLIENT | PONG | WARM_UP] {
            assert_eq!(reply(&mut server, message(flags, 14, 14)), None, "flags {flags:#x}");
        }
        let mut silent = Responder { replies: false, ..Responder::new(100) };
        assert_eq!(reply(&mut silent, message(CLIENT | PONG, 14, 14)), None);
    }

    #[test]
    fn false_lengths_get_no_reply() {
        let mut server = Responder::new(100);
        let ping = |len, size| message(CLIENT | PONG, len, size);
        for (claimed, size) in [(0, 14), (13, 14), (15, 14), (101, 101), (101, 120), (u32::MAX, 20)] {
            assert_eq!(reply(&mut server, ping(claimed, size)), None, "{claimed} of {size}");
        }
        for size in 0..HEADER_LEN {
            assert_eq!(reply(&mut server, ping(14, 14)[..size].to_vec()), None, "{size}");
        }
        assert_eq!(
            reply(&mut server, ping(20, 90)),
            Some(message(PONG, 20, 20)),
            "what is behind is left out"
        );
        assert_eq!(
            reply(&mut server, ping(100, 100)),
            Some(message(PONG, 100, 100)),
            "and the next is answered"
        );
    }

    #[test]
    fn the_native_server_returns_its_clock() {
        let mut client = Client::native(100);
        let mut ping = vec![0xab; 32];
        client.request(Request { sequence: 8, sent: MonoTime(1), wants_reply: true }, &mut ping);
        let pong = reply(&mut Responder::native(100), ping).unwrap();
        let far = Some(FarTimes { received: Nanos::from_micros(1), sent: Nanos::from_nanos(1300) });
        assert_eq!(client.reply(&pong), Ok(Reply { sequence: 8, far, far_sequence: None }));
        assert_eq!(pong[30..], [0xab; 2]);
        let plain = message(CLIENT | PONG, 64, 64);
        assert_eq!(reply(&mut Responder::native(100), plain), Some(message(PONG, 64, 64)));
        let small = message(CLIENT | PONG | TIMES, 29, 64);
        assert_eq!(reply(&mut Responder::native(100), small), Some(message(PONG | TIMES, 29, 29)));
    }

    #[test]
    fn every_message_of_a_client_is_watched() {
        let observed = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&observed);
        let watch = Arc::new(move |message: Observation| {
            kept.lock().unwrap().push((message.sequence, message.warm_up))
        });
        let mut server = Responder { replies: false, watch: Some(watch), ..Responder::new(100) };
        for flags in [CLIENT, 0, CLIENT | PONG, CLIENT | WARM_UP, PONG] {
            reply(&mut server, message(flags, 14, 14));
        }
        reply(&mut server, message(CLIENT, 15, 14));
        assert_eq!(*observed.lock().unwrap(), [(5, false), (5, false), (5, true)]);
    }

    proptest! {
        #[test]
        fn a_reply_is_never_longer_than_its_request(bytes: Vec<u8>, len in 0_usize..200, max in 0_usize..200, native: bool) {
            let mut server = if native { Responder::native(max) } else { Responder::new(max) };
            let mut buf = bytes.clone();
            if let Some(reply) = server.reflect(arrival(), MonoTime(7), &mut buf, len) {
                prop_assert!(reply <= len && reply <= max && (HEADER_LEN..=bytes.len()).contains(&reply));
                prop_assert_eq!(&buf[..8], &bytes[..8]);
                prop_assert_eq!(buf[9] & 1, 0);
                let from = if native && buf[9] & 8 != 0 { TIMES_LEN.min(reply) } else { HEADER_LEN };
                prop_assert_eq!(&buf[from..], &bytes[from..]);
            }
        }

        #[test]
        fn a_client_takes_what_a_server_answers(sequence in 1_u64.., len in 14_usize..200, native: [bool; 2]) {
            let client = |native| if native { Client::native(200) } else { Client::new(200) };
            let mut server = if native[1] { Responder::native(200) } else { Responder::new(200) };
            let mut message = vec![1; len];
            client(native[0]).request(Request { sequence, sent: MonoTime(1), wants_reply: true }, &mut message);
            let sized = server.reflect(arrival(), MonoTime(1300), &mut message, len);
            prop_assert_eq!(sized, Some(len));
            let taken = client(native[0]).reply(&message);
            prop_assert_eq!(taken.map(|reply| reply.sequence), Ok(sequence));
        }
    }
}
