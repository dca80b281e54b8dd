//! The data flows of a throughput test: each stream sends at one rate, loses the configured share, and its data arrives after a
//! delay. No bytes are moved; the amounts sent and received follow from the time.

use crate::{BOTH, Nature, Who, Work};
use model::plan::{Direction, End, TestSpec, Transport};
use model::sample::{
    IntervalSample, Role, Side, SideResult, StreamResult, StreamSample, TcpCounters, UdpCounters,
};
use model::time::MonoTime;
use model::units::{Bytes, Nanos};
use wire::work::throughput::{Reply, Report, Request};
use wire::{Expect, FlowPlan, Sent, Until, WorkReply, WorkRequest};

/// The flows of both ends.
pub struct Flows {
    /// The client's side.
    pub client: Moved,
    /// The server's side.
    pub server: Moved,
    /// The end whose flows cannot be opened.
    pub fails: Option<Who>,
    /// Senders do not stop by themselves.
    pub senders_stuck: bool,
    /// The server's own report.
    pub report: Option<Report>,
    rate: u64,
    lose_every: u64,
    delay: Nanos,
    interval: Nanos,
}

/// One end's side of its flows.
#[derive(Default)]
pub struct Moved {
    /// The plan that it was requested to open.
    pub plan: Option<FlowPlan>,
    /// The time at which its flows were started.
    pub started: Option<MonoTime>,
    /// Its results.
    pub measured: Option<SideResult>,
    opens: Option<MonoTime>,
    must_stop: bool,
    /// The time at which its senders stopped.
    stopped: Option<MonoTime>,
    /// Number of reports: a sample and a progress alternate.
    reports: u64,
    drain: Option<(Vec<Expect>, MonoTime)>,
    gone: Option<MonoTime>,
}

/// The next event at an end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Open,
    SendersDone,
    Sample,
    Progress,
    Drained,
}

/// Data of a stream, by one end's count.
#[derive(Clone, Copy)]
struct Count {
    /// Payload bytes since the omitted time.
    bytes: u64,
    total: u64,
    /// Datagrams lost since the omitted time.
    lost: u64,
    /// Number of the last datagram.
    last: u64,
}

impl Flows {
    /// Flows with the rate, loss and delay of `nature`.
    #[must_use]
    pub fn new(nature: &Nature<'_>) -> Flows {
        let &Nature { rate, lose_every, delay, interval, .. } = nature;
        let (client, server) = (Moved::default(), Moved::default());
        Flows {
            client,
            server,
            fails: None,
            senders_stuck: false,
            report: None,
            rate,
            lose_every,
            delay,
            interval,
        }
    }

    fn end(&self, who: Who) -> &Moved {
        if who == Who::Client { &self.client } else { &self.server }
    }

    fn end_mut(&mut self, who: Who) -> &mut Moved {
        if who == Who::Client { &mut self.client } else { &mut self.server }
    }

    fn test(&self) -> &TestSpec {
        &self.server.plan.as_ref().expect("a test is agreed on before its flows are used").test
    }

    /// Opens flows: the server accepts them before the client opens them.
    fn open(&mut self, now: MonoTime, who: Who, plan: FlowPlan) {
        assert!(self.end(who).plan.is_none(), "flows are opened once");
        if who == Who::Client {
            let agreed = self.server.plan.as_ref().expect("the server accepts before the client connects");
            assert_eq!(agreed.hello, plan.hello);
            self.server.opens = Some(now + self.delay);
            self.client.opens = Some(now + self.delay + self.delay);
        }
        self.end_mut(who).plan = Some(plan);
    }

    fn start(&mut self, now: MonoTime, who: Who) {
        let end = self.end_mut(who);
        assert!(end.plan.is_some() && end.started.is_none(), "flows start once, when they are open");
        end.started = Some(now);
    }

    /// Does this end send, and has it not stopped yet?
    fn is_sending(&self, who: Who) -> bool {
        let end = self.end(who);
        end.started.is_some() && end.stopped.is_none() && !self.test().stream_numbers(sends(who)).is_empty()
    }

    /// The time at which the senders of an end are done.
    fn senders_done(&self, who: Who) -> Option<MonoTime> {
        let end = self.end(who);
        if end.must_stop && end.stopped.is_none() {
            return Some(MonoTime::ZERO);
        }
        let (started, plan) = (end.started?, end.plan.as_ref()?);
        match plan.test.end {
            _ if self.senders_stuck || !self.is_sending(who) => None,
            End::Time(_) if plan.senders_wait_for_stop => None,
            End::Time(time) => {
                Some(MonoTime(started.0.saturating_add(plan.test.omit.0).saturating_add(time.0)))
            }
            End::Bytes(_) | End::Blocks(_) => Some(started + self.time_of(self.most())),
        }
    }

    /// Most payload bytes of a stream.
    fn most(&self) -> u64 {
        let test = self.test();
        let counted = match test.end {
            End::Time(_) => return u64::MAX,
            End::Bytes(bytes) => bytes.0 / u64::from(test.streams),
            End::Blocks(blocks) => blocks * block(test) / u64::from(test.streams),
        };
        counted + self.bytes_in(test.omit)
    }

    fn time_of(&self, bytes: u64) -> Nanos {
        let nanos = (u128::from(bytes) * 1_000_000_000).div_ceil(u128::from(self.rate));
        Nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// Payload bytes that a stream sends in this time, whole datagrams over UDP.
    fn bytes_in(&self, time: Nanos) -> u64 {
        let bytes = u128::from(self.rate) * u128::from(time.0) / 1_000_000_000;
        let bytes = u64::try_from(bytes).unwrap_or(u64::MAX);
        if self.test().transport == Transport::Udp { bytes - bytes % block(self.test()) } else { bytes }
    }

    /// Payload bytes sent on each stream until now.
    fn sent(&self, direction: Direction, now: MonoTime) -> u64 {
        let sender = self.end(sender(direction));
        let Some(started) = sender.started else { return 0 };
        let until = [sender.stopped, sender.gone].into_iter().flatten().fold(now, MonoTime::min);
        self.bytes_in(until.saturating_since(started)).min(self.most())
    }

    /// Data that has been sent on each stream, or has arrived.
    fn count(&self, direction: Direction, role: Role, now: MonoTime) -> Count {
        let late = if role == Role::Receiver { self.delay } else { Nanos::ZERO };
        let at = MonoTime(now.0.saturating_sub(late.0));
        let (total, test) = (self.sent(direction, at), self.test());
        let omitted = self.bytes_in(test.omit).min(total);
        let lost_of = |bytes: u64| match (test.transport, role, self.lose_every) {
            (Transport::Tcp, ..) | (_, Role::Sender, _) | (.., 0) => 0,
            (.., every) => bytes / block(test) / every,
        };
        let lost = lost_of(total) - lost_of(omitted);
        Count {
            bytes: total - omitted - lost * block(test),
            total: total - lost_of(total) * block(test),
            lost,
            last: total / block(test),
        }
    }

    /// The time at which a drain is over.
    fn drained(&self, who: Who) -> Option<MonoTime> {
        let (expect, limit) = self.end(who).drain.as_ref()?;
        let ready = expect.iter().map(|expect| self.has_come(who, *expect)).max();
        Some(ready.unwrap_or(MonoTime::ZERO).min(*limit))
    }

    fn has_come(&self, who: Who, expect: Expect) -> MonoTime {
        let incoming = sends(who).reversed();
        assert!(self.test().stream_numbers(incoming).contains(&expect.stream), "{expect:?}");
        let sender = self.end(sender(incoming));
        let Some(started) = sender.started else { return MonoTime(u64::MAX) };
        let ends = [sender.stopped, sender.gone].into_iter().flatten().min();
        let last = ends.map_or(MonoTime(u64::MAX), |at| at + self.delay);
        let after = |quiet: Nanos| MonoTime(last.0.saturating_add(quiet.0));
        match expect.until {
            Until::Bytes(bytes, quiet) => {
                let comes = started + self.time_of(bytes) + self.delay;
                if comes <= last { comes } else { after(quiet) }
            }
            Until::Sequence(_, quiet) | Until::Quiet(quiet) => after(quiet),
        }
    }

    fn next(&self, who: Who) -> Option<(MonoTime, Next)> {
        let end = self.end(who);
        if end.gone.is_some() {
            return None;
        }
        let report = |started: MonoTime| started + Nanos(self.interval.0.saturating_mul(end.reports / 2 + 1));
        let reports = end.started.filter(|_| end.measured.is_none());
        let what = if end.reports.is_multiple_of(2) { Next::Sample } else { Next::Progress };
        let times = [
            (end.opens, Next::Open),
            (self.senders_done(who), Next::SendersDone),
            (reports.map(report), what),
            (self.drained(who), Next::Drained),
        ];
        times.into_iter().filter_map(|(at, what)| at.map(|at| (at, what))).min()
    }

    fn carry_out(&mut self, now: MonoTime, who: Who, next: Next) -> WorkReply {
        match next {
            Next::Open => {
                self.end_mut(who).opens = None;
                if self.fails == Some(who) {
                    return WorkReply::Failed("connect to 192.0.2.1:5210: no route".into());
                }
                WorkReply::Open(Vec::new())
            }
            Next::SendersDone => {
                self.end_mut(who).stopped = Some(now);
                Reply::SendersDone(self.sent_by(who, now)).into()
            }
            Next::Sample => {
                self.end_mut(who).reports += 1;
                self.sample(now, who)
            }
            Next::Progress => {
                self.end_mut(who).reports += 1;
                self.progress(now, who)
            }
            Next::Drained => {
                let result = self.measure(who, now);
                let report = if who == Who::Server { self.report.clone() } else { None };
                let end = self.end_mut(who);
                end.drain = None;
                end.measured = Some(result.clone());
                Reply::Measured { result: Box::new(result), report }.into()
            }
        }
    }

    fn sent_by(&self, who: Who, now: MonoTime) -> Vec<Sent> {
        let bytes = self.sent(sends(who), now);
        let datagrams = bytes / block(self.test());
        self.test().stream_numbers(sends(who)).map(|stream| Sent { stream, bytes, datagrams }).collect()
    }

    fn sample(&self, now: MonoTime, who: Who) -> WorkReply {
        let row = |(stream, direction)| {
            let role = role(who, direction);
            let bytes = Bytes(self.count(direction, role, now).total);
            StreamSample { stream, direction, role, bytes, tcp: None, udp: None }
        };
        let end = Nanos(self.interval.0.saturating_mul(self.end(who).reports.div_ceil(2)));
        let (start, streams) = (end.saturating_sub(self.interval), self.rows().map(row).collect());
        Reply::Sample(IntervalSample { side: Side::Local, start, end, omitted: false, streams }).into()
    }

    fn progress(&self, now: MonoTime, who: Who) -> WorkReply {
        let count = |direction: Direction| {
            let streams = self.test().stream_numbers(direction).len() as u64;
            self.count(direction, role(who, direction), now).bytes * streams
        };
        let (sent, received) = (count(sends(who)), count(sends(who).reversed()));
        Reply::Progress { sent, received, omitted: false }.into()
    }

    fn rows(&self) -> impl Iterator<Item = (u32, Direction)> {
        let test = self.test().clone();
        let directions: Vec<Direction> = test.directions.each().collect();
        directions
            .into_iter()
            .flat_map(move |direction| test.stream_numbers(direction).map(move |stream| (stream, direction)))
    }

    fn measure(&self, who: Who, now: MonoTime) -> SideResult {
        let test = self.test();
        let row = |(stream, direction)| {
            let role = role(who, direction);
            let count = self.count(direction, role, now);
            let datagrams = count.bytes / block(test);
            let udp = UdpCounters {
                datagrams,
                lost: count.lost,
                last_sequence: count.last,
                ..UdpCounters::default()
            };
            StreamResult {
                stream,
                direction,
                role,
                // A whole second, which every protocol represents exactly.
                elapsed: Nanos::from_secs(1),
                bytes: Bytes(count.bytes),
                total_bytes: Bytes(count.total),
                tcp: (test.transport == Transport::Tcp)
                    .then(|| TcpCounters { retransmits: 7, ..TcpCounters::default() }),
                udp: (test.transport == Transport::Udp).then_some(udp),
            }
        };
        SideResult { streams: self.rows().map(row).collect(), ..SideResult::default() }
    }
}

impl Work for Flows {
    fn request(&mut self, now: MonoTime, who: Who, request: WorkRequest) -> Option<WorkReply> {
        match request {
            WorkRequest::Flows(open) => self.open(now, who, open.plan),
            WorkRequest::Throughput(Request::Start) => self.start(now, who),
            WorkRequest::Throughput(Request::StopSenders) => self.end_mut(who).must_stop = true,
            WorkRequest::Throughput(Request::Drain { expect, limit }) => {
                let end = self.end_mut(who);
                assert!(end.drain.is_none() && end.measured.is_none(), "drained once");
                end.drain = Some((expect, now + limit));
            }
            WorkRequest::Throughput(Request::EndDrain) => {
                if let Some((_, limit)) = &mut self.end_mut(who).drain {
                    *limit = now;
                }
            }
            other => panic!("{other:?} in a test of throughput"),
        }
        None
    }

    fn due(&self) -> Option<MonoTime> {
        BOTH.into_iter().filter_map(|who| self.next(who)).map(|(at, _)| at).min()
    }

    fn take(&mut self, now: MonoTime) -> Option<(Who, WorkReply)> {
        let next = BOTH.into_iter().filter_map(|who| self.next(who).map(|(at, next)| (at, who, next))).min();
        let (_, who, next) = next.filter(|(at, ..)| *at <= now)?;
        Some((who, self.carry_out(now, who, next)))
    }

    fn gone(&mut self, now: MonoTime, who: Who) {
        self.end_mut(who).gone.get_or_insert(now);
    }
}

/// Payload of a datagram, or of a write that counts as a block.
fn block(test: &TestSpec) -> u64 {
    u64::from(test.length.unwrap_or(0).max(1000))
}

fn sends(who: Who) -> Direction {
    if who == Who::Client { Direction::Up } else { Direction::Down }
}

fn sender(direction: Direction) -> Who {
    if direction == Direction::Up { Who::Client } else { Who::Server }
}

fn role(who: Who, direction: Direction) -> Role {
    if sends(who) == direction { Role::Sender } else { Role::Receiver }
}
