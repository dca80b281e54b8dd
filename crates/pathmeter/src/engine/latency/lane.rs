//! One way at work: its socket, its protocol, its messages on their way.

use super::far_clock::FarClock;
use super::socket::{Inbox, Next, Socket};
use super::tally::Tally;
use super::wait::Waiter;
use linux::clock::mono_now;
use model::time::MonoTime;
use model::units::Nanos;
use std::io::{self, ErrorKind};
use wire::echo::{Exchange, Reply, Request};

/// A way, with the client's half of its protocol.
pub(crate) struct Lane<E> {
    pub(crate) socket: Socket,
    exchange: E,
    out: Vec<u8>,
    inbox: Inbox,
    pub(crate) tally: Tally,
    pub(crate) clock: FarClock,
    /// Highest count of answered messages that the far end told, of a stateful reflector.
    pub(crate) far_sequence: Option<u64>,
    /// ICMP said that nobody listens.
    pub(crate) refused: bool,
    /// Why this way is not measured any more.
    pub(crate) dead: Option<String>,
}

/// How a ping ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ping {
    Answered,
    TimedOut,
    Dead,
}

impl<E: Exchange> Lane<E> {
    /// A way whose messages have at most `largest` bytes; its payload is `fill`ed once.
    pub(crate) fn new(socket: Socket, exchange: E, largest: usize, tally: Tally) -> Lane<E> {
        let inbox = Inbox::new(largest.max(1 << 16));
        // A pattern no link compresses away, the same in every message.
        let out = (0..largest).map(|at| (at.wrapping_mul(167) ^ (at >> 3)) as u8).collect();
        let clock = FarClock::default();
        Lane { socket, exchange, out, inbox, tally, clock, far_sequence: None, refused: false, dead: None }
    }

    /// Sends a message and waits for its reply, taking what else comes. The time of a loss is the timeout.
    pub(crate) fn ping(&mut self, size: usize, timeout: Nanos, waiter: &mut Waiter) -> Ping {
        let sent = mono_now();
        waiter.running(sent);
        let deadline = sent + timeout;
        let number = self.tally.next_number();
        if !self.send(size, sent, sent, true, deadline) {
            return Ping::Dead;
        }
        loop {
            match self.inbox.fill(&self.socket, waiter, deadline) {
                Ok(Some(came)) => {
                    if self.take(came, Some(number), waiter) {
                        return Ping::Answered;
                    }
                }
                Ok(None) => {
                    self.tally.expire(MonoTime(sent.0 + 1));
                    return Ping::TimedOut;
                }
                Err(e) => self.failed(&e),
            }
            if self.dead.is_some() {
                return Ping::Dead;
            }
        }
    }

    /// Sends a message; false when this way is dead.
    pub(crate) fn send(
        &mut self,
        size: usize,
        due: MonoTime,
        sent: MonoTime,
        wants_reply: bool,
        deadline: MonoTime,
    ) -> bool {
        let sequence = self.tally.next_number();
        let message = &mut self.out[..size];
        self.exchange.request(Request { sequence, sent, wants_reply }, message);
        loop {
            match self.socket.send(message, deadline) {
                Ok(true) => break,
                // The socket is full: it empties by itself.
                Ok(false) if mono_now() < deadline => {}
                // Refused like a lost packet: nothing of it is on the way.
                Ok(false) => break,
                Err(e) if is_refusal(&e) => {
                    // An earlier message's; this one is not sent yet.
                    self.refused = true;
                }
                Err(e) if is_passing(&e) => break,
                Err(e) => {
                    self.dead = Some(format!("send {size} bytes: {e}"));
                    return false;
                }
            }
        }
        self.tally.sent(due, sent, wants_reply);
        true
    }

    /// Takes what is there now.
    pub(crate) fn poll(&mut self, waiter: &mut Waiter) -> bool {
        match self.inbox.poll(&self.socket) {
            Ok(Some(came)) => {
                self.take(came, None, waiter);
                true
            }
            Ok(None) => false,
            Err(e) => {
                self.failed(&e);
                false
            }
        }
    }

    /// Reads the messages received; says whether the one waited for was among them.
    fn take(&mut self, came: MonoTime, awaited: Option<u64>, waiter: &mut Waiter) -> bool {
        if !matches!(self.socket, Socket::Tcp(_)) {
            let reply = self.exchange.reply(self.inbox.datagram());
            return self.reply(reply, came, awaited, waiter);
        }
        let mut found = false;
        loop {
            let exchange = &mut self.exchange;
            let reply = match self.inbox.message(|head| exchange.frame(head)) {
                Next::Message(message) => exchange.reply(message),
                Next::More => return found,
                Next::Broken(stray) => {
                    self.dead = Some(format!("the far end sent what is not its protocol: {stray}"));
                    return found;
                }
            };
            found |= self.reply(reply, came, awaited, waiter);
        }
    }

    fn reply(
        &mut self,
        reply: Result<Reply, wire::echo::Stray>,
        came: MonoTime,
        awaited: Option<u64>,
        waiter: &mut Waiter,
    ) -> bool {
        let Ok(reply) = reply else {
            self.tally.stray();
            return false;
        };
        let sent = self.tally.reply(reply.sequence, came, waiter);
        if let (Some(sent), Some(far)) = (sent, reply.far) {
            self.clock.record(sent, far, came);
        }
        self.far_sequence = self.far_sequence.max(reply.far_sequence);
        awaited == Some(reply.sequence)
    }

    fn failed(&mut self, error: &io::Error) {
        if is_refusal(error) {
            self.refused = true;
        } else if !is_passing(error) {
            self.dead = Some(match error.kind() {
                ErrorKind::UnexpectedEof => "the far end closed the connection".into(),
                ErrorKind::ConnectionReset => "the far end reset the connection".into(),
                _ => format!("receive: {error}"),
            });
        }
    }
}

/// An ICMP answer to an earlier datagram that nobody listens: asked again, somebody may.
fn is_refusal(error: &io::Error) -> bool {
    error.kind() == ErrorKind::ConnectionRefused
}

/// Passing troubles of the network or the kernel: a loss, not the end.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown
    ) || error.raw_os_error() == Some(ENOBUFS)
}

/// errno(3).
const ENOBUFS: i32 = 105;
