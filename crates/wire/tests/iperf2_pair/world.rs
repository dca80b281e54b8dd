//! A world of two ends of one flow on a virtual link: one clock in steps of a millisecond, TCP bytes in any portions,
//! datagrams that may be lost. It drives any two machines by the rules of [`pathmeter_wire::iperf2::Flow`] and checks that they
//! keep them.

use model::plan::Transport;
use model::time::{MonoTime, WallTime};
use model::units::Nanos;
use pathmeter_wire::iperf2::{
    Amount, Flow, FlowInput, FlowOutput, Number, Numbered, Request, Run, ServerReport, Told, UdpServer,
    is_wide, number,
};
use pathmeter_wire::stamp::Clock;
use pathmeter_wire::{Datagram, Policy, ProtocolError, Sent, Stamp};
use std::collections::VecDeque;

pub(crate) const START: MonoTime = MonoTime(5_000_000_000);

/// Both ends' clocks.
pub(crate) fn clock() -> Clock {
    Clock { mono: START, wall: WallTime(1_795_246_708_000_000_000) }
}

/// Which datagrams are lost: told who sends, which one it is (from 1, by sender), and what it says.
pub(crate) type Fate = Box<dyn FnMut(bool, u64, &[u8]) -> bool>;

/// How the world treats the two ends.
pub(crate) struct Nature {
    /// One way.
    pub(crate) delay_ms: u64,
    /// Largest portion in which TCP bytes arrive.
    pub(crate) portion: usize,
    /// Is this datagram lost?
    pub(crate) lose: Fate,
    /// From this time on the client does nothing any more and nothing reaches it.
    pub(crate) client_gone_ms: Option<u64>,
    /// The same of the server.
    pub(crate) server_gone_ms: Option<u64>,
    /// The client's user interrupts at these times.
    pub(crate) interrupts_ms: Vec<u64>,
    /// What the server may allow.
    pub(crate) policy: Policy,
}

impl Default for Nature {
    fn default() -> Nature {
        Nature {
            delay_ms: 3,
            portion: 1000,
            lose: Box::new(|_, _, _| false),
            client_gone_ms: None,
            server_gone_ms: None,
            interrupts_ms: Vec::new(),
            policy: Policy::default(),
        }
    }
}

enum Item {
    Bytes(Vec<u8>),
    Datagram(Vec<u8>),
    End,
}

/// One end and what became of it.
#[derive(Default)]
pub(crate) struct End {
    flow: Option<Box<dyn Flow>>,
    wire: VecDeque<(MonoTime, Item)>,
    run: Option<Run>,
    started: MonoTime,
    sending: bool,
    receiving: bool,
    wide: bool,
    wake: Option<MonoTime>,
    sent_datagrams: u64,
    pub(crate) sent: u64,
    pub(crate) datagrams: u64,
    pub(crate) received: u64,
    pub(crate) arrived: u64,
    pub(crate) highest: u64,
    pub(crate) told: Vec<Told>,
    pub(crate) backs: Vec<Request>,
    pub(crate) error: Option<ProtocolError>,
    pub(crate) closed: bool,
    /// What went out besides data.
    pub(crate) said: Vec<Vec<u8>>,
}

/// Both ends and what is between them.
pub(crate) struct World {
    pub(crate) now: MonoTime,
    pub(crate) client: End,
    pub(crate) server: End,
    transport: Transport,
    nature: Nature,
}

impl World {
    /// A TCP server is there from the start, a UDP server is made by the first datagram.
    pub(crate) fn new(
        transport: Transport,
        client: Box<dyn Flow>,
        server: Option<Box<dyn Flow>>,
        nature: Nature,
    ) -> World {
        let client = End { flow: Some(client), wide: true, ..End::default() };
        let server = End { flow: server, ..End::default() };
        World { now: START, client, server, transport, nature }
    }

    /// Runs until both ends are over or gone; says how many milliseconds it took.
    pub(crate) fn run(&mut self, longest_ms: u64) -> u64 {
        for ms in 0..longest_ms {
            for is_client in [true, false] {
                if !self.is_gone(is_client, ms) {
                    self.step(is_client, ms);
                }
            }
            let over = |is_client| self.is_gone(is_client, ms) || self.end(is_client).closed;
            if over(true) && (over(false) || self.server.flow.is_none()) {
                return ms;
            }
            self.now += Nanos::from_millis(1);
        }
        panic!("not over: client {:?}, server {:?}", self.client.error, self.server.error);
    }

    fn is_gone(&self, is_client: bool, ms: u64) -> bool {
        let gone = if is_client { self.nature.client_gone_ms } else { self.nature.server_gone_ms };
        gone.is_some_and(|gone| gone <= ms)
    }

    fn end(&self, is_client: bool) -> &End {
        if is_client { &self.client } else { &self.server }
    }

    fn end_mut(&mut self, is_client: bool) -> &mut End {
        if is_client { &mut self.client } else { &mut self.server }
    }

    fn step(&mut self, is_client: bool, ms: u64) {
        self.carry_out(is_client);
        if is_client && self.nature.interrupts_ms.contains(&ms) {
            self.give(true, FlowInput::Interrupt("Ctrl-C"));
        }
        self.deliver(is_client);
        self.send_data(is_client);
        if ms.is_multiple_of(1000) {
            let received = self.end(is_client).received;
            self.give(is_client, FlowInput::Progress(received));
        }
        let now = self.now;
        let end = self.end_mut(is_client);
        let Some(flow) = end.flow.as_mut().filter(|_| !end.closed) else { return };
        if end.wake.is_some_and(|wake| wake <= now) {
            self.give(is_client, FlowInput::Timer);
        } else {
            flow.input(now, FlowInput::Timer).expect("an early timer is no error");
            assert_eq!(flow.output(now), FlowOutput::WaitUntil(end.wake), "an early timer changes nothing");
        }
    }

    fn give(&mut self, is_client: bool, input: FlowInput<'_>) {
        let now = self.now;
        let end = self.end_mut(is_client);
        let Some(flow) = end.flow.as_mut().filter(|_| !end.closed) else { return };
        if let Err(error) = flow.input(now, input) {
            assert_eq!(end.error, None, "an error after the end");
            end.error = Some(error);
        }
        self.carry_out(is_client);
    }

    fn carry_out(&mut self, is_client: bool) {
        for _ in 0..100 {
            let now = self.now;
            let end = self.end_mut(is_client);
            let Some(flow) = &mut end.flow else { return };
            let output = flow.output(now);
            assert!(!end.closed || output == FlowOutput::WaitUntil(None), "{output:?} after Close");
            match output {
                FlowOutput::Send(bytes) => {
                    end.said.push(bytes.clone());
                    self.put(is_client, bytes);
                }
                FlowOutput::Start(run) => {
                    assert!(end.run.is_none(), "started once");
                    (end.sending, end.receiving, end.started) = (run.sends.is_some(), run.receives, now);
                    (end.sent, end.received) = (run.sent, run.received);
                    end.run = Some(run);
                }
                FlowOutput::StopSender => self.senders_done(is_client),
                FlowOutput::Measure => self.measure(is_client),
                FlowOutput::ConnectBack(request) => end.backs.push(*request),
                FlowOutput::Told(told) => end.told.push(told),
                FlowOutput::Bounce(_) => panic!("no bounceback here"),
                FlowOutput::Shutdown => self.put_item(is_client, Item::End),
                FlowOutput::WaitUntil(wake) => {
                    assert!(wake.is_some() || end.closed, "every wait has a deadline");
                    end.wake = wake;
                    return;
                }
                FlowOutput::Close => {
                    end.closed = true;
                    if self.transport == Transport::Tcp {
                        self.put_item(is_client, Item::End);
                    }
                }
            }
        }
        panic!("a machine that never waits");
    }

    fn put(&mut self, from_client: bool, bytes: Vec<u8>) {
        if self.transport == Transport::Tcp {
            return self.put_item(from_client, Item::Bytes(bytes));
        }
        let end = self.end_mut(from_client);
        end.sent_datagrams += 1;
        let index = end.sent_datagrams;
        if !(self.nature.lose)(from_client, index, &bytes) {
            self.put_item(from_client, Item::Datagram(bytes));
        }
    }

    fn put_item(&mut self, from_client: bool, item: Item) {
        let at = self.now + Nanos::from_millis(self.nature.delay_ms);
        self.end_mut(!from_client).wire.push_back((at, item));
    }

    fn deliver(&mut self, is_client: bool) {
        while self.end(is_client).wire.front().is_some_and(|(at, _)| *at <= self.now) {
            let Some((_, item)) = self.end_mut(is_client).wire.pop_front() else { return };
            match item {
                Item::Bytes(bytes) => {
                    for portion in bytes.chunks(self.nature.portion) {
                        if self.end(is_client).receiving {
                            self.end_mut(is_client).received += portion.len() as u64;
                        } else {
                            self.give(is_client, FlowInput::Received(portion));
                        }
                    }
                }
                Item::Datagram(bytes) => self.take_datagram(is_client, &bytes),
                Item::End => self.give(is_client, FlowInput::Ended),
            }
        }
    }

    fn take_datagram(&mut self, is_client: bool, bytes: &[u8]) {
        if !is_client && self.server.flow.is_none() {
            let flow = UdpServer::new(bytes, &self.nature.policy, clock(), self.now);
            self.server.wide = is_wide(bytes);
            self.server.flow = flow.map(|flow| Box::new(flow) as Box<dyn Flow>);
            self.carry_out(false);
            return self.count(false, bytes);
        }
        let (running, end) = (self.end(is_client).receiving, self.end(is_client));
        if running && matches!(number(bytes, end.wide), Some(Number::Data(_))) {
            return self.count(is_client, bytes);
        }
        let started = end.run.is_some();
        self.give(is_client, FlowInput::Received(bytes));
        if !started && self.end(is_client).run.is_some() {
            self.count(is_client, bytes);
        }
    }

    fn count(&mut self, is_client: bool, bytes: &[u8]) {
        let end = self.end_mut(is_client);
        let header = Numbered { clock: clock(), wide: end.wide };
        let Some(stamp) = header.read(bytes).filter(|_| end.receiving) else { return };
        end.received += bytes.len() as u64;
        end.arrived += 1;
        end.highest = end.highest.max(stamp.sequence);
    }

    /// One write or datagram each millisecond.
    fn send_data(&mut self, is_client: bool) {
        let (now, transport) = (self.now, self.transport);
        let end = self.end_mut(is_client);
        let (true, Some(sending)) = (end.sending, end.run.as_ref().and_then(|run| run.sends.clone())) else {
            return;
        };
        let length = if sending.length == 0 { 1000 } else { sending.length as usize };
        let over = match sending.amount {
            Amount::Time(time) => end.started + time <= now,
            Amount::Bytes(bytes) => end.sent >= bytes.0,
        };
        if over {
            return self.senders_done(is_client);
        }
        let mut bytes = sending.head;
        let from = bytes.len();
        bytes.extend((from..length).map(|at| b'0' + (at % 10) as u8));
        if transport == Transport::Udp {
            end.datagrams += 1;
            let stamp = Stamp { sequence: end.datagrams, sent: now };
            Numbered { clock: clock(), wide: true }.write(stamp, &mut bytes);
        } else if let Amount::Bytes(all) = sending.amount {
            bytes.truncate((all.0 - end.sent).min(length as u64) as usize);
        }
        end.sent += bytes.len() as u64;
        self.put(is_client, bytes);
    }

    fn senders_done(&mut self, is_client: bool) {
        let end = self.end_mut(is_client);
        end.sending = false;
        let sent = Sent { stream: 0, bytes: end.sent, datagrams: end.datagrams };
        self.give(is_client, FlowInput::SenderDone(sent));
    }

    fn measure(&mut self, is_client: bool) {
        let end = self.end_mut(is_client);
        end.receiving = false;
        let figures = ServerReport {
            bytes: end.received,
            elapsed: Nanos::from_secs(1),
            lost: end.highest - end.arrived,
            datagrams: end.highest,
            ..ServerReport::default()
        };
        self.give(is_client, FlowInput::Measured(&figures));
    }
}

impl End {
    /// The report that came from the server.
    pub(crate) fn report(&self) -> Option<ServerReport> {
        self.told.iter().find_map(|told| if let Told::Report(report) = told { Some(*report) } else { None })
    }

    /// What the client asked for, as this server read it.
    pub(crate) fn asked(&self) -> Option<&Request> {
        self.told
            .iter()
            .find_map(|told| if let Told::Request(request) = told { Some(&**request) } else { None })
    }
}
