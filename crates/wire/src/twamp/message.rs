//! The messages of the control connection, all of fixed length and big-endian. In the unauthenticated mode keys, tokens,
//! initialisation vectors and HMACs are empty: they are written as zero and not read.

use crate::fixed::{get, put};
use crate::stamp::Timestamp;
use model::units::Nanos;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The server's first message (RFC 4656 section 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// Supported modes, one bit each; 0: the server refuses the connection.
    pub modes: u32,
}

/// The client's choice of a mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetUp {
    /// One of the modes; 0: none of them is acceptable.
    pub mode: u32,
}

/// The server's answer to the choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// Whether the connection goes on.
    pub accept: Accept,
    /// When the server started.
    pub begun: Timestamp,
}

/// A test that the client wants (Request-TW-Session, RFC 5357 section 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Source address of the packets; absent: the control connection's.
    pub sender: Option<IpAddr>,
    /// Source port of the packets.
    pub sender_port: u16,
    /// Destination address of the packets; absent: the control connection's.
    pub receiver: Option<IpAddr>,
    /// The port that the client would like.
    pub receiver_port: u16,
    /// Bytes behind the header of the sender's packets.
    pub padding: u32,
    /// Earliest start of the test, once it is requested to start.
    pub start: Timestamp,
    /// Time for which packets are answered after its end.
    pub timeout: Nanos,
    /// Type-P Descriptor: DSCP in the bits 2 to 7 of the first byte.
    pub type_p: u32,
}

/// The server's answer to the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accepted {
    /// Whether the test is accepted.
    pub accept: Accept,
    /// Port on which packets are answered; in a refusal, a port that is available, or 0.
    pub port: u16,
    /// The test's name.
    pub session: [u8; 16],
}

/// The server's answer to Start-Sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StartAck {
    /// Whether all tests have begun.
    pub accept: Accept,
}

/// The client's end of all tests (Stop-Sessions, RFC 5357 section 3.8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Outcome of the tests.
    pub accept: Accept,
    /// Number of tests.
    pub sessions: u32,
}

/// One end's answer to the other's request (RFC 4656 section 3.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accept(pub u8);

impl Accept {
    /// Accepted.
    pub const OK: Accept = Accept(0);
    /// Failure, reason unspecified.
    pub const FAILED: Accept = Accept(1);
    /// Internal error.
    pub const INTERNAL: Accept = Accept(2);
    /// Some aspect of the request is not supported.
    pub const UNSUPPORTED: Accept = Accept(3);
    /// Permanent resource limitation.
    pub const NEVER: Accept = Accept(4);
    /// Temporary resource limitation.
    pub const NOT_NOW: Accept = Accept(5);

    /// The meaning in words.
    pub fn reason(self) -> String {
        match self {
            Accept::OK => "accepted".into(),
            Accept::FAILED => "it gives no reason".into(),
            Accept::INTERNAL => "it has an internal error".into(),
            Accept::UNSUPPORTED => "it does not support what was asked for".into(),
            Accept::NEVER => "its limits do not allow it".into(),
            Accept::NOT_NOW => "its resources are used up for now".into(),
            Accept(code) => format!("it sends {code}, which has no meaning"),
        }
    }
}

impl Greeting {
    /// Length of the message, bytes.
    pub const LEN: usize = 64;

    /// The message. The count of iterations, which no key needs, still has to be a power of two from 1024.
    pub fn write(self) -> [u8; Self::LEN] {
        let mut message = [0; Self::LEN];
        put(&mut message, 12, self.modes.to_be_bytes());
        put(&mut message, 48, 1024_u32.to_be_bytes());
        message
    }

    /// Reads the message.
    pub fn read(message: &[u8]) -> Greeting {
        Greeting { modes: u32::from_be_bytes(get(message, 12)) }
    }
}

impl SetUp {
    /// Length of the message, bytes.
    pub const LEN: usize = 164;

    /// The message.
    pub fn write(self) -> [u8; Self::LEN] {
        let mut message = [0; Self::LEN];
        put(&mut message, 0, self.mode.to_be_bytes());
        message
    }

    /// Reads the message.
    pub fn read(message: &[u8]) -> SetUp {
        SetUp { mode: u32::from_be_bytes(get(message, 0)) }
    }
}

impl Start {
    /// Length of the message, bytes.
    pub const LEN: usize = 48;

    /// The message.
    pub fn write(self) -> [u8; Self::LEN] {
        let mut message = [0; Self::LEN];
        put(&mut message, 15, [self.accept.0]);
        put(&mut message, 32, self.begun.0.to_be_bytes());
        message
    }

    /// Reads the message.
    pub fn read(message: &[u8]) -> Start {
        let [accept] = get(message, 15);
        Start { accept: Accept(accept), begun: Timestamp(u64::from_be_bytes(get(message, 32))) }
    }
}

impl Request {
    /// Length of the message, bytes.
    pub const LEN: usize = 112;
    /// The first byte.
    pub const COMMAND: u8 = 5;

    /// The message.
    pub fn write(self) -> [u8; Self::LEN] {
        let mut message = [0; Self::LEN];
        let of_v6 = |address: Option<IpAddr>| address.is_some_and(|address| address.is_ipv6());
        put(&mut message, 0, [Self::COMMAND, if of_v6(self.sender) || of_v6(self.receiver) { 6 } else { 4 }]);
        put(&mut message, 12, self.sender_port.to_be_bytes());
        put(&mut message, 14, self.receiver_port.to_be_bytes());
        put(&mut message, 16, address_bytes(self.sender));
        put(&mut message, 32, address_bytes(self.receiver));
        put(&mut message, 64, self.padding.to_be_bytes());
        put(&mut message, 68, self.start.0.to_be_bytes());
        put(&mut message, 76, span(self.timeout).to_be_bytes());
        put(&mut message, 84, self.type_p.to_be_bytes());
        message
    }

    /// Reads the message; `None`: its version of IP is unknown.
    pub fn read(message: &[u8]) -> Option<Request> {
        let [version] = get(message, 1);
        let version = version & 0x0f;
        if version != 4 && version != 6 {
            return None;
        }
        Some(Request {
            sender: address(get(message, 16), version),
            sender_port: u16::from_be_bytes(get(message, 12)),
            receiver: address(get(message, 32), version),
            receiver_port: u16::from_be_bytes(get(message, 14)),
            padding: u32::from_be_bytes(get(message, 64)),
            start: Timestamp(u64::from_be_bytes(get(message, 68))),
            timeout: nanos(u64::from_be_bytes(get(message, 76))),
            type_p: u32::from_be_bytes(get(message, 84)),
        })
    }

    /// The Type-P Descriptor for this DSCP.
    pub const fn of_dscp(dscp: u8) -> u32 {
        (dscp as u32 & 0x3f) << 24
    }

    /// The DSCP requested; `None`: the descriptor requests something else (a PHB identification code, RFC 2836).
    pub const fn dscp(self) -> Option<u8> {
        if self.type_p >> 30 == 0 { Some((self.type_p >> 24) as u8) } else { None }
    }
}

impl Accepted {
    /// Length of the message, bytes.
    pub const LEN: usize = 48;

    /// The message.
    pub fn write(self) -> [u8; Self::LEN] {
        let mut message = [0; Self::LEN];
        put(&mut message, 0, [self.accept.0]);
        put(&mut message, 2, self.port.to_be_bytes());
        put(&mut message, 4, self.session);
        message
    }

    /// Reads the message.
    pub fn read(message: &[u8]) -> Accepted {
        let [accept] = get(message, 0);
        let port = u16::from_be_bytes(get(message, 2));
        Accepted { accept: Accept(accept), port, session: get(message, 4) }
    }
}

/// Start-Sessions, which has no fields.
pub(super) const START_SESSIONS: [u8; StartAck::LEN] = {
    let mut message = [0; StartAck::LEN];
    message[0] = 2;
    message
};

impl StartAck {
    /// Length of the message, bytes.
    pub const LEN: usize = 32;

    /// The message.
    pub fn write(self) -> [u8; Self::LEN] {
        let mut message = [0; Self::LEN];
        put(&mut message, 0, [self.accept.0]);
        message
    }

    /// Reads the message.
    pub fn read(message: &[u8]) -> StartAck {
        let [accept] = get(message, 0);
        StartAck { accept: Accept(accept) }
    }
}

impl Stop {
    /// Length of the message, bytes.
    pub const LEN: usize = 32;
    /// The first byte.
    pub const COMMAND: u8 = 3;

    /// The message.
    pub fn write(self) -> [u8; Self::LEN] {
        let mut message = [0; Self::LEN];
        put(&mut message, 0, [Self::COMMAND, self.accept.0]);
        put(&mut message, 4, self.sessions.to_be_bytes());
        message
    }
}

/// The field of an address: an IPv4 address fills the first four of the sixteen bytes.
fn address_bytes(address: Option<IpAddr>) -> [u8; 16] {
    match address {
        Some(IpAddr::V4(address)) => {
            let mut bytes = [0; 16];
            put(&mut bytes, 0, address.octets());
            bytes
        }
        Some(IpAddr::V6(address)) => address.octets(),
        None => [0; 16],
    }
}

fn address(bytes: [u8; 16], version: u8) -> Option<IpAddr> {
    let address = match version {
        6 => IpAddr::V6(Ipv6Addr::from(bytes)),
        _ => IpAddr::V4(Ipv4Addr::from(get::<4>(&bytes, 0))),
    };
    (!address.is_unspecified()).then_some(address)
}

/// A duration in the format of RFC 4656: seconds, and 2^-32 of them.
fn span(time: Nanos) -> u64 {
    let units = (u128::from(time.0) << 32) / u128::from(SECOND);
    u64::try_from(units).unwrap_or(u64::MAX)
}

fn nanos(span: u64) -> Nanos {
    let nanos = (u128::from(span) * u128::from(SECOND)) >> 32;
    Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

const SECOND: u64 = 1_000_000_000;
