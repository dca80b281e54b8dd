//! The client's half of SockPerf.

use super::{CLIENT, HEADER_LEN, Header, PONG, TIMES, TIMES_LEN, WARM_UP, frame};
use crate::echo::{Exchange, FarTimes, Reply, Request, Stray};
use model::units::Nanos;

/// Writes pings and reads pongs.
#[derive(Clone, Copy, Debug)]
pub struct Client {
    max: usize,
    times: bool,
}

impl Client {
    /// For any SockPerf server. No reply may be longer than `max` bytes.
    #[must_use]
    pub const fn new(max: usize) -> Client {
        Client { max, times: false }
    }

    /// For a native server: messages of at least [`TIMES_LEN`] bytes request its clock.
    #[must_use]
    pub const fn native(max: usize) -> Client {
        Client { max, times: true }
    }

    fn far_times(&self, header: Header, message: &[u8]) -> Option<FarTimes> {
        if !self.times || !header.has(TIMES) {
            return None;
        }
        let (received, rest) = message.get(HEADER_LEN..)?.split_first_chunk::<8>()?;
        let (sent, _) = rest.split_first_chunk::<8>()?;
        let nanos = |bytes: &[u8; 8]| Nanos(u64::from_be_bytes(*bytes));
        Some(FarTimes { received: nanos(received), sent: nanos(sent) })
    }
}

impl Exchange for Client {
    fn request(&mut self, request: Request, message: &mut [u8]) {
        let pong = if request.wants_reply { PONG } else { 0 };
        let times = if self.times && request.wants_reply && message.len() >= TIMES_LEN { TIMES } else { 0 };
        // Saturation is unreachable: no message has 4 GiB.
        let len = u32::try_from(message.len()).unwrap_or(u32::MAX);
        Header { sequence: request.sequence, flags: CLIENT | pong | times, len }.write(message);
    }

    /// The checks are sockperf's: a message with the client's flag comes from another client or from this one, and one without
    /// the pong flag is a reply. A warm-up is neither, nor is sequence number 0. SockPerf's replies have the request's length, in
    /// bytes and in the length field: any other is refused.
    fn reply(&mut self, message: &[u8]) -> Result<Reply, Stray> {
        let header = Header::read(message).ok_or(Stray::Short(message.len()))?;
        if header.bounded(self.max)? != message.len() {
            return Err(Stray::Length { claimed: header.len.into(), had: message.len() });
        }
        if header.flags & (CLIENT | WARM_UP) != 0 || header.sequence == 0 {
            return Err(Stray::Foreign);
        }
        Ok(Reply { sequence: header.sequence, far: self.far_times(header, message), far_sequence: None })
    }

    fn frame(&self, head: &[u8]) -> Result<Option<usize>, Stray> {
        frame(head, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::time::MonoTime;
    use proptest::prelude::*;

    fn ping(client: &mut Client, sequence: u64, wants_reply: bool, len: usize) -> Vec<u8> {
        let mut message = vec![0xab; len];
        client.request(Request { sequence, sent: MonoTime(5), wants_reply }, &mut message);
        message
    }

    fn message(sequence: u64, flags: u16, len: u32, size: usize) -> Vec<u8> {
        let mut message = vec![0; size];
        Header { sequence, flags, len }.write(&mut message);
        message
    }

    #[test]
    fn requests_as_captured_from_sockperf() {
        let mut client = Client::new(65_507);
        assert_eq!(ping(&mut client, 1, true, 14), *b"\0\0\0\0\0\0\0\x01\0\x03\0\0\0\x0e");
        // Under load, one message in ten requests a reply.
        assert_eq!(ping(&mut client, 9, false, 65)[..14], *b"\0\0\0\0\0\0\0\x09\0\x01\0\0\0\x41");
        assert_eq!(ping(&mut client, 10, true, 65)[..14], *b"\0\0\0\0\0\0\0\x0a\0\x03\0\0\0\x41");
        assert_eq!(ping(&mut client, 10, true, 65)[14..], [0xab; 51]);
    }

    #[test]
    fn the_clock_is_asked_for_natively_and_where_there_is_room() {
        let flags = |bytes: Vec<u8>| Header::read(&bytes).map(|header| header.flags);
        let mut native = Client::native(100);
        assert_eq!(flags(ping(&mut native, 1, true, 29)), Some(CLIENT | PONG));
        assert_eq!(flags(ping(&mut native, 1, true, 30)), Some(CLIENT | PONG | TIMES));
        assert_eq!(flags(ping(&mut native, 1, false, 30)), Some(CLIENT));
        assert_eq!(flags(ping(&mut Client::new(100), 1, true, 30)), Some(CLIENT | PONG));
    }

    #[test]
    fn the_servers_clock_is_read_where_it_is_promised() {
        let mut reply = message(7, PONG | TIMES, 30, 30);
        reply[14..22].copy_from_slice(&3_u64.to_be_bytes());
        reply[22..30].copy_from_slice(&4_u64.to_be_bytes());
        let far = Some(FarTimes { received: Nanos::from_nanos(3), sent: Nanos::from_nanos(4) });
        assert_eq!(Client::native(100).reply(&reply), Ok(Reply { sequence: 7, far, far_sequence: None }));
        assert_eq!(Client::new(100).reply(&reply).map(|reply| reply.far), Ok(None));
        let short = message(7, PONG | TIMES, 29, 29);
        assert_eq!(Client::native(100).reply(&short).map(|reply| reply.far), Ok(None));
        let unasked = message(7, PONG, 30, 30);
        assert_eq!(Client::native(100).reply(&unasked).map(|reply| reply.far), Ok(None));
    }

    #[test]
    fn replies_with_and_without_the_pong_flag() {
        let reply = Ok(Reply { sequence: 3, far: None, far_sequence: None });
        assert_eq!(Client::new(100).reply(&message(3, PONG, 20, 20)), reply);
        assert_eq!(Client::new(100).reply(&message(3, 0, 20, 20)), reply);
        assert_eq!(Client::new(100).reply(&message(3, 0xff06, 20, 20)), Err(Stray::Foreign), "warm-up");
        assert_eq!(Client::new(100).reply(&message(3, 0xff02, 20, 20)), reply);
    }

    #[test]
    fn every_malformed_reply_has_its_error() {
        let mut client = Client::new(100);
        assert_eq!(client.reply(&[0; 13]), Err(Stray::Short(13)));
        assert_eq!(client.reply(&message(3, CLIENT | PONG, 14, 14)), Err(Stray::Foreign));
        assert_eq!(client.reply(&message(0, PONG, 14, 14)), Err(Stray::Foreign));
        for (claimed, size) in [(15, 14), (14, 15), (13, 14), (0, 14)] {
            let stray = client.reply(&message(3, PONG, claimed, size));
            assert!(matches!(stray, Err(Stray::Length { .. })), "{claimed} of {size}: {stray:?}");
        }
        let large = client.reply(&message(3, PONG, 101, 101));
        assert_eq!(large, Err(Stray::Length { claimed: 101, had: 100 }));
    }

    proptest! {
        #[test]
        fn no_message_from_outside_panics(bytes: Vec<u8>, max in 0_usize..100, native: bool) {
            let mut client = if native { Client::native(max) } else { Client::new(max) };
            if let Ok(reply) = client.reply(&bytes) {
                prop_assert!(bytes.len() <= max && reply.sequence > 0);
                prop_assert_eq!(client.frame(&bytes), Ok(Some(bytes.len())));
            }
        }
    }
}
