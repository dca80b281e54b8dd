//! Round trips: requests and replies of every protocol that has them.
//!
//! The client's half of a protocol is an [`Exchange`], the server's half a [`Reflect`]. Both are codecs with little state: no
//! socket, no clock. The engine keeps the times and finds each reply's request by its sequence number.

use model::time::MonoTime;
use model::units::Nanos;
use std::net::SocketAddr;

/// The client's half: writes requests, reads replies. One for each socket.
pub trait Exchange: Send {
    /// Writes a request that fills `message`, which has room for it. Bytes behind the
    /// protocol's header stay as they are, unless the protocol signs or fixes them.
    fn request(&mut self, request: Request, message: &mut [u8]);

    /// Leaves out the number of one request, as if the request were lost before it arrived: the number of the next reply shows
    /// whether the far end counts. Has no effect where a protocol's replies have no number.
    fn skip(&mut self) {}

    /// Reads one whole message: a datagram, or a message that [`Exchange::frame`] cut from a stream.
    ///
    /// # Errors
    /// The message is not a reply: it is counted and changes nothing.
    fn reply(&mut self, message: &[u8]) -> Result<Reply, Stray>;

    /// The whole length in bytes of the message that `head` begins, once it can be known. A protocol without streams never knows
    /// it.
    ///
    /// # Errors
    /// The rest of the stream cannot be read.
    fn frame(&self, head: &[u8]) -> Result<Option<usize>, Stray>;
}

/// The server's half: turns requests into replies. One for each socket; it serves every client of a UDP socket.
pub trait Reflect: Send {
    /// Takes the message in the first `len` bytes of `buf` and leaves its reply there. `now` is the time just before the reply
    /// goes out, on the clock of [`Arrival::received`]. Returns the reply's length; `None`: no reply is due.
    fn reflect(&mut self, arrival: Arrival, now: MonoTime, buf: &mut [u8], len: usize) -> Option<usize>;

    /// May the reply to a message of this many bytes carry a time? Otherwise [`Arrival::received`] and `now` are zero, so that no
    /// reply waits for a clock to be read.
    fn returns_time(&self, _len: usize) -> bool {
        true
    }

    /// Does the reply carry the time of its sending? Then `now` is read anew for each message.
    fn stamps(&self) -> bool {
        false
    }

    /// Length of the reply to this whole message of a stream, at most: the buffer has this room then.
    fn reply_len(&self, message: &[u8]) -> usize {
        message.len()
    }

    /// DSCP and ECN of the reply that was made last.
    fn class(&self) -> u8 {
        0
    }

    /// The same as [`Exchange::frame`].
    ///
    /// # Errors
    /// The rest of the stream cannot be read: the connection is to be closed.
    fn frame(&self, head: &[u8]) -> Result<Option<usize>, Stray>;
}

/// The fields of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// From 1, one more for each request of a test.
    pub sequence: u64,
    /// The client's clock at sending.
    pub sent: MonoTime,
    /// Is a reply wanted?
    pub wants_reply: bool,
}

/// The fields of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Sequence number of the request.
    pub sequence: u64,
    /// The far end's times of the request and the reply, where the protocol carries them.
    pub far: Option<FarTimes>,
    /// Number of requests that the far end had answered before, where its replies have a number (STAMP, TWAMP): it gives the loss
    /// of each direction.
    pub far_sequence: Option<FarSequence>,
}

/// The number in a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FarSequence {
    /// Requests of this session that the far end had answered before.
    pub before: u64,
    /// True: the far end counts. Otherwise it may copy the number of the request, and the count has no meaning.
    pub proven: bool,
}

/// The far end's clock, of whatever epoch, when it received a request and when it sent the reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FarTimes {
    /// Request received.
    pub received: Nanos,
    /// Reply sent.
    pub sent: Nanos,
}

/// How a request reached the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Arrival {
    /// Its sender.
    pub from: SocketAddr,
    /// The server's clock when the request arrived.
    pub received: MonoTime,
    /// TTL or hop limit of its IP header, where the kernel reports it.
    pub ttl: Option<u8>,
    /// DSCP and ECN of its IP header, likewise.
    pub class: Option<u8>,
    /// The server's address that the request was sent to, likewise.
    pub to: Option<SocketAddr>,
}

impl Arrival {
    /// A message of which the kernel reports nothing else.
    #[must_use]
    pub const fn new(from: SocketAddr, received: MonoTime) -> Arrival {
        Arrival { from, received, ttl: None, class: None, to: None }
    }
}

/// Why a message is not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Stray {
    /// Shorter than the protocol's header.
    #[error("a message of {0} bytes is shorter than the header")]
    Short(usize),
    /// Its length field contradicts its size, or is out of range.
    #[error("a message whose length field is {claimed} bytes, where {had} is its size or the limit")]
    Length {
        /// The length in its header.
        claimed: u64,
        /// Its true size, or the limit that it exceeds.
        had: usize,
    },
    /// Not a message of this protocol, or none for this role.
    #[error("not a reply of this protocol")]
    Foreign,
    /// Its authentication is wrong.
    #[error("the authentication of a message is wrong: the two ends have different keys")]
    Key,
    /// The reply to the last request, which is not that request.
    #[error("data integrity test failed")]
    Altered,
}
