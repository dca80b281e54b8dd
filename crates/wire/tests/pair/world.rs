//! A world of one client and one server with a virtual clock: control bytes in any portions over a link with delay,
//! data flows that count, and trouble at chosen times. Nothing in it waits; a minute of test takes a millisecond.

use crate::data::Data;
use model::event::{Event, Probe, Warning};
use model::sample::{IntervalSample, Side, SideResult};
use model::time::MonoTime;
use model::units::Nanos;
use pathmeter_wire::work::throughput::{Reply, Request};
use pathmeter_wire::{FlowPlan, Input, Output, ProtocolError, Session, WorkReply, WorkRequest};
use std::collections::BTreeMap;

/// One of the two ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Who {
    Client,
    Server,
}

/// What the world is like.
pub(crate) struct Nature {
    /// One way, control and data.
    pub(crate) delay: Nanos,
    /// Largest portion in which control bytes arrive.
    pub(crate) portion: usize,
    /// Payload bytes a second on each stream.
    pub(crate) rate: u64,
    /// Of so many datagrams one is lost; 0: none.
    pub(crate) lose_every: u64,
    /// The server's clock less the client's.
    pub(crate) clock_offset: i64,
    /// Time between this end's reports.
    pub(crate) interval: Nanos,
    /// What happens from outside, in any order.
    pub(crate) troubles: Vec<(Nanos, Trouble)>,
    /// May change what an end sends, one `Send` at a time.
    pub(crate) tamper: Option<Tamper>,
}

/// May change bytes that an end sends.
pub(crate) type Tamper = Box<dyn FnMut(Who, &mut Vec<u8>)>;

/// What happens from outside.
#[derive(Clone, Debug)]
pub(crate) enum Trouble {
    /// The user, or a signal, wants this end to stop.
    Interrupt(Who),
    /// From now on this end does nothing, and nothing reaches it; nobody is told.
    Vanish(Who),
    /// The control connection breaks; both ends see it.
    Break,
    /// These bytes reach an end on its control connection as if the peer had sent them.
    Inject(Who, Vec<u8>),
    /// The data flows of this end cannot be opened: must come before they are.
    FlowsFail(Who),
}

/// One end and what became of it.
pub(crate) struct End<S> {
    pub(crate) session: S,
    pub(crate) events: Vec<Event>,
    /// The error of `input`, if there was one.
    pub(crate) error: Option<ProtocolError>,
    /// When it closed.
    pub(crate) closed: Option<MonoTime>,
    /// When its flows were started.
    pub(crate) started: Option<MonoTime>,
    /// What it measured.
    pub(crate) measured: Option<SideResult>,
    pub(crate) plan: Option<FlowPlan>,
    vanished: bool,
    flows_fail: bool,
    wake: Option<MonoTime>,
    /// Nothing sent earlier arrives later.
    last_arrival: MonoTime,
}

pub(crate) struct Pair<C, S> {
    pub(crate) now: MonoTime,
    pub(crate) client: End<C>,
    pub(crate) server: End<S>,
    nature: Nature,
    agenda: BTreeMap<(MonoTime, u64), Happening>,
    ticket: u64,
    seed: u64,
    data: Data,
    begin: MonoTime,
}

#[derive(Debug)]
enum Happening {
    Bytes(Who, Vec<u8>),
    Closed(Who),
    FlowsOpen(Who),
    Report(Who, u64),
    SendersDone(Who),
    DrainOver(Who),
    Trouble(Trouble),
}

impl Default for Nature {
    fn default() -> Nature {
        Nature {
            delay: Nanos::from_millis(5),
            portion: 700,
            rate: 1_000_000,
            lose_every: 0,
            clock_offset: 0,
            interval: Nanos::from_secs(1),
            troubles: Vec::new(),
            tamper: None,
        }
    }
}

impl Who {
    pub(crate) fn other(self) -> Who {
        if self == Who::Client { Who::Server } else { Who::Client }
    }
}

impl<C: Session, S: Session> Pair<C, S> {
    /// The ends are made at the world's first moment, each by its own clock.
    pub(crate) fn new(
        nature: Nature,
        client: impl FnOnce(MonoTime) -> C,
        server: impl FnOnce(MonoTime) -> S,
    ) -> Pair<C, S> {
        let begin = MonoTime(1_000_000_000_000);
        let server_now = MonoTime(begin.0.wrapping_add_signed(nature.clock_offset));
        let (client, server) = (End::new(client(begin)), End::new(server(server_now)));
        let data = Data::new(nature.rate, nature.lose_every, nature.delay);
        let mut pair = Pair {
            now: begin,
            client,
            server,
            agenda: BTreeMap::new(),
            ticket: 0,
            seed: 88_172_645_463_325_252,
            data,
            begin,
            nature,
        };
        for (at, trouble) in std::mem::take(&mut pair.nature.troubles) {
            pair.plan(begin + at, Happening::Trouble(trouble));
        }
        pair
    }

    /// Runs until both ends are closed or vanished and tells how long that took.
    pub(crate) fn run(&mut self) -> Nanos {
        self.take_outputs(Who::Client);
        self.take_outputs(Who::Server);
        for _ in 0..200_000 {
            if self.is_over() {
                return self.now - self.begin;
            }
            self.step();
        }
        panic!("not over after {}: {:?}, {:?}", self.now - self.begin, self.client.error, self.server.error);
    }

    fn is_over(&self) -> bool {
        let client = self.client.vanished || self.client.closed.is_some();
        client && (self.server.vanished || self.server.closed.is_some())
    }

    fn next_time(&self) -> Option<MonoTime> {
        let planned = self.agenda.keys().next().map(|key| key.0);
        let wakes = [Who::Client, Who::Server].map(|who| self.wake(who));
        planned.into_iter().chain(wakes.into_iter().flatten()).min()
    }

    fn wake(&self, who: Who) -> Option<MonoTime> {
        match who {
            Who::Client => self.client.wake.filter(|_| self.client.is_there()),
            Who::Server => self.server.wake.filter(|_| self.server.is_there()),
        }
    }

    fn step(&mut self) {
        let next = self.next_time().expect("an end that is not over waits for something");
        self.now = self.now.max(next);
        for who in [Who::Client, Who::Server] {
            if self.wake(who).is_some_and(|wake| wake <= self.now) {
                self.give(who, Input::Timer);
            }
        }
        if self.agenda.keys().next().is_some_and(|key| key.0 <= self.now)
            && let Some((_, happening)) = self.agenda.pop_first()
        {
            self.happen(happening);
        }
        self.tell_the_time_early(Who::Client);
        self.tell_the_time_early(Who::Server);
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Bytes(who, bytes) => self.give(who, Input::Received(&bytes)),
            Happening::Closed(who) => self.give(who, Input::Closed),
            Happening::FlowsOpen(who) if self.end_flows_fail(who) => {
                self.give(who, WorkReply::Failed("connect to 192.0.2.1:5210: no route".into()).into());
            }
            Happening::FlowsOpen(who) => self.give(who, WorkReply::Open(Vec::new()).into()),
            Happening::Report(who, number) => self.report(who, number),
            Happening::SendersDone(who) => self.senders_done(who),
            Happening::DrainOver(who) => {
                let result = self.data.measure(who, self.now);
                *self.measured(who) = Some(result.clone());
                self.give(who, Reply::Measured { result: Box::new(result), report: None }.into());
            }
            Happening::Trouble(trouble) => self.trouble(trouble),
        }
    }

    fn trouble(&mut self, trouble: Trouble) {
        match trouble {
            Trouble::Interrupt(who) => self.give(who, Input::Interrupt("Ctrl-C")),
            Trouble::Vanish(Who::Client) => self.client.vanished = true,
            Trouble::Vanish(Who::Server) => self.server.vanished = true,
            Trouble::Break => {
                self.give(Who::Client, Input::Closed);
                self.give(Who::Server, Input::Closed);
            }
            Trouble::Inject(who, bytes) => self.give(who, Input::Received(&bytes)),
            Trouble::FlowsFail(Who::Client) => self.client.flows_fail = true,
            Trouble::FlowsFail(Who::Server) => self.server.flows_fail = true,
        }
    }

    fn end_flows_fail(&self, who: Who) -> bool {
        if who == Who::Client { self.client.flows_fail } else { self.server.flows_fail }
    }

    fn measured(&mut self, who: Who) -> &mut Option<SideResult> {
        if who == Who::Client { &mut self.client.measured } else { &mut self.server.measured }
    }

    /// Gives an input, then takes the outputs: the drain rule.
    fn give(&mut self, who: Who, input: Input<'_>) {
        let now = self.clock(who);
        match who {
            Who::Client => self.client.input(now, input),
            Who::Server => self.server.input(now, input),
        }
        self.take_outputs(who);
    }

    fn clock(&self, who: Who) -> MonoTime {
        match who {
            Who::Client => self.now,
            Who::Server => MonoTime(self.now.0.wrapping_add_signed(self.nature.clock_offset)),
        }
    }

    /// A timer given early must change nothing.
    fn tell_the_time_early(&mut self, who: Who) {
        let (now, wake) = (self.clock(who), self.wake(who));
        if wake.is_none_or(|wake| wake <= self.now) {
            return;
        }
        let output = match who {
            Who::Client => self.client.early(now),
            Who::Server => self.server.early(now),
        };
        let Output::WaitUntil(until) = output else { panic!("an early timer made {who:?} say {output:?}") };
        assert_eq!(until.map(|until| self.to_world(who, until)), wake, "an early timer moved the deadline");
    }

    fn to_world(&self, who: Who, time: MonoTime) -> MonoTime {
        match who {
            Who::Client => time,
            Who::Server => MonoTime(time.0.wrapping_add_signed(-self.nature.clock_offset)),
        }
    }

    pub(crate) fn take_outputs(&mut self, who: Who) {
        for _ in 0..10_000 {
            let now = self.clock(who);
            let there = if who == Who::Client { self.client.is_there() } else { self.server.is_there() };
            if !there {
                return;
            }
            let output = match who {
                Who::Client => self.client.session.output(now),
                Who::Server => self.server.session.output(now),
            };
            if let Output::WaitUntil(wake) = output {
                let wake = wake.map(|wake| self.to_world(who, wake));
                match who {
                    Who::Client => self.client.wake = wake,
                    Who::Server => self.server.wake = wake,
                }
                return;
            }
            self.carry_out(who, output);
        }
        panic!("{who:?} never waits");
    }

    fn carry_out(&mut self, who: Who, output: Output) {
        match output {
            Output::Send(bytes) => self.send(who, bytes),
            Output::Work(WorkRequest::Flows(order)) => self.open_flows(who, order.plan),
            Output::Work(WorkRequest::Throughput(request)) => self.move_data(who, request),
            Output::Work(other) => panic!("{other:?} in a test"),
            Output::Event(event) => self.events(who).push(event),
            Output::WaitUntil(_) => unreachable!("taken by the caller"),
            Output::Close => {
                let now = self.clock(who);
                let next = match who {
                    Who::Client => self.client.close(self.now, now),
                    Who::Server => self.server.close(self.now, now),
                };
                assert!(matches!(next, Output::WaitUntil(None)), "{next:?} after Close");
                let at = self.arrival(who.other());
                self.plan(at, Happening::Closed(who.other()));
            }
        }
    }

    fn move_data(&mut self, who: Who, request: Request) {
        match request {
            Request::Start => self.start_flows(who),
            Request::StopSenders => self.plan(self.now, Happening::SendersDone(who)),
            Request::Drain { expect, limit } => {
                let over = self.data.drain(who, self.now, &expect, limit);
                self.plan(over, Happening::DrainOver(who));
            }
        }
    }

    fn events(&mut self, who: Who) -> &mut Vec<Event> {
        if who == Who::Client { &mut self.client.events } else { &mut self.server.events }
    }

    /// In portions, none of which overtakes another.
    fn send(&mut self, from: Who, mut bytes: Vec<u8>) {
        if let Some(tamper) = &mut self.nature.tamper {
            tamper(from, &mut bytes);
        }
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let length = (1 + self.random() as usize % self.nature.portion).min(rest.len());
            let (portion, later) = rest.split_at(length);
            let at = self.arrival(from.other());
            self.plan(at, Happening::Bytes(from.other(), portion.to_vec()));
            rest = later;
        }
    }

    fn arrival(&mut self, to: Who) -> MonoTime {
        let at = self.now + self.nature.delay + Nanos(self.random() % (1 + self.nature.delay.0 / 100));
        let last = match to {
            Who::Client => &mut self.client.last_arrival,
            Who::Server => &mut self.server.last_arrival,
        };
        *last = at.max(*last);
        *last
    }

    fn open_flows(&mut self, who: Who, plan: FlowPlan) {
        if who == Who::Server {
            self.data.agree(&plan.test);
            self.server.plan = Some(plan);
            return;
        }
        assert!(self.server.plan.is_some(), "the server accepts flows before the client opens them");
        self.client.plan = Some(plan);
        let (there, back) = (self.now + self.nature.delay, self.now + self.nature.delay + self.nature.delay);
        self.plan(there, Happening::FlowsOpen(Who::Server));
        self.plan(back, Happening::FlowsOpen(Who::Client));
    }

    fn start_flows(&mut self, who: Who) {
        let started = if who == Who::Client { &mut self.client.started } else { &mut self.server.started };
        assert!(started.replace(self.now).is_none(), "started once");
        if let Some(end) = self.data.start(who, self.now) {
            self.plan(end, Happening::SendersDone(who));
        }
        self.plan(self.now + self.nature.interval, Happening::Report(who, 0));
    }

    /// The senders stop once, by themselves or because they were told to.
    fn senders_done(&mut self, who: Who) {
        if let Some(sent) = self.data.stop(who, self.now) {
            self.give(who, Reply::SendersDone(sent).into());
        }
    }

    fn report(&mut self, who: Who, number: u64) {
        let measured = self.measured(who).is_some();
        if measured {
            return;
        }
        let (start, end) =
            (Nanos(self.nature.interval.0 * number), Nanos(self.nature.interval.0 * (number + 1)));
        let streams = self.data.sample(who, self.now);
        let sample = IntervalSample { side: Side::Local, start, end, omitted: false, streams };
        self.give(who, Reply::Sample(sample).into());
        let (sent, received) = self.data.progress(who, self.now);
        self.give(who, Reply::Progress { sent, received, omitted: false }.into());
        self.plan(self.now + self.nature.interval, Happening::Report(who, number + 1));
    }

    fn plan(&mut self, at: MonoTime, happening: Happening) {
        self.ticket += 1;
        self.agenda.insert((at, self.ticket), happening);
    }

    /// xorshift64.
    fn random(&mut self) -> u64 {
        self.seed ^= self.seed << 13;
        self.seed ^= self.seed >> 7;
        self.seed ^= self.seed << 17;
        self.seed
    }
}

impl<S: Session> End<S> {
    fn new(session: S) -> End<S> {
        End {
            session,
            events: Vec::new(),
            error: None,
            closed: None,
            started: None,
            measured: None,
            plan: None,
            vanished: false,
            flows_fail: false,
            wake: None,
            last_arrival: MonoTime::ZERO,
        }
    }

    fn is_there(&self) -> bool {
        !self.vanished && self.closed.is_none()
    }

    fn input(&mut self, now: MonoTime, input: Input<'_>) {
        if !self.is_there() {
            return;
        }
        if let Err(error) = self.session.input(now, input) {
            assert_eq!(self.error, None, "an error after the end: {error}");
            self.error = Some(error);
        }
    }

    /// Closes, and tells what the session wants after that.
    fn close(&mut self, at: MonoTime, now: MonoTime) -> Output {
        self.closed = Some(at);
        self.session.output(now)
    }

    fn early(&mut self, now: MonoTime) -> Output {
        self.session.input(now, Input::Timer).expect("an early timer is no error");
        self.session.output(now)
    }

    /// What the peer told of its result.
    pub(crate) fn result_of_peer(&self) -> Option<&SideResult> {
        self.events.iter().find_map(|event| match event {
            Event::Result(result) if result.side == Side::Peer => Some(&result.result),
            _ => None,
        })
    }

    /// The intervals the peer told of.
    pub(crate) fn samples_of_peer(&self) -> usize {
        self.events.iter().filter(|e| matches!(e, Event::Sample(sample) if sample.side == Side::Peer)).count()
    }

    pub(crate) fn warnings(&self) -> Vec<&str> {
        let id = |event| {
            if let &Event::Warning(Warning { ref id, .. }) = event { Some(id.as_str()) } else { None }
        };
        self.events.iter().filter_map(id).collect()
    }

    /// Offset and error of the peer's clock, as told.
    pub(crate) fn clock_offset(&self) -> Option<(i64, Nanos)> {
        self.events.iter().find_map(|event| match event {
            Event::Probe(Probe::ClockOffset { offset_ns, error, .. }) => Some((*offset_ns, *error)),
            _ => None,
        })
    }
}
