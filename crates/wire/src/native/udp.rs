//! Opening a UDP flow: the client repeats HELLO until the server, sure of the client's address, acknowledges.
//!
//! ```text
//! 0         7      8         9     46                46       62   64
//! | PMTRUDP | kind | version | as in flow.rs (37 bytes) | cookie | 0 |   HELLO, 64 bytes, client to server
//! | PMTRUDP | kind | stream | session | cookie |                         CHALLENGE, 44 bytes, server to client
//! | PMTRUDP | kind | stream | session | MAC    |                         ACK, 44 bytes, server to client
//! ```
//!
//! The cookie is a MAC over the client's address under a secret of the server: the server remembers nothing of a
//! HELLO without its cookie, answers it with fewer bytes than came, and allows nothing to an address that has neither
//! echoed a cookie (as in RFC 9000 section 8.1) nor opened the session's control connection.

use super::VERSIONS;
use super::flow::{BODY_LEN, FlowHello};
use crate::hex::{FlowKey, SessionId, hmac_sha256, same, short};
use model::plan::Transport;
use model::time::MonoTime;
use model::units::Nanos;
use std::net::{IpAddr, SocketAddr};

/// Bytes of HELLO.
pub const HELLO_LEN: usize = 64;
/// Bytes of CHALLENGE and of ACK.
pub const ANSWER_LEN: usize = 44;

/// The client's side of opening one flow: the driver sends the datagrams of [`UdpOpen::step`] and passes in the datagrams that
/// arrive.
#[derive(Clone, Debug)]
pub struct UdpOpen {
    hello: FlowHello,
    key: FlowKey,
    cookie: [u8; 16],
    send_at: MonoTime,
    pause: Nanos,
    deadline: MonoTime,
    open: bool,
}

/// The client's next action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UdpStep {
    /// Send this datagram, then call again.
    Send([u8; HELLO_LEN]),
    /// Wait for a datagram, until this time.
    Wait(MonoTime),
    /// The flow is open.
    Open,
    /// The server has not answered for five seconds.
    NoAnswer,
}

impl UdpOpen {
    /// Begins to open one flow of a session.
    pub fn new(session: SessionId, stream: u32, key: &FlowKey, now: MonoTime) -> UdpOpen {
        UdpOpen {
            hello: FlowHello::new(session, Transport::Udp, stream, key),
            key: *key,
            cookie: [0; 16],
            send_at: now,
            pause: FIRST_PAUSE,
            deadline: now + DEADLINE,
            open: false,
        }
    }

    /// Takes a datagram; datagrams outside of this handshake have no effect.
    pub fn input(&mut self, datagram: &[u8], now: MonoTime) {
        match read_answer(datagram, &self.hello) {
            Some((CHALLENGE, cookie)) if cookie != self.cookie => {
                self.cookie = cookie;
                self.send_at = now;
                self.pause = FIRST_PAUSE;
            }
            Some((ACK, mac)) => self.open |= same(&mac, &ack_mac(&self.hello, &self.key)),
            _ => {}
        }
    }

    /// The next step.
    pub fn step(&mut self, now: MonoTime) -> UdpStep {
        if self.open {
            return UdpStep::Open;
        }
        if now >= self.deadline {
            return UdpStep::NoAnswer;
        }
        if now < self.send_at {
            return UdpStep::Wait(self.send_at.min(self.deadline));
        }
        self.send_at = now + self.pause;
        self.pause = Nanos(self.pause.0 * 3 / 2).min(LONGEST_PAUSE);
        UdpStep::Send(hello_bytes(&self.hello, &self.cookie))
    }
}

/// The server's side: answers HELLOs at the port without keeping state.
#[derive(Clone)]
pub struct UdpGate {
    secret: [u8; 32],
}

/// The server's action on a datagram at its port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateAnswer {
    /// The sender has proved nothing yet. Treat this as [`GateAnswer::Open`] if the control connection of its session comes from the
    /// same address, which TCP has proved; otherwise send this CHALLENGE back.
    Challenge(FlowHello, [u8; ANSWER_LEN]),
    /// The sender owns its address and requests this flow: check that it [proves](FlowHello::proves) the session's key, then send
    /// [`acknowledge`] from the flow's own socket.
    Open(FlowHello),
    /// A foreign datagram: no answer.
    Ignore,
}

impl UdpGate {
    /// A gate with 32 random bytes of this run of the server.
    pub fn new(secret: [u8; 32]) -> UdpGate {
        UdpGate { secret }
    }

    /// Judges a datagram that arrived at the port from an unknown address.
    pub fn input(&self, from: SocketAddr, datagram: &[u8], now: MonoTime) -> GateAnswer {
        let Some((hello, cookie)) = read_hello(datagram) else { return GateAnswer::Ignore };
        let slot = now.0 / COOKIE_SLOT.0;
        let valid = |slot| same(&cookie, &self.cookie(from, &hello, slot));
        if valid(slot) || slot.checked_sub(1).is_some_and(valid) {
            return GateAnswer::Open(hello);
        }
        let challenge = answer_bytes(CHALLENGE, &hello, &self.cookie(from, &hello, slot));
        GateAnswer::Challenge(hello, challenge)
    }

    fn cookie(&self, from: SocketAddr, hello: &FlowHello, slot: u64) -> [u8; 16] {
        let address = match from.ip() {
            IpAddr::V4(v4) => v4.to_ipv6_mapped().octets(),
            IpAddr::V6(v6) => v6.octets(),
        };
        let parts: [&[u8]; 6] = [
            b"pathmeter native 1 cookie",
            &address,
            &from.port().to_be_bytes(),
            hello.session.bytes(),
            &hello.stream.to_be_bytes(),
            &slot.to_be_bytes(),
        ];
        short(&hmac_sha256(&self.secret, &parts))
    }
}

/// The server's ACK of a flow that is open.
pub fn acknowledge(hello: &FlowHello, key: &FlowKey) -> [u8; ANSWER_LEN] {
    answer_bytes(ACK, hello, &ack_mac(hello, key))
}

/// The ACK once more, when the datagram is a repeated HELLO of this open flow (the first ACK was lost): for datagrams at the
/// flow's own socket that are not data.
pub fn acknowledge_again(datagram: &[u8], open: &FlowHello, key: &FlowKey) -> Option<[u8; ANSWER_LEN]> {
    let (hello, _) = read_hello(datagram)?;
    (hello == *open).then(|| acknowledge(open, key))
}

/// The kind of an answer to this HELLO, and its cookie or MAC; `None` for other datagrams.
fn read_answer(datagram: &[u8], hello: &FlowHello) -> Option<(u8, [u8; 16])> {
    let bytes = datagram.first_chunk::<ANSWER_LEN>()?.strip_prefix(MAGIC.as_slice())?;
    let (&kind, rest) = bytes.split_first()?;
    let (stream, rest) = rest.split_first_chunk()?;
    let (session, proof) = rest.split_first_chunk()?;
    let is_ours = u32::from_be_bytes(*stream) == hello.stream && session == hello.session.bytes();
    Some((kind, *proof.first_chunk()?)).filter(|_| is_ours)
}

fn hello_bytes(hello: &FlowHello, cookie: &[u8; 16]) -> [u8; HELLO_LEN] {
    let mut bytes = [0; HELLO_LEN];
    bytes[..7].copy_from_slice(&MAGIC);
    bytes[7] = HELLO;
    bytes[8] = VERSIONS.1;
    hello.write_body(&mut bytes[9..]);
    bytes[9 + BODY_LEN..62].copy_from_slice(cookie);
    bytes
}

/// Reads a HELLO, which is at least as long as ours: the answer to a shorter one could have more bytes.
fn read_hello(datagram: &[u8]) -> Option<(FlowHello, [u8; 16])> {
    let bytes = datagram.first_chunk::<HELLO_LEN>()?;
    if bytes[..7] != MAGIC || bytes[7] != HELLO || bytes[8] < VERSIONS.0 {
        return None;
    }
    Some((FlowHello::read_body(&bytes[9..])?, *bytes[9 + BODY_LEN..].first_chunk()?))
}

fn answer_bytes(kind: u8, hello: &FlowHello, proof: &[u8; 16]) -> [u8; ANSWER_LEN] {
    let mut bytes = [0; ANSWER_LEN];
    bytes[..7].copy_from_slice(&MAGIC);
    bytes[7] = kind;
    bytes[8..12].copy_from_slice(&hello.stream.to_be_bytes());
    bytes[12..28].copy_from_slice(hello.session.bytes());
    bytes[28..].copy_from_slice(proof);
    bytes
}

fn ack_mac(hello: &FlowHello, key: &FlowKey) -> [u8; 16] {
    key.sign(&[b"pathmeter native 1 ack", hello.session.bytes(), &hello.stream.to_be_bytes()])
}

const MAGIC: [u8; 7] = *b"PMTRUDP";
const HELLO: u8 = 1;
const CHALLENGE: u8 = 2;
const ACK: u8 = 3;

const FIRST_PAUSE: Nanos = Nanos::from_millis(100);
const LONGEST_PAUSE: Nanos = Nanos::from_millis(300);
const DEADLINE: Nanos = Nanos::from_secs(5);
/// A cookie is valid for one to two slots of this length.
const COOKIE_SLOT: Nanos = Nanos::from_secs(10);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const KEY: FlowKey = FlowKey::new([5; 32]);
    const SESSION: SessionId = SessionId::new([9; 16]);

    fn client() -> SocketAddr {
        "192.0.2.1:4000".parse().unwrap()
    }

    fn sent(open: &mut UdpOpen, now: MonoTime) -> [u8; HELLO_LEN] {
        match open.step(now) {
            UdpStep::Send(bytes) => bytes,
            other => panic!("expected a HELLO, got {other:?}"),
        }
    }

    #[test]
    fn a_flow_opens_in_two_round_trips() {
        let gate = UdpGate::new([1; 32]);
        let now = MonoTime(50_000_000_000);
        let mut open = UdpOpen::new(SESSION, 2, &KEY, now);
        let GateAnswer::Challenge(_, challenge) = gate.input(client(), &sent(&mut open, now), now) else {
            panic!("the first HELLO has no cookie");
        };
        open.input(&challenge, now);
        let echo = sent(&mut open, now);
        let GateAnswer::Open(hello) = gate.input(client(), &echo, now) else { panic!("cookie echoed") };
        assert!(hello.proves(Transport::Udp, &KEY));
        assert_eq!(acknowledge_again(&echo, &hello, &KEY), Some(acknowledge(&hello, &KEY)));
        open.input(&acknowledge(&hello, &FlowKey::new([6; 32])), now);
        assert!(matches!(open.step(now), UdpStep::Wait(_)), "an ACK without the key is not believed");
        open.input(&acknowledge(&hello, &KEY), now);
        assert_eq!(open.step(now), UdpStep::Open);
    }

    #[test]
    fn a_cookie_is_good_for_one_address_one_flow_and_a_short_time() {
        let gate = UdpGate::new([1; 32]);
        let now = MonoTime(50_000_000_000);
        let mut open = UdpOpen::new(SESSION, 2, &KEY, now);
        let GateAnswer::Challenge(_, challenge) = gate.input(client(), &sent(&mut open, now), now) else {
            panic!("the first HELLO has no cookie");
        };
        open.input(&challenge, now);
        let echo = sent(&mut open, now);
        let opens =
            |from: &str, at| matches!(gate.input(from.parse().unwrap(), &echo, at), GateAnswer::Open(_));
        assert!(opens("192.0.2.1:4000", now + COOKIE_SLOT));
        assert!(opens("[::ffff:192.0.2.1]:4000", now), "a mapped address is the same address");
        assert!(!opens("192.0.2.1:4000", now + COOKIE_SLOT + COOKIE_SLOT));
        assert!(!opens("192.0.2.1:4001", now));
        assert!(!opens("192.0.2.2:4000", now));
        let mut other_stream = echo;
        other_stream[13] ^= 1;
        assert!(!matches!(gate.input(client(), &other_stream, now), GateAnswer::Open(_)));
    }

    #[test]
    fn hello_is_repeated_until_the_deadline() {
        let mut open = UdpOpen::new(SESSION, 0, &KEY, MonoTime(0));
        let (mut now, mut times) = (MonoTime(0), Vec::new());
        loop {
            match open.step(now) {
                UdpStep::Send(_) => times.push(now),
                UdpStep::Wait(until) => now = until,
                UdpStep::NoAnswer => break,
                UdpStep::Open => panic!("no server answered"),
            }
        }
        assert_eq!(now, MonoTime(0) + DEADLINE);
        assert_eq!(times[1], MonoTime(100_000_000));
        assert_eq!(times.len(), 19, "{times:?}");
    }

    proptest! {
        #[test]
        fn the_gate_never_answers_with_more_than_came(bytes in prop::collection::vec(any::<u8>(), 0..100), hello: bool) {
            let gate = UdpGate::new([1; 32]);
            let bytes = if hello { [b"PMTRUDP\x01\x01".as_slice(), &bytes].concat() } else { bytes };
            match gate.input(client(), &bytes, MonoTime(0)) {
                GateAnswer::Challenge(_, answer) => prop_assert!(answer.len() < bytes.len()),
                GateAnswer::Open(_) => prop_assert!(false, "no cookie was given out"),
                GateAnswer::Ignore => {}
            }
        }

        #[test]
        fn strange_answers_do_not_open(bytes in prop::collection::vec(any::<u8>(), 0..60), kind in 0..4_u8) {
            let mut open = UdpOpen::new(SESSION, 0, &KEY, MonoTime(0));
            open.input(&bytes, MonoTime(0));
            let prefix = [b"PMTRUDP".as_slice(), &[kind, 0, 0, 0, 0], &[9; 16]].concat();
            open.input(&[prefix, bytes].concat(), MonoTime(0));
            prop_assert_ne!(open.step(MonoTime(1)), UdpStep::Open);
        }
    }
}
