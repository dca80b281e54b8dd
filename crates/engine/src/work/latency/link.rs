//! A virtual path for tests: delays, steps, stalls, outages, drops by direction, copies and overtaking, each counted; on a
//! clock of its own, so that minutes of a test take none.

use super::far_count::FarCounter;
use super::housekeeping::{pace, timeout};
use super::result::split_loss;
use super::tally::{Gather, Received, Tally, Totals};
use model::latency::Counted;
use model::latency::disturbance::HostWatch;
use model::time::MonoTime;
use model::units::Nanos;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use wire::echo::{Arrival, Exchange, Reflect, Request};

/// The delivery of a packet of one direction, by its number there and the time it is sent.
pub(super) type Rule = fn(u64, Nanos) -> Delivery;

/// How a packet is delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Delivery {
    After(Nanos),
    Twice(Nanos),
    Dropped,
}

/// The path's own counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Truth {
    pub(super) dropped: [u64; 2],
    pub(super) doubled: [u64; 2],
}

/// A client and a server with a path between them.
pub(super) struct Link {
    exchange: Box<dyn Exchange>,
    reflect: Box<dyn Reflect>,
    rules: [Rule; 2],
    packets: [u64; 2],
    truth: Truth,
    /// Packets in flight by their time of arrival, and where they arrive: `true` at the server.
    queue: BTreeMap<(u64, u64), (bool, Vec<u8>)>,
    queued: u64,
    now: MonoTime,
    tally: Tally,
    far: FarCounter,
}

/// How the client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sending {
    PingPong,
    /// A message each so often.
    Every(Nanos),
}

impl Link {
    pub(super) fn new(exchange: Box<dyn Exchange>, reflect: Box<dyn Reflect>, rules: [Rule; 2]) -> Link {
        Link {
            exchange,
            reflect,
            rules,
            packets: [0; 2],
            truth: Truth::default(),
            queue: BTreeMap::new(),
            queued: 0,
            now: START,
            tally: Tally::new(gather(START, 0)),
            far: FarCounter::default(),
        }
    }

    /// Messages before the counted ones, as those that time the wire.
    pub(super) fn warm_up(mut self, messages: u64) -> Link {
        for _ in 0..messages {
            self.send(self.now);
            self.run_until(self.now + Nanos::from_millis(50));
        }
        self.settle(false);
        self.tally = Tally::new(gather(self.now, self.tally.next_number() - 1));
        self.far.begin();
        self.truth = Truth::default();
        self
    }

    /// Sends for so long, waits for the last replies, and gives the figures and the truth.
    pub(super) fn run(mut self, sending: Sending, time: Nanos) -> (Totals, Truth) {
        let started = self.now;
        self.tally = Tally::new(gather(started, self.tally.next_number() - 1));
        match sending {
            Sending::Every(step) => {
                let mut due = started;
                while due < started + time {
                    self.run_until(due);
                    self.send(due);
                    due += step;
                }
            }
            Sending::PingPong => self.ping_pong(started + time),
        }
        let ended = self.now;
        while self.tally.waits() {
            self.run_until(self.now + Nanos::from_millis(5));
        }
        if self.tally.counted.lost > 0 {
            self.settle(true);
        }
        let far = self.far.counted();
        let mut totals = self.tally.finish(&HostWatch::default(), true, ended - started);
        split_loss(&mut totals.counted, far, None);
        (totals, self.truth)
    }

    fn ping_pong(&mut self, until: MonoTime) {
        let mut wait = Nanos::from_secs(1);
        while self.now < until {
            let number = self.tally.next_number();
            self.send(self.now);
            let deadline = self.now + wait;
            while self.tally.unanswered_from(number) == Some(number) && self.now < deadline {
                let next = self.queue.keys().next().map_or(deadline, |(at, _)| MonoTime(*at).min(deadline));
                self.run_until(next);
            }
            wait = pace(&self.tally, None).unwrap_or(wait);
        }
    }

    fn send(&mut self, due: MonoTime) {
        let mut message = vec![0; MESSAGE];
        let sequence = self.tally.next_number();
        self.exchange.request(Request { sequence, sent: self.now, wants_reply: true }, &mut message);
        self.tally.sent(due, self.now, true);
        self.put(true, message);
    }

    fn put(&mut self, up: bool, message: Vec<u8>) {
        let direction = usize::from(!up);
        self.packets[direction] += 1;
        let delivery = (self.rules[direction])(self.packets[direction], self.now - START);
        let copies = match delivery {
            Delivery::Dropped => {
                self.truth.dropped[direction] += 1;
                return;
            }
            Delivery::After(delay) => [Some(delay), None],
            Delivery::Twice(delay) => {
                self.truth.doubled[direction] += 1;
                [Some(delay); 2]
            }
        };
        for delay in copies.into_iter().flatten() {
            self.queued += 1;
            self.queue.insert(((self.now + delay).0, self.queued), (up, message.clone()));
        }
    }

    /// Delivers what arrives until then.
    fn run_until(&mut self, until: MonoTime) {
        while let Some(entry) = self.queue.first_entry().filter(|entry| entry.key().0 <= until.0) {
            let at = MonoTime(entry.key().0);
            let (at_server, message) = entry.remove();
            self.now = at;
            if at_server { self.reflect(message) } else { self.receive(&message) }
        }
        self.now = until;
        let (longest, _) = self.tally.round_trips();
        self.tally.expire(self.now - timeout(longest));
    }

    fn reflect(&mut self, mut message: Vec<u8>) {
        let length = message.len();
        message.resize(length + 64, 0);
        let from: SocketAddr = ([192, 0, 2, 1], 4000).into();
        let arrival = Arrival::new(from, self.now);
        if let Some(length) = self.reflect.reflect(arrival, self.now, &mut message, length) {
            message.truncate(length);
            self.put(false, message);
        }
    }

    fn receive(&mut self, message: &[u8]) {
        let reply = self.exchange.reply(message).expect("the path changes no message");
        let received = self.tally.reply(reply.sequence, self.now, None);
        self.far.take(&reply, received == Received::Again);
    }

    /// Settles the counts as the flow does.
    fn settle(&mut self, prove: bool) {
        let last = self.tally.next_number() - 1;
        let proven = self.far.proven || !prove;
        if (self.far.covers() >= last && proven) || !self.far.is_there() {
            return;
        }
        let counted = std::mem::replace(&mut self.tally, Tally::new(gather(self.now, last)));
        let (rules, truth) = (self.rules, self.truth);
        self.rules = [|_, _| Delivery::After(Nanos::from_millis(1)); 2];
        if !proven {
            self.exchange.skip();
        }
        self.send(self.now);
        self.run_until(self.now + Nanos::from_millis(10));
        self.far.settled(last);
        let beyond = self.tally.next_number() - 1;
        (self.tally, self.rules, self.truth) = (counted, rules, truth);
        self.tally.skip_numbers(beyond);
    }
}

/// Bytes of a message, unless its protocol needs more.
const MESSAGE: usize = 64;

/// The counts, without those that only the far end knows.
pub(super) fn figures(counted: &Counted) -> [u64; 4] {
    [counted.sent, counted.received, counted.lost, counted.duplicates]
}

fn gather(started: MonoTime, last_number: u64) -> Gather {
    Gather { started, room: 0, last_number, warm_up: Some(Nanos::ZERO), scheduled: false, raw: None }
}

const START: MonoTime = MonoTime(1_000_000_000);
