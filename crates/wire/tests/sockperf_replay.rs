//! Recorded messages of real SockPerf clients and servers, 3.7 and 3.10: each of our halves takes the place of one end.
//!
//! A recording holds the first messages of a test, in hexadecimal, read by a proxy between the two.

use model::time::MonoTime;
use pathmeter_wire::echo::{Arrival, Exchange, Reflect, Request};
use pathmeter_wire::sockperf::{CLIENT, Client, HEADER_LEN, Header, MAX_TCP_LEN, PONG, Responder};
use std::path::{Path, PathBuf};

/// The messages between two ends.
struct Recorded {
    name: String,
    client: Vec<Vec<u8>>,
    server: Vec<Vec<u8>>,
}

impl Recorded {
    fn read(path: &Path) -> Recorded {
        let text = std::fs::read_to_string(path).expect("a recording");
        let messages_of = |end: &str| {
            let lines = text.lines().filter_map(|line| line.strip_prefix(end));
            lines.map(|hex| hex.as_bytes().chunks(2).map(byte).collect()).collect()
        };
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        Recorded { name, client: messages_of("C "), server: messages_of("S ") }
    }

    /// Every recording there is.
    fn all() -> Vec<Recorded> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts/sockperf");
        let entries = std::fs::read_dir(folder).expect("recordings");
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
        paths.sort();
        assert!(paths.len() >= MODES, "{paths:?}");
        paths.iter().map(|path| Recorded::read(path)).collect()
    }
}

fn byte(pair: &[u8]) -> u8 {
    u8::from_str_radix(std::str::from_utf8(pair).expect("ASCII"), 16).expect("hexadecimal")
}

fn header(message: &[u8]) -> Header {
    Header::read(message).expect("a header")
}

#[test]
fn our_server_answers_as_the_real_ones() {
    for Recorded { name, client, server } in Recorded::all() {
        let mut responder = Responder::new(MAX_TCP_LEN);
        let arrival = Arrival::new(([127, 0, 0, 1], 9).into(), MonoTime(1));
        let answers = client.iter().filter_map(|message| {
            let mut buffer = message.clone();
            let length = responder.reflect(arrival, MonoTime(1), &mut buffer, message.len())?;
            buffer.truncate(length);
            Some(buffer)
        });
        assert_eq!(answers.collect::<Vec<_>>(), server, "{name}");
    }
}

#[test]
fn our_client_asks_as_the_real_ones_and_takes_their_answers() {
    for Recorded { name, client, server } in Recorded::all() {
        let mut ours = Client::new(MAX_TCP_LEN);
        for message in &client {
            let Header { sequence, flags, .. } = header(message);
            assert_eq!(flags & !PONG, CLIENT, "{name}: no flags but those two");
            let request = Request { sequence, sent: MonoTime(1), wants_reply: flags & PONG > 0 };
            let mut written = message.clone();
            written[..HEADER_LEN].fill(0xee);
            ours.request(request, &mut written);
            assert_eq!(written, *message, "{name}");
        }
        for message in &server {
            assert_eq!(ours.frame(message), Ok(Some(message.len())), "{name}");
            let reply = ours.reply(message).expect("a reply");
            assert_eq!(reply.sequence, header(message).sequence, "{name}");
        }
        let wanted = client.iter().filter(|message| header(message).has(PONG)).count();
        assert_eq!(wanted, server.len(), "{name}: as many replies as were wanted");
    }
}

#[test]
fn numbers_begin_with_one_and_follow_one_another() {
    for Recorded { name, client, .. } in Recorded::all() {
        let numbers: Vec<u64> = client.iter().map(|message| header(message).sequence).collect();
        assert_eq!(numbers, (1..=client.len() as u64).collect::<Vec<_>>(), "{name}");
    }
}

/// Fewest recordings: the same modes of both versions, and of one against the other.
const MODES: usize = 12;
