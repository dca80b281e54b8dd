//! A client of SockPerf's that compares each reply, whole, with its request (`--data-integrity`).

use super::{CLIENT, Client, HEADER_LEN, Header};
use crate::echo::{Exchange, Reply, Request, Stray};

/// A [`Client`] with one message in flight at a time, whose reply has to be the same bytes.
#[derive(Clone, Debug)]
pub struct Comparing {
    client: Client,
    last: Vec<u8>,
}

impl Comparing {
    /// For any SockPerf server. No reply may be longer than `max` bytes.
    #[must_use]
    pub fn new(max: usize) -> Comparing {
        Comparing { client: Client::new(max), last: Vec::with_capacity(max) }
    }

    /// The client's flag, which the server clears, is set again, like sockperf does; then all bytes have to be equal.
    fn is_last(&self, header: Header, message: &[u8]) -> bool {
        let mut head = [0; HEADER_LEN];
        Header { flags: header.flags | CLIENT, ..header }.write(&mut head);
        self.last.starts_with(&head) && self.last[HEADER_LEN..] == message[HEADER_LEN..]
    }
}

impl Exchange for Comparing {
    fn request(&mut self, request: Request, message: &mut [u8]) {
        self.client.request(request, message);
        self.last.clear();
        self.last.extend_from_slice(message);
    }

    /// The same as [`Client`], and [`Stray::Altered`] for a message with the number of the last request that is not its echo.
    /// Late replies to earlier requests are not compared.
    fn reply(&mut self, message: &[u8]) -> Result<Reply, Stray> {
        let (last, header) = (Header::read(&self.last), Header::read(message));
        if let (Some(last), Some(header)) = (last, header)
            && header.flags & CLIENT == 0
            && header.sequence == last.sequence
            && !self.is_last(header, message)
        {
            return Err(Stray::Altered);
        }
        self.client.reply(message)
    }

    fn frame(&self, head: &[u8]) -> Result<Option<usize>, Stray> {
        self.client.frame(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::time::MonoTime;
    use proptest::prelude::*;

    fn ping(client: &mut Comparing, sequence: u64, len: usize) -> Vec<u8> {
        let mut message: Vec<u8> = (0..len).map(|at| at as u8).collect();
        client.request(Request { sequence, sent: MonoTime(5), wants_reply: true }, &mut message);
        message
    }

    fn pong(mut ping: Vec<u8>) -> Vec<u8> {
        ping[9] &= !1;
        ping
    }

    #[test]
    fn an_echo_is_a_reply_and_a_request_come_back_is_none() {
        let mut client = Comparing::new(100);
        let sent = ping(&mut client, 7, 60);
        assert_eq!(client.reply(&sent), Err(Stray::Foreign));
        let reply = Reply { sequence: 7, far: None, far_sequence: None };
        assert_eq!(client.reply(&pong(sent)), Ok(reply));
        assert_eq!(client.reply(&[0; 13]), Err(Stray::Short(13)));
    }

    #[test]
    fn a_late_reply_is_not_compared() {
        let mut client = Comparing::new(100);
        let first = pong(ping(&mut client, 1, 40));
        ping(&mut client, 2, 60);
        assert_eq!(client.reply(&first).map(|reply| reply.sequence), Ok(1));
    }

    proptest! {
        #[test]
        fn one_changed_byte_behind_the_number_is_detected(len in 14_usize..90, at in 8_usize..90, bit in 0_u32..8) {
            let mut client = Comparing::new(100);
            let mut reply = pong(ping(&mut client, 1, len));
            let at = at.min(len - 1);
            prop_assume!((at, bit) != (9, 0));
            reply[at] ^= 1 << bit;
            prop_assert_eq!(client.reply(&reply), Err(Stray::Altered));
        }

        #[test]
        fn a_reply_cut_short_or_grown_is_detected(len in 14_usize..90, other in 14_usize..90) {
            prop_assume!(len != other);
            let mut client = Comparing::new(100);
            let mut reply = pong(ping(&mut client, 1, len));
            reply.resize(other, 0);
            prop_assert_eq!(client.reply(&reply), Err(Stray::Altered));
        }

        #[test]
        fn no_message_from_outside_panics(bytes: Vec<u8>, asked: bool) {
            let mut client = Comparing::new(50);
            if asked {
                ping(&mut client, 1, 50);
            }
            client.reply(&bytes).ok();
        }
    }
}
