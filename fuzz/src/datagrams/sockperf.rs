//! SockPerf's messages, from an unauthenticated sender to the server and to the client. No sender gets more bytes than it sent.

use model::time::MonoTime;
use wire::echo::{Arrival, Exchange, Reflect};
use wire::sockperf::{Client, HEADER_LEN, Responder, TIMES_LEN};

/// One input.
pub(crate) fn run(data: &[u8]) {
    let Some((&[max, announced], message)) = data.split_first_chunk() else { return };
    let max = usize::from(max) * 4;
    for mut server in [Responder::new(max), Responder::native(max)] {
        let mut buf = message.to_vec();
        let len = usize::from(announced).min(message.len() + 1);
        let arrival = Arrival::new(([192, 0, 2, 1], 9).into(), MonoTime(1));
        let Some(reply) = server.reflect(arrival, MonoTime(2), &mut buf, len) else { continue };
        assert!(reply <= len && reply <= max);
        assert_eq!(buf[TIMES_LEN.min(buf.len())..], message[TIMES_LEN.min(buf.len())..]);
        let taken = Client::native(max).reply(&buf[..reply]);
        let numbered = message[..8] != [0; 8];
        assert_eq!(
            taken.map(|reply| reply.sequence.to_be_bytes()).ok(),
            numbered.then(|| message[..8].try_into().unwrap())
        );
    }
    let mut client = Client::native(max);
    assert!(client.reply(message).is_err() || client.frame(message) == Ok(Some(message.len())));
    let framed = Responder::new(max).frame(message);
    assert!(framed.is_err() || message.len() >= HEADER_LEN || framed == Ok(None));
}
