//! One path at work: its socket, its protocol, its messages in flight.

use super::far_count::FarCounter;
use super::tally::{Gather, Received, Tally};
use crate::work::echo::socket::{Came, MessageBuffer, Next, Socket};
use crate::work::echo::wait::Waiter;
use linux::clock::mono_now;
use linux::errno::ENOBUFS;
use linux::error_queue::{self, QueueEntry};
use linux::timestamp::{PacketTimes, set_receive_time};
use model::latency::one_way::OneWayMeter;
use model::stats::clock::Exchange as Times;
use model::time::MonoTime;
use model::units::Nanos;
use std::io::{self, ErrorKind};
use wire::echo::{Exchange, Reply, Request, Stray};

/// A path, with the client's half of its protocol.
pub(crate) struct EgressFlow<E> {
    pub(crate) socket: Socket,
    exchange: E,
    out: Vec<u8>,
    messages: MessageBuffer,
    pub(crate) tally: Tally,
    /// The far end's clock, from the times in its replies, and the one-way delays it gives.
    pub(crate) clock: OneWayMeter,
    /// The far end's count of the messages that it answered.
    pub(crate) far_counter: FarCounter,
    /// ICMP reported that nothing listens.
    pub(crate) refused: bool,
    /// The kernel reports when it received a message.
    timed: bool,
    /// Why this path is not measured any more.
    pub(crate) dead: Option<String>,
}

/// A ping with the times of its packets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedPing {
    /// From this program's hands back into them.
    pub(crate) application: Nanos,
    /// When the request left this host.
    pub(crate) left: PacketTimes,
    /// When the reply reached this host.
    pub(crate) came: PacketTimes,
}

/// Messages that go in a row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Burst {
    pub(crate) count: u32,
    /// Bytes of each.
    pub(crate) size: usize,
    /// When they were due; absent: now.
    pub(crate) due: Option<MonoTime>,
}

/// How a ping ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ping {
    Answered,
    TimedOut,
    Dead,
}

impl<E: Exchange> EgressFlow<E> {
    /// A path whose messages have at most `largest` bytes; its payload is `fill`ed once.
    pub(crate) fn new(socket: Socket, exchange: E, largest: usize, tally: Tally) -> EgressFlow<E> {
        let messages = MessageBuffer::new(largest.max(1 << 16));
        // A pattern no link compresses away, the same in every message.
        let out = (0..largest).map(|at| (at.wrapping_mul(167) ^ (at >> 3)) as u8).collect();
        EgressFlow {
            socket,
            exchange,
            out,
            messages,
            tally,
            clock: OneWayMeter::default(),
            far_counter: FarCounter::default(),
            refused: false,
            timed: false,
            dead: None,
        }
    }

    /// Asks the kernel when it received each message: a thread that sleeps cannot know for how long it was not woken.
    pub(crate) fn take_times(&mut self) {
        // Without them the cause of far round trips stays unknown, and is reported as such.
        self.timed = set_receive_time(&self.socket, true).is_ok();
    }

    /// Begins anew: the round trips so far were made for something else. Numbers go on.
    pub(crate) fn begin(&mut self, gather: Gather) {
        let last_number = self.tally.next_number() - 1;
        self.tally = Tally::new(Gather { last_number, ..gather });
        self.clock = OneWayMeter::default();
        self.far_counter.begin();
    }

    /// Asks once more, for nothing but the far end's count, when the last count does not cover every message that was sent
    /// before: those after it would be lost in an unknown direction. Where it has not shown yet that it counts, a number is
    /// left out, which shows it (`prove`). What this sends is in no figure.
    pub(crate) fn settle_count(&mut self, prove: bool, size: usize, waiter: &mut Waiter) {
        let last = self.tally.next_number() - 1;
        let is_proven = self.far_counter.proven || !prove;
        let known = self.far_counter.covers() >= last && is_proven;
        if known || !self.far_counter.is_there() || self.dead.is_some() {
            return;
        }
        let (longest, _) = self.tally.round_trips();
        let timeout = longest.saturating_mul(4).clamp(LEAST_SETTLING, MOST_SETTLING);
        let gather = Gather { started: mono_now(), last_number: last, ..Gather::default() };
        let counted = std::mem::replace(&mut self.tally, Tally::new(gather));
        if !is_proven {
            self.exchange.skip();
        }
        for _ in 0..SETTLING_TRIES {
            let sent = self.ping(Burst { count: 1, size, due: None }, timeout, waiter);
            if sent == Ping::Dead || self.far_counter.covers() > last {
                break;
            }
        }
        self.far_counter.settled(last);
        // Numbers go on behind those of these messages.
        let beyond = self.tally.next_number() - 1;
        self.tally = counted;
        self.tally.skip_numbers(beyond);
    }

    /// Sends a burst of messages and waits for the replies to all, taking what else comes; for as long as `timeout` at
    /// most. Replies that come later are taken later.
    pub(crate) fn ping(&mut self, burst: Burst, timeout: Nanos, waiter: &mut Waiter) -> Ping {
        let Burst { count: burst, size, due } = burst;
        let mut sent = mono_now();
        waiter.running(sent);
        let mut deadline = sent + timeout;
        let number = self.tally.next_number();
        if !self.send(size, due.unwrap_or(sent), sent, true, deadline) {
            return Ping::Dead;
        }
        for before in 1..burst {
            if before.is_multiple_of(LONG_BURST) {
                // Replies that are not read would stop the far end, and it this one.
                while self.poll(waiter) {}
            }
            sent = mono_now();
            deadline = sent + timeout;
            if self.dead.is_some() || !self.send(size, due.unwrap_or(sent), sent, true, deadline) {
                return Ping::Dead;
            }
        }
        let mut unanswered = number;
        loop {
            if burst > 1 {
                match self.tally.unanswered_from(unanswered) {
                    Some(number) => unanswered = number,
                    None => return Ping::Answered,
                }
            }
            match self.receive(waiter, deadline) {
                Ok(Some(came)) => {
                    if self.take(came, Some(number), waiter) && burst == 1 {
                        return Ping::Answered;
                    }
                }
                Ok(None) => return Ping::TimedOut,
                Err(e) => self.failed(&e),
            }
            if self.dead.is_some() {
                return Ping::Dead;
            }
        }
    }

    fn receive(&mut self, waiter: &mut Waiter, deadline: MonoTime) -> io::Result<Option<Came>> {
        if self.timed {
            return self.messages.fill_timed(&self.socket, waiter, deadline, || {});
        }
        let came = self.messages.fill(&self.socket, waiter, deadline)?;
        Ok(came.then(|| Came { at: mono_now(), held: None, times: PacketTimes::default() }))
    }

    /// Sends a message whose packet is timed at both ends of its path through this host, and waits for the reply.
    /// Times have to be switched on ([`super::wire_times`]).
    pub(crate) fn timed_ping(
        &mut self,
        size: usize,
        timeout: Nanos,
        waiter: &mut Waiter,
    ) -> Option<TimedPing> {
        let sent = mono_now();
        waiter.running(sent);
        let deadline = sent + timeout;
        let number = self.tally.next_number();
        if !self.send(size, sent, sent, true, deadline) {
            return None;
        }
        let mut left = PacketTimes::default();
        loop {
            let socket = self.socket.clone();
            // The time of sending waits in the error queue, and would wake poll(2) at once.
            let look = || left = last_sent(&socket).unwrap_or(left);
            let came = self.messages.fill_timed(&socket, waiter, deadline, look).ok()??;
            left = last_sent(&socket).unwrap_or(left);
            if self.take(came, Some(number), waiter) {
                return Some(TimedPing {
                    application: came.at.saturating_since(sent),
                    left,
                    came: came.times,
                });
            }
        }
    }

    /// Sends a message; false when this path is dead.
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
                // Refused like a lost packet: nothing of it is in flight.
                Ok(false) => break,
                Err(e) if is_refusal(&e) => {
                    // An earlier message's; this one is not sent yet.
                    self.refused = true;
                }
                Err(e) if is_passing(&e) => break,
                Err(e) => {
                    self.dead = Some(ended(&e, &format!("send {size} bytes")));
                    return false;
                }
            }
        }
        self.tally.sent(due, sent, wants_reply);
        true
    }

    /// Takes what is there now.
    pub(crate) fn poll(&mut self, waiter: &mut Waiter) -> bool {
        match self.messages.poll(&self.socket) {
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

    /// Reads the messages received; returns whether the one waited for was among them.
    fn take(&mut self, came: Came, awaited: Option<u64>, waiter: &mut Waiter) -> bool {
        if !self.socket.is_stream() {
            let reply = self.exchange.reply(self.messages.datagram());
            return self.reply(reply, came, awaited, waiter);
        }
        let mut found = false;
        loop {
            let exchange = &mut self.exchange;
            let reply = match self.messages.message(|head| exchange.frame(head)) {
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
        reply: Result<Reply, Stray>,
        came: Came,
        awaited: Option<u64>,
        waiter: &mut Waiter,
    ) -> bool {
        let reply = match reply {
            Ok(reply) => reply,
            Err(stray) => {
                self.tally.stray();
                if stray == Stray::Altered {
                    self.dead = Some(stray.to_string());
                }
                return false;
            }
        };
        waiter.look(came.at);
        let received = self.tally.reply(reply.sequence, came.at, came.held);
        if let (Received::First(Some(sent)), Some(far)) = (received, reply.far) {
            self.clock.record(Times {
                sent,
                // The far end's clock has an epoch of its own: only differences to ours are taken.
                remote_received: MonoTime(far.received.0),
                remote_sent: MonoTime(far.sent.0),
                received: came.at,
            });
        }
        self.far_counter.take(&reply, received == Received::Again);
        awaited == Some(reply.sequence)
    }

    fn failed(&mut self, error: &io::Error) {
        if is_refusal(error) {
            self.refused = true;
        } else if !is_passing(error) {
            self.dead = Some(ended(error, "receive"));
        }
    }
}

/// The time of the packet sent last, from the error queue, which is emptied.
fn last_sent(socket: &Socket) -> Option<PacketTimes> {
    let mut last: Option<PacketTimes> = None;
    while let Ok(Some(entry)) = error_queue::take(socket, &mut []) {
        if let QueueEntry::Sent { times, .. } = entry {
            // The network card's time comes in an entry of its own.
            let before = last.unwrap_or_default();
            last =
                Some(PacketTimes { kernel: times.kernel.or(before.kernel), nic: times.nic.or(before.nic) });
        }
    }
    last
}

/// An ICMP answer to an earlier datagram that nothing listens: at the next one something may.
fn is_refusal(error: &io::Error) -> bool {
    error.kind() == ErrorKind::ConnectionRefused
}

/// Why a path is not measured any more.
fn ended(error: &io::Error, doing: &str) -> String {
    match error.kind() {
        ErrorKind::UnexpectedEof | ErrorKind::BrokenPipe => "the far end closed the connection".into(),
        ErrorKind::ConnectionReset => "the far end reset the connection".into(),
        _ => format!("{doing}: {error}"),
    }
}

/// Passing troubles of the network or the kernel: a loss, not the end.
fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::NetworkDown
    ) || error.raw_os_error() == Some(ENOBUFS)
}

/// So many messages of a burst go before what has come is read.
const LONG_BURST: u32 = 64;
/// Messages at most that ask for the far end's count alone, and how long each is waited for.
const SETTLING_TRIES: u32 = 4;
const LEAST_SETTLING: Nanos = Nanos::from_millis(500);
const MOST_SETTLING: Nanos = Nanos::from_secs(3);
