//! The data flows of the world: each stream sends at one rate, loses what it is told to, and arrives a delay later.

use crate::world::Who;
use model::plan::{Direction, End, TestSpec, Transport};
use model::sample::{Role, SideResult, StreamResult, StreamSample, UdpCounters};
use model::time::MonoTime;
use model::units::{Bytes, Nanos};
use pathmeter_wire::{Expect, Sent, Until};

pub(crate) struct Data {
    rate: u64,
    lose_every: u64,
    delay: Nanos,
    test: Option<TestSpec>,
    /// By direction: up, down.
    ways: [Way; 2],
}

/// All streams of one direction; they are alike.
#[derive(Clone, Copy, Default)]
struct Way {
    started: Option<MonoTime>,
    stopped: Option<MonoTime>,
    /// Payload bytes to be sent on each stream, where the test says so.
    most: Option<u64>,
}

impl Data {
    pub(super) fn new(rate: u64, lose_every: u64, delay: Nanos) -> Data {
        Data { rate, lose_every, delay, test: None, ways: [Way::default(); 2] }
    }

    pub(super) fn agree(&mut self, test: &TestSpec) {
        self.test = Some(test.clone());
    }

    fn test(&self) -> &TestSpec {
        self.test.as_ref().expect("a test is agreed on before its flows are used")
    }

    fn numbers(&self) -> impl Iterator<Item = (u32, Direction)> {
        let test = self.test().clone();
        let directions: Vec<Direction> = test.directions.each().collect();
        directions.into_iter().flat_map(move |way| test.stream_numbers(way).map(move |stream| (stream, way)))
    }

    /// Begins to send; tells when the senders will be done.
    pub(super) fn start(&mut self, who: Who, now: MonoTime) -> Option<MonoTime> {
        let (rate, test) = (self.rate, self.test().clone());
        let own = sends(who);
        if test.stream_numbers(own).is_empty() {
            return None;
        }
        let streams = u64::from(test.streams);
        let most = match test.end {
            End::Time(_) => None,
            End::Bytes(bytes) => Some(bytes.0 / streams),
            End::Blocks(blocks) => Some(blocks * block(&test) / streams),
        };
        let nanos = |most| (u128::from(most) * 1_000_000_000).div_ceil(u128::from(rate)) as u64;
        let time = Nanos(most.map_or(0, nanos));
        let time = if let End::Time(time) = test.end { time + test.omit } else { time };
        self.ways[index(own)] = Way { started: Some(now), stopped: None, most };
        Some(now + time)
    }

    /// Stops the senders of an end; `None` when they have stopped before.
    pub(super) fn stop(&mut self, who: Who, now: MonoTime) -> Option<Vec<Sent>> {
        let own = sends(who);
        let way = &mut self.ways[index(own)];
        if way.stopped.is_some() {
            return None;
        }
        way.stopped = Some(now);
        let (bytes, numbers) = (self.sent(own, now), self.test().stream_numbers(own));
        let datagrams = bytes / block(self.test());
        Some(numbers.map(|stream| Sent { stream, bytes, datagrams }).collect())
    }

    /// Payload bytes sent on each stream until now, whole blocks of a UDP stream.
    fn sent(&self, direction: Direction, now: MonoTime) -> u64 {
        let way = self.ways[index(direction)];
        let Some(started) = way.started else { return 0 };
        let time = way.stopped.map_or(now, |stopped| stopped.min(now)) - started;
        let bytes = (u128::from(self.rate) * u128::from(time.0) / 1_000_000_000) as u64;
        let bytes = bytes.min(way.most.unwrap_or(u64::MAX));
        if self.test().transport == Transport::Udp { bytes - bytes % block(self.test()) } else { bytes }
    }

    /// Payload bytes that have arrived on each stream, and datagrams lost.
    fn arrived(&self, direction: Direction, now: MonoTime) -> (u64, u64) {
        let bytes = self.sent(direction, now - self.delay);
        if self.test().transport == Transport::Tcp || self.lose_every == 0 {
            return (bytes, 0);
        }
        let lost = bytes / block(self.test()) / self.lose_every;
        (bytes - lost * block(self.test()), lost)
    }

    /// When a drain is over, and checks that it asks for what there is.
    pub(super) fn drain(&self, who: Who, now: MonoTime, expect: &[Expect], limit: Nanos) -> MonoTime {
        let incoming = sends(who).reversed();
        let ready = expect.iter().map(|expect| {
            assert!(self.test().stream_numbers(incoming).contains(&expect.stream), "{expect:?}");
            let stopped = self.ways[index(incoming)].stopped.unwrap_or(now);
            match expect.until {
                Until::Bytes(bytes, _) if bytes > self.sent(incoming, now) => now + limit,
                Until::Bytes(..) => now.max(stopped + self.delay),
                Until::Sequence(_, quiet) | Until::Quiet(quiet) => now.max(stopped + self.delay) + quiet,
            }
        });
        ready.max().unwrap_or(now).min(now + limit)
    }

    pub(super) fn progress(&self, who: Who, now: MonoTime) -> (u64, u64) {
        let own = sends(who);
        let streams = |way| self.test().stream_numbers(way).len() as u64;
        (self.sent(own, now) * streams(own), self.arrived(own.reversed(), now).0 * streams(own.reversed()))
    }

    pub(super) fn sample(&self, who: Who, now: MonoTime) -> Vec<StreamSample> {
        let row = |(stream, direction)| {
            let bytes = match role(who, direction) {
                Role::Sender => self.sent(direction, now),
                Role::Receiver => self.arrived(direction, now).0,
            };
            let (tcp, udp) = (None, None);
            StreamSample { stream, direction, role: role(who, direction), bytes: Bytes(bytes), tcp, udp }
        };
        self.numbers().map(row).collect()
    }

    pub(super) fn measure(&self, who: Who, now: MonoTime) -> SideResult {
        let row = |(stream, direction)| {
            let (bytes, lost) = match role(who, direction) {
                Role::Sender => (self.sent(direction, now), 0),
                Role::Receiver => self.arrived(direction, now),
            };
            let datagrams = bytes / block(self.test());
            let udp =
                UdpCounters { datagrams, lost, last_sequence: datagrams + lost, ..UdpCounters::default() };
            StreamResult {
                stream,
                direction,
                role: role(who, direction),
                elapsed: now - self.ways[index(direction)].started.unwrap_or(now),
                bytes: Bytes(bytes),
                total_bytes: Bytes(bytes),
                tcp: None,
                udp: (self.test().transport == Transport::Udp).then_some(udp),
            }
        };
        SideResult { streams: self.numbers().map(row).collect(), ..SideResult::default() }
    }
}

fn block(test: &TestSpec) -> u64 {
    u64::from(test.length.max(1000))
}

fn index(direction: Direction) -> usize {
    usize::from(direction == Direction::Down)
}

fn sends(who: Who) -> Direction {
    if who == Who::Client { Direction::Up } else { Direction::Down }
}

fn role(who: Who, direction: Direction) -> Role {
    if sends(who) == direction { Role::Sender } else { Role::Receiver }
}
