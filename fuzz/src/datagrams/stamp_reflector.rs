//! Every packet to a STAMP reflector, open and with a key. A reply is as long as its request, only a request shorter
//! than a base packet gets more, and two reflectors do not answer each other for ever.

use model::time::{MonoTime, WallTime};
use model::units::Nanos;
use wire::echo::{Arrival, Reflect};
use wire::stamp::{Clock, Format, Key, Reflector, ReflectorOptions, Tlvs};

fn key() -> Key {
    Key::new(b"known to both ends").expect("it is long enough")
}

fn reflector(keyed: bool, choice: u8) -> Reflector {
    Reflector::new(ReflectorOptions {
        clock: Clock { mono: MonoTime(1 << 30), wall: WallTime(1 << 60) },
        format: if choice & 1 == 0 { Format::Ntp } else { Format::Ptp },
        synced: choice & 2 != 0,
        error: Nanos::from_nanos(1 << (choice >> 3)),
        stateful: choice & 4 != 0,
        key: keyed.then(key),
    })
}

/// The reply to `packet`.
fn answer(reflector: &mut Reflector, packet: &[u8], base: usize) -> Option<Vec<u8>> {
    let mut buf = packet.to_vec();
    buf.resize(packet.len().max(112), 0xff);
    let arrival = Arrival::new(([192, 0, 2, 1], 9).into(), MonoTime(1 << 31));
    let length = reflector.reflect(arrival, MonoTime(1 << 32), &mut buf, packet.len())?;
    assert_eq!(length, packet.len().max(base));
    buf.truncate(length);
    Some(buf)
}

/// One input.
pub(crate) fn run(data: &[u8]) {
    let Some((choice, packet)) = data.split_first() else { return };
    let mut open = reflector(false, *choice);
    let mut reply = answer(&mut open, packet, 44);
    assert_eq!(reply.is_none(), packet.len() < 14 || open.counts().reflected == 1);
    for _ in 0..2 {
        reply = reply.and_then(|reply| answer(&mut open, &reply, 44));
    }
    assert_eq!(reply, None);

    let mut keyed = reflector(true, *choice);
    assert_eq!(answer(&mut keyed, packet, 112), None);
    if packet.len() < 112 {
        return;
    }
    let mut signed = packet.to_vec();
    key().sign(&mut signed);
    let reply = answer(&mut keyed, &signed, 112);
    assert_eq!(reply.is_none(), keyed.counts().reflected == 1);
    if let Some(reply) = reply {
        assert!(key().has_signed(&reply));
        assert_eq!(Tlvs::new(&reply[112..]).count(), Tlvs::new(&packet[112..]).count());
    }
}
