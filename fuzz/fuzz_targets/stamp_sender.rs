//! Every message to a STAMP sender, open and with a key: only what echoes a request of its own is a reply.
#![no_main]

use model::time::{MonoTime, WallTime};
use model::units::Nanos;
use wire::echo::{Exchange, Request, Stray};
use wire::stamp::{Clock, Format, Key, Mode, ReflectorPacket, Sender, SenderOptions, SenderPacket};

const REQUESTS: u64 = 5;

/// A sender and its requests.
fn asked(key: Option<Key>) -> (Sender, Vec<Vec<u8>>) {
    let mut sender = Sender::new(SenderOptions {
        clock: Clock { mono: MonoTime(0), wall: WallTime(1 << 60) },
        format: Format::Ntp,
        synced: false,
        error: Nanos(1),
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

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let key = Key::new(b"known to both ends").expect("it is long enough");
    for key in [None, Some(key)] {
        let mode = Mode::of(key.as_ref());
        let (mut sender, requests) = asked(key.clone());
        if asked(key.clone()).0.reply(data).is_ok() {
            let packet = ReflectorPacket::read(mode, data);
            let asked = SenderPacket::read(mode, &requests[packet.sender_sequence as usize]);
            assert_eq!(packet.sender_timestamp, asked.timestamp);
        }

        let mut message = data.to_vec();
        message.resize(data.len().max(mode.base_len()), 0);
        let mut packet = ReflectorPacket::read(mode, &message);
        let request = requests.get(packet.sender_sequence as usize % 8);
        if let Some(asked) = request.map(|asked| SenderPacket::read(mode, asked)) {
            packet.sender_sequence = asked.sequence;
            packet.sender_timestamp = asked.timestamp;
        }
        packet.write(mode, &mut message);
        if let Some(key) = key {
            assert_eq!(sender.reply(&message), Err(Stray::Key));
            key.sign(&mut message);
        }
        let reply = sender.reply(&message);
        assert_eq!(reply.is_ok(), request.is_some() && matches!(packet.ssid, 0 | 9));
        if let Ok(reply) = reply {
            assert_eq!(reply.sequence, u64::from(packet.sender_sequence) + 1);
            assert_eq!(reply.far_sequence.is_some(), packet.sequence != packet.sender_sequence);
        }
    }
});
