//! Every message to a STAMP sender, open and with a key: only what echoes a request of its own is a reply.

use model::time::{MonoTime, WallTime};
use model::units::Nanos;
use std::cell::RefCell;
use wire::echo::{Exchange, Request, Stray};
use wire::stamp::{Clock, Format, Key, Mode, ReflectorPacket, Sender, SenderOptions, SenderPacket};

const REQUESTS: u64 = 5;

/// A sender and its requests.
type SentRequests = (Sender, Vec<Vec<u8>>);

fn sent_requests(key: Option<Key>) -> SentRequests {
    let mut sender = Sender::new(SenderOptions {
        clock: Clock { mono: MonoTime(0), wall: WallTime(1 << 60) },
        format: Format::Ntp,
        synced: false,
        error: Nanos::from_nanos(1),
        ssid: 9,
        key,
        far_counts: false,
    });
    let mut ask = |sequence| {
        let mut message = vec![0; 128];
        let request = Request { sequence, sent: MonoTime(sequence << 20), wants_reply: true };
        sender.request(request, &mut message);
        message
    };
    let requests = (1..=REQUESTS).map(&mut ask).collect();
    (sender, requests)
}

thread_local! {
    /// One sender without and one with a key. They are kept: a sender's table is large, and no reply ends it.
    static SENDERS: RefCell<[SentRequests; 2]> = RefCell::new([sent_requests(None), sent_requests(Some(key()))]);
}

fn key() -> Key {
    Key::new(b"known to both ends").expect("it is long enough")
}

/// Any message: if it is taken, it echoes a request.
fn any_message(mode: Mode, (sender, requests): &mut SentRequests, message: &[u8]) {
    if sender.reply(message).is_ok() {
        let packet = ReflectorPacket::read(mode, message);
        let request = SenderPacket::read(mode, &requests[packet.sender_sequence as usize]);
        assert_eq!(packet.sender_timestamp, request.timestamp);
    }
}

/// A message that is made to echo a request, if its number may be one's.
fn made_message(mode: Mode, (sender, requests): &mut SentRequests, message: &[u8]) {
    let mut message = message.to_vec();
    message.resize(message.len().max(mode.base_len()), 0);
    let mut packet = ReflectorPacket::read(mode, &message);
    let request = requests.get(packet.sender_sequence as usize % 8);
    if let Some(request) = request.map(|request| SenderPacket::read(mode, request)) {
        packet.sender_sequence = request.sequence;
        packet.sender_timestamp = request.timestamp;
    }
    packet.write(mode, &mut message);
    if mode == Mode::Authenticated {
        assert_eq!(sender.reply(&message), Err(Stray::Key));
        key().sign(&mut message);
    }
    let reply = sender.reply(&message);
    assert_eq!(reply.is_ok(), request.is_some() && matches!(packet.own.ssid, 0 | 9));
    if let Ok(reply) = reply {
        assert_eq!(reply.sequence, u64::from(packet.sender_sequence) + 1);
        assert!(reply.far_sequence.is_some_and(|far| far.proven) || packet.own.sequence == packet.sender_sequence);
    }
}

/// One input.
pub(crate) fn run(data: &[u8]) {
    SENDERS.with_borrow_mut(|senders| {
        for (mode, asked) in [Mode::Open, Mode::Authenticated].into_iter().zip(senders) {
            any_message(mode, asked, data);
            made_message(mode, asked, data);
        }
    });
}
