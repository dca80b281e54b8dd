//! A world of two ends on a virtual link: one clock in steps of a millisecond, control bytes in any portions, data
//! flows that count. It drives any two sessions by the rules of [`pathmeter_wire::Session`] and checks that they keep them.

use model::event::Event;
use model::plan::{Direction, End as TestEnd, TestSpec, Transport};
use model::sample::{Role, SideResult, StreamResult, TcpCounters, UdpCounters};
use model::time::MonoTime;
use model::units::{Bytes, Nanos};
use pathmeter_wire::iperf3::block_length;
use pathmeter_wire::work::throughput::{Reply, Request};
use pathmeter_wire::{
    Expect, FlowPlan, Input, Output, ProtocolError, Report, Sent, Session, Until, WorkReply, WorkRequest,
};
use std::collections::VecDeque;

/// How the world treats the two ends.
#[derive(Clone, Debug)]
pub(crate) struct Nature {
    /// One way, control and data.
    pub(crate) delay_ms: u64,
    /// Largest portion in which control bytes arrive.
    pub(crate) portion: usize,
    /// Of so many datagrams one is lost; 0: none.
    pub(crate) lose_every: u64,
    /// From this time on the client does nothing any more and nothing reaches it.
    pub(crate) client_gone_ms: Option<u64>,
    /// The same of the server.
    pub(crate) server_gone_ms: Option<u64>,
    /// The client's user interrupts at these times.
    pub(crate) interrupts_ms: Vec<u64>,
    /// The server is stopped at this time.
    pub(crate) shutdown_ms: Option<u64>,
    /// Senders do not stop by themselves.
    pub(crate) senders_stuck: bool,
    /// The server's own report.
    pub(crate) report: Option<Report>,
    /// Numbers for portions.
    pub(crate) seed: u64,
}

impl Default for Nature {
    fn default() -> Nature {
        Nature {
            delay_ms: 3,
            portion: 1000,
            lose_every: 0,
            client_gone_ms: None,
            server_gone_ms: None,
            interrupts_ms: Vec::new(),
            shutdown_ms: None,
            senders_stuck: false,
            report: None,
            seed: 1,
        }
    }
}

/// What became of one end.
pub(crate) struct EndState {
    session: Box<dyn Session>,
    sends: Direction,
    control: VecDeque<(MonoTime, Option<u8>)>,
    plan: Option<FlowPlan>,
    flows_open_at: Option<MonoTime>,
    started: Option<MonoTime>,
    senders_stopped: bool,
    drain: Option<(Vec<Expect>, MonoTime)>,
    wake: Option<MonoTime>,
    flows_closed: Option<MonoTime>,
    pub(crate) events: Vec<Event>,
    pub(crate) error: Option<ProtocolError>,
    pub(crate) closed: Option<MonoTime>,
    /// What it measured.
    pub(crate) local: Option<SideResult>,
}

#[derive(Clone, Debug, Default)]
struct Flow {
    sent: u64,
    sent_counted: u64,
    datagrams: u64,
    datagrams_counted: u64,
    in_flight: VecDeque<(MonoTime, u64)>,
    received: u64,
    received_counted: u64,
    arrived_counted: u64,
    highest: u64,
    highest_omitted: u64,
    last_arrival: MonoTime,
}

/// Both ends and what is between them.
pub(crate) struct World {
    pub(crate) now: MonoTime,
    pub(crate) client: EndState,
    pub(crate) server: EndState,
    nature: Nature,
    flows: Vec<Flow>,
}

impl World {
    pub(crate) fn new(client: Box<dyn Session>, server: Box<dyn Session>, nature: Nature) -> World {
        let end = |session, sends| EndState {
            session,
            sends,
            control: VecDeque::new(),
            plan: None,
            flows_open_at: None,
            started: None,
            senders_stopped: false,
            drain: None,
            wake: None,
            flows_closed: None,
            events: Vec::new(),
            error: None,
            closed: None,
            local: None,
        };
        let (client, server) = (end(client, Direction::Up), end(server, Direction::Down));
        World { now: MonoTime(5_000_000_000), client, server, nature, flows: Vec::new() }
    }

    /// Runs until both ends have closed or vanished, or for so long; returns the milliseconds it took.
    pub(crate) fn run(&mut self, longest_ms: u64) -> u64 {
        self.carry_out(true);
        self.carry_out(false);
        for ms in 0..longest_ms {
            self.happenings(ms);
            self.move_data(ms);
            for is_client in [true, false] {
                if !self.is_gone(is_client, ms) {
                    self.step(is_client);
                }
            }
            if self.over(true, ms) && self.over(false, ms) {
                return ms;
            }
            self.now += Nanos::from_millis(1);
        }
        panic!(
            "not over after {longest_ms} ms: client {:?}, server {:?}",
            self.client.error, self.server.error
        );
    }

    fn over(&self, is_client: bool, ms: u64) -> bool {
        self.is_gone(is_client, ms) || self.end(is_client).closed.is_some()
    }

    fn is_gone(&self, is_client: bool, ms: u64) -> bool {
        let gone = if is_client { self.nature.client_gone_ms } else { self.nature.server_gone_ms };
        gone.is_some_and(|gone| gone <= ms)
    }

    fn end(&self, is_client: bool) -> &EndState {
        if is_client { &self.client } else { &self.server }
    }

    fn end_mut(&mut self, is_client: bool) -> &mut EndState {
        if is_client { &mut self.client } else { &mut self.server }
    }

    fn happenings(&mut self, ms: u64) {
        if self.nature.interrupts_ms.contains(&ms) {
            self.give(true, Input::Interrupt("Ctrl-C"));
        }
        if self.nature.shutdown_ms == Some(ms) {
            self.give(false, Input::Interrupt("SIGTERM"));
        }
    }

    fn step(&mut self, is_client: bool) {
        let now = self.now;
        self.deliver(is_client);
        if self.end(is_client).flows_open_at.is_some_and(|at| at <= now) {
            self.end_mut(is_client).flows_open_at = None;
            self.give(is_client, WorkReply::Open(Vec::new()).into());
        }
        if self.now.0.is_multiple_of(20_000_000) && self.end(is_client).started.is_some() {
            let (sent, received) = self.counted(is_client);
            self.give(is_client, Reply::Progress { sent, received, omitted: false }.into());
        }
        self.stop_by_itself(is_client);
        self.finish_drain(is_client);
        let due = self.end(is_client).wake.is_some_and(|wake| wake <= now);
        if due {
            self.give(is_client, Input::Timer);
        } else {
            self.tell_the_time_early(is_client);
        }
    }

    /// A timer given early must change nothing.
    fn tell_the_time_early(&mut self, is_client: bool) {
        let now = self.now;
        let end = self.end_mut(is_client);
        if end.closed.is_some() {
            return;
        }
        end.session.input(now, Input::Timer).expect("an early timer is no error");
        let Output::WaitUntil(wake) = end.session.output(now) else { panic!("an early timer did something") };
        assert_eq!(wake, end.wake, "an early timer changed the deadline");
    }

    /// Control bytes that have arrived, in portions.
    fn deliver(&mut self, is_client: bool) {
        loop {
            let now = self.now;
            let most = 1 + self.random() as usize % self.nature.portion;
            let end = self.end_mut(is_client);
            let mut portion = Vec::new();
            while portion.len() < most && matches!(end.control.front(), Some((at, Some(_))) if *at <= now) {
                portion.extend(end.control.pop_front().and_then(|(_, byte)| byte));
            }
            if !portion.is_empty() {
                self.give(is_client, Input::Received(&portion));
            } else if matches!(end.control.front(), Some((at, None)) if *at <= now) {
                end.control.clear();
                self.give(is_client, Input::Closed);
            } else {
                return;
            }
        }
    }

    fn give(&mut self, is_client: bool, input: Input<'_>) {
        let now = self.now;
        let end = self.end_mut(is_client);
        if end.closed.is_some() {
            return;
        }
        if let Err(error) = end.session.input(now, input) {
            assert_eq!(end.error, None, "an error after the end");
            end.error = Some(error);
        }
        self.carry_out(is_client);
    }

    /// Takes outputs until there are no more.
    fn carry_out(&mut self, is_client: bool) {
        for _ in 0..100 {
            let now = self.now;
            let output = self.end_mut(is_client).session.output(now);
            let end = self.end(is_client);
            assert!(
                end.closed.is_none() || matches!(output, Output::WaitUntil(None)),
                "{output:?} after Close"
            );
            match output {
                Output::Send(bytes) => self.send(is_client, bytes.into_iter().map(Some)),
                Output::Work(WorkRequest::Flows(order)) => self.open_flows(is_client, order.plan),
                Output::Work(WorkRequest::Throughput(Request::Start)) => self.start(is_client),
                Output::Work(WorkRequest::Throughput(Request::StopSenders)) => self.senders_done(is_client),
                Output::Work(WorkRequest::Throughput(Request::Drain { expect, limit })) => {
                    assert!(end.drain.is_none() && end.local.is_none(), "drained once");
                    self.end_mut(is_client).drain = Some((expect, now + limit));
                }
                Output::Work(other) => panic!("{other:?} in a test"),
                Output::Event(event) => self.end_mut(is_client).events.push(event),
                Output::WaitUntil(wake) => {
                    assert!(wake.is_some() || end.closed.is_some(), "every wait has a deadline");
                    self.end_mut(is_client).wake = wake;
                    return;
                }
                Output::Close => {
                    self.send(is_client, [None].into_iter());
                    let end = self.end_mut(is_client);
                    end.closed = Some(now);
                    end.flows_closed.get_or_insert(now);
                }
            }
        }
        panic!("a session that never waits");
    }

    fn send(&mut self, from_client: bool, bytes: impl Iterator<Item = Option<u8>>) {
        let at = self.now + Nanos::from_millis(self.nature.delay_ms);
        let other = self.end_mut(!from_client);
        other.control.extend(bytes.map(|byte| (at, byte)));
    }

    fn open_flows(&mut self, is_client: bool, plan: FlowPlan) {
        let (now, delay) = (self.now, Nanos::from_millis(self.nature.delay_ms));
        assert!(self.end(is_client).plan.is_none(), "flows open once");
        if is_client {
            let agreed = self.server.plan.as_ref().expect("the server accepts before the client connects");
            assert_eq!(agreed.hello, plan.hello);
            let both = plan.test.directions.each().count();
            self.flows = vec![Flow::default(); plan.test.streams as usize * both];
            self.client.flows_open_at = Some(now + delay + delay);
            self.server.flows_open_at = Some(now + delay);
        }
        self.end_mut(is_client).plan = Some(plan);
    }

    fn start(&mut self, is_client: bool) {
        let now = self.now;
        let end = self.end_mut(is_client);
        assert!(end.plan.is_some() && end.started.is_none(), "flows start once, when they are open");
        end.started = Some(now);
    }

    fn stop_by_itself(&mut self, is_client: bool) {
        let end = self.end(is_client);
        let (Some(plan), Some(started), false) = (&end.plan, end.started, end.senders_stopped) else {
            return;
        };
        let sending = plan.test.stream_numbers(end.sends);
        let sent: u64 = sending.clone().map(|n| self.flows[n as usize].sent_counted).sum();
        let blocks: u64 = sent / u64::from(block_length(&plan.test));
        let done = match plan.test.end {
            TestEnd::Time(time) => !plan.senders_wait_for_stop && started + plan.test.omit + time <= self.now,
            TestEnd::Bytes(bytes) => sent >= bytes.0,
            TestEnd::Blocks(count) => blocks >= count,
        };
        if done && !sending.is_empty() && !self.nature.senders_stuck {
            self.senders_done(is_client);
        }
    }

    fn senders_done(&mut self, is_client: bool) {
        let end = self.end(is_client);
        let test = end.plan.as_ref().expect("senders of a test").test.clone();
        let sent = |stream: u32| {
            let flow = &self.flows[stream as usize];
            Sent { stream, bytes: flow.sent, datagrams: flow.datagrams }
        };
        let sent: Vec<Sent> = test.stream_numbers(end.sends).map(sent).collect();
        assert!(!end.senders_stopped, "senders stop once");
        self.end_mut(is_client).senders_stopped = true;
        self.give(is_client, Reply::SendersDone(sent).into());
    }

    /// One millisecond of data: a block on every stream that sends, and what arrives.
    fn move_data(&mut self, ms: u64) {
        for is_client in [true, false] {
            if self.is_gone(is_client, ms) {
                continue;
            }
            let end = self.end(is_client);
            let (Some(plan), Some(started)) = (end.plan.clone(), end.started) else { continue };
            let (sends, moving) = (end.sends, !end.senders_stopped && end.flows_closed.is_none());
            let omitted = self.now < started + plan.test.omit;
            if moving {
                plan.test.stream_numbers(sends).for_each(|n| self.send_block(n, &plan.test, omitted));
            }
            plan.test.stream_numbers(sends.reversed()).for_each(|n| self.receive(n, &plan.test, omitted));
        }
    }

    fn send_block(&mut self, stream: u32, test: &TestSpec, omitted: bool) {
        let block = u64::from(block_length(test));
        let numbers = test.stream_numbers(test.direction_of(stream));
        let total: u64 = numbers.map(|n| self.flows[n as usize].sent_counted).sum();
        let left = match test.end {
            TestEnd::Bytes(bytes) if !omitted => bytes.0.saturating_sub(total),
            TestEnd::Blocks(blocks) if !omitted => (blocks * block).saturating_sub(total),
            _ => block,
        };
        let (size, at) = (block.min(left), self.now + Nanos::from_millis(self.nature.delay_ms));
        if size == 0 {
            return;
        }
        let flow = &mut self.flows[stream as usize];
        flow.sent += size;
        flow.datagrams += 1;
        if !omitted {
            flow.sent_counted += size;
            flow.datagrams_counted += 1;
        }
        let lose = self.nature.lose_every;
        let lost = test.transport == Transport::Udp && lose > 0 && flow.datagrams.is_multiple_of(lose);
        if !lost {
            let mark = if test.transport == Transport::Udp { flow.datagrams } else { size };
            flow.in_flight.push_back((at, mark));
        }
    }

    fn receive(&mut self, stream: u32, test: &TestSpec, omitted: bool) {
        let (now, block) = (self.now, u64::from(block_length(test)));
        let flow = &mut self.flows[stream as usize];
        while flow.in_flight.front().is_some_and(|(at, _)| *at <= now) {
            let Some((_, mark)) = flow.in_flight.pop_front() else { return };
            let size = if test.transport == Transport::Udp { block } else { mark };
            flow.received += size;
            flow.last_arrival = now;
            flow.highest = mark;
            if omitted {
                flow.highest_omitted = mark;
            } else {
                flow.received_counted += size;
                flow.arrived_counted += 1;
            }
        }
    }

    fn counted(&self, is_client: bool) -> (u64, u64) {
        let end = self.end(is_client);
        let Some(plan) = &end.plan else { return (0, 0) };
        let sent = plan.test.stream_numbers(end.sends).map(|n| self.flows[n as usize].sent_counted).sum();
        let receives = plan.test.stream_numbers(end.sends.reversed());
        (sent, receives.map(|n| self.flows[n as usize].received_counted).sum())
    }

    fn finish_drain(&mut self, is_client: bool) {
        let Some((expect, limit)) = self.end(is_client).drain.clone() else { return };
        if self.now < limit && !expect.iter().all(|expect| self.has_come(is_client, *expect)) {
            return;
        }
        let now = self.now;
        let result = self.measure(is_client);
        let report = if is_client { None } else { self.nature.report.clone() };
        let end = self.end_mut(is_client);
        end.drain = None;
        end.flows_closed = Some(now);
        end.local = Some(result.clone());
        self.give(is_client, Reply::Measured { result: Box::new(result), report }.into());
    }

    fn has_come(&self, is_client: bool, expect: Expect) -> bool {
        let flow = &self.flows[expect.stream as usize];
        let started = self.end(is_client).started.unwrap_or_default();
        let quiet = |span| flow.last_arrival.max(started) + span <= self.now;
        let tcp = self.end(is_client).plan.as_ref().is_some_and(|plan| plan.test.transport == Transport::Tcp);
        let ended = tcp && self.end(!is_client).flows_closed.is_some() && flow.in_flight.is_empty();
        match expect.until {
            Until::Bytes(bytes, span) => flow.received >= bytes || quiet(span),
            Until::Sequence(last, span) => flow.highest >= last || quiet(span),
            Until::Quiet(span) => ended || quiet(span),
        }
    }

    fn measure(&self, is_client: bool) -> SideResult {
        let end = self.end(is_client);
        let test = &end.plan.as_ref().expect("a test").test;
        let row = |stream: u32| {
            let flow = &self.flows[stream as usize];
            let direction = test.direction_of(stream);
            let sender = direction == end.sends;
            let (bytes, total) =
                if sender { (flow.sent_counted, flow.sent) } else { (flow.received_counted, flow.received) };
            let arrived = flow.arrived_counted;
            let udp = if sender {
                UdpCounters {
                    datagrams: flow.datagrams_counted,
                    last_sequence: flow.datagrams,
                    ..Default::default()
                }
            } else {
                let lost = flow.highest.saturating_sub(flow.highest_omitted).saturating_sub(arrived);
                UdpCounters { datagrams: arrived, lost, last_sequence: flow.highest, ..Default::default() }
            };
            StreamResult {
                stream,
                direction,
                role: if sender { Role::Sender } else { Role::Receiver },
                elapsed: Nanos::from_secs(1),
                bytes: Bytes(bytes),
                total_bytes: Bytes(total),
                tcp: (test.transport == Transport::Tcp)
                    .then(|| TcpCounters { retransmits: 7, ..TcpCounters::default() }),
                udp: (test.transport == Transport::Udp).then_some(udp),
            }
        };
        let streams = (0..self.flows.len() as u32).map(row).collect();
        SideResult { streams, ..SideResult::default() }
    }

    fn random(&mut self) -> u64 {
        let seed = &mut self.nature.seed;
        *seed ^= *seed << 13;
        *seed ^= *seed >> 7;
        *seed ^= *seed << 17;
        *seed
    }
}

impl EndState {
    /// What this end heard of the other's result.
    pub(crate) fn peer(&self) -> Option<&model::event::EndResult> {
        self.events
            .iter()
            .find_map(|event| if let Event::Result(result) = event { Some(result) } else { None })
    }
}
